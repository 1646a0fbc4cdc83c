import { ReveilleError } from '@reveille/protocol';
import type { Find, Row, TableName, Write } from '@reveille/core';
import { columnValues, type ColumnValue, type ListShape, type Shape } from '../columns.ts';
import type { UndoLog, Undoable } from '../undo-log.ts';
import { OrderedList, type Entry } from './ordered-list.ts';

/** One list of a table: an ordered list of entries per combination of the equal columns. */
interface ListIndex {
  readonly equal: readonly number[];
  readonly order: number;
  readonly buckets: Map<ColumnValue, OrderedList>;
}

/** The rows of one table, and the lists INDEX asks for. A row whose equal column is null is in no such list. */
export class MemoryTable implements Undoable<Entry> {
  readonly #shape: Shape;
  readonly #undo: UndoLog;
  readonly #entries = new Map<string, Entry>();
  readonly #lists: ReadonlyMap<string, ListIndex>;
  readonly #unique: readonly { readonly column: number; readonly ids: Map<ColumnValue, string> }[];

  constructor(shape: Shape, undo: UndoLog) {
    this.#shape = shape;
    this.#undo = undo;
    this.#lists = new Map(shape.lists.map((list) => [list.name, listIndex(shape, list)]));
    this.#unique = shape.unique.map((column) => ({ column, ids: new Map() }));
  }

  row(id: string): Row<TableName> | undefined {
    return this.#entries.get(id)?.row;
  }

  find({ list: name, equal, after, limit }: Find): Row<TableName>[] {
    const list = this.#lists.get(name);
    if (!list) throw new ReveilleError('internal', `The table ${this.#shape.table} has no list ${name}.`);
    const key = list.equal.length === 1 ? equal[0] : joined(equal);
    return list.buckets.get(key ?? null)?.rows(after, limit ?? Infinity) ?? [];
  }

  /** The first equal values that occur in a list of two together with the given second one. */
  firstOf(name: string, second: string): string[] {
    const keys = [...(this.#lists.get(name)?.buckets.keys() ?? [])] as string[];
    return keys
      .filter((key) => key.endsWith(SEPARATOR + second))
      .map((key) => key.slice(0, -second.length - 1));
  }

  put({ id, expect, doc }: Write): boolean {
    if ((this.row(id)?.version ?? 0) !== expect) return false;
    const values = columnValues(this.#shape, doc);
    for (const { column, ids } of this.#unique) {
      const owner = ids.get(values[column] ?? null);
      if (owner !== undefined && owner !== id) return false;
    }
    const row = Object.freeze({ version: expect + 1, doc: freezeDeep(doc) });
    this.#undo.record(this, id, this.#entries.get(id));
    this.restore(id, { id, row, values });
    return true;
  }

  restore(id: string, entry: Entry | undefined): void {
    const old = this.#entries.get(id);
    if (entry) this.#entries.set(id, entry);
    else this.#entries.delete(id);
    for (const list of this.#lists.values()) moveInList(list, old, entry);
    for (const { column, ids } of this.#unique) {
      const from = old?.values[column] ?? null;
      const to = entry?.values[column] ?? null;
      if (from === to) continue;
      if (from !== null && ids.get(from) === id) ids.delete(from);
      if (to !== null) ids.set(to, id);
    }
  }
}

function listIndex(shape: Shape, list: ListShape): ListIndex {
  const position = (column: string): number => shape.columns.indexOf(column);
  return { equal: list.equal.map(position), order: position(list.order), buckets: new Map() };
}

function moveInList(list: ListIndex, old: Entry | undefined, entry: Entry | undefined): void {
  const from = old ? keyOf(list, old) : null;
  const to = entry ? keyOf(list, entry) : null;
  if (from === null && to === null) return;
  if (
    from === to &&
    old &&
    entry &&
    (list.order < 0 || old.values[list.order] === entry.values[list.order])
  ) {
    list.buckets.get(to)?.replace(entry);
    return;
  }
  if (from !== null && old) {
    const bucket = list.buckets.get(from);
    bucket?.remove(old);
    if (bucket?.size === 0) list.buckets.delete(from);
  }
  if (to === null || !entry) return;
  let bucket = list.buckets.get(to);
  if (!bucket) list.buckets.set(to, (bucket = new OrderedList(list.order)));
  bucket.insert(entry);
}

/** Null: the entry is not in this list. */
function keyOf(list: ListIndex, entry: Entry): ColumnValue {
  if (list.equal.length === 1) return entry.values[list.equal[0] as number] ?? null;
  return joined(list.equal.map((column) => entry.values[column] ?? null));
}

const SEPARATOR = '\u0000';

// The values of one column have one type, so joining them cannot make two different keys equal, as long as
// none contains the separator.
function joined(values: readonly ColumnValue[]): ColumnValue {
  return values.includes(null) ? null : values.join(SEPARATOR);
}

/** Rows are shared, not copied, so nobody may change one. What a new version took over is frozen already. */
function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const key in value) freezeDeep(value[key]);
  return value;
}
