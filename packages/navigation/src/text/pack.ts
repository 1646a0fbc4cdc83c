import type { Explained } from './explain.ts';
import type { TextHit } from './hits.ts';

/** Hits on their way between threads: a few long values are handed over much faster than thousands of small ones. */
export interface PackedHits {
  /** Paths, groups, targets and modules, each once. */
  readonly words: readonly string[];
  /** The lines of all hits, one after another. */
  readonly rows: string;
  readonly numbers: Int32Array;
}

/** Path, line, column, offset, length of its row, role and whether it is commented, group, target, from where it is imported. */
const EACH = 9;
const ROLES = [null, 'code', 'comment', 'string'] as const satisfies readonly Explained['role'][];

export function packHits(hits: readonly TextHit[]): PackedHits {
  const words = new Map<string, number>();
  const numberOf = (word: string | null | undefined): number => {
    if (word === null || word === undefined) return -1;
    const known = words.get(word) ?? words.size;
    words.set(word, known);
    return known;
  };
  const numbers = new Int32Array(hits.length * EACH);
  const rows: string[] = [];
  for (let i = 0; i < hits.length; i++) {
    const hit = hits[i];
    if (!hit) continue;
    const { path, line, column, offset, text, commented, explained } = hit;
    rows.push(text);
    const flags = ROLES.indexOf(explained.role) * 2 + Number(commented);
    const at = i * EACH;
    numbers[at] = numberOf(path);
    numbers[at + 1] = line;
    numbers[at + 2] = column;
    numbers[at + 3] = offset;
    numbers[at + 4] = text.length;
    numbers[at + 5] = flags;
    numbers[at + 6] = numberOf(explained.group);
    numbers[at + 7] = numberOf(explained.target);
    numbers[at + 8] = numberOf(explained.from);
  }
  return { words: [...words.keys()], rows: rows.join(''), numbers };
}

export function unpackHits({ words, rows, numbers }: PackedHits): TextHit[] {
  const hits: TextHit[] = [];
  let from = 0;
  for (let at = 0; at < numbers.length; at += EACH) {
    const number = (which: number): number => numbers[at + which] ?? -1;
    const flags = number(5);
    const role = ROLES[flags >> 1] ?? null;
    const group = words[number(6)] ?? null;
    const target = words[number(7)];
    const module = words[number(8)];
    const length = number(4);
    hits.push({
      path: words[number(0)] ?? '',
      line: number(1),
      column: number(2),
      offset: number(3),
      text: rows.slice(from, from + length),
      commented: flags % 2 === 1,
      explained: {
        role,
        group,
        ...(target === undefined ? {} : { target }),
        ...(module === undefined ? {} : { from: module }),
      },
    });
    from += length;
  }
  return hits;
}
