import type { Run, Task } from '@reveille/protocol';
import { wallLimit } from './budget.ts';
import type { Context } from './context.ts';
import { decide } from './decide.ts';

/**
 * How long a run may last, if a budget says so. It counts from the start of the run, on the monotonic clock; the part
 * before this life is known by the wall clock only.
 */
export class WallTime {
  readonly #context: Context;
  readonly #since: number;
  readonly #limitMs: number;

  private constructor(context: Context, run: Run, limitMs: number) {
    const { clock } = context;
    this.#context = context;
    this.#since = clock.mono() - Math.max(0, clock.now() - run.startedAt);
    this.#limitMs = limitMs;
  }

  static async of(context: Context, task: Task, run: Run): Promise<WallTime | null> {
    if (!task.budget) return null;
    const limitMs = await decide(context, (tx) => wallLimit(tx, task.budget));
    return limitMs === null ? null : new WallTime(context, run, limitMs);
  }

  /** Why the run may not go on, once it may not. */
  get over(): string | null {
    const used = this.#context.clock.mono() - this.#since;
    return used >= this.#limitMs ? `the wall time of ${this.#limitMs} ms is used up` : null;
  }
}
