import { languageOf } from '../languages.ts';
import { isCommentLine } from '../syntax/comment-lines.ts';
import type { Held } from './contents.ts';
import { UNEXPLAINED, explainHits, type Explained } from './explain.ts';
import type { Members } from './members.ts';
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
  /** What can be said of it by its file alone, if that was asked for. */
  readonly explained: Explained;
}

const LONGEST_LINE = 400;
/** A comment that fills its line has no more before a place in it: all of a minified file is one line. */
const MOST_BEFORE = 2_000;

export interface HitsAsk {
  readonly needle: Needle;
  /** Of the name: what each hit is is told as far as the files tell. */
  readonly members: Members | null;
  readonly most: number;
}

export function hitsIn(path: string, held: Held, { needle, members, most }: HitsAsk): TextHit[] {
  const hits: TextHit[] = [];
  const language = languageOf(path);
  const spots = [...occurrences(held.text, needle).take(most)].map((offset) => ({ offset }));
  const told = members && explainHits(path, held, spots, members);
  for (const [i, { offset }] of spots.entries()) {
    const lines = held.lines();
    const line = lines.at(offset);
    const row = lines.row(line);
    const column = offset - lines.start(line) + 1;
    const place = { line: line + 1, text: row.slice(0, column - 1) };
    const commented =
      language !== null && column <= MOST_BEFORE && isCommentLine(place, language, (at) => lines.row(at));
    const text = row.slice(0, LONGEST_LINE).trimEnd();
    hits.push({ path, line: line + 1, column, offset, text, commented, explained: told?.[i] ?? UNEXPLAINED });
  }
  return hits;
}
