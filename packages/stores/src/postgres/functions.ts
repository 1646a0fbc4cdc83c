import { createHash } from 'node:crypto';
import { SHAPES, type Shape } from '../columns.ts';

/**
 * The functions that make a change, and each step of dispatch, one round trip. They are derived from INDEX and
 * installed when their text differs from what the database has.
 *
 * All changes go through one lock, one batch after another: so changes have an order, event numbers have no gaps, and
 * nobody sees 7 before 6. The lock is released after the commit can be seen, and each statement of a function looks
 * at the database anew.
 */
const LOCK = `PERFORM pg_advisory_xact_lock(hashtext('reveille'), hashtext(current_schema()))`;
const NOW = `extract(epoch FROM clock_timestamp()) * 1000`;
/** Raised inside a change that cannot be made, and caught around it: only that change is undone. */
const CONFLICT = 'RV001';

const perTable = (statement: (shape: Shape) => string): string =>
  SHAPES.map((shape) => `WHEN '${shape.table}' THEN ${statement(shape)}`).join('\n        ');

const insertRow = ({ table }: Shape): string =>
  `INSERT INTO "${table}" SELECT (jsonb_populate_record(NULL::"${table}", item)).* ON CONFLICT DO NOTHING;`;

function updateRow({ table, columns }: Shape): string {
  const names = ['v', 'doc', ...columns].map((name) => `"${name}"`).join(', ');
  return `UPDATE "${table}" SET (${names}) = (SELECT ${names} FROM jsonb_populate_record(NULL::"${table}", item))
          WHERE id = item->>'id' AND v = (item->>'v')::bigint - 1;`;
}

const rowsOfChange = `
CREATE OR REPLACE FUNCTION reveille_rows(change jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
  has bigint;
BEGIN
  FOR item IN SELECT * FROM jsonb_array_elements(change->'guards') LOOP
    CASE item->>'table'
        ${perTable(({ table }) => `SELECT max(v) INTO has FROM "${table}" WHERE id = item->>'id';`)}
    END CASE;
    IF coalesce(has, 0) <> (item->>'version')::bigint THEN RAISE SQLSTATE '${CONFLICT}'; END IF;
  END LOOP;
  FOR item IN SELECT * FROM jsonb_array_elements(change->'rows') LOOP
    IF (item->>'v')::bigint = 1 THEN
      CASE item->>'_table'
        ${perTable(insertRow)}
      END CASE;
    ELSE
      CASE item->>'_table'
        ${perTable(updateRow)}
      END CASE;
    END IF;
    IF NOT FOUND THEN RAISE SQLSTATE '${CONFLICT}'; END IF;
  END LOOP;
END $$`;

const leasesOfChange = `
CREATE OR REPLACE FUNCTION reveille_leases(change jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  now_ms double precision := ${NOW};
BEGIN
  DELETE FROM lease WHERE task IN (SELECT jsonb_array_elements_text(change->'drops'));
  INSERT INTO lease (task, rank, seq, due, wait)
    SELECT o.task, o.rank, nextval('lease_seq'), now_ms + o."delayMs", o."delayMs"
    FROM jsonb_to_recordset(change->'offers') AS o (task text, rank bigint, "delayMs" double precision)
  ON CONFLICT (task) DO UPDATE
    SET rank = least(lease.rank, excluded.rank), due = excluded.due, wait = excluded.wait, host = NULL
    WHERE lease.host IS NULL OR NOT EXISTS (SELECT 1 FROM host WHERE id = lease.host AND until > now_ms);
END $$`;

/** Payloads of notifications are limited to 8000 bytes; an id has at most 64. */
const tellOthers = `
CREATE OR REPLACE FUNCTION reveille_tell(sender_id text, wakes text[], offered boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  channel text := 'reveille_' || current_schema();
BEGIN
  FOR at IN 1 .. coalesce(array_length(wakes, 1), 0) BY 100 LOOP
    PERFORM pg_notify(channel, json_build_object('from', sender_id, 'wakes', wakes[at : at + 99])::text);
  END LOOP;
  IF offered THEN PERFORM pg_notify(channel, json_build_object('from', sender_id, 'offer', true)::text); END IF;
END $$`;

/** The number of the last event per change, or null where the change was refused. */
const commit = `
CREATE OR REPLACE FUNCTION reveille_commit(sender_id text, batch_number bigint, changes jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  change jsonb;
  made jsonb := '[]';
  last_event bigint;
  fact_count bigint;
  wakes text[] := '{}';
  offered boolean := false;
BEGIN
  ${LOCK};
  IF EXISTS (SELECT 1 FROM sender WHERE id = sender_id AND batch >= batch_number) THEN
    RAISE EXCEPTION 'batch % of % was given up by its sender', batch_number, sender_id;
  END IF;
  SELECT value INTO last_event FROM counter WHERE name = 'event';
  FOR change IN SELECT * FROM jsonb_array_elements(changes) LOOP
    BEGIN
      PERFORM reveille_rows(change);
    EXCEPTION WHEN SQLSTATE '${CONFLICT}' OR unique_violation THEN
      made := made || 'null'::jsonb;
      CONTINUE;
    END;
    PERFORM reveille_leases(change);
    fact_count := (change->>'count')::bigint;
    IF fact_count > 0 THEN
      INSERT INTO events (first, count, at, facts)
        VALUES (last_event + 1, fact_count, (change->>'at')::double precision, change->>'facts');
      last_event := last_event + fact_count;
    END IF;
    made := made || to_jsonb(last_event);
    wakes := wakes || ARRAY(SELECT jsonb_array_elements_text(change->'wakes'));
    offered := offered OR jsonb_array_length(change->'offers') > 0;
  END LOOP;
  PERFORM reveille_tell(sender_id, ARRAY(SELECT DISTINCT unnest(wakes)), offered);
  UPDATE counter SET value = last_event WHERE name = 'event';
  INSERT INTO sender (id, batch, at, outcomes) VALUES (sender_id, batch_number, ${NOW}, made)
    ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, at = excluded.at, outcomes = excluded.outcomes;
  RETURN made;
END $$`;

