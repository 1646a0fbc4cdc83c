/**
 * Does one thing again and again, never twice at a time. A poke asks for it; several pokes become one; a poke that
 * comes while it is being done makes it be done once more, so none is missed.
 */
export class Stepper {
  readonly #step: () => Promise<void>;
  readonly #failed: (error: unknown) => void;
  #stepping = false;
  #again = false;
  #closed = false;
  readonly #waiting: (() => void)[] = [];

  constructor(step: () => Promise<void>, failed: (error: unknown) => void) {
    this.#step = step;
    this.#failed = failed;
  }

  poke(): void {
    this.#again = true;
    if (this.#stepping || this.#closed) return;
    this.#stepping = true;
    void this.#run();
  }

  close(): void {
    this.#closed = true;
  }

  /** Resolves when nothing is being done. */
  async idle(): Promise<void> {
    if (this.#stepping) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async #run(): Promise<void> {
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        await this.#step();
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#stepping = false;
      for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }
}
