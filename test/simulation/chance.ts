/** All chance of a world comes from here, so that a seed decides everything. The generator is sfc32. */
export class Chance {
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0;
    this.#b = (seed / 0x1_0000_0000) | 0;
    this.#c = (stream * 0x9e3779b9) | 0;
    for (let i = 0; i < 12; i++) this.next();
  }

  /** In [0, 1). */
  next(): number {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + t) | 0;
    return (t >>> 0) / 0x1_0000_0000;
  }

  /** From `min` to `max`, both possible. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  hit(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  /** Mostly near `min`, now and then near `max`: waits of a world are like that. */
  skewed(min: number, max: number): number {
    return min + Math.floor((max - min) * this.next() ** 3);
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.next() * list.length)];
  }

  weighted<K extends string>(weights: Readonly<Partial<Record<K, number>>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    throw new Error('No weights to choose by.');
  }
}
