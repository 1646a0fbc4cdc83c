import { languageOf } from '../languages.ts';
import { isCommentLine } from '../syntax/comment-lines.ts';
import { occurrences, type Needle } from './words.ts';

export interface TextHit {
  readonly path: string;
  /** From 1; columns count in UTF-16, as the protocol of language servers does. */
  readonly line: number;
  readonly column: number;
  /** From the beginning of the file, likewise. */
  readonly offset: number;
  readonly text: string;
  /** It is in a comment that fills its line: no code, whatever the language server says. */
  readonly commented: boolean;
}

const LONGEST_LINE = 400;

export function hitsIn(path: string, text: string, needle: Needle): TextHit[] {
  const hits: TextHit[] = [];
  const language = languageOf(path);
  let split: readonly string[] | null = null;
  const lines = (): readonly string[] => (split ??= text.split('\n'));
  let line = 1;
  let lineStart = 0;
  for (const offset of occurrences(text, needle)) {
    for (
      let end = text.indexOf('\n', lineStart);
      end >= 0 && end < offset;
      end = text.indexOf('\n', lineStart)
    ) {
      line += 1;
      lineStart = end + 1;
    }
    const end = text.indexOf('\n', offset);
    const row = text.slice(lineStart, Math.min(end < 0 ? text.length : end, lineStart + LONGEST_LINE));
    const before = text.slice(lineStart, offset);
    const commented = language !== null && isCommentLine({ line, text: before }, language, lines);
    hits.push({ path, line, column: before.length + 1, offset, text: row.trimEnd(), commented });
  }
  return hits;
}
