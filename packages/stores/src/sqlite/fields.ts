import type { DatabaseSync } from 'node:sqlite';
import { Budget, Message, Plan, Request, Run, Session, Task } from '@reveille/protocol';
import type { TableName } from '@reveille/core';
import type { Shape } from '../columns.ts';
import type { Fields } from './halves.ts';

const SCHEMAS: { readonly [T in TableName]: { readonly shape: object } } = {
  plan: Plan,
  task: Task,
  session: Session,
  run: Run,
  message: Message,
  request: Request,
  budget: Budget,
};

/**
 * Which value of a row's texts is which. The file says it itself, so that rows of an older version are read as they were
 * written: what is new comes last, and nothing is ever taken out.
 */
export function fieldsOf(db: DatabaseSync, { table, fixed }: Shape): Fields {
  const key = `fields.${table}`;
  const found = db.prepare('SELECT value FROM meta WHERE key = ?').get(key) as { value: string } | undefined;
  const known = found ? (JSON.parse(found.value) as Fields) : { fixed: [], live: [] };
  const names = Object.keys(SCHEMAS[table].shape);
  const fields = {
    fixed: [...new Set([...known.fixed, ...fixed])],
    live: [...new Set([...known.live, ...names.filter((name) => !fixed.includes(name))])],
  };
  const text = JSON.stringify(fields);
  if (text !== found?.value)
    db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)').run(key, text);
  return fields;
}
