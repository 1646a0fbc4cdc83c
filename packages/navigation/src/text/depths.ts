import type { Regions } from './regions.ts';
import type { Lines } from './lines.ts';

/** How many brackets are open where each line begins; once that cannot be right, no line is at the top any more. */
export class Depths {
  readonly #lines: Lines;
  readonly #depths: Int32Array;
  /** For each line, the last one up to it at which nothing is open; -1: there is none. */
  readonly #tops: Int32Array;

  constructor(text: string, lines: Lines, regions: Regions) {
    this.#lines = lines;
    this.#depths = new Int32Array(lines.count + 1);
    let depth = 0;
    let line = 0;
    let next = lines.start(1);
    for (const [from, to] of regions.spans(text.length))
      for (let at = from; at < to; at++) {
        while (at >= next && line < lines.count) {
          line += 1;
          this.#depths[line] = depth;
          next = lines.start(line + 1);
        }
        depth += stepOf(text.charCodeAt(at));
        if (depth < 0) depth = LOST;
      }
    for (line += 1; line <= lines.count; line++) this.#depths[line] = depth;
    let top = -1;
    this.#tops = this.#depths.map((open, i) => (top = open === 0 ? i : top));
  }

  /** Nothing is open where the line of an offset begins. */
  isTop(offset: number): boolean {
    return this.#depths[this.#lines.at(offset)] === 0;
  }

  /** Only what the line of one offset opens, with its last bracket, is open where the line of the other begins. */
  isDirectlyIn(from: number, offset: number): boolean {
    const first = this.#lines.at(from);
    const line = this.#lines.at(offset);
    if (line <= first || this.#depths[line] !== 1 || this.#tops[line] !== first) return false;
    return this.#depths[first + 1] === 1 && this.#lines.row(first).trimEnd().endsWith('{');
  }
}

const LOST = 1_000_000;

function stepOf(code: number): number {
  if (code === 0x7b || code === 0x28 || code === 0x5b) return 1;
  return code === 0x7d || code === 0x29 || code === 0x5d ? -1 : 0;
}
