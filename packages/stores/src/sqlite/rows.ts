import type { DatabaseSync } from 'node:sqlite';
import type { Find, Row, TableName, Write } from '@reveille/core';
import type { Rows } from '../apply.ts';
import { SHAPES } from '../columns.ts';
import { SqliteTable, type Before, type TableOptions } from './table.ts';

/** All tables of records, and what the change at hand replaced in them. */
export class SqliteRows implements Rows {
  readonly #tables: Readonly<Record<TableName, SqliteTable>>;
  readonly #all: readonly SqliteTable[];
  readonly #replaced: { readonly table: SqliteTable; readonly before: Before }[] = [];

  constructor(db: DatabaseSync, options: TableOptions) {
    // What the tables note in a new file is noted at once or not at all.
    db.exec('BEGIN IMMEDIATE');
    const tables = SHAPES.map((shape) => [shape.table, new SqliteTable(db, shape, options)] as const);
    this.#tables = Object.fromEntries(tables) as Record<TableName, SqliteTable>;
    db.exec('COMMIT');
    this.#all = tables.map(([, table]) => table);
  }

  /** The row, if it need not be looked for in the file. */
  cached<T extends TableName>(table: T, id: string): Row<T> | undefined {
    return this.#tables[table].cached(id) as Row<T> | undefined;
  }

  get<T extends TableName>(table: T, id: string): Row<T> | undefined {
    const row = this.#tables[table].row(id);
    this.#tables[table].trim();
    return row as Row<T> | undefined;
  }

  find<T extends TableName>(table: T, find: Find): Row<T>[] {
    const rows = this.#tables[table].find(find);
    this.#tables[table].trim();
    return rows as Row<T>[];
  }

  version(table: TableName, id: string): number {
    return this.#tables[table].row(id)?.version ?? 0;
  }

  put(write: Write): boolean {
    const table = this.#tables[write.table];
    const before = table.put(write);
    if (!before) return false;
    this.#replaced.push({ table, before });
    return true;
  }

  mark(): number {
    return this.#replaced.length;
  }

  undoTo(mark: number): void {
    while (this.#replaced.length > mark) {
      const step = this.#replaced.pop();
      step?.table.restore(step.before);
    }
  }

  /** The change at hand is applied as a whole. */
  keep(): void {
    this.#replaced.length = 0;
  }

  flush(): void {
    for (const table of this.#all) table.flush();
  }

  /** `bound`: how many rows of each table may stay, if it is to be less than usual. */
  trim(bound?: number): void {
    for (const table of this.#all) table.trim(bound);
  }

  forget(): void {
    this.#replaced.length = 0;
    for (const table of this.#all) table.forget();
  }
}
