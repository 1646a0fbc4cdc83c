import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MIGRATIONS, openPostgres, type Backend, type Migration } from '@reveille/stores';
import { storeContract } from './contract.ts';
import { change, task, writing } from './fixtures.ts';
import { dispatchModel, storeModel } from './model.ts';
import type { Subject } from './subject.ts';
import { PostgresProxy } from './postgres-proxy.ts';
import { acquirePostgres } from './postgres-server.ts';

const server = await acquirePostgres();
const admin = server.url === null ? null : new pg.Client(server.url);
await admin?.connect();
afterAll(async () => {
  await admin?.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await admin?.end();
  if (server.url !== null) await server.release();
});

// One schema for all tests of this file, emptied after each: making one takes ten times as long.
const schema = `t_${randomUUID().replaceAll('-', '').slice(0, 20)}`;
const TABLES = [
  'plan',
  'task',
  'session',
  'run',
  'message',
  'request',
  'budget',
  'events',
  'lease',
  'host',
  'sender',
];

async function open(): Promise<Subject> {
  const backend = await openPostgres({ url: server.url ?? '', schema, retryMs: 20 });
  return {
    backend,
    // The server's clock goes its own way; so what was to be later becomes earlier.
    advance: async (ms) => {
      await admin?.query(`UPDATE ${schema}.host SET until = until - ${ms}`);
      await admin?.query(`UPDATE ${schema}.lease SET due = due - ${ms}`);
    },
    reopen: async () => {
      await backend.close();
      return open();
    },
    dispose: async () => {
      await backend.close();
      await admin?.query(TABLES.map((table) => `DELETE FROM ${schema}.${table};`).join(' '));
      await admin?.query(`UPDATE ${schema}.counter SET value = 0`);
    },
  };
}

if (server.url === null) {
  describe('postgres', () => it.skip(`not run: ${server.reason}`, () => {}));
} else {
  storeContract('postgres', open);
  describe('postgres, against a model', () => {
    storeModel(open, 12);
    dispatchModel(open, 15);
  });
  describe('postgres, several hosts', () => severalHosts(server.url));
  describe('postgres, the server', () => theServer(server.url));
  if (PostgresProxy.fits(server.url))
    describe('postgres, lost connections', () => lostConnections(server.url));
}

