import { DatabaseError } from 'pg';
import { ReveilleError } from '@reveille/protocol';

const DISK_FULL = '53100';

export function storeError(error: unknown): ReveilleError {
  if (error instanceof ReveilleError) return error;
  const detail = error instanceof Error ? error.message || error.name : String(error);
  if (error instanceof DatabaseError && error.code === DISK_FULL) {
    const words = `The database server has no room left. Nothing was changed; free some space and try again. (${detail})`;
    return new ReveilleError('store_full', words, { cause: error });
  }
  return new ReveilleError('store_failed', `The database failed. (${detail})`, { cause: error });
}

/** The server answered, and its answer was no: the transaction did not happen. A dying server answers FATAL or PANIC. */
export const isRefusal = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && error.severity === 'ERROR';

/** Lack of space, memory or connections, or an operator’s hand: nothing that a single change could be the cause of. */
export const isServerTrouble = (error: DatabaseError): boolean => /^(53|57|58)/.test(error.code ?? '');
