import { INDEX, type Find, type TableName, type Tables } from '@reveille/core';

export type ColumnValue = Find['equal'][number];
export type Doc = Tables[TableName];

/** A lookup: the columns that must equal something, and the one the answer is ordered by (then by id). */
export interface ListShape {
  readonly name: string;
  readonly equal: readonly string[];
  readonly order: string;
}

/** What INDEX says of one table, in the form the stores work with. */
export interface Shape {
  readonly table: TableName;
  readonly columns: readonly string[];
  readonly read: readonly ((doc: Doc) => ColumnValue)[];
  readonly lists: readonly ListShape[];
  /** Positions in `columns` whose values no two rows share; null is shared freely. */
  readonly unique: readonly number[];
  /** Fields that a row keeps apart from what changes; see INDEX. */
  readonly fixed: readonly string[];
  readonly over: (doc: Doc) => boolean;
}

// INDEX ties the functions of a table to its documents; a store handles all tables alike and only ever gives a
// function documents of its own table, which this cast cannot say.
type Erased = {
  readonly columns: Readonly<Record<string, (doc: Doc) => ColumnValue>>;
  readonly lists: Readonly<Record<string, { readonly equal: readonly string[]; readonly order: string }>>;
  readonly unique?: readonly string[];
  readonly fixed?: readonly string[];
  readonly over?: (doc: Doc) => boolean;
};

function shapeOf(table: TableName): Shape {
  const index = INDEX[table] as unknown as Erased;
  const columns = Object.keys(index.columns);
  return {
    table,
    columns,
    read: Object.values(index.columns),
    lists: Object.entries(index.lists).map(([name, list]) => ({ name, ...list })),
    unique: (index.unique ?? []).map((name) => columns.indexOf(name)),
    fixed: index.fixed ?? ['id'],
    over: index.over ?? (() => false),
  };
}

export const TABLES = Object.keys(INDEX) as TableName[];
export const SHAPES: readonly Shape[] = TABLES.map(shapeOf);

export const columnValues = (shape: Shape, doc: Doc): ColumnValue[] => shape.read.map((read) => read(doc));