function severalHosts(url: string): void {
  let subject: Subject;
  let others: Backend[];
  beforeEach(async () => {
    subject = await open();
    others = [];
  });
  afterEach(async () => {
    await Promise.all(others.map((other) => other.close()));
    await subject.dispose();
  });
  const join = async (): Promise<Backend> => {
    const other = await openPostgres({ url, schema, retryMs: 20 });
    others.push(other);
    return other;
  };

  it(
    '[STO9] a reader sees every number once, in order, while several hosts commit',
    { timeout: 60_000 },
    async () => {
      const hosts = [subject.backend, await join(), await join(), await join()];
      const rounds = 60;
      const committing = hosts.map(async ({ store }, host) => {
        for (let round = 0; round < rounds; round++) {
          const facts = Array.from({ length: 1 + ((round + host) % 3) }, () => ({ type: `${host}` }));
          await Promise.all([
            store.commit(change({ facts })),
            store.commit(change({ facts, guards: [{ table: 'task', id: 'x', version: round % 2 }] })),
          ]);
        }
      });
      const seen: number[] = [];
      let over = false;
      const reading = (async () => {
        const { store } = await join();
        for (;;) {
          const last = over;
          const events = await store.events(seen.length, 50);
          seen.push(...events.map(({ number }) => number));
          if (last && events.length === 0) return;
        }
      })();
      await Promise.all(committing);
      over = true;
      await reading;
      expect(seen).toEqual(Array.from({ length: seen.length }, (_, at) => at + 1));
      expect(seen).toHaveLength(await subject.backend.store.lastEvent());
      expect(seen.length).toBeGreaterThan(4 * rounds);
    },
  );

  it('[STO2] of several hosts that change a row at once, one does', async () => {
    const hosts = [subject.backend, await join(), await join()];
    for (let version = 0; version < 20; version++) {
      const doc = task({ id: 'task_1', attempts: version });
      const outcomes = await Promise.all(
        hosts.map(({ store }) =>
          store.commit(writing({ table: 'task', id: 'task_1', expect: version, doc })),
        ),
      );
      expect(outcomes.filter(({ committed }) => committed)).toHaveLength(1);
    }
  });

  it('[STO10] of several hosts that claim at once, each offer goes to one', async () => {
    const hosts = [subject.backend, await join(), await join()];
    const offers = Array.from({ length: 60 }, (_, at) => ({ task: `t${at}`, rank: 1, delayMs: 0 }));
    await subject.backend.store.commit(change({ offers }));
    const claims = await Promise.all(
      hosts.flatMap(({ dispatch }, host) =>
        [1, 2, 3, 4].map(() => dispatch.claim({ host: `h${host}`, max: 5 })),
      ),
    );
    const tasks = claims.flat().map((claim) => claim.task);
    expect(new Set(tasks).size).toBe(60);
    expect(tasks).toHaveLength(60);
  });

  it('[STO19] tells other hosts whom to wake and that there are offers, and not the one that knows', async () => {
    const other = await join();
    const heard: string[] = [];
    subject.backend.store.onHint((sessions) => heard.push(...sessions.map((session) => `self ${session}`)));
    other.store.onHint((sessions) => heard.push(...sessions));
    let offers = 0;
    other.dispatch.onOffer(() => offers++);
    const many = Array.from({ length: 250 }, (_, at) => `session_${String(at).padStart(40, '0')}`);
    await subject.backend.store.commit(change({ wakes: many, offers: [{ task: 'a', rank: 1, delayMs: 0 }] }));
    await subject.backend.store.commit(
      change({ wakes: ['never'], guards: [{ table: 'task', id: 'none', version: 1 }] }),
    );
    await expect.poll(() => heard.length, { interval: 5, timeout: 10_000 }).toBe(250);
    await expect.poll(() => offers, { interval: 5, timeout: 10_000 }).toBeGreaterThan(0);
    expect(heard.toSorted()).toEqual(many);
  });
}

