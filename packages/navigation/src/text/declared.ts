import { languageOf } from '../languages.ts';
import type { Held } from './contents.ts';
import { firstLines } from './first-lines.ts';

/** What a file declares at a place, as far as it is told without parsing. */
export interface Declared {
  readonly name: string;
  readonly kind: string;
  readonly exported: boolean;
  /** Of what is as it is written: a class, an interface, an enumeration. What a function or variable is, a server says. */
  readonly shown?: { readonly signature: string; readonly doc: string | null };
}

/** A line, and what is declared at a place of it. */
export interface PlaceText {
  readonly text: string;
  /** Null: a parser must say. */
  readonly declared: Declared | null;
}

const DECLARES =
  /^(export[ \t]+)?(?:default[ \t]+|declare[ \t]+|abstract[ \t]+|async[ \t]+|const[ \t]+(?=enum[ \t]))*(class|function|interface|enum|type|namespace|const|let|var)[ \t]+([\p{L}\p{N}_$]+)/u;
/** A variable is given nothing, or what is no function for certain, as what a call returns: then it is a variable and nothing else. */
const CALLED = '(?!async\\b|function\\b)[A-Za-z_$][\\w$.]*(?:<[\\w$., |[\\]]*>)?(?:\\(|;)';
const VALUE = new RegExp(
  `^[ \\t]*(?:;|(?::[\\w$. |<>,[\\]]*)?=[ \\t]*(?:\\(\\(|\\(function\\b|new\\b|["'\`[{\\d]|${CALLED}))`,
);
const VARIABLE = new Set(['const', 'let', 'var']);

/**
 * What stands at a place of a script. A class, function, interface, enum or variable that begins its line is known for what it is if no
 * brace or parenthesis is open there: parsing a large file takes fifty times as long.
 */
export function placeText(
  path: string,
  held: Held,
  { line, column }: { readonly line: number; readonly column: number },
): PlaceText {
  const lines = held.lines();
  if (line > lines.count) return { text: '', declared: null };
  const start = lines.start(line - 1);
  const row = lines.row(line - 1).trimEnd();
  const match = languageOf(path)?.name === 'typescript' ? DECLARES.exec(row) : null;
  const [whole = '', exporting, word = '', name = ''] = match ?? [];
  if (!match || column !== whole.length - name.length + 1) return { text: row, declared: null };
  // `namespace a.b` has two names.
  if (word === 'namespace' && row[whole.length] === '.') return { text: row, declared: null };
  const isVariable = VARIABLE.has(word);
  if (isVariable && !VALUE.test(row.slice(whole.length))) return { text: row, declared: null };
  // What is exported is at the top, or in a namespace that begins before it. Where the signs of a file cannot be told apart, as
  // in one with elements, whoever asks about a place has it from a server, which has read the file.
  const isTop =
    exporting === undefined || held.firstSpace() < start
      ? isAtTop(held, start)
      : held.regions() === null || isCode(held, start);
  if (!isTop) return { text: row, declared: null };
  const kind = isVariable ? 'variable' : word;
  const shown = AS_WRITTEN.has(word) ? shownAt(held, start, row) : null;
  return {
    text: row,
    declared: { name, kind, exported: exporting !== undefined, ...(shown && { shown }) },
  };
}

const AS_WRITTEN = new Set(['class', 'interface', 'enum']);
const MODIFIERS = /^(?:(?:export|default|declare)[ \t]+)*/;

/** How it is written, and the comment above it; null: that is not plain to see. */
function shownAt(held: Held, start: number, row: string): Declared['shown'] | null {
  const [head = ''] = row.split('{', 1);
  // Its parameters, or a comment, may have braces too.
  if (head === row || /[</]/.test(head)) return null;
  const doc = docBefore(held, start);
  const signature = head.replace(MODIFIERS, '').replaceAll(/\s+/g, ' ').trim();
  return doc === undefined ? null : { signature, doc };
}

/** The comment that documents what begins at an offset; null: there is none, undefined: that is not plain to see. */
function docBefore(held: Held, start: number): string | null | undefined {
  const { text } = held;
  let end = start - 1;
  while (end >= 0 && isSpace(text, end)) end -= 1;
  if (end < 0) return null;
  const region = held.regions()?.at(end);
  if (region === undefined) return undefined;
  // What a decorator stands on may be documented above it, and so may what has a plain comment.
  if (region === null)
    return text.startsWith('@', text.lastIndexOf('\n', end) + 1) || text[end] === ')' ? undefined : null;
  const comment = text.slice(region.from, end + 1);
  const isRightAbove = text.indexOf('\n', end) === start - 1;
  const documents = region.role === 'comment' && comment.startsWith('/**') && isRightAbove;
  return documents ? firstLines(comment) : undefined;
}

const isSpace = (text: string, at: number): boolean => /\s/.test(text[at] ?? '');

function isCode(held: Held, offset: number): boolean {
  const regions = held.regions();
  return regions !== null && regions.at(offset) === null;
}

/** Nothing is open at an offset that begins its line, and it is code; false also if that cannot be told. */
export const isAtTop = (held: Held, offset: number): boolean =>
  isCode(held, offset) && held.depths()?.isTop(offset) === true;
