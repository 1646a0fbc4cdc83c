import type { Clock } from '@reveille/core';

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #mono: number;
  #wall: number;
  #timers: { at: number; fire: () => void }[] = [];

  constructor(options: { mono?: number; wall?: number } = {}) {
    this.#mono = options.mono ?? 1_000;
    this.#wall = options.wall ?? 1_700_000_000_000;
  }

  now(): number {
    return this.#wall;
  }

  mono(): number {
    return this.#mono;
  }

  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.#mono + ms, fire };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get timers(): number {
    return this.#timers.length;
  }

  advance(ms: number): void {
    this.#mono += ms;
    this.#wall += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#mono);
    this.#timers = this.#timers.filter(({ at }) => at > this.#mono);
    for (const { fire } of due) fire();
  }
}
