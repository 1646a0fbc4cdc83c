import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { ReveilleError } from '@reveille/protocol';
import type { Change, Clock, Outcome, Row, TableName } from '@reveille/core';
import { applyRows } from '../apply.ts';
import type { CrashPoint } from '../backend.ts';
import { Batch } from '../batch.ts';
import { Listeners } from '../listeners.ts';
import { UndoLog } from '../undo-log.ts';
import { isFileError, storeError } from './errors.ts';
import { EventLog, factsText } from './event-log.ts';
import { LeaseFile } from './lease-file.ts';
import { SqliteRows } from './rows.ts';

export interface WriterOptions {
  readonly db: DatabaseSync;
  readonly path: string;
  readonly clock: Pick<Clock, 'mono' | 'now'>;
  readonly cachedRows: number;
  readonly crashPoint: CrashPoint;
  /** Called after each commit, outside of any transaction. */
  readonly committed: () => void;
}

/**
 * A turn of the event loop can be long when a thousand calls come at once, and nobody should wait for the whole of it.
 * So a batch ends after a few times what a commit costs on this disk: most of the time goes into work, and little
 * into waiting.
 */
const BATCH = { commits: 4, shortestMs: 4, longestMs: 50 } as const;

/**
 * Group commit. A change is checked and applied to the cached rows when it comes. The first one opens a batch; all that
 * come in the same turn of the event loop belong to it, and then the batch is written and committed as one
 * transaction. Nobody is answered before. If the commit fails, none of the batch happened: the caches are dropped,
 * and everybody who waits gets the error.
 *
 * A change whose guard fails leaves no trace, because nothing of it has reached the file: it needs no savepoint.
 */
export class Writer {
  readonly rows: SqliteRows;
  readonly log: EventLog;
  readonly offered = new Listeners<[]>();
  readonly #leaseFile: LeaseFile;
  readonly #undo = new UndoLog();
  readonly #options: WriterOptions;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;
  #batch: Batch | undefined;
  #openedAt = 0;
  #batchMs: number = BATCH.shortestMs;
  #begun = false;
  #closed = false;
  undone = 0;

  constructor(options: WriterOptions) {
    const { db } = options;
    this.#options = options;
    this.rows = new SqliteRows(db, { cachedRows: options.cachedRows, begin: () => this.#ensureBegun() });
    this.log = new EventLog(db);
    this.#leaseFile = new LeaseFile(db, options.clock, this.#undo);
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#rollback = db.prepare('ROLLBACK');
  }

  get leases(): LeaseFile['leases'] {
    return this.#leaseFile.leases;
  }

  commit(change: Change): Promise<Outcome> {
    return this.#attempt(() => {
      this.#options.crashPoint('before-apply');
      const batch = this.#open();
      const outcome = this.#apply(change);
      if (!outcome.committed) return outcome;
      const answer = batch.add(change, outcome);
      if (this.#options.clock.mono() - this.#openedAt >= this.#batchMs) this.#end(batch);
      return answer;
    });
  }

  giveBack(request: { host: string; task: string; delayMs: number }): Promise<void> {
    return this.#attempt(() => {
      const batch = this.#open();
      return this.leases.giveBack(request) ? batch.addOffer() : undefined;
    });
  }

  barrier(): Promise<void> {
    return this.#batch?.settled() ?? Promise.resolve();
  }

  /** Most rows that are asked for are. */
  atHand<T extends TableName>(table: T, id: string): Row<T> | undefined {
    return this.#closed ? undefined : this.rows.cached(table, id);
  }

  get<T extends TableName>(table: T, id: string): Promise<Row<T> | undefined> {
    const row = this.atHand(table, id);
    return row ? Promise.resolve(row) : this.read(() => this.rows.get(table, id));
  }

  read<T>(look: () => T): Promise<T> {
    return this.#attempt(() => {
      this.#refuseIfClosed();
      return look();
    });
  }

  /** Brings all that is applied into the open transaction, so that SQL sees it. */
  flush(): void {
    this.rows.flush();
    if (this.log.unwritten || this.#leaseFile.unwritten) this.#ensureBegun();
    this.log.flush();
    this.#leaseFile.flush();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#batch?.settled();
  }

  #open(): Batch {
    this.#refuseIfClosed();
    if (this.#batch) return this.#batch;
    const batch = (this.#batch = new Batch());
    // Claims made before this batch are not undone with it.
    this.#undo.clear();
    this.#openedAt = this.#options.clock.mono();
    setImmediate(() => this.#end(batch));
    return batch;
  }

  #refuseIfClosed(): void {
    if (this.#closed)
      throw new ReveilleError('store_failed', `The database ${this.#options.path} is closed. Open it again.`);
  }

  #apply(change: Change): Outcome {
    const facts = factsText(change);
    if (!applyRows(this.rows, change)) return { committed: false };
    this.rows.keep();
    for (const task of change.drops) this.leases.drop(task);
    for (const offer of change.offers) this.leases.offer(offer);
    if (change.facts.length > 0) this.log.append(change.facts, facts, change.at);
    return { committed: true, lastEvent: this.log.last };
  }

  #end(batch: Batch): void {
    if (this.#batch !== batch) return;
    const { crashPoint } = this.#options;
    try {
      this.flush();
      crashPoint('before-commit');
      this.#commitNow();
    } catch (error) {
      this.#fail(batch, storeError(this.#options.path, error));
      return;
    }
    crashPoint('after-commit');
    this.#batch = undefined;
    this.#begun = false;
    this.#undo.clear();
    this.log.keep();
    this.rows.trim();
    crashPoint('after-commit-before-ack');
    batch.succeed();
    if (batch.offers) this.offered.tell();
    this.#options.committed();
  }

  #commitNow(): void {
    if (!this.#begun) return;
    const { clock } = this.#options;
    const before = clock.mono();
    this.#commit.run();
    // Slowly: one slow commit is a neighbour's, or wrote the log back, and may not make the next ones wait for longer.
    const wanted = Math.min(BATCH.commits * (clock.mono() - before), 2 * this.#batchMs);
    const smooth = 0.8 * this.#batchMs + 0.2 * wanted;
    this.#batchMs = Math.min(BATCH.longestMs, Math.max(BATCH.shortestMs, smooth));
  }

  /** What goes wrong with the file ends the open batch, because SQLite may have rolled it back by itself. */
  #attempt<T>(action: () => T | Promise<T>): Promise<T> {
    try {
      return Promise.resolve(action());
    } catch (error) {
      if (!isFileError(error)) return Promise.reject(error);
      const said = storeError(this.#options.path, error);
      if (this.#batch) this.#fail(this.#batch, said);
      return Promise.reject(said);
    }
  }

  #fail(batch: Batch, error: ReveilleError): void {
    this.undone++;
    this.#batch = undefined;
    this.#begun = false;
    try {
      if (this.#options.db.isTransaction) this.#rollback.run();
    } catch {
      // What was to be undone can still be seen, so nothing more may be: the next start finds the file as it was.
      this.#closed = true;
    }
    this.#undo.undoTo(0);
    this.rows.forget();
    this.log.forget();
    this.#leaseFile.forget();
    batch.fail(error);
  }

  #ensureBegun(): void {
    if (this.#begun) return;
    this.#begin.run();
    this.#begun = true;
  }
}