function theServer(url: string): void {
  it('[STO22] says it when there is no server, and when a name cannot be used', async () => {
    const nowhere = 'postgres://reveille@localhost/postgres?host=/nowhere';
    await expect(openPostgres({ url: nowhere })).rejects.toMatchObject({ code: 'store_failed' });
    await expect(openPostgres({ url, schema: 'x; drop' })).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('[STO24] brings an older schema forward, all or nothing, and refuses a newer one', async () => {
    const old = await openPostgres({ url, schema });
    await old.store.commit(writing({ table: 'task', id: 'task_1', expect: 0, doc: task({ id: 'task_1' }) }));
    await old.close();
    const bad: Migration = {
      version: 2,
      name: 'bad',
      statements: () => ['CREATE TABLE half (id TEXT)', 'CREATE TABLE task (id TEXT)'],
    };
    await expect(openPostgres({ url, schema, migrations: [...MIGRATIONS, bad] })).rejects.toMatchObject({
      code: 'store_failed',
    });
    const good: Migration = {
      version: 2,
      name: 'good',
      statements: ({ text }) => [`CREATE TABLE half (id ${text})`],
    };
    const newer = await openPostgres({ url, schema, migrations: [...MIGRATIONS, good] });
    expect((await newer.store.get('task', 'task_1'))?.version).toBe(1);
    await newer.close();
    await expect(openPostgres({ url, schema })).rejects.toMatchObject({
      code: 'store_newer',
      message: expect.stringMatching(/schema 2; this one knows 1/),
    });
    await admin?.query(`DROP SCHEMA ${schema} CASCADE`);
  });

  it('[STO3] a change the server cannot take fails alone', async () => {
    const subject = await open();
    const { store } = subject.backend;
    const insert = (id: string) =>
      writing({ table: 'task', id, expect: 0, doc: task({ id: `task_${id.length}` }) });
    const [before, nul, kind, after] = await Promise.allSettled([
      store.commit(insert('a')),
      store.commit(insert('b\u0000')),
      store.commit(change({ offers: [{ task: 'c', rank: 1.5, delayMs: 0 }] })),
      store.commit(insert('d')),
    ]);
    expect([before.status, nul.status, kind.status, after.status]).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(await store.lastEvent()).toBe(2);
    await subject.dispose();
  });
}

function lostConnections(url: string): void {
  let subject: Subject;
  let proxy: PostgresProxy;
  let backend: Backend;
  beforeEach(async () => {
    subject = await open();
    proxy = await new PostgresProxy(url).start();
    backend = await openPostgres({ url: proxy.url, schema, retryMs: 20 });
  });
  afterEach(async () => {
    await backend.close();
    await proxy.close();
    await subject.dispose();
  });
  const insert = (id: `task_${string}`) => writing({ table: 'task', id, expect: 0, doc: task({ id }) });

  it('[STO27] a lost answer is asked for again, and is the one that was lost', async () => {
    await backend.store.commit(insert('task_1'));
    proxy.inject('lose-answer', 'reveille_commit');
    const [made, refused] = [backend.store.commit(insert('task_2')), backend.store.commit(insert('task_1'))];
    expect(await made).toEqual({ committed: true, lastEvent: 2 });
    expect(await refused).toEqual({ committed: false });
    expect(await backend.store.commit(insert('task_3'))).toEqual({ committed: true, lastEvent: 3 });
  });

  it('[STO27] a lost request is an error, and did not happen', async () => {
    proxy.inject('lose-request', 'reveille_commit');
    await expect(backend.store.commit(insert('task_1'))).rejects.toMatchObject({ code: 'store_failed' });
    expect(await backend.store.get('task', 'task_1')).toBeUndefined();
    expect(await backend.store.commit(insert('task_1'))).toEqual({ committed: true, lastEvent: 1 });
  });

  it('[STO27] a request that comes after it was given up is refused', async () => {
    await backend.store.commit(insert('task_1'));
    proxy.inject('delay-request', 'reveille_commit');
    await expect(backend.store.commit(insert('task_2'))).rejects.toMatchObject({ code: 'store_failed' });
    proxy.deliver();
    await sleep(100);
    expect(await subject.backend.store.get('task', 'task_2')).toBeUndefined();
    expect(await subject.backend.store.lastEvent()).toBe(1);
  });

  it('[STO27] nobody is answered while the server is away, and hints are heard again when it is back', async () => {
    proxy.inject('lose-answer', 'reveille_commit');
    const committing = backend.store.commit(insert('task_1'));
    proxy.down = true;
    let settled = false;
    void committing.finally(() => (settled = true));
    await sleep(100);
    proxy.breakAll();
    await sleep(100);
    expect(settled).toBe(false);
    let offers = 0;
    backend.dispatch.onOffer(() => offers++);
    proxy.down = false;
    expect(await committing).toEqual({ committed: true, lastEvent: 1 });
    await expect.poll(() => offers, { interval: 5, timeout: 10_000 }).toBeGreaterThan(0);
    const heard: string[] = [];
    backend.store.onHint((sessions) => heard.push(...sessions));
    await subject.backend.store.commit(change({ wakes: ['session_1'] }));
    await expect.poll(() => heard, { interval: 5, timeout: 10_000 }).toEqual(['session_1']);
  });

  it('[STO27] a store that is closed while the server is away says that it does not know', async () => {
    proxy.inject('lose-answer', 'reveille_commit');
    proxy.down = true;
    const committing = backend.store.commit(insert('task_1'));
    const failing = expect(committing).rejects.toMatchObject({
      code: 'store_failed',
      data: { unknown: true },
    });
    await sleep(60);
    await backend.close();
    await failing;
  });
}
