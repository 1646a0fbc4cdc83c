/** What is done again and again, and what is done about it when it fails. */
export interface Stepped {
  step(): Promise<void>;
  failed(error: unknown): void;
}

/**
 * Does one thing again and again, never twice at a time. A poke asks for it; several pokes become one; a poke that
 * comes while it is being done makes it be done once more, so none is missed.
 */
export class Stepper {
  readonly #of: Stepped;
  #stepping = false;
  #again = false;
  #closed = false;
  #waiting: (() => void)[] | null = null;

  constructor(of: Stepped) {
    this.#of = of;
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
    if (this.#stepping) await new Promise<void>((resolve) => (this.#waiting ??= []).push(resolve));
  }

  async #run(): Promise<void> {
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        await this.#of.step();
      }
    } catch (error) {
      this.#of.failed(error);
    } finally {
      this.#stepping = false;
      const waiting = this.#waiting ?? [];
      this.#waiting = null;
      for (const resolve of waiting) resolve();
    }
  }
}
