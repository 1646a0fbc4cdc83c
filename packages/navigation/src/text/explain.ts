import { languageOf } from '../languages.ts';
import { regionsOf, type Region } from './lexer.ts';

/** What can be said of a text hit by its file alone. */
export interface Explained {
  /** Null: a parser must say. */
  readonly role: 'code' | 'comment' | 'string' | null;
  /** Hits of one file with the same group mean the same: one of them need be asked about. Null: it stands for itself. */
  readonly group: string | null;
}

export interface HitSpot {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

export const UNEXPLAINED: Explained = { role: null, group: null };

/** The hits of one file, each explained as far as its text goes. */
export function explainHits(path: string, text: string, spots: readonly HitSpot[]): Explained[] {
  if (languageOf(path)?.name !== 'typescript') return spots.map(() => UNEXPLAINED);
  const starts = lineStarts(text);
  const offsets = spots.map(({ line, column }) => (starts[line - 1] ?? 0) + column - 1);
  const regions = regionsOf(text);
  const heads = new Map<string, boolean>();
  return offsets.map((offset) => {
    const region = regions && regionAt(regions, offset);
    // The path of a module leads to a file: the server knows which.
    if (region && PATH_BEFORE.test(text.slice(Math.max(0, region.from - 40), region.from)))
      return UNEXPLAINED;
    const role = regions && (region?.role ?? 'code');
    return { role, group: role === 'code' ? groupOf(text, offset, heads) : null };
  });
}

const PATH_BEFORE = /\b(?:from|import|require\s*\(|import\s*\()\s*$/;

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function regionAt(regions: readonly Region[], offset: number): Region | null {
  let low = 0;
  let high = regions.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const region = regions[middle];
    if (!region) return null;
    if (offset < region.from) high = middle - 1;
    else if (offset >= region.to) low = middle + 1;
    else return region;
  }
  return null;
}

/**
 * `Head.name` means the same throughout a file in which `Head` is bound by an import or not at all. That is so if it stands
 * nowhere else but before a dot: whatever binds a name anew (a variable, a parameter, a function) does not go on with one.
 */
function groupOf(text: string, offset: number, heads: Map<string, boolean>): string | null {
  const match = /(^|[^\w$.)\]?!])([A-Za-z_$][\w$]*)\.$/.exec(text.slice(Math.max(0, offset - 120), offset));
  const head = match?.[2];
  if (head === undefined || head === 'this' || head === 'super') return null;
  const known = heads.get(head) ?? isBoundOnce(text, head);
  heads.set(head, known);
  if (!known) return null;
  // A type and a value of one name are two things.
  const before = text.slice(Math.max(0, offset - 200), offset - head.length - 1).trimEnd();
  return `${/[:<|&]$/.test(before) ? 'type' : 'value'} ${head}`;
}

const IMPORTS = /^[ \t]*import\b[^;'"]*?\bfrom\s*['"]/gm;

function isBoundOnce(text: string, head: string): boolean {
  const imports = [...text.matchAll(IMPORTS)].map(
    ({ index, 0: { length } }) => [index, index + length] as const,
  );
  let bound = 0;
  for (let at = text.indexOf(head); at >= 0; at = text.indexOf(head, at + head.length)) {
    if (isPart(text[at - 1]) || isPart(text[at + head.length])) continue;
    if (text[at + head.length] === '.' && text[at + head.length + 1] !== '.') continue;
    if (!imports.some(([from, to]) => at >= from && at < to)) return false;
    bound += 1;
  }
  return bound <= 1;
}

const isPart = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}_$\u{80}-\u{10ffff}]/u.test(character);
