import { join } from 'node:path';
import { DEFAULTS, Engine, type Dispatch, type Store } from '@reveille/core';
import { openSqlite } from '@reveille/stores';
import type { Identity } from '../place/identity.ts';
import { recording } from '../dashboard/recording.ts';
import { Transcripts } from '../dashboard/transcripts.ts';
import { withoutCredentials } from '../log/redact.ts';
import type { Mount, Parts, World } from './parts.ts';
import { systemRandom } from '../system.ts';

export interface ComposeOptions {
  readonly world: Omit<World, 'connect' | 'exchange' | 'approve' | 'permits' | 'sessionOf' | 'taskOf'>;
  readonly identity: Identity;
  readonly parts: Parts;
  /** Events up to this number are on disk. */
  readonly committed: (last: number) => void;
}

export interface Composition {
  readonly engine: Engine;
  readonly mounts: readonly Mount[];
  readonly transcripts: Transcripts;
  /** What a person should know before they start work. */
  readonly warnings: readonly string[];
  /** To be called when the engine has started. */
  started(): Promise<void>;
  /** Nothing new begins from now on; what runs goes on. */
  stopClaiming(): void;
  /** The engine must have been stopped. */
  close(): Promise<void>;
}

/** Puts the rooms together: the only place that knows all of them. The engine is not started yet. */
export async function compose(options: ComposeOptions): Promise<Composition> {
  const { identity, committed, parts } = options;
  const world: World = {
    ...options.world,
    connect: (caller) => engine.as(caller),
    exchange: (caller) => engine.exchange(caller),
    approve: (caller, asked, signal) => engine.approve(caller, asked, signal),
    permits: {
      judge: (caller, action, also) => engine.permits.judge(caller, action, also),
      permit: (caller, action, options) => engine.permits.permit(caller, action, options),
    },
    sessionOf: async (id) => (await backend.store.get('session', id))?.doc ?? null,
    taskOf: async (id) => (await backend.store.get('task', id))?.doc ?? null,
  };
  const { config, place, clock, log } = world;
  const backend = await openSqlite({ path: place.database, clock });
  const claims = stoppable(backend.dispatch);
  const transcripts = new Transcripts({
    folder: join(place.home, 'transcripts'),
    failed: (error) => log.warn('a transcript could not be written', { error }),
  });
  const workspaces = parts.workspaces?.(world);
  const executors = parts.executors(world);
  const defaultBackend = config.engine.defaultBackend ?? executors.usual ?? DEFAULTS.defaultBackend;
  const engine: Engine = new Engine({
    store: telling(parts.store?.(backend.store) ?? backend.store, committed, parts.heard),
    dispatch: claims.dispatch,
    clock,
    random: systemRandom(),
    executors: recording(executors, transcripts, clock),
    agents: parts.agents(world),
    ...(workspaces ? { workspaces } : {}),
    ...(parts.tally ? { tally: parts.tally } : {}),
    ...(parts.machine ? { machine: parts.machine } : {}),
    host: identity.host,
    settings: { ...config.engine, defaultBackend },
    log: (level, message, data) => log[level](message, data),
  });
  return {
    engine,
    mounts: parts.mounts?.(world) ?? [],
    transcripts,
    warnings: parts.warnings ?? [],
    stopClaiming: claims.stop,
    async started() {
      await parts.started?.(world);
      await transcripts.forget(clock.now());
    },
    async close() {
      await parts.close?.();
      await transcripts[Symbol.asyncDispose]();
      await backend.close();
    },
  };
}

/**
 * The store, which says after each commit how far the events reach. Every row and every event is written by way of it, so
 * a credential that an agent put into a report, a message or its last words gets no further (OBS1).
 */
function telling(store: Store, committed: (last: number) => void, heard: Parts['heard']): Store {
  return {
    ...store,
    async commit(wanted) {
      const change = {
        ...wanted,
        writes: withoutCredentials(wanted.writes),
        facts: withoutCredentials(wanted.facts),
      };
      const outcome = await store.commit(change);
      if (outcome.committed) {
        committed(outcome.lastEvent);
        heard?.(change);
      }
      return outcome;
    },
  };
}

/** The first step of a stop: leases are kept and renewed, but nothing is taken any more. */
function stoppable(dispatch: Dispatch): { dispatch: Dispatch; stop: () => void } {
  let stopped = false;
  return {
    dispatch: {
      ...dispatch,
      claim: async (request) => (stopped ? [] : dispatch.claim(request)),
      nextDueIn: async () => (stopped ? null : dispatch.nextDueIn()),
    },
    stop: () => {
      stopped = true;
    },
  };
}
