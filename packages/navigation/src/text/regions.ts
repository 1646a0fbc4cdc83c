/** Where text is no code: from, to (exclusive), and what it is. */
export interface Region {
  readonly from: number;
  readonly to: number;
  readonly role: 'comment' | 'string';
}

/** All regions of a text, in its order; kept in memory for thousands of files, so three numbers each. */
export class Regions {
  readonly #numbers: Int32Array;

  constructor(regions: readonly Region[]) {
    this.#numbers = new Int32Array(regions.length * 3);
    for (const [i, { from, to, role }] of regions.entries())
      this.#numbers.set([from, to, role === 'string' ? 1 : 0], i * 3);
  }

  at(offset: number): Region | null {
    const numbers = this.#numbers;
    let low = 0;
    let high = numbers.length / 3 - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const from = numbers[middle * 3] ?? 0;
      const to = numbers[middle * 3 + 1] ?? 0;
      if (offset < from) high = middle - 1;
      else if (offset >= to) low = middle + 1;
      else return { from, to, role: numbers[middle * 3 + 2] === 1 ? 'string' : 'comment' };
    }
    return null;
  }

  /** The parts of a text that are code, up to an offset. */
  *code(text: string, until: number): Generator<string> {
    for (const [from, to] of this.spans(until)) yield text.slice(from, to);
  }

  /** From where to where there is code, up to an offset. */
  *spans(until: number): Generator<readonly [number, number]> {
    let at = 0;
    for (let i = 0; i < this.#numbers.length && at < until; i += 3) {
      const from = this.#numbers[i] ?? 0;
      if (from > at) yield [at, Math.min(from, until)];
      at = this.#numbers[i + 1] ?? until;
    }
    if (at < until) yield [at, until];
  }
}
