import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openSqlite, type Backend, type CrashPoint } from '@reveille/stores';
import { FakeClock } from './fake-clock.ts';
import { change, message, task, writing } from './fixtures.ts';

const insert = (id: `task_${string}`) => ({
  ...writing({ table: 'task', id, expect: 0, doc: task({ id, key: id }) }),
  offers: [{ task: id, rank: 1, delayMs: 0 }],
});

/** The connections that a program opens while this is in force. Node keeps no list of them. */
function watchConnections(): { readonly seen: Set<unknown>; readonly stop: () => void } {
  const seen = new Set<unknown>();
  const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: unknown, sql) {
    seen.add(this);
    spy.mockRestore();
    if (this instanceof DatabaseSync) this.exec(sql);
  });
  return { seen, stop: () => spy.mockRestore() };
}

describe('sqlite, the commit itself', () => {
  let folder: string;
  let backend: Backend;
  let connection: DatabaseSync;
  let at: CrashPoint;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reveille-commit-'));
    at = () => {};
    const { seen, stop } = watchConnections();
    const path = join(folder, 'reveille.db');
    try {
      backend = await openSqlite({ path, clock: new FakeClock(), crashPoint: (name) => at(name) });
    } finally {
      stop();
    }
    const [first] = seen;
    if (!(first instanceof DatabaseSync)) throw new Error('openSqlite opened no connection.');
    connection = first;
  });
  afterEach(async () => {
    await backend.close();
    rmSync(folder, { recursive: true });
  });

  const pragma = (name: string): unknown => connection.prepare(`PRAGMA ${name}`).get()?.[name];

  it('[STO6.1] every commit waits until the disk has it', async () => {
    const modes: unknown[] = [];
    at = (point) => {
      if (point === 'before-commit') modes.push([pragma('synchronous'), pragma('journal_mode')]);
    };
    for (const id of ['task_1', 'task_2', 'task_3'] as const) await backend.store.commit(insert(id));
    // 2 is FULL: the log is synced at each commit. With less, a power cut takes the last ones.
    expect(modes).toEqual(Array.from({ length: 3 }, () => [2, 'wal']));
  });

  it('[STO23.1] a commit that fails when it is made is told to everybody in it, and nothing of it is seen again', async () => {
    const { store, dispatch } = backend;
    await store.commit(insert('task_0'));
    refuseNextCommit();
    const known = task({ id: 'task_0', key: 'task_0' });
    const batch = [
      store.commit(insert('task_1')),
      store.commit(writing({ table: 'task', id: 'task_0', expect: 1, doc: { ...known, why: 'changed' } })),
      store.commit(writing({ table: 'message', id: 'msg_1', expect: 0, doc: message({ id: 'msg_1' }) })),
    ];
    const barrier = store.barrier();
    for (const each of [...batch, barrier])
      await expect(each).rejects.toMatchObject({ code: 'store_failed' });
    expect(store.undone()).toBe(1);
    expect(store.atHand?.('task', 'task_1')).toBeUndefined();
    expect(await store.get('task', 'task_1')).toBeUndefined();
    expect(await store.get('task', 'task_0')).toEqual({ version: 1, doc: known });
    expect(await store.sessionsWithMail(9)).toEqual([]);
    expect((await store.events(0, 9)).map(({ number }) => number)).toEqual([1]);
    expect((await dispatch.claim({ host: 'h', max: 9 })).map((claim) => claim.task)).toEqual(['task_0']);
    // The next one finds the rows, the numbers and the keys as they were before.
    expect(await store.commit(insert('task_1'))).toEqual({ committed: true, lastEvent: 2 });
    expect(await store.get('task', 'task_1')).toMatchObject({ version: 1 });
  });

  it('[STO23.1] a lone fact that was read before its commit failed is gone, and its number is given again', async () => {
    const { store } = backend;
    const fact = (type: string) => change({ facts: [{ type, data: {} }] });
    refuseNextCommit();
    const failing = expect(store.commit(fact('first'))).rejects.toMatchObject({ code: 'store_failed' });
    // A reader brings what is applied into the transaction before the batch is committed.
    expect(await store.events(0, 9)).toMatchObject([{ number: 1, type: 'first' }]);
    await failing;
    expect(await store.events(0, 9)).toEqual([]);
    expect(await store.commit(fact('second'))).toEqual({ committed: true, lastEvent: 1 });
    expect(await store.events(0, 9)).toMatchObject([{ number: 1, type: 'second' }]);
  });

  it('[STO23.1] a lease that is given back alone is held again when the commit fails', async () => {
    const { store, dispatch } = backend;
    await store.commit(insert('task_1'));
    await dispatch.claim({ host: 'h', max: 1 });
    refuseNextCommit();
    const giving = dispatch.giveBack({ host: 'h', task: 'task_1', delayMs: 0 });
    await expect(giving).rejects.toMatchObject({ code: 'store_failed' });
    expect(await dispatch.renew({ host: 'h', tasks: ['task_1'] })).toEqual([]);
    expect(await dispatch.claim({ host: 'other', max: 1 })).toEqual([]);
  });

  /** At the next commit a rule of the tables does not hold, which SQLite looks at when all else is written. */
  function refuseNextCommit(): void {
    connection.exec('CREATE TEMP TABLE owner (id PRIMARY KEY)');
    connection.exec('CREATE TEMP TABLE owned (by REFERENCES owner (id) DEFERRABLE INITIALLY DEFERRED)');
    at = (point) => {
      if (point !== 'before-commit') return;
      at = () => {};
      connection.exec('INSERT INTO owned VALUES (1)');
    };
  }
});
