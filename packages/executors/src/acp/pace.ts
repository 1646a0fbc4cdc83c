import { setTimeout as sleep } from 'node:timers/promises';

export interface PaceLimits {
  readonly bytesPerSecond: number;
  /** Bytes that may come at once after a quiet time. */
  readonly burst: number;
}

/** Room for everything that an agent honestly says: words come by the kilobyte, now and then a large file. */
export const PACE: PaceLimits = { bytesPerSecond: 2 * 2 ** 20, burst: 4 * 2 ** 20 };
/** The least that a message counts: handling a short one takes as long as a kilobyte. */
export const LEAST_BYTES = 1_024;

/**
 * How fast an agent is listened to. One that says more has to wait: its output is read later, its pipe is full, and so it
 * takes neither our time nor our memory (BND7.31).
 */
export class Pace {
  readonly #limits: PaceLimits;
  #room: number;
  #at = performance.now();

  constructor(limits: PaceLimits = PACE) {
    this.#limits = limits;
    this.#room = limits.burst;
  }

  /** Counts what was heard; resolves when more may be. */
  async heard(bytes: number): Promise<void> {
    const { bytesPerSecond, burst } = this.#limits;
    const now = performance.now();
    this.#room = Math.min(burst, this.#room + ((now - this.#at) / 1_000) * bytesPerSecond) - bytes;
    this.#at = now;
    // A daemon that ends does not wait for it.
    if (this.#room < 0) await sleep((-this.#room / bytesPerSecond) * 1_000, undefined, { ref: false });
  }
}
