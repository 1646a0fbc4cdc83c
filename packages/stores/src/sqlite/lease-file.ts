import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock } from '@reveille/core';
import { Leases } from '../leases.ts';
import type { UndoLog } from '../undo-log.ts';

interface StoredLease {
  readonly task: string;
  readonly rank: number;
  readonly seq: number;
  readonly due: number;
  readonly wait: number;
}

/**
 * Keeps the leases' rows in step with the leases in memory. Times in the file are those of the wall clock, because the
 * monotonic one starts anew with the process; a stored delay never grows beyond what was asked for, however
 * far the wall clock was set back meanwhile.
 */
export class LeaseFile {
  readonly leases: Leases;
  readonly #clock: Pick<Clock, 'mono' | 'now'>;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #touched = new Set<string>();

  constructor(db: DatabaseSync, clock: Pick<Clock, 'mono' | 'now'>, undo: UndoLog) {
    this.#clock = clock;
    this.#put = db.prepare(`INSERT INTO lease (task, rank, seq, due, wait) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (task) DO UPDATE SET rank = excluded.rank, due = excluded.due, wait = excluded.wait`);
    this.#delete = db.prepare('DELETE FROM lease WHERE task = ?');
    this.leases = new Leases({ clock, undo, touched: (task) => this.#touched.add(task) });
    const rows = db.prepare('SELECT task, rank, seq, due, wait FROM lease ORDER BY seq').all();
    for (const row of rows as unknown as StoredLease[]) this.#load(row);
  }

  get unwritten(): boolean {
    return this.#touched.size > 0;
  }

  flush(): void {
    if (!this.unwritten) return;
    const toWall = this.#clock.now() - this.#clock.mono();
    for (const task of this.#touched) {
      const lease = this.leases.get(task);
      if (lease) this.#put.get(task, lease.rank, lease.seq, lease.due + toWall, lease.waitMs);
      else this.#delete.get(task);
    }
    this.#touched.clear();
  }

  /** The file was rolled back, and the leases with it. */
  forget(): void {
    this.#touched.clear();
  }

  #load({ task, rank, seq, due, wait }: StoredLease): void {
    const waitMs = Math.min(wait, Math.max(0, due - this.#clock.now()));
    this.leases.load({ task, rank, seq, due: this.#clock.mono() + waitMs, waitMs, host: null });
  }
}
