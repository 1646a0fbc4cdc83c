import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { ReveilleError } from '@reveille/protocol';
import type { Row, TableName } from '@reveille/core';
import { columnValues, type ColumnValue, type Doc, type ListShape, type Shape } from '../columns.ts';
import { fieldsOf } from './fields.ts';
import { Halves } from './halves.ts';

/** The bit of the fixed half, beyond those of the columns. */
const DOC = 1 << 30;

/** Where a row is in its table: by its number, which the file alone knows, and by its id. */
export interface Place {
  readonly n: number;
  readonly id: string;
}

interface ListStatements {
  readonly all: StatementSync;
  readonly after: StatementSync;
}

/** The SQL of one table, prepared once, derived from its shape. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #shape: Shape;
  readonly #halves: Halves;
  readonly #get: StatementSync;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #owners: readonly StatementSync[];
  readonly #lists: ReadonlyMap<string, ListStatements>;
  /** By which columns change, as a bit mask: naming an indexed column rewrites its index, even with the same value. */
  readonly #updates = new Map<number, StatementSync>();

  constructor(db: DatabaseSync, shape: Shape) {
    const { table, columns } = shape;
    this.#db = db;
    this.#shape = shape;
    this.#halves = new Halves(shape, fieldsOf(db, shape));
    this.#get = asArrays(db.prepare(`SELECT n, v, doc, live FROM ${table} WHERE id = ?`));
    const names = ['n', 'id', 'v', 'doc', 'live', ...columns.map(quoted)];
    this.#insert = db.prepare(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    );
    this.#delete = db.prepare(`DELETE FROM ${table} WHERE n = ?`);
    this.#owners = shape.unique.map((at) =>
      asArrays(db.prepare(`SELECT id FROM ${table} WHERE ${quoted(columns[at] ?? '')} = ?`)),
    );
    this.#lists = new Map(shape.lists.map((list) => [list.name, listStatements(db, shape, list)]));
  }

  /** The greatest number and the greatest id of all rows. */
  greatest(): Place {
    const table = this.#shape.table;
    const found = asArrays(
      this.#db.prepare(`SELECT max(n), (SELECT max(id) FROM ${table}) FROM ${table}`),
    ).get();
    const [n, id] = found as unknown as [number | null, string | null];
    return { n: n ?? 0, id: id ?? '' };
  }

  /** `chars`: how long its text is. */
  get(id: string): { readonly n: number; readonly row: Row<TableName>; readonly chars: number } | undefined {
    const found = this.#get.get(id) as unknown as [number, number, string, string] | undefined;
    if (!found) return undefined;
    const [n, version, fixed, live] = found;
    return { n, row: { version, doc: this.#halves.join(fixed, live) }, chars: fixed.length + live.length };
  }

  /** What of a document is written with every version of it. */
  liveText(doc: Doc): string {
    return this.#halves.liveText(doc);
  }

  sameFixed(a: Doc, b: Doc): boolean {
    return this.#halves.sameFixed(a, b);
  }

  /** Which row has this value in the unique column at this position. */
  owner(unique: number, value: ColumnValue): string | undefined {
    const found = this.#owners[unique]?.get(value) as unknown as [string] | undefined;
    return found?.[0];
  }

  list(name: string, equal: readonly ColumnValue[], after: ColumnValue, limit: number): string[] {
    const list = this.#lists.get(name);
    if (!list) throw new ReveilleError('internal', `The table ${this.#shape.table} has no list ${name}.`);
    const found = after === null ? list.all.all(...equal, limit) : list.after.all(...equal, after, limit);
    return (found as unknown as [string][]).map(([id]) => id);
  }

  /** Makes the file have `row` where it has `stored`. Returns how many characters of it were written. */
  write(
    { n, id }: Place,
    stored: Row<TableName> | undefined,
    row: Row<TableName> | undefined,
    text: string,
  ): number {
    if (!row) {
      this.#delete.run(n);
      return 0;
    }
    if (!stored) {
      // `get`, because `run` makes an answer that nobody asks for.
      const fixed = this.#halves.fixedText(row.doc);
      this.#insert.get(n, id, row.version, fixed, text, ...columnValues(this.#shape, row.doc));
      return fixed.length + text.length;
    }
    const changed: ColumnValue[] = [];
    const mask = this.#differences(stored.doc, row.doc, changed);
    const { changes } = this.#update(mask).run(row.version, text, ...changed, n, stored.version);
    if (changes === 1) return text.length;
    throw new ReveilleError(
      'store_failed',
      `The ${this.#shape.table} ${id} is not what was read: the file was changed by somebody else.`,
    );
  }

  /** Which columns differ, as a bit mask; their new values are added to `changed`. */
  #differences(before: Doc, after: Doc, changed: ColumnValue[]): number {
    let mask = 0;
    const same = this.#halves.sameFixed(before, after);
    if (!same) {
      mask |= DOC;
      changed.push(this.#halves.fixedText(after));
    }
    const { read, unique } = this.#shape;
    for (let at = 0; at < read.length; at++) {
      if (same && unique.includes(at)) continue;
      const value = read[at]?.(after) ?? null;
      if (value === (read[at]?.(before) ?? null)) continue;
      mask |= 1 << at;
      changed.push(value);
    }
    return mask;
  }

  #update(mask: number): StatementSync {
    const known = this.#updates.get(mask);
    if (known) return known;
    const { table, columns } = this.#shape;
    const changed = columns.filter((_, at) => mask & (1 << at)).map((name) => `${quoted(name)} = ?`);
    const sets = ['v = ?', 'live = ?', ...(mask & DOC ? ['doc = ?'] : []), ...changed].join(', ');
    const statement = this.#db.prepare(`UPDATE ${table} SET ${sets} WHERE n = ? AND v = ?`);
    this.#updates.set(mask, statement);
    return statement;
  }
}

/** Only ids are read, which the index itself has; the rows are mostly in the cache. */
function listStatements(db: DatabaseSync, { table }: Shape, { equal, order }: ListShape): ListStatements {
  const where = equal.map((name) => `${quoted(name)} = ?`).join(' AND ');
  const by = order === 'id' ? 'id' : `${quoted(order)}, id`;
  const select = (condition: string): StatementSync =>
    asArrays(db.prepare(`SELECT id FROM ${table} WHERE ${where}${condition} ORDER BY ${by} LIMIT ?`));
  return { all: select(''), after: select(` AND ${quoted(order)} > ?`) };
}

const quoted = (name: string): string => `"${name}"`;

export function asArrays(statement: StatementSync): StatementSync {
  statement.setReturnArrays(true);
  return statement;
}
