/** Who wants to be told. A listener that throws is the caller's defect and reaches `report`, never the store. */
export class Listeners<A extends readonly unknown[]> {
  readonly #listeners = new Set<(...args: A) => void>();

  add(listener: (...args: A) => void): () => void {
    // Wrapped, so that the same function added twice is told twice and taken back once.
    const own = (...args: A): void => listener(...args);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  tell(...args: A): void {
    for (const listener of this.#listeners) {
      try {
        listener(...args);
      } catch (error) {
        // Thrown outside of the commit that told it: what is on disk stays acknowledged.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
