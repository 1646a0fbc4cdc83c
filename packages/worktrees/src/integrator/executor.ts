import type { Agent, Executor, StartSpec, TurnInput } from '@reveille/core';
import { isReveilleError, isScarce, type Caller, type Orchestrator, type Task } from '@reveille/protocol';
import { integrate, type Bench, type Integration } from './integration.ts';

export interface IntegratorOptions {
  readonly connect: (caller: Caller) => Orchestrator;
  /** What an integration works with; `signal`: it is to be broken off. */
  readonly bench: (spec: StartSpec, signal: AbortSignal) => Promise<Bench>;
  readonly onConflict: (task: Task) => Promise<Integration['onConflict']>;
}

/**
 * The agent that integrates plans: no model, no process of its own. Every turn looks at what is to be done and does as
 * much of it as it can, so it may be killed at any time and needs no memory.
 */
export const integratorExecutor = (options: IntegratorOptions): Executor => ({
  steers: false,
  start(spec) {
    spec.report({ type: 'started', identity: null, resume: null });
    return new Integrator(spec, options);
  },
  reap: async () => undefined,
});

class Integrator implements Agent {
  readonly #spec: StartSpec;
  readonly #options: IntegratorOptions;
  readonly #stopping = new AbortController();
  #turn: Promise<void> = Promise.resolve();

  constructor(spec: StartSpec, options: IntegratorOptions) {
    this.#spec = spec;
    this.#options = options;
  }

  turn(input: TurnInput): void {
    this.#turn = this.#work(input);
  }

  async steer(): Promise<'refused'> {
    return 'refused';
  }

  /** A step is short, and half of one is none: it ends by itself. */
  interrupt(): void {}

  async seen(): Promise<ReadonlyMap<string, 'unknown'>> {
    return new Map();
  }

  async stop(reason: string): Promise<void> {
    this.#stopping.abort(new Error(reason));
    await this.#turn;
    this.#spec.report({ type: 'exited', detail: reason });
  }

  async #work({ turn }: TurnInput): Promise<void> {
    const { task, session, run, epoch, report } = this.#spec;
    const { signal } = this.#stopping;
    let lastWords = '';
    const say = (text: string): void => {
      lastWords = text;
      report({ type: 'output', text });
    };
    try {
      const calls = this.#options.connect({ kind: 'worker', session, run, epoch });
      const bench = await this.#options.bench(this.#spec, signal);
      await integrate({ task, calls, bench, say, onConflict: await this.#options.onConflict(task) });
      report({ type: 'turn_ended', turn, lastWords });
    } catch (error) {
      // It was stopped, or its run is over: whoever did that knows.
      if (signal.aborted || isReveilleError(error, 'stale_caller') || isReveilleError(error, 'stopping'))
        return;
      report({
        type: 'failed',
        class: 'workspace',
        message: error instanceof Error ? error.message : String(error),
        scarce: isScarce(error),
      });
    }
  }
}
