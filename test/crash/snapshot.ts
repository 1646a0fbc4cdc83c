import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Message, Plan, Request, Run, Session, Task } from '@reveille/protocol';

/** All that a database holds, read with SQL by a process that is not the engine's. */
export interface Snapshot {
  readonly integrity: string;
  readonly plans: ReadonlyMap<string, Plan>;
  readonly tasks: ReadonlyMap<string, Task>;
  readonly sessions: ReadonlyMap<string, Session>;
  readonly runs: ReadonlyMap<string, Run>;
  readonly messages: ReadonlyMap<string, Message>;
  readonly requests: ReadonlyMap<string, Request>;
  /** Each row of the log: the number of its first event, and how many there are. */
  readonly events: readonly { readonly first: number; readonly count: number }[];
}

/**
 * Reads a copy, because opening the file itself would write its log back: the next life of the victim has to find it as
 * it was left. Null: there is no database, or one without tables yet.
 */
export function takeSnapshot(world: string): Snapshot | null {
  const original = join(world, 'reveille.db');
  if (!existsSync(original)) return null;
  const folder = mkdtempSync(join(tmpdir(), 'reveille-crash-copy-'));
  try {
    const copy = join(folder, 'copy.db');
    for (const suffix of ['', '-wal']) {
      if (existsSync(original + suffix)) copyFileSync(original + suffix, copy + suffix);
    }
    const db = new DatabaseSync(copy);
    try {
      return read(db);
    } finally {
      db.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function read(db: DatabaseSync): Snapshot | null {
  if (!db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'message'`).get()) return null;
  const table = <T>(name: string): Map<string, T> => {
    // Killed before it first wrote them, it has no rows either.
    const found = db.prepare('SELECT value FROM meta WHERE key = ?').get(`fields.${name}`);
    const fields = JSON.parse(String(found?.['value'] ?? '{"fixed":[],"live":[]}')) as Fields;
    const rows = db.prepare(`SELECT id, doc, live FROM ${name}`).all() as Record<
      'id' | 'doc' | 'live',
      string
    >[];
    const whole = (doc: string, live: string): T =>
      ({ ...named(fields.fixed, doc), ...named(fields.live, live) }) as T;
    return new Map(rows.map(({ id, doc, live }) => [id, whole(doc, live)]));
  };
  const { integrity_check: integrity } = db.prepare('PRAGMA integrity_check').get() as {
    integrity_check: string;
  };
  return {
    integrity,
    plans: table('plan'),
    tasks: table('task'),
    sessions: table('session'),
    runs: table('run'),
    messages: table('message'),
    requests: table('request'),
    events: db.prepare('SELECT first, count FROM events ORDER BY first').all() as {
      first: number;
      count: number;
    }[],
  };
}

/** The names of the values, in their order. */
interface Fields {
  readonly fixed: readonly string[];
  readonly live: readonly string[];
}

/** A text of a row is the array of its values, after a number with a bit for each that is missing, if any is. */
function named(names: readonly string[], text: string): object {
  const start = text.indexOf('[');
  const missing = Number(text.slice(0, start));
  const values = JSON.parse(text.slice(start)) as unknown[];
  const there = values.map((value, at) => [names[at] as string, value] as const);
  return Object.fromEntries(there.filter((_, at) => Math.floor(missing / 2 ** at) % 2 === 0));
}
