import type { Clock } from './ports/clock.ts';

/** Between two looks at the clock that come every second, more than this is no work: the machine stood still. */
const LONGEST_MS = 5_000;

/**
 * How long this engine has been awake. A laptop that sleeps, a machine that is paused and a process that is
 * stopped also stop the agents, and some monotonic clocks count that time: nobody may be called silent, stuck or late for
 * it (HLT4). Leases are measured by the real clock: other hosts do not sleep along.
 */
export class Awake {
  readonly #clock: Clock;
  #lastLook: number;
  #slept = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastLook = clock.mono();
  }

  get ms(): number {
    return Math.min(this.#clock.mono(), this.#lastLook + LONGEST_MS) - this.#slept;
  }

  /** To be called at every tick. */
  look(): void {
    const mono = this.#clock.mono();
    this.#slept += Math.max(0, mono - this.#lastLook - LONGEST_MS);
    this.#lastLook = mono;
  }
}
