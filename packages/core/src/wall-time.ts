import type { Run, Short, Task } from '@reveille/protocol';
import { budgetChain } from './budget.ts';
import type { Context } from './context.ts';
import { decide } from './decide.ts';

interface Counted {
  readonly node: string;
  /** On the monotonic clock. */
  readonly since: number;
  readonly limitMs: number;
}

/**
 * How long a run may last, if a budget says so. A budget's time counts from the first run under it, on the monotonic
 * clock; the part before this life is known by the wall clock only.
 */
export class WallTime {
  readonly #context: Context;
  readonly #task: Task;
  #counted: readonly Counted[];

  private constructor(context: Context, task: Task, counted: readonly Counted[]) {
    this.#context = context;
    this.#task = task;
    this.#counted = counted;
  }

  static async of(context: Context, task: Task, run: Run): Promise<WallTime | null> {
    if (!task.budget) return null;
    const { clock } = context;
    const nodes = await decide(context, (tx) => budgetChain(tx, task.budget));
    const counted = nodes.flatMap(({ id, limits, since = run.startedAt }) => {
      const before = Math.max(0, clock.now() - since);
      return limits.wallMs === undefined
        ? []
        : [{ node: id, since: clock.mono() - before, limitMs: limits.wallMs }];
    });
    return counted.length === 0 ? null : new WallTime(context, task, counted);
  }

  /** Whether it may be over. */
  get due(): boolean {
    return this.#over() !== null;
  }

  /** Which limit the run has come to, after another look at whether somebody has raised it. */
  async short(): Promise<Short | null> {
    if (!this.due) return null;
    const nodes = await decide(this.#context, (tx) => budgetChain(tx, this.#task.budget));
    const limits = new Map(nodes.map((node) => [node.id, node.limits.wallMs]));
    this.#counted = this.#counted.flatMap((counted) => {
      const limitMs = limits.get(counted.node);
      return limitMs === undefined ? [] : [{ ...counted, limitMs }];
    });
    return this.#over();
  }

  #over(): Short | null {
    const now = this.#context.clock.mono();
    const over = this.#counted.find(({ since, limitMs }) => now - since >= limitMs);
    if (!over) return null;
    const total = Math.round(now - over.since);
    return { node: over.node, key: 'wallMs', total, limit: over.limitMs, over: true };
  }
}
