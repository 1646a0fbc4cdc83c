import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MIGRATIONS, openSqlite, type Backend, type Migration, type SqliteOptions } from '@reveille/stores';
import { FakeClock } from './fake-clock.ts';
import { change, run, task, writing } from './fixtures.ts';

const insert = (id: `task_${string}`, prompt = 'Do it.') => ({
  ...writing({ table: 'task', id, expect: 0, doc: task({ id, key: id, prompt }) }),
  offers: [{ task: id, rank: 1, delayMs: 0 }],
});

describe('sqlite, the file', () => {
  let folder: string;
  let path: string;
  let opened: Backend[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'reveille-file-'));
    path = join(folder, 'reveille.db');
    opened = [];
  });
  afterEach(async () => {
    for (const backend of opened) await backend.close();
    rmSync(folder, { recursive: true });
  });

  const open = async (options: Partial<SqliteOptions> = {}): Promise<Backend> => {
    const backend = await openSqlite({ path, clock: new FakeClock(), ...options });
    opened.push(backend);
    return backend;
  };
  const openIds = async ({ store }: Backend): Promise<string[]> =>
    (await store.find('task', { list: 'open', equal: [1] })).map(({ doc }) => doc.id);

  it('[STO20] refuses a file that another engine uses, in this process or another, and leaves it alone', async () => {
    const first = await open();
    await first.store.commit(insert('task_1'));
    await expect(open()).rejects.toMatchObject({
      code: 'store_locked',
      message: expect.stringContaining('Stop it, or give'),
    });
    await first.store.commit(insert('task_2'));
    await first.close();
    const child = await startChild(path);
    try {
      await expect(open()).rejects.toMatchObject({ code: 'store_locked' });
    } finally {
      await child.kill();
    }
    expect(await openIds(await open())).toEqual(expect.arrayContaining(['task_1', 'task_2']));
  });

  it('[STO21] refuses what is not a database, or not this program’s', async () => {
    writeFileSync(path, 'This is a letter, not a database. '.repeat(100));
    await expect(open()).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringContaining(path),
    });
    expect(readFileSync(path, 'utf8')).toContain('a letter');
    const other = new DatabaseSync(join(folder, 'other.db'));
    other.exec('CREATE TABLE recipes (name TEXT)');
    other.close();
    await expect(open({ path: join(folder, 'other.db') })).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringContaining('another program'),
    });
  });

  it('[STO21] refuses a file that was damaged', async () => {
    const first = await open();
    for (let n = 0; n < 200; n++) await first.store.commit(insert(`task_${n}`, 'x'.repeat(2_000)));
    await first.close();
    // Not closed in order, so that it is looked at; and a third of it is gone.
    const db = new DatabaseSync(path);
    db.exec(`UPDATE meta SET value = '0' WHERE key = 'clean'`);
    db.close();
    truncateSync(path, 200_000);
    await expect(open()).rejects.toMatchObject({ code: 'store_corrupt' });
  });

  it('[STO22] refuses a folder, and a place that cannot be written', async () => {
    mkdirSync(path);
    await expect(open()).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining('is a folder'),
    });
    writeFileSync(join(folder, 'file'), '');
    await expect(open({ path: join(folder, 'file', 'reveille.db') })).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining('Create it, or name another place'),
    });
    if (process.getuid?.() === 0) return; // Root may write anywhere.
    mkdirSync(join(folder, 'closed'));
    chmodSync(join(folder, 'closed'), 0o500);
    await expect(open({ path: join(folder, 'closed', 'reveille.db') })).rejects.toMatchObject({
      code: 'store_failed',
    });
  });

  it.runIf(process.platform === 'linux')('[STO22] says at once that nothing can be made there', async () => {
    await expect(
      openSqlite({ path: '/proc/reveille/folder/db', clock: new FakeClock() }),
    ).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining('cannot be used'),
    });
  });

  it('[STO22] makes the folder it is to lie in', async () => {
    const backend = await open({ path: join(folder, 'a', 'b', 'reveille.db') });
    expect((await backend.store.commit(insert('task_1'))).committed).toBe(true);
  });

  it('[STO23] a full disk fails the whole commit, loses nothing, and is over when there is room', async () => {
    const small = await open({ maxPages: 60 });
    await small.store.commit(insert('task_0'));
    await small.dispatch.claim({ host: 'h1', max: 1 });
    const big = 'x'.repeat(300_000);
    const batch = [
      small.store.commit(insert('task_1')),
      small.store.commit(insert('task_2', big)),
      small.store.commit(insert('task_3', big)),
    ];
    const barrier = small.store.barrier();
    for (const each of batch)
      await expect(each).rejects.toMatchObject({
        code: 'store_full',
        message: expect.stringContaining('free some space'),
      });
    await expect(barrier).rejects.toMatchObject({ code: 'store_full' });
    expect(small.store.undone()).toBe(1);
    expect(await openIds(small)).toEqual(['task_0']);
    expect(await small.store.lastEvent()).toBe(1);
    expect(await small.dispatch.renew({ host: 'h1', tasks: ['task_0'] })).toEqual([]);
    expect(await small.dispatch.claim({ host: 'h1', max: 9 })).toEqual([]);
    expect(await small.store.commit(insert('task_4'))).toEqual({ committed: true, lastEvent: 2 });
    await small.close();
    expect(await openIds(await open())).toEqual(['task_0', 'task_4']);
  });

  it('[STO23] a full disk met by a lookup fails the changes it would have lost', async () => {
    const small = await open({ maxPages: 60 });
    const commit = small.store.commit(insert('task_1', 'x'.repeat(900_000)));
    const looking = openIds(small);
    await expect(looking).rejects.toMatchObject({ code: 'store_full' });
    await expect(commit).rejects.toMatchObject({ code: 'store_full' });
    expect(await openIds(small)).toEqual([]);
  });

  it('[STO3] a document that cannot be written fails its own change alone', async () => {
    const { store } = await open();
    const end = {
      status: 'success',
      cause: 'report',
      output: '',
      structured: 1n,
      error: null,
      work: null,
      at: 1,
    } as const;
    const bad = writing({ table: 'run', id: 'run_1', expect: 0, doc: run({ id: 'run_1', end }) });
    const [before, failed, facts, after] = await Promise.allSettled([
      store.commit(insert('task_1')),
      store.commit(bad),
      store.commit(change({ facts: [{ type: 'bad', data: { n: 1n } }] })),
      store.commit(insert('task_2')),
    ]);
    expect([before.status, failed.status, facts.status, after.status]).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(await store.get('run', 'run_1')).toBeUndefined();
    expect(await store.lastEvent()).toBe(2);
  });

  it('[STO24] brings an older file forward, with a copy of it first that is never overwritten', async () => {
    const second: Migration = {
      version: 2,
      name: 'notes',
      statements: ({ text }) => [
        `CREATE TABLE note (id ${text} PRIMARY KEY)`,
        `INSERT INTO note VALUES ('made')`,
      ],
    };
    const third: Migration = {
      version: 3,
      name: 'more',
      statements: () => [`ALTER TABLE note ADD COLUMN more TEXT`],
    };
    const old = await open();
    await old.store.commit(insert('task_1'));
    await old.close();
    writeFileSync(`${path}.v1.backup`, 'an older copy');
    const newer = await open({ migrations: [...MIGRATIONS, second, third] });
    expect(await openIds(newer)).toEqual(['task_1']);
    await newer.close();
    expect(readFileSync(`${path}.v1.backup`, 'utf8')).toBe('an older copy');
    expect(readdirSync(folder).filter((name) => name.includes('backup'))).toEqual([
      'reveille.db.v1.backup',
      'reveille.db.v1.backup.2',
      'reveille.db.v2.backup',
    ]);
    const backup = await open({ path: `${path}.v1.backup.2` });
    expect(await openIds(backup)).toEqual(['task_1']);
    await expect(open()).rejects.toMatchObject({
      code: 'store_newer',
      message: expect.stringMatching(/schema 3; this one knows 1.*Use that version/),
    });
  });

  it('[STO24] a file says which value of a row is which, so that one of an older version is read as it was written', async () => {
    const doc = task({ id: 'task_1', key: 'task_1' });
    const first = await open();
    await first.store.commit(writing({ table: 'task', id: 'task_1', expect: 0, doc }));
    await first.close();
    // As if it had been written by one that knew the fields in another order, and not all of them.
    const live = { why: 'older', since: 1 } as const;
    const fields = { fixed: Object.keys(doc).toReversed(), live: Object.keys(live) };
    const older = new DatabaseSync(path);
    older
      .prepare(`UPDATE task SET doc = ?, live = ? WHERE id = 'task_1'`)
      .run(JSON.stringify(Object.values(doc).toReversed()), JSON.stringify(Object.values(live)));
    const named = older.prepare(`UPDATE meta SET value = ? WHERE key = 'fields.task'`);
    expect(named.run(JSON.stringify(fields)).changes).toBe(1);
    older.close();
    const second = await open();
    expect((await second.store.get('task', 'task_1'))?.doc).toEqual({ ...doc, ...live });
    const next = { ...doc, ...live, byHand: true };
    await second.store.commit(writing({ table: 'task', id: 'task_1', expect: 1, doc: next }));
    await second.close();
    expect((await (await open()).store.get('task', 'task_1'))?.doc).toEqual(next);
  });

  it('[STO24] a migration that fails leaves the file as it was', async () => {
    const bad: Migration = {
      version: 2,
      name: 'bad',
      statements: () => ['CREATE TABLE half (id TEXT)', 'CREATE TABLE task (id TEXT)'],
    };
    await (await open()).store.commit(insert('task_1'));
    await opened[0]?.close();
    await expect(open({ migrations: [...MIGRATIONS, bad] })).rejects.toMatchObject({ code: 'store_failed' });
    const again = await open();
    expect(await openIds(again)).toEqual(['task_1']);
    await again.close();
    const good: Migration = { ...bad, statements: () => ['CREATE TABLE half (id TEXT)'] };
    expect(await openIds(await open({ migrations: [...MIGRATIONS, good] }))).toEqual(['task_1']);
  });

  it('[STO11] a delay survives a restart, and a wall clock set back does not make it longer', async () => {
    const clock = new FakeClock({ mono: 50_000 });
    const first = await open({ clock });
    await first.store.commit(change({ offers: [{ task: 'a', rank: 1, delayMs: 60_000 }] }));
    await first.close();
    const later = await open({ clock: new FakeClock({ mono: 3, wall: clock.now() + 20_000 }) });
    expect(await later.dispatch.nextDueIn()).toBe(40_000);
    await later.close();
    const set = await open({ clock: new FakeClock({ mono: 3, wall: clock.now() - 1e9 }) });
    expect(await set.dispatch.nextDueIn()).toBe(60_000);
  });

  it('[STO25] leaves no timer and no log behind when it is closed', async () => {
    const clock = new FakeClock();
    const backend = await open({ clock });
    const committing = backend.store.commit(insert('task_1'));
    await backend.close();
    expect(await committing).toEqual({ committed: true, lastEvent: 1 });
    expect(clock.timers).toBe(0);
    expect(existsSync(`${path}-wal`)).toBe(false);
    await expect(backend.store.commit(insert('task_2'))).rejects.toMatchObject({ code: 'store_failed' });
    await expect(backend.store.get('task', 'task_1')).rejects.toMatchObject({ code: 'store_failed' });
    await backend.close();
  });

  it('[STO25] writes the log back when nothing happens', async () => {
    const clock = new FakeClock();
    const { store } = await open({ clock });
    await store.commit(insert('task_1'));
    const before = readFileSync(path).length;
    clock.advance(900);
    await store.commit(insert('task_2', 'x'.repeat(100_000)));
    clock.advance(900);
    expect(readFileSync(path).length).toBe(before);
    clock.advance(200);
    expect(readFileSync(path).length).toBeGreaterThan(before + 100_000);
    expect(clock.timers).toBe(0);
  });

  it('[STO25] a commit under way when the log is to be written back is not disturbed', async () => {
    const clock = new FakeClock();
    const backend = await open({ clock });
    await backend.store.commit(insert('task_1'));
    const committing = backend.store.commit(insert('task_2'));
    // The lookup opens the transaction.
    expect(await openIds(backend)).toEqual(['task_1', 'task_2']);
    clock.advance(2_000);
    expect(await committing).toEqual({ committed: true, lastEvent: 2 });
    clock.advance(1_001);
    expect(clock.timers).toBe(0);
  });

  for (const point of ['before-apply', 'before-commit', 'after-commit', 'after-commit-before-ack']) {
    it(`[STO6] nothing acknowledged is lost, killed at ${point}`, async () => {
      const child = await startChild(path, point, 13);
      await child.ended;
      await verify(child.acknowledged());
    });
  }

  it('[STO36] rows are cached up to a length in all, and read from the file beyond it', async () => {
    const backend = await open();
    const { store } = backend;
    const ids = Array.from({ length: 40 }, (_, i) => `run_${i + 100}` as const);
    const said = 'x'.repeat(1_000_000);
    for (const id of ids)
      await store.commit(writing({ table: 'run', id, expect: 0, doc: run({ id, lastWords: said }) }));
    const cached = (): number => ids.filter((id) => store.atHand?.('run', id) !== undefined).length;
    expect(cached()).toBeLessThanOrEqual(17);
    for (const id of ids) expect((await store.get('run', id))?.doc.lastWords.length).toBe(said.length);
    expect(cached()).toBeLessThanOrEqual(17);
    await backend.close();
  });

  it('[STO6] nothing acknowledged is lost, killed at any time', async () => {
    for (let cycle = 0; cycle < 3; cycle++) {
      const child = await startChild(path);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      await child.kill();
      await verify(child.acknowledged());
    }
  });

  /** Every task that was acknowledged is there, whole: its row, its event, its offer; numbers have no gaps. */
  async function verify(acknowledged: string[]): Promise<void> {
    const backend = await open();
    const ids = await openIds(backend);
    expect(new Set(ids).isSupersetOf(new Set(acknowledged))).toBe(true);
    const events = await backend.store.events(0, 1e9);
    expect(events.map(({ number, data }) => [number, data?.['id']])).toEqual(
      ids.map((id, at) => [at + 1, id]),
    );
    const claims = await backend.dispatch.claim({ host: 'h', max: 1e9 });
    expect(claims.map(({ task: name }) => name)).toEqual(ids);
    await backend.close();
  }
});

async function startChild(path: string, point?: string, passes = 0) {
  const script = fileURLToPath(import.meta.resolve('./sqlite-child.ts'));
  const args = ['--conditions=source', script, path, ...(point ? [point, String(passes)] : [])];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString()));
  const ended = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), ended]);
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return { ended, kill, acknowledged: () => said.split('\n').filter((line) => line.startsWith('task_')) };
}
