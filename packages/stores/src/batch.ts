import type { Change, Outcome } from '@reveille/core';

/** The changes that go to disk together, and who waits for them. */
export class Batch {
  readonly #waiting: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  readonly #wakes = new Set<string>();
  #offers = false;

  get wakes(): readonly string[] {
    return [...this.#wakes];
  }

  get offers(): boolean {
    return this.#offers;
  }

  add(change: Change, outcome: Outcome): Promise<Outcome> {
    for (const session of change.wakes) this.#wakes.add(session);
    if (change.offers.length > 0) this.#offers = true;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve: () => resolve(outcome), reject });
    });
  }

  /** A lease was given back: others may want it. */
  addOffer(): Promise<void> {
    this.#offers = true;
    return this.settled();
  }

  settled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  succeed(): void {
    for (const { resolve } of this.#waiting) resolve();
  }

  fail(error: unknown): void {
    for (const { reject } of this.#waiting) reject(error);
  }
}
