import type { Change, TableName, Write } from '@reveille/core';

/** Rows as they are now, and a way back to how they were before the change at hand. */
export interface Rows {
  /** The version of a row; 0 if there is none. */
  version(table: TableName, id: string): number;
  /** Writes the row with the next version. False: it has not the expected one, or another row has one of its unique values. */
  put(write: Write): boolean;
  mark(): number;
  undoTo(mark: number): void;
}

/**
 * The rows of one change: all of them or none. Guards are about the rows as they were before it. Neighbours in the
 * same commit are not touched when it fails: only what came after the mark is undone.
 */
export function applyRows(rows: Rows, change: Change): boolean {
  for (const guard of change.guards) {
    if (rows.version(guard.table, guard.id) !== guard.version) return false;
  }
  const mark = rows.mark();
  try {
    for (const write of change.writes) {
      if (rows.put(write)) continue;
      rows.undoTo(mark);
      return false;
    }
  } catch (error) {
    rows.undoTo(mark);
    throw error;
  }
  return true;
}
