import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ReveilleError } from '@reveille/protocol';
import type { Migration } from '../migrations/migration.ts';
import { damaged, storeError } from './errors.ts';
import { migrateSqlite } from './migrate.ts';

/** Above this a check of the whole file would be felt at every start after a crash (about 1 ms per MB). */
const CHECK_BELOW_BYTES = 64 * 2 ** 20;

export interface FileOptions {
  readonly path: string;
  readonly migrations: readonly Migration[];
}

/** Opens the file for this process alone, checks it, and brings it to the newest version. */
export function openFile({ path, migrations }: FileOptions): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    const size = prepareFolder(path);
    db = new DatabaseSync(path);
    own(db);
    checkAfterCrash(db, path, size);
    migrateSqlite(db, path, migrations);
    setClean(db, false);
    return db;
  } catch (error) {
    db?.close();
    throw storeError(path, error);
  }
}

/** Throws what a start would throw because of damage. For a file that no engine uses now; nothing of it is changed. */
export function examineSqlite(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw isAFolder(path);
  if (!found?.size) return;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true });
    checkWhole(db, path);
  } catch (error) {
    throw storeError(path, error);
  } finally {
    db?.close();
  }
}

/** A clean end: the next start need not look for damage. */
export function closeFile(db: DatabaseSync): void {
  setClean(db, true);
  db.close();
}

/** Step by step: Node's own recursive way never returns where nothing can be created, as in /proc. */
function makeFolder(folder: string): void {
  if (isFolder(folder)) return;
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have made it in between.
    if (!isFolder(folder)) throw error;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Makes the folder, and says how large the file is that lies there already. */
function prepareFolder(path: string): number {
  try {
    makeFolder(dirname(path));
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found?.isDirectory()) return found?.size ?? 0;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const words = `The folder of ${path} cannot be used (${detail}). Create it, or name another place for the database.`;
    throw new ReveilleError('store_failed', words, { data: { path }, cause: error });
  }
  throw isAFolder(path);
}

const isAFolder = (path: string): ReveilleError =>
  new ReveilleError('store_failed', `${path} is a folder. Name a file for the database.`, { data: { path } });

/**
 * EXCLUSIVE: a second engine on the same file is refused at once, and the shared memory that WAL needs otherwise is
 * not used. FULL: a commit is on disk before it returns. Pages of 4 kB cost
 * about a tenth less of the processor than of 8 or 16: a commit writes every page it touched, whole. After 2 MB of log a commit
 * writes it back (usually that is done when nothing happens): it takes some 4 ms then. Less often costs the same in all,
 * but whoever meets it waits for longer: 15 ms at 8 MB, 70 ms at 64.
 */
function own(db: DatabaseSync): void {
  db.exec(`
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 512;
    PRAGMA journal_size_limit = 16777216;
    PRAGMA cache_size = -8192;
    PRAGMA temp_store = MEMORY;
    BEGIN IMMEDIATE;
    COMMIT;
  `);
}

function checkAfterCrash(db: DatabaseSync, path: string, size: number): void {
  if (size === 0 || size > CHECK_BELOW_BYTES || wasClean(db)) return;
  checkWhole(db, path);
}

function checkWhole(db: DatabaseSync, path: string): void {
  const found = db.prepare('PRAGMA quick_check(1)').get() as { quick_check: string };
  if (found.quick_check === 'ok') return;
  // Its first line names the database, of which there is one.
  throw damaged(path, found.quick_check.split('\n').at(-1) ?? '');
}

function wasClean(db: DatabaseSync): boolean {
  const meta = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'meta'`).get();
  return (
    meta !== undefined &&
    db.prepare(`SELECT 1 FROM meta WHERE key = 'clean' AND value = '1'`).get() !== undefined
  );
}

function setClean(db: DatabaseSync, clean: boolean): void {
  db.prepare(`INSERT OR REPLACE INTO meta (key, value) VALUES ('clean', ?)`).run(clean ? '1' : '0');
}
