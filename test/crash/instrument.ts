import type { Agent, Dispatch, Executor, Store } from '@reveille/core';
import type { Receiver } from '@reveille/protocol';
import { MIGRATIONS, type Backend, type Migration } from '@reveille/stores';
import type { Point } from './points.ts';

type Reach = (name: Point) => void;

/** Puts crash points around what the engine does to the world. The ports behave as before. */
export function instrument(backend: Backend, point: Reach): Backend {
  const { store, dispatch } = backend;
  return {
    store: withPoints(store, point),
    dispatch: claimsWithPoints(dispatch, point),
    close: () => backend.close(),
  };
}

function withPoints(store: Store, point: Reach): Store {
  return {
    ...store,
    commit: async (change) => {
      const outcome = await store.commit(change);
      point('committed');
      return outcome;
    },
    sessionsWithMail: async (limit) => {
      const sessions = await store.sessionsWithMail(limit);
      point('swept');
      return sessions;
    },
  };
}

function claimsWithPoints(dispatch: Dispatch, point: Reach): Dispatch {
  return {
    ...dispatch,
    claim: async (request) => {
      const claims = await dispatch.claim(request);
      if (claims.length > 0) point('claimed');
      return claims;
    },
    reclaim: async (host) => {
      const count = await dispatch.reclaim(host);
      point('reclaimed');
      return count;
    },
  };
}

export function executorWithPoints(executor: Executor, point: Reach): Executor {
  return {
    steers: executor.steers,
    start(spec) {
      point('before-start');
      const agent = executor.start(spec);
      point('after-start');
      return agentWithPoints(agent, point);
    },
    async reap(identity) {
      point('before-reap');
      await executor.reap(identity);
      point('after-reap');
    },
  };
}

function agentWithPoints(agent: Agent, point: Reach): Agent {
  return {
    turn(input) {
      point('before-turn');
      agent.turn(input);
      point('after-turn');
    },
    async steer(input) {
      point('before-steer');
      const answer = await agent.steer(input);
      point('after-steer');
      return answer;
    },
    interrupt: () => agent.interrupt(),
    async seen(ids) {
      point('before-seen');
      const seen = await agent.seen(ids);
      point('after-seen');
      return seen;
    },
    async stop(reason) {
      point('before-stop');
      await agent.stop(reason);
      point('after-stop');
    },
  };
}

export function receiverWithPoints(receiver: Receiver, point: Reach): Receiver {
  return async (deliveries) => {
    point('before-receive');
    await receiver(deliveries);
    point('after-receive');
  };
}

/** The migrations, with a point before every statement, and further ones up to `schema`. */
export function migrationsWithPoints(schema: number, point: Reach): Migration[] {
  const more = Array.from({ length: Math.max(0, schema - MIGRATIONS.length) }, (_, i): Migration => {
    const version = MIGRATIONS.length + i + 1;
    return {
      version,
      name: `later ${version}`,
      statements: () => [`CREATE TABLE later_${version} (id TEXT)`],
    };
  });
  return [...MIGRATIONS, ...more].map((migration) => ({
    ...migration,
    statements: (dialect) => slowly(migration.statements(dialect), () => point('migrating')),
  }));
}

/** The same list; whoever goes through it calls `step` before each element. */
function slowly(list: readonly string[], step: () => void): readonly string[] {
  return Object.assign([...list], {
    *[Symbol.iterator]() {
      for (let i = 0; i < list.length; i++) {
        step();
        yield list[i] ?? '';
      }
    },
  });
}
