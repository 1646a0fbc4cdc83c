import type pg from 'pg';
import { ReveilleError } from '@reveille/protocol';
import { POSTGRES, type Migration } from '../migrations/migration.ts';
import { FUNCTIONS, FUNCTIONS_HASH } from './functions.ts';

/**
 * Brings the schema to the newest version in one transaction, so a migration that fails changes nothing. There is
 * no copy made first, as there is of a file: whoever runs a server has backups of it. Which version it was brought
 * from is recorded.
 */
export async function migratePostgres(
  client: pg.Client,
  schema: string,
  migrations: readonly Migration[],
): Promise<void> {
  await client.query('BEGIN');
  try {
    // Not `current_schema()`, which is null until there is one.
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('reveille'), hashtext($1))`, [schema]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query('CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)');
    await bringForward(client, schema, migrations);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function bringForward(
  client: pg.Client,
  schema: string,
  migrations: readonly Migration[],
): Promise<void> {
  const newest = migrations.at(-1)?.version ?? 0;
  const found = Number((await meta(client, 'schema')) ?? 0);
  if (found > newest) {
    const words = `The schema ${schema} was written by a newer version of Reveille (schema ${found}; this one knows ${newest}). Use that version, or another schema.`;
    throw new ReveilleError('store_newer', words, { data: { schema, found, known: newest } });
  }
  for (const migration of migrations.filter(({ version }) => version > found)) {
    for (const statement of migration.statements(POSTGRES)) await client.query(statement);
  }
  if (found < newest) {
    await setMeta(client, 'schema', String(newest));
    await setMeta(client, 'schema_before', String(found));
  }
  if ((await meta(client, 'functions')) === FUNCTIONS_HASH) return;
  for (const text of FUNCTIONS) await client.query(text);
  await setMeta(client, 'functions', FUNCTIONS_HASH);
}

async function meta(client: pg.Client, key: string): Promise<string | undefined> {
  const { rows } = await client.query<{ value: string }>('SELECT value FROM meta WHERE key = $1', [key]);
  return rows[0]?.value;
}

async function setMeta(client: pg.Client, key: string, value: string): Promise<void> {
  await client.query(
    'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    [key, value],
  );
}
