import type { ReveilleEvent } from '@reveille/protocol';
import type { Change, Clock, Find, Outcome, Row, TableName, Write } from '@reveille/core';
import { applyRows, type Rows } from '../apply.ts';
import { SHAPES } from '../columns.ts';
import { Leases } from '../leases.ts';
import { UndoLog, type Undoable } from '../undo-log.ts';
import { MemoryTable } from './table.ts';

/**
 * Everything a store remembers, without any disk. What is applied since the last `seal` can be thrown away by
 * `rollback`, as a crash would: a simulation decides when something counts as being on disk.
 */
export class MemoryTables implements Rows {
  readonly leases: Leases;
  readonly #undo = new UndoLog();
  readonly #tables: Readonly<Record<TableName, MemoryTable>>;
  readonly #events = new EventList();

  constructor(clock: Pick<Clock, 'mono'>) {
    this.leases = new Leases({ clock, undo: this.#undo });
    const tables = SHAPES.map((shape) => [shape.table, new MemoryTable(shape, this.#undo)] as const);
    this.#tables = Object.fromEntries(tables) as Record<TableName, MemoryTable>;
  }

  apply(change: Change): Outcome {
    if (!applyRows(this, change)) return { committed: false };
    for (const task of change.drops) this.leases.drop(task);
    for (const offer of change.offers) this.leases.offer(offer);
    if (change.facts.length > 0) this.#undo.record(this.#events, '', this.#events.append(change));
    return { committed: true, lastEvent: this.#events.last };
  }

  get<T extends TableName>(table: T, id: string): Row<T> | undefined {
    return this.#tables[table].row(id) as Row<T> | undefined;
  }

  find<T extends TableName>(table: T, find: Find): Row<T>[] {
    return this.#tables[table].find(find) as Row<T>[];
  }

  sessionsWithMail(limit: number): string[] {
    const sessions = this.#tables.message.firstOf('byState', 'queued') as string[];
    return sessions.toSorted().slice(0, limit);
  }

  events(after: number, limit: number): ReveilleEvent[] {
    return this.#events.slice(after, limit);
  }

  lastEvent(): number {
    return this.#events.last;
  }

  /** Everything applied until now is on disk. */
  seal(): void {
    this.#undo.clear();
  }

  /** Throws away what is not on disk. */
  rollback(): void {
    this.#undo.undoTo(0);
  }

  version(table: TableName, id: string): number {
    return this.#tables[table].row(id)?.version ?? 0;
  }

  put(write: Write): boolean {
    return this.#tables[write.table].put(write);
  }

  mark(): number {
    return this.#undo.mark();
  }

  undoTo(mark: number): void {
    this.#undo.undoTo(mark);
  }
}

class EventList implements Undoable<number> {
  readonly #events: ReveilleEvent[] = [];

  get last(): number {
    return this.#events.length;
  }

  append({ facts, at }: Change): number {
    const before = this.#events.length;
    for (const fact of facts)
      this.#events.push(Object.freeze({ number: this.#events.length + 1, at, ...fact }));
    return before;
  }

  slice(after: number, limit: number): ReveilleEvent[] {
    return this.#events.slice(after, after + limit);
  }

  restore(_id: string, before: number | undefined): void {
    this.#events.length = before ?? 0;
  }
}
