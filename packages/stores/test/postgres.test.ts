import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { openPostgres } from '@reveille/stores';
import { storeContract, type Subject } from './contract.ts';
import { dispatchModel, storeModel } from './model.ts';
import { acquirePostgres } from './postgres-server.ts';

const server = await acquirePostgres();
const admin = server.url === null ? null : new pg.Pool({ connectionString: server.url, max: 1 });
afterAll(async () => {
  await admin?.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await admin?.end();
  if (server.url !== null) await server.release();
});

// One schema for all tests of this file, emptied after each: making one takes ten times as long.
const schema = `t_${randomUUID().replaceAll('-', '').slice(0, 20)}`;
const TABLES = [
  'plan',
  'task',
  'session',
  'run',
  'message',
  'request',
  'budget',
  'events',
  'lease',
  'host',
  'sender',
];

async function open(): Promise<Subject> {
  const backend = await openPostgres({ url: server.url ?? '', schema, retryMs: 20 });
  return {
    backend,
    // The server's clock goes its own way; so what was to be later becomes earlier.
    advance: async (ms) => {
      await admin?.query(`UPDATE ${schema}.host SET until = until - ${ms}`);
      await admin?.query(`UPDATE ${schema}.lease SET due = due - ${ms}`);
    },
    reopen: async () => {
      await backend.close();
      return open();
    },
    dispose: async () => {
      await backend.close();
      await admin?.query(TABLES.map((table) => `DELETE FROM ${schema}.${table};`).join(' '));
      await admin?.query(`UPDATE ${schema}.counter SET value = 0`);
    },
  };
}

if (server.url === null) {
  describe('postgres', () => it.skip(`not run: ${server.reason}`, () => {}));
} else {
  storeContract('postgres', open);
  describe('postgres, against a model', () => {
    storeModel(open, 20);
    dispatchModel(open, 20);
  });
}
