import { DatabaseSync } from 'node:sqlite';

/**
 * One daemon per place, held by the operating system: an exclusive transaction on an empty SQLite file, whose lock the
 * kernel drops with the process, however it ends. Nothing is ever written to the file, so it cannot be
 * damaged, and it is never deleted: two processes could then hold two files of one name.
 */
export interface Guard {
  release(): void;
}

const BUSY = 5;

/** Null: another process holds it. */
export function takeGuard(path: string): Guard | null {
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === BUSY) return null;
    throw error;
  }
  return { release: () => db.close() };
}
