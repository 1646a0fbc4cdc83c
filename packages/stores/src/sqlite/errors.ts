import { ReveilleError, type ErrorCode } from '@reveille/protocol';

// Result codes of SQLite; an extended code has its kind in the low byte.
const [BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB] = [5, 8, 10, 11, 13, 14, 26];

interface SqliteError extends Error {
  readonly errcode: number;
}

export const isFileError = (error: unknown): boolean =>
  isSqliteError(error) || (error instanceof ReveilleError && error.code.startsWith('store_'));

const isSqliteError = (error: unknown): error is SqliteError => error instanceof Error && 'errcode' in error;

/** The error of the contract for whatever went wrong with the file at `path`. */
export function storeError(path: string, error: unknown): ReveilleError {
  if (error instanceof ReveilleError) return error;
  const [code, words] = translate(path, isSqliteError(error) ? error.errcode & 0xff : 0);
  const detail = error instanceof Error ? error.message : String(error);
  return new ReveilleError(code, `${words} (${detail})`, { cause: error, data: { path } });
}

/** A damaged file that SQLite itself has not met yet. */
export const damaged = (path: string, detail: string): ReveilleError =>
  new ReveilleError('store_corrupt', `${translate(path, CORRUPT)[1]} (${detail})`, { data: { path } });

function translate(path: string, kind: number): [ErrorCode, string] {
  switch (kind) {
    case BUSY:
      return [
        'store_locked',
        `Another engine is using ${path}. Stop it, or give this one a database of its own.`,
      ];
    case FULL:
      return [
        'store_full',
        `There is no room for ${path}. Nothing was changed; free some space and try again.`,
      ];
    case CORRUPT:
    case NOTADB:
      return [
        'store_corrupt',
        `${path} is damaged or is not a database. Move it away and put a backup in its place, or start with a new file.`,
      ];
    case READONLY:
    case CANTOPEN:
      return [
        'store_failed',
        `${path} cannot be written. Check that it is a file and that its folder exists and may be written.`,
      ];
    case IOERR:
      return [
        'store_failed',
        `The disk that holds ${path} fails. Nothing was changed; look at the log of the system, and try again.`,
      ];
    default:
      return ['store_failed', `The database ${path} failed. Nothing was changed.`];
  }
}
