import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startProgram, type Ended, type Running } from './program-process.ts';

describe('what somebody sees whose database cannot be used', { timeout: 30_000 }, () => {
  let folder: string;
  let path: string;
  let running: Running[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'reveille-crash-database-'));
    path = join(folder, 'reveille.db');
    running = [];
  });
  afterEach(async () => {
    for (const { child, ended } of running) {
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true });
  });

  function start(database = path): Running {
    const program = startProgram('program', [database]);
    running.push(program);
    return program;
  }

  async function stop({ child, ended }: Running): Promise<Ended> {
    child.kill('SIGTERM');
    return ended;
  }

  /** One sentence for a person, the exit code of the table, no stack, no word on stdout. */
  function expectRefusal({ code, stdout, stderr }: Ended, words: RegExp, database = path): void {
    expect(stderr).toMatch(words);
    expect(stderr).toContain(database);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect({ code, stdout }).toEqual({ code: 8, stdout: '' });
  }

  const sessionsIn = (file: string): number => {
    const db = new DatabaseSync(file);
    try {
      return (db.prepare('SELECT count(*) AS n FROM session').get() as { n: number }).n;
    } finally {
      db.close();
    }
  };

  test('[STO20] two engines on one file: the second is told what to do, the first goes on', async () => {
    const first = start();
    expect(await first.up).toMatch(/^up session_/);
    expectRefusal(await start().ended, /^reveille: Another engine is using .*Stop it, or give this one/);
    expect((await stop(first)).code).toBe(0);
    expect(sessionsIn(path)).toBe(1);
    const next = start();
    expect(await next.up).toMatch(/^up/);
    expect(await stop(next)).toMatchObject({ code: 0, stderr: '' });
    expect(sessionsIn(path)).toBe(2);
  });

  test('[STO20] a file that another program has locked', async () => {
    expect((await stop(await upped(start()))).code).toBe(0);
    const other = new DatabaseSync(path);
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    expectRefusal(await start().ended, /Another engine is using .*Stop it/);
    other.close();
    expect((await stop(await upped(start()))).code).toBe(0);
  });

  test('[STO21] a file that is no database is refused and not touched', async () => {
    const text = 'Dear engine, this is a letter. '.repeat(500);
    writeFileSync(path, text);
    expectRefusal(
      await start().ended,
      /damaged or is not a database\. Move it away and put a backup in its place/,
    );
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('[STO21] a file that lost its end', async () => {
    await upped(start());
    const [{ child, ended }] = running as [Running];
    child.kill('SIGKILL');
    await ended;
    const db = new DatabaseSync(path);
    db.exec(`INSERT INTO events (first, count, at, facts) VALUES (1000, 1, 0, '${'x'.repeat(500_000)}')`);
    db.close();
    truncateSync(path, 150_000);
    expectRefusal(await start().ended, /damaged/);
  });

  test('[STO21] a database of another program', async () => {
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE recipe (name TEXT)');
    other.close();
    expectRefusal(await start().ended, /a database of another program\. Give Reveille a file of its own/);
  });

  test('[STO24] a database of a newer version, until that version is used again', async () => {
    await stop(await upped(start()));
    const env = { SCHEMA: '2' };
    const newer = startProgram('victim', [folder, '1', '1', 'finish'], { env });
    running.push(newer);
    expect(await newer.ended).toMatchObject({ code: 0 });
    expect(existsSync(`${path}.v1.backup`)).toBe(true);
    expectRefusal(
      await start().ended,
      /written by a newer version of Reveille \(schema 2; this one knows 1\)\. Use that version/,
    );
    const again = startProgram('victim', [folder, '2', '1', 'finish'], { env });
    running.push(again);
    expect(await again.ended).toMatchObject({ code: 0 });
  });

  test('[STO24] killed while it brings a file forward: the next start does it, and nothing is lost', async () => {
    await stop(await upped(start()));
    const env = { SCHEMA: '3', CRASH_AT: 'migrating:2' };
    const killed = startProgram('victim', [folder, '1', '1', 'finish'], { env });
    running.push(killed);
    expect((await killed.ended).code).toBe(null);
    const next = startProgram('victim', [folder, '2', '1', 'finish'], { env: { SCHEMA: '3' } });
    running.push(next);
    expect(await next.ended).toMatchObject({ code: 0 });
    expect(sessionsIn(path)).toBe(2);
    expect(sessionsIn(`${path}.v1.backup`)).toBe(1);
  });

  test('[STO22] a folder in its place, and a place below a file', async () => {
    mkdirSync(path);
    expectRefusal(await start().ended, /is a folder\. Name a file for the database/);
    const below = join(folder, 'file', 'reveille.db');
    writeFileSync(join(folder, 'file'), '');
    expectRefusal(await start(below).ended, /Create it, or name another place/, below);
  });

  async function upped(program: Running): Promise<Running> {
    expect(await program.up).toMatch(/^up/);
    return program;
  }
});
