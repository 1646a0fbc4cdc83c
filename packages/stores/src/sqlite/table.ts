import type { DatabaseSync } from 'node:sqlite';
import type { Find, Row, TableName, Write } from '@reveille/core';
import type { ColumnValue, Doc, Shape } from '../columns.ts';
import { Statements, type Place } from './statements.ts';

/** A row as readers see it, and as the file has it inside the open transaction. */
interface Entry extends Place {
  row: Row<TableName> | undefined;
  text: string;
  stored: Row<TableName> | undefined;
  dirty: boolean;
  /** How long its text in the file is, or was when it was longest. */
  chars: number;
}

/** What an entry was, to put it back when the change at hand fails. */
export interface Before {
  readonly entry: Entry;
  readonly row: Row<TableName> | undefined;
  readonly text: string;
}

/**
 * A run is made into text when its change is applied, since it holds what an agent reported: if that cannot be, it is the
 * fault of that change, and may not make the whole commit fail. The others hold nothing that was not parsed before,
 * and are often rewritten before the commit (the counters of a parent, a task that waits for many): they are made
 * into text once, when they are flushed.
 */
const EAGER: ReadonlySet<TableName> = new Set(['run']);

/**
 * What is over is read once or twice more, when its end is delivered. Kept for longer, it would only be copied by the
 * collector: rows that die young cost nothing.
 */
const OVER_ROWS = 256;

/** Rows of a table are cached up to this length: what agents report can be a million times as long as an ordinary row (BND7). */
const MOST_CHARS = 16_000_000;

export interface TableOptions {
  /** How many rows may stay cached per table. */
  readonly cachedRows: number;
  /** Opens the transaction if it is not open yet; called before anything is written. */
  readonly begin: () => void;
}

/**
 * One table, behind a cache of rows. Writes go to the cache; `flush` brings the file to the same state. A row that
 * is written many times before it is flushed (a parent's counters, while its children come and go) costs one
 * statement. Lookups by list flush first, so that SQL sees all there is.
 */
export class SqliteTable {
  readonly #shape: Shape;
  readonly #statements: Statements;
  readonly #begin: () => void;
  readonly #bound: number;
  readonly #cache = new Map<string, Entry>();
  /** The length of all cached rows. */
  #chars = 0;
  #dirty: Entry[] = [];
  /** Cached rows that have come to their end, oldest first. */
  readonly #over = new Set<Entry>();
  /** Unique values of unflushed rows → id, per unique column. */
  readonly #pending: readonly Map<ColumnValue, string>[];
  /** The greatest id there ever was: ids grow, so a new one needs no look into the file. */
  #maxId: string;
  #maxN: number;

  constructor(db: DatabaseSync, shape: Shape, options: TableOptions) {
    this.#shape = shape;
    this.#statements = new Statements(db, shape);
    this.#begin = options.begin;
    this.#bound = options.cachedRows;
    this.#pending = shape.unique.map(() => new Map());
    const greatest = this.#statements.greatest();
    this.#maxId = greatest.id;
    this.#maxN = greatest.n;
  }

  cached(id: string): Row<TableName> | undefined {
    return this.#cache.get(id)?.row;
  }

