/** Answers to questions that may come again, each with the version of the tree it was made from. */
export class Answers<T> {
  readonly #most: number;
  readonly #weightOf: (answer: T) => number;
  readonly #known = new Map<string, { readonly version: number; readonly answer: T }>();
  #weight = 0;

  /** Those that were kept first go when there are more, by their number or by what they weigh. */
  constructor(most: number, weightOf: (answer: T) => number = () => 1) {
    this.#most = most;
    this.#weightOf = weightOf;
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
    this.#drop(key);
    this.#known.set(key, { version, answer });
    this.#weight += this.#weightOf(answer);
    // The last one stays, however large it is.
    for (const oldest of this.#known.keys())
      if (this.#weight > this.#most && oldest !== key) this.#drop(oldest);
    return answer;
  }

  #drop(key: string): void {
    const known = this.#known.get(key);
    if (known) this.#weight -= this.#weightOf(known.answer);
    this.#known.delete(key);
  }
}
