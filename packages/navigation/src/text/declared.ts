import { languageOf } from '../languages.ts';
import type { Held } from './contents.ts';

/** What a file declares at a place, as far as it is told without parsing. */
export interface Declared {
  readonly name: string;
  readonly kind: string;
  readonly exported: boolean;
}

/** A line, and what is declared at a place of it. */
export interface PlaceText {
  readonly text: string;
  /** Null: a parser must say. */
  readonly declared: Declared | null;
}

const DECLARES =
  /^(export[ \t]+)?(?:default[ \t]+|declare[ \t]+|abstract[ \t]+|async[ \t]+)*(class|function|interface|enum)[ \t]+([\p{L}\p{N}_$]+)/u;

/**
 * What stands at a place of a script. A class, function, interface or enum that begins its line is known for what it is if no
 * brace or parenthesis is open there: parsing a large file takes fifty times as long.
 */
export function placeText(
  path: string,
  held: Held,
  { line, column }: { readonly line: number; readonly column: number },
): PlaceText {
  const { text } = held;
  const lines = held.lines();
  if (line > lines.count) return { text: '', declared: null };
  const start = lines.start(line - 1);
  const row = lines.row(line - 1).trimEnd();
  const match = languageOf(path)?.name === 'typescript' ? DECLARES.exec(row) : null;
  const [whole = '', exporting, kind = '', name = ''] = match ?? [];
  if (!match || column !== whole.length - name.length + 1) return { text: row, declared: null };
  const isTop =
    exporting === undefined || hasSpaces(text.slice(0, start)) ? isAtTop(held, start) : isCode(held, start);
  return { text: row, declared: isTop ? { name, kind, exported: exporting !== undefined } : null };
}

/** What is exported is at the top, or in a namespace that begins before it. */
const hasSpaces = (text: string): boolean => ['namespace ', 'module '].some((word) => begins(text, word));

function begins(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    const row = text.slice(text.lastIndexOf('\n', at) + 1, at);
    if (/^\s*(?:export\s+)?(?:declare\s+)?$/.test(row)) return true;
  }
  return false;
}

function isCode(held: Held, offset: number): boolean {
  const regions = held.regions();
  return regions !== null && regions.at(offset) === null;
}

/** Nothing is open at an offset that begins its line, and it is code; false also if that cannot be told. */
export const isAtTop = (held: Held, offset: number): boolean =>
  isCode(held, offset) && held.depths()?.isTop(offset) === true;
