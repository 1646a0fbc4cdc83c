import type { Id, IdPrefix, SessionId } from '@reveille/protocol';
import type { Clock, Random } from './ports/clock.ts';
import type { Dispatch } from './ports/dispatch.ts';
import type { Agents, Executors, Workspaces } from './ports/executor.ts';
import type { Store } from './ports/store.ts';
import type { Settings } from './settings.ts';

/** What the engine is given. Everything it knows of the machine is behind these. */
export interface Ports {
  readonly store: Store;
  readonly dispatch: Dispatch;
  readonly clock: Clock;
  readonly random: Random;
  readonly executors: Executors;
  readonly agents: Agents;
  readonly workspaces?: Workspaces;
  /** Which host this is. The same name after a restart means the same machine. */
  readonly host: string;
  readonly settings: Settings;
  readonly log?: (level: 'debug' | 'warn' | 'error', message: string, data: Record<string, unknown>) => void;
}

/** The ports, and the two things of the engine that decisions need. */
export interface Context extends Ports {
  readonly gate: Gate;
  /** Called after a commit, with the sessions that have something to look at. A hint: it may be lost. */
  readonly wake: (sessions: Iterable<SessionId>) => void;
}

export const newId = <P extends IdPrefix>(context: { readonly random: Random }, prefix: P): Id<P> =>
  `${prefix}_${context.random.id()}`;

/** Lets one in at a time, in order of arrival. */
export class Gate {
  #tail: Promise<void> = Promise.resolve();

  async enter(): Promise<() => void> {
    const before = this.#tail;
    let leave = (): void => {};
    this.#tail = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    return leave;
  }
}
