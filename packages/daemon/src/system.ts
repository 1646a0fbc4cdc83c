import { randomInt } from 'node:crypto';
import type { Clock, Random } from '@reveille/core';

/** What setTimeout can take; longer waits are made of several. */
const LONGEST_MS = 2_147_483_647;

/** The machine's time. */
export function systemClock(): Clock {
  const mono = (): number => performance.now();
  return {
    now: () => Date.now(),
    mono,
    after(ms, fire) {
      const due = mono() + ms;
      let timer: NodeJS.Timeout;
      const arm = (): void => {
        timer = setTimeout(look, Math.min(Math.ceil(due - mono()), LONGEST_MS));
      };
      // A timer of Node may be up to a millisecond early.
      const look = (): void => (mono() < due ? arm() : fire());
      arm();
      return () => clearTimeout(timer);
    },
  };
}

/** Ids are the time, a count within the millisecond, and who gave them: they grow, and no two processes share one. */
export function systemRandom(): Random {
  const process = base36(randomInt(36 ** 6), 6);
  let last = 0;
  let count = 0;
  return {
    next: () => Math.random(),
    id() {
      const now = Math.max(Date.now(), last);
      count = now === last ? count + 1 : 0;
      last = count < 36 ** 3 ? now : now + 1;
      if (last !== now) count = 0;
      return `${base36(last, 9)}${base36(count, 3)}${process}`;
    },
  };
}

const base36 = (value: number, length: number): string => value.toString(36).padStart(length, '0');