  row(id: string): Row<TableName> | undefined {
    return (this.#cache.get(id) ?? this.#load(id))?.row;
  }

  /** Undefined: it is not as expected, or another row has one of its unique values. Otherwise what it replaced. */
  put({ id, expect, doc }: Write): Before | undefined {
    const known = this.#cache.get(id) ?? this.#load(id);
    if ((known?.row?.version ?? 0) !== expect) return undefined;
    const entry = known ?? this.#insert(id);
    if (this.#mayMove(entry.row, doc) && this.#clashes(entry, doc)) return undefined;
    const text = EAGER.has(this.#shape.table) ? this.#statements.liveText(doc) : '';
    const before = { entry, row: entry.row, text: entry.text };
    this.#change(entry, { version: expect + 1, doc }, text);
    return before;
  }

  restore({ entry, row, text }: Before): void {
    this.#change(entry, row, text);
  }

  find({ list, equal, after, limit }: Find): Row<TableName>[] {
    this.flush();
    const ids = this.#statements.list(list, equal, after ?? null, limit ?? -1);
    const rows: Row<TableName>[] = [];
    for (const id of ids) {
      const row = this.row(id);
      if (row) rows.push(row);
    }
    return rows;
  }

  flush(): void {
    if (this.#dirty.length === 0) return;
    this.#begin();
    const entries = this.#dirty;
    this.#dirty = [];
    for (const entry of entries) {
      entry.dirty = false;
      if (entry.row !== entry.stored) this.#write(entry);
      entry.stored = entry.row;
      entry.text = '';
      if (entry.row && this.#shape.over(entry.row.doc)) this.#over.add(entry);
    }
    for (const pending of this.#pending) pending.clear();
  }

  /** Lets the oldest rows go, first of all those that are over. Not in the middle of a change, which may have to put them back. */
  trim(bound = this.#bound): void {
    for (const entry of this.#over) {
      if (this.#over.size <= OVER_ROWS && this.#chars <= MOST_CHARS) break;
      this.#over.delete(entry);
      if (!entry.dirty && this.#cache.get(entry.id) === entry) this.#drop(entry);
    }
    if (this.#fits(bound)) return;
    for (const entry of this.#cache.values()) {
      if (entry.dirty) continue;
      this.#drop(entry);
      if (this.#fits(bound)) return;
    }
  }

  #fits(bound: number): boolean {
    return this.#cache.size <= bound && this.#chars <= MOST_CHARS;
  }

  #drop(entry: Entry): void {
    this.#cache.delete(entry.id);
    this.#chars -= entry.chars;
  }

  /** The file was rolled back: nothing cached can be trusted. */
  forget(): void {
    this.#cache.clear();
    this.#chars = 0;
    this.#over.clear();
    this.#dirty = [];
    for (const pending of this.#pending) pending.clear();
  }

  #write(entry: Entry): void {
    const { stored, row, text } = entry;
    // No text: not an eager table, or a row that was flushed and then put back by a failing change.
    const live = text || (row ? this.#statements.liveText(row.doc) : '');
    const chars = Math.max(entry.chars, this.#statements.write(entry, stored, row, live));
    this.#chars += chars - entry.chars;
    entry.chars = chars;
  }

  #load(id: string): Entry | undefined {
    if (id > this.#maxId) return undefined;
    const found = this.#statements.get(id);
    if (!found) return undefined;
    const { n, row, chars } = found;
    const entry: Entry = { n, id, row, text: '', stored: row, dirty: false, chars };
    this.#cache.set(id, entry);
    this.#chars += chars;
    return entry;
  }

  #insert(id: string): Entry {
    const n = ++this.#maxN;
    const entry: Entry = { n, id, row: undefined, text: '', stored: undefined, dirty: false, chars: 0 };
    this.#cache.set(id, entry);
    if (id > this.#maxId) this.#maxId = id;
    return entry;
  }

  #change(entry: Entry, row: Row<TableName> | undefined, text: string): void {
    if (this.#mayMove(entry.row, row?.doc)) {
      for (const [at, column] of this.#shape.unique.entries()) this.#movePending(at, column, entry, row);
    }
    entry.row = row;
    entry.text = text;
    if (entry.dirty) return;
    entry.dirty = true;
    this.#dirty.push(entry);
  }

  /** Whether unique values may differ: they are made of what is fixed. */
  #mayMove(from: Row<TableName> | undefined, to: Doc | undefined): boolean {
    if (this.#shape.unique.length === 0) return false;
    return !from || !to || !this.#statements.sameFixed(from.doc, to);
  }

  #movePending(at: number, column: number, entry: Entry, row: Row<TableName> | undefined): void {
    const pending = this.#pending[at];
    const read = this.#shape.read[column];
    if (!pending || !read) return;
    const from = entry.row ? read(entry.row.doc) : null;
    const to = row ? read(row.doc) : null;
    if (from === to) return;
    if (from !== null && pending.get(from) === entry.id) pending.delete(from);
    if (to !== null) pending.set(to, entry.id);
  }

  #clashes(entry: Entry, doc: Doc): boolean {
    return this.#shape.unique.some((column, at) => {
      const read = this.#shape.read[column] as (doc: Doc) => ColumnValue;
      const value = read(doc);
      if (value === null || (entry.row && read(entry.row.doc) === value)) return false;
      if (this.#pending[at]?.has(value)) return true;
      const owner = this.#statements.owner(at, value);
      if (owner === undefined) return false;
      if (!this.#cache.get(owner)?.dirty) return owner !== entry.id;
      // The row that has it in the file has been changed since; the file can say only once it knows that too.
      this.flush();
      const now = this.#statements.owner(at, value);
      return now !== undefined && now !== entry.id;
    });
  }
}
