import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock, Dispatch, Store } from '@reveille/core';
import type { Backend, CrashPoint } from '../backend.ts';
import { MIGRATIONS } from '../migrations/index.ts';
import type { Migration } from '../migrations/migration.ts';
import { storeError } from './errors.ts';
import { closeFile, openFile } from './file.ts';
import { asArrays } from './statements.ts';
import { Writer } from './writer.ts';

export interface SqliteOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly crashPoint?: CrashPoint;
  /** Rows kept in memory per table. */
  readonly cachedRows?: number;
  readonly migrations?: readonly Migration[];
  /** How large the file may become, in pages; for tests of a full disk. */
  readonly maxPages?: number;
}

/**
 * When nothing was committed for this long the WAL is written back, so that a start finds little to replay, and most of
 * the cached rows are let go of.
 */
const IDLE_MS = 1_000;
const IDLE_ROWS = 500;

export async function openSqlite(options: SqliteOptions): Promise<Backend> {
  const { path, clock, cachedRows = 12_000, crashPoint = () => {}, migrations = MIGRATIONS } = options;
  const db = openFile({ path, migrations });
  try {
    if (options.maxPages) db.exec(`PRAGMA max_page_count = ${options.maxPages}`);
    const tidy = new IdleCheckpoint(db, clock, () => writer.rows.trim(IDLE_ROWS));
    const writer = new Writer({ db, path, clock, cachedRows, crashPoint, committed: () => tidy.soon() });
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => (closing ??= shut(db, writer, tidy));
    return { store: sqliteStore(db, writer, close), dispatch: sqliteDispatch(writer), close };
  } catch (error) {
    db.close();
    throw storeError(path, error);
  }
}

async function shut(db: DatabaseSync, writer: Writer, tidy: IdleCheckpoint): Promise<void> {
  try {
    await writer.close();
  } finally {
    tidy.stop();
    closeFile(db);
  }
}

class IdleCheckpoint {
  readonly #clock: Clock;
  readonly #alsoWhenIdle: () => void;
  readonly #db: DatabaseSync;
  readonly #checkpoint: StatementSync;
  readonly #shrink: StatementSync;
  #waiting: (() => void) | undefined;
  #last = 0;

  constructor(db: DatabaseSync, clock: Clock, alsoWhenIdle: () => void) {
    this.#alsoWhenIdle = alsoWhenIdle;
    this.#clock = clock;
    this.#db = db;
    this.#checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    this.#shrink = db.prepare('PRAGMA shrink_memory');
  }

  soon(): void {
    this.#last = this.#clock.mono();
    this.#waiting ??= this.#clock.after(IDLE_MS, () => this.#look());
  }

  stop(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }

  #look(): void {
    const idle = this.#clock.mono() - this.#last;
    this.#waiting = undefined;
    // An open transaction ends with a commit, which asks for the next look.
    if (this.#db.isTransaction) return;
    if (idle < IDLE_MS) this.#waiting = this.#clock.after(IDLE_MS - idle, () => this.#look());
    else this.#run();
  }

  #run(): void {
    this.#alsoWhenIdle();
    try {
      this.#checkpoint.get();
      this.#shrink.get();
    } catch {
      // All of it is safe in the log, which is only longer than it might be. The next commit says what is wrong.
    }
  }
}

function sqliteStore(db: DatabaseSync, writer: Writer, close: () => Promise<void>): Store {
  const withMail = asArrays(
    db.prepare(`SELECT DISTINCT "to" FROM message WHERE state = 'queued' ORDER BY "to" LIMIT ?`),
  );
  return {
    readsOwnWrites: true,
    get: (table, id) => writer.get(table, id),
    atHand: (table, id) => writer.atHand(table, id),
    find: (table, find) => writer.read(() => writer.rows.find(table, find)),
    sessionsWithMail: (limit) =>
      writer.read(() => {
        writer.flush();
        return (withMail.all(limit) as unknown as [string][]).map(([session]) => session);
      }),
    commit: (change) => writer.commit(change),
    barrier: () => writer.barrier(),
    undone: () => writer.undone,
    events: (after, limit) =>
      writer.read(() => {
        writer.flush();
        return writer.log.read(after, limit);
      }),
    lastEvent: () => writer.read(() => writer.log.last),
    // Only this process uses the file, so nobody else can change anything.
    onHint: () => () => {},
    close,
  };
}

function sqliteDispatch(writer: Writer): Dispatch {
  const { leases } = writer;
  return {
    claim: (request) => writer.read(() => leases.claim(request)),
    renew: (request) => writer.read(() => leases.renew(request)),
    giveBack: (request) => writer.giveBack(request),
    reclaim: (host) => writer.read(() => leases.reclaim(host)),
    nextDueIn: () => writer.read(() => leases.nextDueIn()),
    onOffer: (listener) => writer.offered.add(listener),
  };
}
