import type { SyntaxDefinition } from '../syntax/definitions.ts';
import { spotsOf, type Spot } from '../syntax/syntax.ts';
import { splitSymbol, type Inquiry } from './inquiry.ts';

/** Where a name can be put to a server in a file: the places that define it there, or else those that use it. */
export interface Anchors {
  readonly spots: readonly Spot[];
  readonly definitions: readonly SyntaxDefinition[];
  readonly notes: readonly string[];
}

const MOST_USES = 20;

export async function anchorsIn(inquiry: Inquiry, path: string, symbol: string): Promise<Anchors> {
  const { name, container } = splitSymbol(symbol);
  const text = (await inquiry.text(path)) ?? '';
  if (name === 'default') return { spots: defaultSpots(text), definitions: [], notes: [] };
  const all = ((await inquiry.syntax.definitions(path, text)) ?? []).filter((each) => each.name === name);
  const held = container === null ? all : all.filter((each) => each.container === container);
  const definitions = narrowed(held, container);
  const left = held.filter((each) => !definitions.includes(each));
  const notes = left.length === 0 || container !== null ? [] : [ambiguous(name, definitions, left)];
  if (definitions.length > 0) return { spots: definitions, definitions, notes };
  const uses = (await inquiry.syntax.names(path, text, name)) ?? spotsOf(text, name);
  return { spots: uses.slice(0, MOST_USES), definitions: [], notes: [] };
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
