import type { SyntaxDefinition } from '../syntax/definitions.ts';
import type { PlainUses } from '../text/plain-uses.ts';
import { lineNear, offsetsOf, spotsOf, type Spot } from '../text/spots.ts';
import { splitSymbol, type Inquiry } from './inquiry.ts';

/** Where a name can be put to a server in a file: the places that define it there, or else those that use it. */
export interface Anchors {
  readonly spots: readonly Spot[];
  readonly definitions: readonly SyntaxDefinition[];
  readonly notes: readonly string[];
}

const MOST_USES = 20;

/** `known`: where the file uses it, if that was asked before. */
export async function anchorsIn(
  inquiry: Inquiry,
  path: string,
  symbol: string,
  known?: PlainUses | null,
): Promise<Anchors> {
  const { name, container } = splitSymbol(symbol);
  // A text that is told about without it need not be read.
  const asked = known === undefined ? await inquiry.uses(path, name) : known;
  const used = name === 'default' ? null : asked;
  const text = used ? '' : ((await inquiry.text(path)) ?? '');
  if (name === 'default') return { spots: defaultSpots(text), definitions: [], notes: [] };
  if (used) return { spots: used.spots.slice(0, MOST_USES), definitions: [], notes: membersNote(name, used) };
  const all = (await inquiry.syntax.named(path, text, name)) ?? [];
  const held = container === null ? all : all.filter((each) => each.container === container);
  const definitions = narrowed(held, container);
  const left = held.filter((each) => !definitions.includes(each));
  const notes = left.length === 0 || container !== null ? [] : [ambiguous(name, definitions, left)];
  if (definitions.length > 0) return { spots: definitions, definitions, notes };
  const uses = (await inquiry.syntax.names(path, text, name)) ?? spotsOf(text, name);
  return { spots: uses.slice(0, MOST_USES), definitions: [], notes: [] };
}

const membersNote = (name: string, { members }: PlainUses): string[] =>
  members === 0
    ? []
    : [`members of that name (${members} places there) are others: name them Container.${name}`];

const DEFINES =
  'class|function\\*?|interface|type|enum|const|let|var|namespace|struct|trait|fn|func|def|impl|mod|union';
const BEFORE = 'export|default|declare|abstract|async|const|pub|static|inline|unsafe|public|final|sealed';
const DEFINING = new RegExp(`^(?:(?:${BEFORE})[ \\t]+)*(?:${DEFINES})[ \\t]+$`);
const NAME_PART = /[\p{L}\p{N}_$]/u;

/**
 * Where the name is most likely defined, seen from lines that begin with it: faster than parsing, and no more than a guess. A
 * server can be asked about it while the file is parsed; if parsing says otherwise, that answer does not count.
 */
export function guessedSpots(text: string, symbol: string): Spot[] {
  const { name, container } = splitSymbol(symbol);
  if (container !== null || name === 'default' || !/^[\p{L}\p{N}_$]+$/u.test(name)) return [];
  const starts = offsetsOf(text, name).filter((at) => {
    const lineStart = lineNear(text, at);
    if (lineStart === null) return false;
    return DEFINING.test(text.slice(lineStart, at)) && !NAME_PART.test(text[at + name.length] ?? '');
  });
  return starts.slice(0, MOST_USES).map((start) => {
    const lineStart = text.lastIndexOf('\n', start - 1) + 1;
    let line = 1;
    for (let at = text.indexOf('\n'); at >= 0 && at < start; at = text.indexOf('\n', at + 1)) line += 1;
    return { line, column: start - lineStart + 1 };
  });
}

/** What others can see comes before what is local to a function, the top before members. */
function narrowed(found: readonly SyntaxDefinition[], container: string | null): readonly SyntaxDefinition[] {
  const seen = found.filter(({ local }) => !local);
  const top = seen.filter((each) => each.container === null);
  if (container === null && top.length > 0) return top;
  return seen.length > 0 ? seen : found;
}

function ambiguous(
  name: string,
  taken: readonly SyntaxDefinition[],
  left: readonly SyntaxDefinition[],
): string {
  const show = (each: SyntaxDefinition): string =>
    `${each.kind} ${each.container === null ? name : `${each.container}.${name}`} at line ${each.line}`;
  return `the file also defines ${left.map(show).join(', ')}; this answer is about ${taken.map(show).join(', ')}. Name the other as Container.${name}.`;
}

/** `export default` without a name of its own is asked for at the keyword. */
function defaultSpots(text: string): Spot[] {
  return text.split('\n').flatMap((line, i) => {
    const match = /^\s*export\s+(default)\b/.exec(line) ?? /\bas\s+(default)\b/.exec(line);
    return match ? [{ line: i + 1, column: match.index + match[0].lastIndexOf('default') + 1 }] : [];
  });
}
