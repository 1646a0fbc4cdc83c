import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { SHAPES, type Doc } from '../src/columns.ts';
import { byHand, fieldsRead } from '../src/sqlite/accessors.ts';
import { fieldsOf } from '../src/sqlite/fields.ts';
import { message, task } from './fixtures.ts';

describe('what is written out by hand', () => {
  test.each(SHAPES.filter(({ table }) => byHand(table)))(
    '[STO35] $table: the fixed fields, and the live ones in the order of a new file',
    (shape) => {
      using db = new DatabaseSync(':memory:');
      db.exec('CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)');
      const quick = byHand(shape.table);
      const compared = fieldsRead((doc) => quick?.sameFixed(doc, {} as Doc));
      expect(compared).toEqual(shape.fixed);
      expect(fieldsRead((doc) => quick?.live(doc))).toEqual(fieldsOf(db, shape).live);
    },
  );

  test('[STO35] the tables that every task writes are among them', () => {
    expect(SHAPES.map(({ table }) => table).filter(byHand)).toEqual(['task', 'session', 'run', 'message']);
  });

  test('[STO35] unique values are made of what is fixed', () => {
    const docs: Record<string, Doc[]> = {
      task: [
        task({ id: 'task_1', plan: 'plan_1', key: 'a' }),
        task({ id: 'task_2', plan: null, key: 'a' }),
        task({ id: 'task_3' }),
      ],
      message: [message({ id: 'msg_1', kind: 'end' }), message({ id: 'msg_2', kind: 'info' })],
    };
    for (const { table, fixed, unique, read } of SHAPES) {
      for (const column of unique) {
        expect(docs[table]).toBeDefined();
        for (const doc of docs[table] ?? []) {
          const asked: string[] = [];
          const watched = new Proxy(doc, {
            get: (of, name) => (asked.push(String(name)), of[name as keyof Doc]),
          });
          read[column]?.(watched);
          expect(fixed).toEqual(expect.arrayContaining(asked));
          expect(asked).not.toEqual([]);
        }
      }
    }
  });
});
