import { FAULTS_THAT_HOLD_UP, type Fault } from './options.ts';
import type { Timeline } from './timeline.ts';

/** How long a fault that is over at once may still hold somebody up, and any other once it is over. */
const AFTER_MS = 5_000;

const CLOCKS: readonly Fault[] = ['wall_jump', 'laptop_sleeps', 'wall_set_back'];

/** Which faults have struck, and whether one of them can be why something takes its time. */
export class Faults {
  readonly struck = new Map<Fault, number>();
  readonly #timeline: Timeline;
  #until = -Infinity;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  strike(fault: Fault): void {
    this.struck.set(fault, (this.struck.get(fault) ?? 0) + 1);
    if (FAULTS_THAT_HOLD_UP.includes(fault)) this.last(0);
  }

  /** A fault that holds somebody up lasts for so long. */
  last(ms: number): void {
    this.#until = Math.max(this.#until, this.#timeline.now + ms + AFTER_MS);
  }

  /** Nothing has struck that could keep a word from being recorded at once. */
  get isCalm(): boolean {
    return this.isCalmSince(0);
  }

  get turnedClocks(): boolean {
    return CLOCKS.some((fault) => this.struck.has(fault));
  }

  /** As `isCalm`, from a moment on; clocks may have been turned. */
  isCalmSince(moment: number): boolean {
    return this.#until < moment;
  }
}
