import { lastUpTo } from './sorted.ts';

/** Where the lines of a text begin. Kept for thousands of files: one number for each line. */
export class Lines {
  readonly #text: string;
  readonly #starts: Uint32Array;

  constructor(text: string) {
    this.#text = text;
    const starts: number[] = [0];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.#starts = Uint32Array.from(starts);
  }

  get count(): number {
    return this.#starts.length;
  }

  /** The line of an offset, from 0. */
  at(offset: number): number {
    return Math.max(0, lastUpTo(this.#starts, offset));
  }

  /** Where a line begins, from 0; beyond the last: the end. */
  start(line: number): number {
    return this.#starts[line] ?? this.#text.length;
  }

  /** A line without its end, from 0. */
  row(line: number): string {
    const next = this.#starts[line + 1];
    return this.#text.slice(this.start(line), next === undefined ? this.#text.length : next - 1);
  }
}
