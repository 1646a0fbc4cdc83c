/** Answers to questions that may come again, each with the version of the tree it was made from. */
export class Answers<T> {
  readonly #most: number;
  readonly #known = new Map<string, { readonly version: number; readonly answer: T }>();

  constructor(most: number) {
    this.#most = most;
  }

  has(key: string): boolean {
    return this.#known.has(key);
  }

  /** The answer to the same question, if the tree is still of the version it was made from. */
  get(key: string, version: number | null): T | null {
    const known = this.#known.get(key);
    return known && known.version === version ? known.answer : null;
  }

  keep(key: string, version: number, answer: T): T {
    this.#known.delete(key);
    this.#known.set(key, { version, answer });
    for (const oldest of this.#known.keys()) if (this.#known.size > this.#most) this.#known.delete(oldest);
    return answer;
  }
}
