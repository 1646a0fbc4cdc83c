import type { Id, IdPrefix, SessionId } from '@reveille/protocol';
import type { Awake } from './awake.ts';
import type { Agents } from './ports/agents.ts';
import type { Clock, Random } from './ports/clock.ts';
import type { Dispatch } from './ports/dispatch.ts';
import type { Gate } from './gate.ts';
import type { Governor } from './governor.ts';
import type { Moments } from './hand-overs.ts';
import type { Executors } from './ports/executor.ts';
import type { HostGauge, HostLimits } from './ports/host-gauge.ts';
import type { Store } from './ports/store.ts';
import type { Workspaces } from './ports/workspaces.ts';
import type { RunTally } from './run-counts.ts';
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
  /** Looks at this host, and what of it is kept for others; absent: nobody looks, and nothing is scarce. */
  readonly machine?: { readonly gauge: HostGauge; readonly limits: HostLimits | null };
  /** Absent: nobody counts. */
  readonly tally?: Pick<RunTally, 'total'>;
  readonly log?: (level: 'debug' | 'warn' | 'error', message: string, data: Record<string, unknown>) => void;
}

/** The ports, and the things of the engine that decisions need. */
export interface Context extends Ports {
  readonly gate: Gate;
  readonly retries: Retries;
  readonly awake: Awake;
  readonly moments: Moments;
  /** Absent: nobody looks at this host. */
  readonly governor?: Governor;
  /** Called after a commit, with the sessions that have something to look at. A hint: it may be lost. */
  readonly wake: (sessions: Iterable<SessionId>) => void;
}

export const newId = <P extends IdPrefix>(context: { readonly random: Random }, prefix: P): Id<P> =>
  `${prefix}_${context.random.id()}`;

const RETRY_MS = 1_000;

/** What a failing store interrupted is taken up again a second later; after a stop a later life finds it. */
export class Retries {
  readonly #clock: Clock;
  readonly #pending = new Set<() => void>();
  readonly #keys = new Set<string>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `key`: while a retry of that name waits, it stands for this one too. Retries that cause each other would multiply. */
  later(fire: () => void, key?: string): void {
    if (this.#closed || (key !== undefined && this.#keys.has(key))) return;
    if (key !== undefined) this.#keys.add(key);
    const cancel = this.#clock.after(RETRY_MS, () => {
      this.#pending.delete(cancel);
      if (key !== undefined) this.#keys.delete(key);
      fire();
    });
    this.#pending.add(cancel);
  }

  close(): void {
    this.#closed = true;
    for (const cancel of this.#pending) cancel();
    this.#pending.clear();
  }
}
