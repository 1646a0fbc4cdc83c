import type { Clock } from '@reveille/core';

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** Time that passes only when a test says so. The wall clock can be set; the monotonic one only goes on. */
export class FakeClock implements Clock {
  #mono = 0;
  #wall = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#wall;
  }

  mono(): number {
    return this.#mono;
  }

  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.#mono + ms, fire };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Lets time pass and everything happen that it brings. */
  async advance(ms: number): Promise<void> {
    const end = this.#mono + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#pass(Math.max(0, next.at - this.#mono));
      this.#timers.delete(next);
      next.fire();
      await quiet();
    }
    this.#pass(end - this.#mono);
    await quiet();
  }

  /** Somebody set the wall clock, or the machine slept: no monotonic time has passed. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** The machine stood still, and its monotonic clock counts that: whatever was due meanwhile is due now. */
  async stall(ms: number): Promise<void> {
    this.#pass(ms);
    await this.advance(0);
  }

  /** The same time for another process, which has timers of its own. */
  view(): ClockView {
    return new ClockView(this);
  }

  #pass(ms: number): void {
    this.#mono += ms;
    this.#wall += ms;
  }

  #next(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (timer.at <= end && (!next || timer.at < next.at)) next = timer;
    return next;
  }
}

export class ClockView implements Clock {
  readonly #clock: FakeClock;
  readonly #own = new Set<() => void>();

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  mono(): number {
    return this.#clock.mono();
  }

  after(ms: number, fire: () => void): () => void {
    const off = this.#clock.after(ms, () => {
      this.#own.delete(off);
      fire();
    });
    this.#own.add(off);
    return () => {
      this.#own.delete(off);
      off();
    };
  }

  get pending(): number {
    return this.#own.size;
  }

  /** The process that set the timers is gone. */
  forget(): void {
    for (const off of this.#own) off();
    this.#own.clear();
  }
}

/** Everything that does not wait for time has happened: core knows no other macrotask than a timer. */
export const quiet = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
