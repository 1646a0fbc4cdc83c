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
  `^[ \\t]*(?:;|(?::[^=()]*)?=[ \\t]*(?:\\(\\(|\\(function\\b|new\\b|["'\`[{\\d/]|${CALLED}))`,
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
  // What is exported is at the top, or in a namespace that begins before it. Where the signs of a file cannot be told apart,
  // whoever asks about a place has it from a server, which has read the file.
  const isTop =
    exporting === undefined || held.firstSpace() < start
      ? isAtTop(held, start)
      : held.regions() === null || isCode(held, start);
  if (!isTop) return { text: row, declared: null };
  const kind = isVariable ? 'variable' : word;
  const shown = AS_WRITTEN.has(word) ? shownAt(held, start, row) : symbolAt(held, start, row);
  return {
    text: row,
    declared: { name, kind, exported: exporting !== undefined, ...(shown && { shown }) },
  };
}

const AS_WRITTEN = new Set(['class', 'interface', 'enum']);
/** A symbol that stands for an interface of its name is written in one line, and there are thousands. */
const SYMBOL = /^(?:export[ \t]+)?const[ \t]+([\w$]+[ \t]*=[ \t]*Symbol\((?:'[^'\\]*'|"[^"\\]*")?\));?$/;

function symbolAt(held: Held, start: number, row: string): Declared['shown'] | null {
  const signature = SYMBOL.exec(row)?.[1]?.replaceAll(/\s+/g, ' ');
  const doc = signature === undefined ? undefined : docBefore(held, start);
  return signature === undefined || doc === undefined ? null : { signature, doc };
}

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
function docBefore(held: Held, decorated: number): string | null | undefined {
  const { text } = held;
  const start = withDecorators(held, decorated);
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

const MOST_DECORATORS = 20;
const DECORATOR = /^@[\w$.]+(?:\([^()'"`/\n]*\))?[ \t]*$/;

/** Where the decorators begin that stand above a line, each in a line of its own: what is documented is documented above them. */
function withDecorators({ text }: Held, start: number): number {
  let first = start;
  for (let i = 0; i < MOST_DECORATORS && first > 0; i++) {
    const above = text.lastIndexOf('\n', first - 2) + 1;
    if (!DECORATOR.test(text.slice(above, first - 1).trimEnd())) return first;
    first = above;
  }
  return first;
}

const isSpace = (text: string, at: number): boolean => /\s/.test(text[at] ?? '');

function isCode(held: Held, offset: number): boolean {
  const regions = held.regions();
  return regions !== null && regions.at(offset) === null;
}

/** Nothing is open at an offset that begins its line, and it is code; false also if that cannot be told. */
export const isAtTop = (held: Held, offset: number): boolean =>
  isCode(held, offset) && held.depths()?.isTop(offset) === true;
