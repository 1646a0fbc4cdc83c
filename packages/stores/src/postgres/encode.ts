import { ReveilleError } from '@reveille/protocol';
import type { Change, Write } from '@reveille/core';
import { columnValues, SHAPES, type ColumnValue, type Shape } from '../columns.ts';

const SHAPE_OF = new Map(SHAPES.map((shape) => [shape.table, shape]));

/** A change as JSON for `reveille_commit`. Documents and facts travel as text inside it and are stored as they are. */
export function encodeChange(change: Change): string {
  const { guards, writes, facts, offers, drops, wakes, at } = change;
  return JSON.stringify({
    guards,
    rows: writes.map(encodeWrite),
    count: facts.length,
    facts: JSON.stringify(facts),
    offers,
    drops,
    wakes,
    at,
  });
}

function encodeWrite({ table, id, expect, doc }: Write): Record<string, ColumnValue> {
  const shape = SHAPE_OF.get(table) as Shape;
  const row: Record<string, ColumnValue> = {
    _table: table,
    id: storable(id),
    v: expect + 1,
    doc: JSON.stringify(doc),
  };
  for (const [at, value] of columnValues(shape, doc).entries())
    row[shape.columns[at] as string] = storable(value);
  return row;
}

/** Postgres has no NUL and no half characters in its texts. In a document they are escaped; in a column they cannot be. */
function storable(value: ColumnValue): ColumnValue {
  if (typeof value !== 'string' || (value.isWellFormed() && !value.includes('\u0000'))) return value;
  throw new ReveilleError(
    'invalid_input',
    `${JSON.stringify(value)} cannot be stored: it contains a character that no text may have.`,
  );
}
