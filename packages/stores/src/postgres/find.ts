import { ReveilleError } from '@reveille/protocol';
import type { Find, TableName } from '@reveille/core';
import { SHAPES, type ColumnValue } from '../columns.ts';

const LISTS = new Map(
  SHAPES.flatMap(({ table, lists }) => lists.map((list) => [`${table}/${list.name}`, list] as const)),
);

export function findSql(
  table: TableName,
  { list: name, equal, after, limit }: Find,
): { text: string; values: ColumnValue[] } {
  const list = LISTS.get(`${table}/${name}`);
  if (!list) throw new ReveilleError('internal', `The table ${table} has no list ${name}.`);
  const values: ColumnValue[] = [...equal];
  const where = list.equal.map((column, at) => `"${column}" = $${at + 1}`);
  if (after !== undefined && after !== null) where.push(`"${list.order}" > $${values.push(after)}`);
  const order = list.order === 'id' ? 'id' : `"${list.order}", id`;
  const end = limit === undefined ? '' : ` LIMIT $${values.push(limit)}`;
  return {
    text: `SELECT v, doc FROM "${table}" WHERE ${where.join(' AND ')} ORDER BY ${order}${end}`,
    values,
  };
}
