import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A lock between processes that dies with its holder, however it dies: a transaction of SQLite on an empty file,
 * which is a lock of the operating system underneath. Nothing is ever written to the file.
 */
export interface Held extends Disposable {
  release(): void;
}

const BUSY = 5;
// A step under the lock takes about 10 ms.
const [SHORTEST_WAIT_MS, LONGEST_WAIT_MS] = [2, 25];

/** Null if somebody else holds it. */
export function tryLock(path: string): Held | null {
  const db = new DatabaseSync(path);
  try {
    // An empty file has no first page, and the journal for it would be a file of its own.
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (isBusy(error)) return null;
    throw error;
  }
  const release = (): void => {
    if (db.isOpen) db.close();
  };
  return { release, [Symbol.dispose]: release };
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === BUSY;

/** Those of this process wait in line, so that one at a time asks the file. */
const lines = new Map<string, Promise<unknown>>();

/** Runs `work` as the only one, in all processes, that holds the lock at `path`. Waits without blocking. */
export async function withLock<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const before = lines.get(path) ?? Promise.resolve();
  const mine = before.then(() => holding(path, work, signal));
  const settled = mine.then(
    () => undefined,
    () => undefined,
  );
  lines.set(path, settled);
  try {
    return await mine;
  } finally {
    if (lines.get(path) === settled) lines.delete(path);
  }
}

async function holding<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  using _held = await lock(path, signal);
  return await work();
}

async function lock(path: string, signal?: AbortSignal): Promise<Held> {
  for (;;) {
    signal?.throwIfAborted();
    const held = tryLock(path);
    if (held) return held;
    await sleep(SHORTEST_WAIT_MS + Math.random() * (LONGEST_WAIT_MS - SHORTEST_WAIT_MS), undefined, {
      signal,
    });
  }
}
