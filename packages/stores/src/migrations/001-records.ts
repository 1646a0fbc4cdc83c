import type { Dialect, Migration } from './migration.ts';

/**
 * One table per kind of record: its id, its version, the document, and the columns core's INDEX names. Indexes on
 * columns that are mostly null are partial: most rows never enter them.
 *
 * `message_by_state` begins with the state, so that it also answers which sessions have queued messages.
 */
export const records: Migration = {
  version: 1,
  name: 'records',
  statements: (dialect) => [
    ...tables(dialect),
    ...INDEXES,
    ...logAndLeases(dialect),
    ...(dialect.name === 'postgres' ? sharing(dialect) : []),
  ],
};

function tables({ name: dialect, text, integer, real }: Dialect): string[] {
  // SQLite writes a row again with every version: there it is found by a number, not by its long id, and what never
  // changes is kept apart.
  const record =
    dialect === 'sqlite'
      ? [
          'n INTEGER PRIMARY KEY',
          'id TEXT NOT NULL UNIQUE',
          'v INTEGER NOT NULL',
          'doc TEXT NOT NULL',
          'live TEXT NOT NULL',
        ]
      : [`id ${text} PRIMARY KEY`, `v ${integer} NOT NULL`, 'doc TEXT NOT NULL'];
  const table = (name: string, columns: string[]): string =>
    `CREATE TABLE ${name} (${[...record, ...columns].join(', ')})`;
  return [
    table('plan', [`state ${text} NOT NULL`, `at ${real} NOT NULL`]),
    table('task', [`plan ${text}`, `owner ${text} NOT NULL`, `open ${integer}`, `key ${text}`]),
    table('session', [`kind ${text}`]),
    table('run', []),
    table('message', [
      `"to" ${text} NOT NULL`,
      `state ${text} NOT NULL`,
      `number ${integer} NOT NULL`,
      `key ${text}`,
    ]),
    table('request', [`task ${text} NOT NULL`, `open ${integer}`, `passes ${integer}`]),
    table('budget', []),
  ];
}

const INDEXES = [
  'CREATE INDEX plan_by_state ON plan (state, at, id)',
  'CREATE INDEX task_by_plan ON task (plan, id) WHERE plan IS NOT NULL',
  'CREATE INDEX task_by_owner ON task (owner, id)',
  'CREATE INDEX task_open ON task (open, owner, id) WHERE open IS NOT NULL',
  'CREATE UNIQUE INDEX task_key ON task (key) WHERE key IS NOT NULL',
  'CREATE INDEX session_by_kind ON session (kind, id) WHERE kind IS NOT NULL',
  'CREATE INDEX message_by_state ON message (state, "to", number, id)',
  'CREATE UNIQUE INDEX message_key ON message (key) WHERE key IS NOT NULL',
  'CREATE INDEX request_open_by_task ON request (task, open, id) WHERE open IS NOT NULL',
  'CREATE INDEX request_open ON request (open, id) WHERE open IS NOT NULL',
  'CREATE INDEX request_passing ON request (passes, id) WHERE passes IS NOT NULL',
];

/**
 * `events`: a row has the facts of one or more changes; they have the numbers first … first + count - 1.
 * `lease`: a task that needs a host or has one. `due` is the wall clock's, `wait` the delay that was asked for.
 * `host`: until when a host holds what it holds. SQLite keeps both of these facts about hosts in memory: the file has one owner.
 */
function logAndLeases({ text, integer, real, keyed }: Dialect): string[] {
  return [
    `CREATE TABLE events (first ${integer} PRIMARY KEY, count ${integer} NOT NULL, at ${real} NOT NULL, facts TEXT NOT NULL)`,
    `CREATE TABLE lease (task ${text} PRIMARY KEY, rank ${integer} NOT NULL, seq ${integer} NOT NULL,
      due ${real} NOT NULL, wait ${real} NOT NULL, host ${text}) ${keyed}`,
    `CREATE TABLE host (id ${text} PRIMARY KEY, until ${real} NOT NULL) ${keyed}`,
  ];
}

/**
 * What only a database with several hosts needs. `counter`: the number of the last event. `sender`: the last batch of
 * changes of each host, and what came of it, for a host that lost the answer. The claim looks for free leases in
 * the order of `lease_free`.
 */
function sharing({ text, integer, real }: Dialect): string[] {
  return [
    `CREATE TABLE counter (name ${text} PRIMARY KEY, value ${integer} NOT NULL)`,
    `INSERT INTO counter (name, value) VALUES ('event', 0)`,
    `CREATE TABLE sender (id ${text} PRIMARY KEY, batch ${integer} NOT NULL, at ${real} NOT NULL, outcomes JSONB)`,
    'CREATE SEQUENCE lease_seq',
    'CREATE INDEX lease_free ON lease (rank, seq) WHERE host IS NULL',
    'CREATE INDEX lease_due ON lease (due) WHERE host IS NULL',
    'CREATE INDEX lease_held ON lease (host) WHERE host IS NOT NULL',
  ];
}
