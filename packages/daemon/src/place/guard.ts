import { DatabaseSync } from 'node:sqlite';
import { ReveilleError } from '@reveille/protocol';
import { checkFile } from './trouble.ts';

/**
 * One daemon per place, held by the operating system: an exclusive transaction on an empty SQLite file, whose lock the
 * kernel drops with the process, however it ends. Nothing is ever written to the file, so it cannot be
 * damaged, and it is never deleted: two processes could then hold two files of one name.
 */
export type Guard = Disposable;

const [BUSY, NOT_A_DATABASE] = [5, 26];

/** Null: another process holds it. */
export function takeGuard(path: string): Guard | null {
  checkFile(path);
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    const code = error instanceof Error && 'errcode' in error ? error.errcode : null;
    if (code === BUSY) return null;
    if (code === NOT_A_DATABASE) throw damaged(path, error);
    throw error;
  }
  return { [Symbol.dispose]: () => db.close() };
}

const damaged = (path: string, cause: unknown): ReveilleError =>
  new ReveilleError(
    'not_allowed',
    `${path} is damaged. Run reveille daemon stop, delete the file, and try again.`,
    {
      data: { path },
      cause,
    },
  );
