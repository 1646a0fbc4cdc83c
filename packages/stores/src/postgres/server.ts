import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { LEASE, type Change, type Dispatch, type Outcome, type Store } from '@reveille/core';
import type { Backend } from '../backend.ts';
import { MIGRATIONS } from '../migrations/index.ts';
import { connect } from './connection.ts';
import { storeError } from './errors.ts';
import { HintListener } from './listener.ts';
import { migratePostgres } from './migrate.ts';
import type { PostgresOptions } from './options.ts';
import { PostgresReader } from './reader.ts';
import { PostgresWriter } from './writer.ts';

interface Parts {
  readonly sender: string;
  readonly reader: PostgresReader;
  readonly writer: PostgresWriter;
  readonly listener: HintListener;
}

export async function openServer(options: PostgresOptions): Promise<Backend> {
  const { url, schema = 'reveille', migrations = MIGRATIONS, retryMs = 500 } = options;
  const common = { url, schema, retryMs, sender: randomUUID() };
  let client: pg.Client | undefined;
  try {
    client = await connect(common);
    await migratePostgres(client, schema, migrations);
    const listener = new HintListener(common);
    await listener.start();
    return assemble({
      sender: common.sender,
      reader: new PostgresReader(common),
      writer: new PostgresWriter({ ...common, client }),
      listener,
    });
  } catch (error) {
    await client?.end().catch(() => {});
    throw storeError(error);
  }
}

function assemble(parts: Parts): Backend {
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= shut(parts));
  return { store: postgresStore(parts, close), dispatch: postgresDispatch(parts), close };
}

async function shut({ writer, listener, reader }: Parts): Promise<void> {
  await writer.close();
  await listener.close();
  await reader.close();
}

function postgresStore({ reader, writer, listener }: Parts, close: () => Promise<void>): Store {
  const commit = async (change: Change): Promise<Outcome> => {
    const outcome = await writer.commit(change);
    if (outcome.committed && change.offers.length > 0) listener.offered.tell();
    return outcome;
  };
  return {
    readsOwnWrites: false,
    get: (table, id) => reader.get(table, id),
    find: (table, find) => reader.find(table, find),
    sessionsWithMail: (limit) => reader.sessionsWithMail(limit),
    commit,
    // Reads see only what is committed, and what is committed is on disk.
    barrier: () => Promise.resolve(),
    undone: () => 0,
    events: (after, limit) => reader.events(after, limit),
    lastEvent: () => reader.lastEvent(),
    onHint: (hint) => listener.hinted.add(hint),
    close,
  };
}

/** The largest whole number that fits: "any rank". */
const ANY_RANK = Number.MAX_SAFE_INTEGER;

function postgresDispatch({ sender, reader, listener }: Parts): Dispatch {
  return {
    async claim({ host, max, maxRank = ANY_RANK }) {
      const sql =
        'SELECT claimed_task AS task, claimed_rank::int AS rank FROM reveille_claim($1, $2, $3, $4)';
      return reader.query<{ task: string; rank: number }>(sql, [host, max, maxRank, LEASE.lastsMs]);
    },
    async renew({ host, tasks }) {
      const sql = 'SELECT reveille_renew($1, $2, $3) AS lost';
      const [row] = await reader.query<{ lost: string[] }>(sql, [host, tasks, LEASE.lastsMs]);
      return row?.lost ?? [];
    },
    async giveBack({ host, task, delayMs }) {
      await reader.query('SELECT reveille_give_back($1, $2, $3, $4)', [sender, host, task, delayMs]);
      listener.offered.tell();
    },
    async reclaim(host) {
      const [row] = await reader.query<{ freed: number }>('SELECT reveille_reclaim($1, $2)::int AS freed', [
        sender,
        host,
      ]);
      return row?.freed ?? 0;
    },
    async nextDueIn() {
      const [row] = await reader.query<{ ms: number | null }>('SELECT reveille_next_due() AS ms');
      return row?.ms ?? null;
    },
    onOffer: (offer) => listener.offered.add(offer),
  };
}
