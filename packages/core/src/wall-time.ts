import type { Run, Short, Task } from '@reveille/protocol';
import { storedChain } from './budget-notes.ts';
import type { Context } from './context.ts';

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
  readonly #context: Pick<Context, 'clock' | 'store'>;
  readonly #task: Task['id'];
  readonly #startedAt: number;
  #counted: readonly Counted[] = [];
  #isCurrent = false;

  constructor(context: Pick<Context, 'clock' | 'store'>, run: Pick<Run, 'task' | 'startedAt'>) {
    this.#context = context;
    this.#task = run.task;
    this.#startedAt = run.startedAt;
  }

  /** Somebody may have set or changed a limit. */
  doubt(): void {
    this.#isCurrent = false;
  }

  /** Whether it may be over. */
  get due(): boolean {
    return !this.#isCurrent || this.#over() !== null;
  }

  /** Which limit the run has come to, after another look at the limits. */
  async short(): Promise<Short | null> {
    if (!this.due) return null;
    await this.#look();
    return this.#over();
  }

  async #look(): Promise<void> {
    const { clock, store } = this.#context;
    this.#isCurrent = true;
    const task = await store.get('task', this.#task);
    const nodes = await storedChain(store, task?.doc.budget ?? null);
    this.#counted = nodes.flatMap(({ id, limits: { wallMs: limitMs }, since = this.#startedAt }) => {
      if (limitMs === undefined) return [];
      const known = this.#counted.find(({ node }) => node === id);
      const before = Math.max(0, clock.now() - since);
      return [{ node: id, since: known?.since ?? clock.mono() - before, limitMs }];
    });
  }

  #over(): Short | null {
    const now = this.#context.clock.mono();
    const over = this.#counted.find(({ since, limitMs }) => now - since >= limitMs);
    if (!over) return null;
    const total = Math.round(now - over.since);
    return { node: over.node, key: 'wallMs', total, limit: over.limitMs, over: true };
  }
}
