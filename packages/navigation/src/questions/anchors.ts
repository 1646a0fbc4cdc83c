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

/** Where the file defines a name comes before where it uses it: whose uses are asked for is said by where it is defined. */
export async function anchorsIn(inquiry: Inquiry, path: string, symbol: string): Promise<Anchors> {
  const { name, container } = splitSymbol(symbol);
  // A text that is told about without it need not be read.
  const used = name === 'default' ? null : await inquiry.uses(path, name);
  if (used && !used.mayDefine) return usedAnchors(name, used);
  const anchors = await parsedAnchors(inquiry, path, { name, container });
  const imported = used && anchors.definitions.length > 0 ? [alsoImported(name, anchors.definitions)] : [];
  return { ...anchors, notes: [...anchors.notes, ...imported] };
}

/** What a name means to a file: what it imports by it comes before what has the name within something there. */
export async function meaningIn(
  inquiry: Inquiry,
  { path, name, known }: { path: string; name: string; known: PlainUses | null | undefined },
): Promise<Anchors> {
  const used = known === undefined ? await inquiry.uses(path, name) : known;
  if (used && name !== 'default') return usedAnchors(name, used);
  const anchors = await parsedAnchors(inquiry, path, { name, container: null });
  const isWithin = anchors.definitions.every(({ container, local }) => local || container !== null);
  const imports = isWithin && anchors.definitions.length > 0 ? await importSpots(inquiry, path, name) : [];
  if (imports.length === 0) return anchors;
  const others = anchors.definitions.map(({ line }) => line);
  return usedAnchors(name, { spots: imports, members: 0, others, mayDefine: true });
}

/** Where a parser finds that a file imports a name. */
async function importSpots(inquiry: Inquiry, path: string, name: string): Promise<readonly Spot[]> {
  const text = (await inquiry.text(path)) ?? '';
  const module = await inquiry.syntax.module(path, text);
  const imports = module?.imports.filter(({ names, passesOn }) => names.includes(name) && !passesOn) ?? [];
  if (imports.length === 0) return [];
  const places = (await inquiry.syntax.names(path, text, name)) ?? [];
  return imports.flatMap(({ spots, line, column }): readonly Spot[] => {
    if (spots) return spots.filter((spot) => spot.name === name);
    // The names stand before the path.
    const before = places.filter(
      (place) => place.line < line || (place.line === line && place.column < column),
    );
    return before.slice(-1);
  });
}

async function parsedAnchors(
  inquiry: Inquiry,
  path: string,
  { name, container }: { readonly name: string; readonly container: string | null },
): Promise<Anchors> {
  const text = (await inquiry.text(path)) ?? '';
  if (name === 'default') return { spots: defaultSpots(text), definitions: [], notes: [] };
  const all = (await inquiry.syntax.named(path, text, name)) ?? [];
  const held = container === null ? all : all.filter((each) => each.container === container);
  const definitions = narrowed(held, container);
  const left = held.filter((each) => !definitions.includes(each));
  const notes = left.length === 0 || container !== null ? [] : [ambiguous(name, definitions, left)];
  if (definitions.length > 0) return { spots: definitions, definitions, notes };
  const uses = (await inquiry.syntax.names(path, text, name)) ?? spotsOf(text, name);
  return { spots: uses.slice(0, MOST_USES), definitions: [], notes: [] };
}

function usedAnchors(name: string, { spots, members, others }: PlainUses): Anchors {
  const notes = [
    ...(members > 0
      ? [`members of that name (${members} places there) are others: name them Container.${name}`]
      : []),
    ...(others.length > 0
      ? [`this is what the file imports; ${linesOf(others)} may have something else of that name`]
      : []),
  ];
  return { spots: spots.slice(0, MOST_USES), definitions: [], notes };
}

const MOST_LINES = 5;

function linesOf(numbers: readonly number[]): string {
  const more = numbers.length > MOST_LINES ? ` and ${numbers.length - MOST_LINES} more` : '';
  return `${numbers.length > 1 ? 'its lines' : 'its line'} ${numbers.slice(0, MOST_LINES).join(', ')}${more}`;
}

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
  const all = (some: readonly SyntaxDefinition[]): string => some.map((each) => told(name, each)).join(', ');
  return `the file also defines ${all(left)}; this answer is about ${all(taken)}. Name the other as Container.${name}.`;
}

function told(name: string, { kind, container, line }: SyntaxDefinition): string {
  return `${kind} ${container === null ? name : `${container}.${name}`} at line ${line}`;
}

const alsoImported = (name: string, taken: readonly SyntaxDefinition[]): string =>
  `the file also imports ${name}; this answer is about ${taken.map((each) => told(name, each)).join(', ')}. For the other, give the file that defines it.`;

/** `export default` without a name of its own is asked for at the keyword. */
function defaultSpots(text: string): Spot[] {
  return text.split('\n').flatMap((line, i) => {
    const match = /^\s*export\s+(default)\b/.exec(line) ?? /\bas\s+(default)\b/.exec(line);
    return match ? [{ line: i + 1, column: match.index + match[0].lastIndexOf('default') + 1 }] : [];
  });
}
