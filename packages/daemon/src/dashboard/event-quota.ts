import type { ExecutorEvent } from '@reveille/core';
import { LONGEST_TEXT } from './transcripts.ts';

/** Characters of events of one agent: in a second in the long run, and at once after a quiet time. */
const PER_SECOND = 64_000;
const BURST = 2_000_000;
/** An event counts so much besides its words. */
const LEAST = 200;

/** Events that only say what an agent does. All others decide something, are few, and are never left out. */
const TOLD: ReadonlySet<ExecutorEvent['type']> = new Set([
  'output',
  'thought',
  'tool_call',
  'tool_end',
  'file_touched',
]);

/**
 * How much one agent can make others write down, show and keep. Events past that are left out and counted; when there is
 * room again, the number is told once.
 */
export class EventQuota {
  readonly #now: () => number;
  #room = BURST;
  #at: number;
  #leftOut = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#at = now();
  }

  /** False: there is no room for it. */
  takes(event: ExecutorEvent): boolean {
    if (!TOLD.has(event.type)) return true;
    const now = this.#now();
    this.#room = Math.min(BURST, this.#room + ((now - this.#at) / 1_000) * PER_SECOND);
    this.#at = now;
    if (this.#room < 0) {
      this.#leftOut++;
      return false;
    }
    this.#room -= LEAST + Math.min(lengthOf(event), LONGEST_TEXT);
    return true;
  }

  /** How many events were left out since the last time; 0 while there is no room to say so. */
  leftOut(): number {
    if (this.#room < 0) return 0;
    const count = this.#leftOut;
    this.#leftOut = 0;
    return count;
  }
}

function lengthOf(event: ExecutorEvent): number {
  switch (event.type) {
    case 'output':
    case 'thought':
      return event.text.length;
    case 'tool_call':
      return event.name.length + event.digest.length;
    case 'file_touched':
      return event.path.length;
    default:
      return 0;
  }
}
