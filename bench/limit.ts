import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { temporaryFolder } from './world.ts';

/**
 * The bare limit that everything else is measured against: SQLite itself, in the same process, on the same disk, with
 * the same durability, doing the least that could be called the job: a state row and a mailbox row in one
 * transaction, the effect and its acknowledgement in another.
 */
export interface Limit extends Disposable {
  /** Children per second when `group` of them share each of the two commits. */
  grouped(children: number, group: number): number;
  /** Milliseconds of a single commit of one row. */
  commit(): number;
}

export function openLimit(): Limit {
  const folder = temporaryFolder();
  const db = new DatabaseSync(join(folder.path, 'limit.db'));
  db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL');
  db.exec(
    'CREATE TABLE task(id INTEGER PRIMARY KEY, state TEXT); CREATE TABLE mail(id INTEGER PRIMARY KEY, body TEXT, read INTEGER)',
  );
  const state = db.prepare('INSERT INTO task(state) VALUES (?)');
  const mail = db.prepare('INSERT INTO mail(body, read) VALUES (?, 0)');
  const effect = db.prepare('INSERT INTO task(state) VALUES (?)');
  const read = db.prepare('UPDATE mail SET read = 1 WHERE id = ?');
  const transaction = (work: () => void): void => {
    db.exec('BEGIN IMMEDIATE');
    work();
    db.exec('COMMIT');
  };
  return {
    grouped(children, group) {
      const began = performance.now();
      for (let done = 0; done < children; done += group) {
        const ids: (number | bigint)[] = [];
        transaction(() => {
          for (let i = 0; i < group; i++) {
            state.run('completed');
            ids.push(mail.run('the result of a child').lastInsertRowid);
          }
        });
        transaction(() => {
          for (const id of ids) {
            effect.run('seen');
            read.run(id);
          }
        });
      }
      return (children / (performance.now() - began)) * 1_000;
    },
    commit() {
      const began = performance.now();
      transaction(() => state.run('completed'));
      return performance.now() - began;
    },
    [Symbol.dispose]() {
      db.close();
      folder[Symbol.dispose]();
    },
  };
}
