import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { ReveilleError } from '@reveille/protocol';
import { SQLITE, type Migration } from '../migrations/migration.ts';

/** "RVLL": how the file says whose it is. */
const APPLICATION_ID = 0x52564c4c;

/**
 * Brings the file to the newest version, one migration and one transaction at a time. Before a file that has
 * something in it is changed, a copy of it is written beside it.
 */
export function migrateSqlite(db: DatabaseSync, path: string, migrations: readonly Migration[]): void {
  const newest = migrations.at(-1)?.version ?? 0;
  const found = currentVersion(db, path);
  if (found > newest) {
    throw new ReveilleError(
      'store_newer',
      `${path} was written by a newer version of Reveille (schema ${found}; this one knows ${newest}). Use that version, or another file.`,
      { data: { path, found, known: newest } },
    );
  }
  for (const migration of migrations.filter(({ version }) => version > found)) {
    const before = currentVersion(db, path);
    if (before > 0) backUp(db, path, before);
    step(db, migration);
  }
}

function currentVersion(db: DatabaseSync, path: string): number {
  const { application_id: owner } = db.prepare('PRAGMA application_id').get() as { application_id: number };
  const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  if (tables === 0) return 0;
  if (owner !== APPLICATION_ID) {
    throw new ReveilleError(
      'store_corrupt',
      `${path} is a database of another program. Give Reveille a file of its own.`,
      {
        data: { path },
      },
    );
  }
  const row = db.prepare(`SELECT value FROM meta WHERE key = 'schema'`).get() as
    | { value: string }
    | undefined;
  return Number(row?.value ?? 0);
}

function backUp(db: DatabaseSync, path: string, version: number): void {
  let target = `${path}.v${version}.backup`;
  for (let copy = 2; existsSync(target); copy++) target = `${path}.v${version}.backup.${copy}`;
  db.prepare('VACUUM INTO ?').run(target);
}

function step(db: DatabaseSync, migration: Migration): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    db.exec('CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID');
    for (const statement of migration.statements(SQLITE)) db.exec(statement);
    db.prepare(`INSERT OR REPLACE INTO meta (key, value) VALUES ('schema', ?)`).run(
      String(migration.version),
    );
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
