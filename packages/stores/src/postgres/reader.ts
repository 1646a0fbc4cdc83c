import { once } from 'node:events';
import pg from 'pg';
import type { Fact, ReveilleEvent } from '@reveille/protocol';
import type { Find, Row, TableName, Tables } from '@reveille/core';
import { clientConfig, type ConnectionOptions } from './connection.ts';
import { storeError } from './errors.ts';
import { findSql } from './find.ts';

/** One row per change; see the migration that makes the table. */
const EVENTS = `SELECT first, at, facts FROM events
  WHERE first >= coalesce((SELECT max(first) FROM events WHERE first <= $1), 0) ORDER BY first LIMIT $2`;

/** Questions, on a few connections that others share. They see what is committed, and nothing else. */
export class PostgresReader {
  readonly #pool: pg.Pool;
  readonly #clients = new Set<pg.PoolClient>();

  constructor(options: ConnectionOptions) {
    this.#pool = new pg.Pool({ ...clientConfig(options), max: 4 });
    // An idle connection that breaks is replaced with the next question.
    this.#pool
      .on('error', () => {})
      .on('connect', (client) => this.#clients.add(client))
      .on('remove', (client) => this.#clients.delete(client));
  }

  async query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    try {
      return (await this.#pool.query<R>(text, [...values])).rows;
    } catch (error) {
      throw storeError(error);
    }
  }

  async get<T extends TableName>(table: T, id: string): Promise<Row<T> | undefined> {
    const [row] = await this.query<StoredRow>(`SELECT v, doc FROM "${table}" WHERE id = $1`, [id]);
    return row && toRow<T>(row);
  }

  async find<T extends TableName>(table: T, find: Find): Promise<Row<T>[]> {
    const { text, values } = findSql(table, find);
    return (await this.query<StoredRow>(text, values)).map(toRow<T>);
  }

  async sessionsWithMail(limit: number): Promise<string[]> {
    const text = `SELECT DISTINCT "to" AS session FROM message WHERE state = 'queued' ORDER BY 1 LIMIT $1`;
    return (await this.query<{ session: string }>(text, [limit])).map(({ session }) => session);
  }

  async events(after: number, limit: number): Promise<ReveilleEvent[]> {
    const rows = await this.query<{ first: string; at: number; facts: string }>(EVENTS, [after + 1, limit]);
    const events = rows.flatMap(({ first, at, facts }) =>
      (JSON.parse(facts) as Fact[]).map((fact, index) => ({ number: Number(first) + index, at, ...fact })),
    );
    return events.filter(({ number }) => number > after).slice(0, limit);
  }

  async lastEvent(): Promise<number> {
    const [row] = await this.query<{ value: string }>(`SELECT value FROM counter WHERE name = 'event'`);
    return Number(row?.value ?? 0);
  }

  /** The pool's own end comes before that of its connections; when this resolves, none is left. */
  async close(): Promise<void> {
    await this.#pool.end();
    while (this.#clients.size > 0) await once(this.#pool, 'remove');
  }
}

/** Whole numbers of 64 bits come as text. */
interface StoredRow {
  readonly v: string;
  readonly doc: string;
}

function toRow<T extends TableName>({ v, doc }: StoredRow): Row<T> {
  return { version: Number(v), doc: JSON.parse(doc) as Tables[T] };
}
