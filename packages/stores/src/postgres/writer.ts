import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { ReveilleError } from '@reveille/protocol';
import type { Change, Outcome } from '@reveille/core';
import { connect, type ConnectionOptions } from './connection.ts';
import { encodeChange } from './encode.ts';
import { isRefusal, isServerTrouble, storeError } from './errors.ts';

interface Waiting {
  readonly text: string;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

interface PostgresWriterOptions extends ConnectionOptions {
  /** Names this life of this process to the database. */
  readonly sender: string;
  readonly client: pg.Client;
  /** Waited between attempts to reach the server again. */
  readonly retryMs: number;
}

/** The protocol takes 1 GB; this keeps a batch well below the time in which others would wait for the lock. */
const MAX_BATCH_CHARACTERS = 4_000_000;

/**
 * Sends changes, in the order of the calls, over one connection: one batch at a time, and all that come meanwhile go
 * with the next.
 *
 * When the answer to a batch is lost with the connection, nobody knows whether it happened. The batch has a number,
 * which the database remembers with the outcomes; so the writer connects again, as often as it takes, and asks.
 * Only then are the callers answered.
 */
export class PostgresWriter {
  readonly #options: PostgresWriterOptions;
  readonly #closing = new AbortController();
  #client: pg.Client | undefined;
  #queue: Waiting[] = [];
  #pumping: Promise<void> | undefined;
  #batchNumber = 0;

  constructor(options: PostgresWriterOptions) {
    this.#options = options;
    this.#client = options.client;
  }

  commit(change: Change): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#refuseIfClosing();
      this.#queue.push({ text: encodeChange(change), resolve, reject });
      this.#pumping ??= this.#pump();
    });
  }

  /** What is under way is finished, unless the server cannot be reached. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#pumping;
    await this.#client?.end();
    this.#client = undefined;
  }

  #refuseIfClosing(): void {
    if (this.#closing.signal.aborted)
      throw new ReveilleError('store_failed', 'The database connection is closed.');
  }

  async #pump(): Promise<void> {
    while (this.#queue.length > 0) await this.#send(this.#takeBatch());
    this.#pumping = undefined;
  }

  #takeBatch(): Waiting[] {
    let characters = 0;
    const end = this.#queue.findIndex(
      ({ text }, at) => (characters += text.length) > MAX_BATCH_CHARACTERS && at > 0,
    );
    return this.#queue.splice(0, end < 0 ? this.#queue.length : end);
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    const number = ++this.#batchNumber;
    try {
      answer(batch, await this.#ask('SELECT reveille_commit($1, $2, $3) AS outcomes', number, batch));
    } catch (error) {
      if (isRefusal(error)) await this.#refused(batch, error);
      else await this.#lost(batch, number, error);
    }
  }

  /** One change that the server cannot take may not take its neighbours with it: they are sent one by one. */
  async #refused(batch: readonly Waiting[], error: pg.DatabaseError): Promise<void> {
    if (batch.length > 1 && !isServerTrouble(error)) {
      for (const each of batch) await this.#send([each]);
      return;
    }
    reject(batch, storeError(error));
  }

  async #lost(batch: readonly Waiting[], number: number, error: unknown): Promise<void> {
    this.#dropClient();
    for (;;) {
      try {
        const outcomes = await this.#ask('SELECT reveille_settle($1, $2) AS outcomes', number);
        if (outcomes) answer(batch, outcomes);
        else reject(batch, storeError(error));
        return;
      } catch {
        // Still unreachable; what failed first is what the callers are told.
        this.#dropClient();
      }
      if (this.#closing.signal.aborted) {
        const words =
          'The connection to the database was lost, and closed before it was known whether the change was made.';
        reject(batch, new ReveilleError('store_failed', words, { cause: error, data: { unknown: true } }));
        return;
      }
      await sleep(this.#options.retryMs, undefined, { signal: this.#closing.signal }).catch(() => {});
    }
  }

  async #ask(sql: string, number: number, batch?: readonly Waiting[]): Promise<Outcomes | null> {
    this.#client ??= await connect(this.#options);
    const values = [
      this.#options.sender,
      number,
      ...(batch ? [`[${batch.map(({ text }) => text).join(',')}]`] : []),
    ];
    const { rows } = await this.#client.query<{ outcomes: Outcomes | null }>(sql, values);
    return rows[0]?.outcomes ?? null;
  }

  #dropClient(): void {
    this.#client?.end().catch(() => {});
    this.#client = undefined;
  }
}

/** Per change the number of the last event, or null for a conflict. */
type Outcomes = readonly (number | null)[];

function answer(batch: readonly Waiting[], outcomes: Outcomes | null): void {
  for (const [at, { resolve }] of batch.entries()) {
    const lastEvent = outcomes?.[at] ?? null;
    resolve(lastEvent === null ? { committed: false } : { committed: true, lastEvent });
  }
}

function reject(batch: readonly Waiting[], error: ReveilleError): void {
  for (const each of batch) each.reject(error);
}
