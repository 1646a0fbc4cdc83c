import type { Row, TableName } from '@reveille/core';
import type { ColumnValue } from '../columns.ts';

/** A row with its column values, computed once per write. */
export interface Entry {
  readonly id: string;
  readonly row: Row<TableName>;
  readonly values: readonly ColumnValue[];
}

/** Entries by one column, then by id. Almost every row comes last, because ids grow; others are sorted in. */
export class OrderedList {
  readonly #entries: Entry[] = [];
  /** Position of the column, or -1 for the id. */
  readonly #column: number;

  constructor(column: number) {
    this.#column = column;
  }

  get size(): number {
    return this.#entries.length;
  }

  insert(entry: Entry): void {
    const last = this.#entries.at(-1);
    if (!last || this.#compare(last, entry) < 0) this.#entries.push(entry);
    else this.#entries.splice(this.#position(entry), 0, entry);
  }

  /** Removes the entry with the id and the order value of this one. */
  remove(entry: Entry): void {
    this.#entries.splice(this.#position(entry), 1);
  }

  /** Puts a new version where the old one was; only for the same id and order value. */
  replace(entry: Entry): void {
    this.#entries[this.#position(entry)] = entry;
  }

  rows(after: ColumnValue | undefined, limit: number): Row<TableName>[] {
    const start = after === undefined || after === null ? 0 : this.#firstAfter(after);
    const rows: Row<TableName>[] = [];
    const end = Math.min(this.#entries.length, start + limit);
    for (let at = start; at < end; at++) rows.push((this.#entries[at] as Entry).row);
    return rows;
  }

  #order(entry: Entry): ColumnValue {
    return this.#column < 0 ? entry.id : (entry.values[this.#column] ?? null);
  }

  #compare(a: Entry, b: Entry): number {
    return compareValues(this.#order(a), this.#order(b)) || compareValues(a.id, b.id);
  }

  #position(entry: Entry): number {
    return this.#search((other) => this.#compare(other, entry) < 0);
  }

  #firstAfter(value: ColumnValue): number {
    return this.#search((other) => compareValues(this.#order(other), value) <= 0);
  }

  /** How many entries from the start fulfil `isBefore`. */
  #search(isBefore: (entry: Entry) => boolean): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(this.#entries[middle] as Entry)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function compareValues(a: ColumnValue, b: ColumnValue): number {
  if (a === b) return 0;
  // A list never mixes types; null comes first, as in SQLite.
  if (a === null || b === null) return a === null ? -1 : 1;
  return a < b ? -1 : 1;
}