/**
 * What came of a batch whose answer was lost; null if it did not happen. Then it never will: a request that is still
 * under way somewhere is refused when it comes.
 */
const settle = `
CREATE OR REPLACE FUNCTION reveille_settle(sender_id text, batch_number bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  made jsonb;
BEGIN
  ${LOCK};
  SELECT outcomes INTO made FROM sender WHERE id = sender_id AND batch = batch_number;
  IF NOT FOUND THEN
    INSERT INTO sender (id, batch, at) VALUES (sender_id, batch_number, ${NOW})
      ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, at = excluded.at, outcomes = NULL;
  END IF;
  RETURN made;
END $$`;

/** Frees what hosts held that have not renewed; needs the lock, because it touches many leases. */
const lapse = `
CREATE OR REPLACE FUNCTION reveille_lapse(now_ms double precision) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM host WHERE until <= now_ms) THEN RETURN; END IF;
  ${LOCK};
  WITH gone AS (DELETE FROM host WHERE until <= now_ms RETURNING id)
  UPDATE lease SET host = NULL FROM gone WHERE lease.host = gone.id;
END $$`;

const claim = `
CREATE OR REPLACE FUNCTION reveille_claim(host_id text, most bigint, max_rank bigint, lasts_ms double precision)
RETURNS TABLE (claimed_task text, claimed_rank bigint) LANGUAGE plpgsql AS $$
DECLARE
  now_ms double precision := ${NOW};
BEGIN
  PERFORM reveille_lapse(now_ms);
  INSERT INTO host (id, until) VALUES (host_id, now_ms + lasts_ms) ON CONFLICT (id) DO UPDATE SET until = excluded.until;
  RETURN QUERY
    WITH due AS MATERIALIZED (
      SELECT task FROM lease WHERE host IS NULL AND due <= now_ms AND rank <= max_rank
      ORDER BY rank, seq LIMIT most FOR UPDATE SKIP LOCKED
    ), taken AS (
      UPDATE lease SET host = host_id, due = now_ms FROM due WHERE lease.task = due.task RETURNING lease.task, lease.rank, lease.seq
    )
    SELECT taken.task::text, taken.rank FROM taken ORDER BY taken.rank, taken.seq;
END $$`;

/** What the host holds and does not name is free again, unless the answer to its claim may still be under way. */
const renew = `
CREATE OR REPLACE FUNCTION reveille_renew(host_id text, tasks text[], lasts_ms double precision) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  now_ms double precision := ${NOW};
  unknown text[];
BEGIN
  PERFORM reveille_lapse(now_ms);
  UPDATE host SET until = now_ms + lasts_ms WHERE id = host_id;
  unknown := ARRAY(
    SELECT lease.task FROM lease WHERE lease.host = host_id AND lease.due <= now_ms - lasts_ms
    AND NOT EXISTS (SELECT 1 FROM unnest(tasks) AS t (task) WHERE t.task = lease.task)
  );
  IF array_length(unknown, 1) > 0 THEN
    ${LOCK};
    UPDATE lease SET host = NULL WHERE lease.task = ANY (unknown) AND lease.host = host_id;
  END IF;
  RETURN ARRAY(
    SELECT t.task FROM unnest(tasks) WITH ORDINALITY AS t (task, position)
    WHERE NOT EXISTS (SELECT 1 FROM lease WHERE lease.task = t.task AND lease.host = host_id) ORDER BY t.position
  );
END $$`;

const giveBack = `
CREATE OR REPLACE FUNCTION reveille_give_back(sender_id text, host_id text, task_id text, delay_ms double precision) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  now_ms double precision := ${NOW};
BEGIN
  PERFORM reveille_lapse(now_ms);
  UPDATE lease SET host = NULL, due = now_ms + delay_ms, wait = delay_ms WHERE task = task_id AND host = host_id;
  IF FOUND THEN PERFORM reveille_tell(sender_id, '{}', true); END IF;
END $$`;

const reclaim = `
CREATE OR REPLACE FUNCTION reveille_reclaim(sender_id text, host_id text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  freed bigint;
BEGIN
  ${LOCK};
  DELETE FROM host WHERE id = host_id;
  UPDATE lease SET host = NULL WHERE host = host_id;
  GET DIAGNOSTICS freed = ROW_COUNT;
  IF freed > 0 THEN PERFORM reveille_tell(sender_id, '{}', true); END IF;
  RETURN freed;
END $$`;

const nextDue = `
CREATE OR REPLACE FUNCTION reveille_next_due() RETURNS double precision LANGUAGE sql AS $$
  SELECT CASE WHEN min(at) IS NOT NULL THEN greatest(0, min(at) - ${NOW}) END FROM (
    SELECT min(due) AS at FROM lease WHERE host IS NULL
    UNION ALL SELECT min(until) FROM host WHERE EXISTS (SELECT 1 FROM lease WHERE lease.host = host.id)
  ) AS times
$$`;

export const FUNCTIONS: readonly string[] = [
  rowsOfChange,
  leasesOfChange,
  tellOthers,
  commit,
  settle,
  lapse,
  claim,
  renew,
  giveBack,
  reclaim,
  nextDue,
];
export const FUNCTIONS_HASH = createHash('sha256').update(FUNCTIONS.join('\n')).digest('hex');
