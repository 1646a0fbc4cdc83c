import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Fact, ReveilleEvent } from '@reveille/protocol';
import type { Change } from '@reveille/core';
import { asArrays } from './statements.ts';

/** Facts of one moment: they have the numbers from `first` on. Each text is the inside of a JSON array. */
interface Entry {
  readonly first: number;
  readonly at: number;
  count: number;
  readonly texts: string[];
}
type StoredEntry = [first: number, at: number, facts: string];

/** The numbered facts: a row holds those of one moment. Numbers are given when a change is applied, and taken back if it is lost. */
export class EventLog {
  readonly #insert: StatementSync;
  readonly #from: StatementSync;
  #unwritten: Entry[] = [];
  #last: number;
  #lastOnDisk: number;

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare('INSERT INTO events (first, count, at, facts) VALUES (?, ?, ?, ?)');
    this.#from = asArrays(
      // The row that holds `after + 1` begins at or before it.
      db.prepare(`SELECT first, at, facts FROM events
        WHERE first >= coalesce((SELECT max(first) FROM events WHERE first <= ?), 0) ORDER BY first`),
    );
    const end = asArrays(
      db.prepare('SELECT first + count - 1 FROM events ORDER BY first DESC LIMIT 1'),
    ).get();
    this.#last = this.#lastOnDisk = (end as unknown as [number] | undefined)?.[0] ?? 0;
  }

  get last(): number {
    return this.#last;
  }

  get unwritten(): boolean {
    return this.#unwritten.length > 0;
  }

  /** What became so at the same time goes into one row: a thousand children are not three thousand rows. */
  append(facts: readonly Fact[], text: string, at: number): void {
    const newest = this.#unwritten.at(-1);
    if (newest?.at === at) {
      newest.count += facts.length;
      newest.texts.push(text.slice(1, -1));
    } else {
      this.#unwritten.push({ first: this.#last + 1, at, count: facts.length, texts: [text.slice(1, -1)] });
    }
    this.#last += facts.length;
  }

  flush(): void {
    for (const { first, count, at, texts } of this.#unwritten) {
      this.#insert.get(first, count, at, `[${texts.join(',')}]`);
    }
    this.#unwritten = [];
  }

  /** What was appended until now is on disk. */
  keep(): void {
    this.#lastOnDisk = this.#last;
  }

  /** The file was rolled back. */
  forget(): void {
    this.#unwritten = [];
    this.#last = this.#lastOnDisk;
  }

  read(after: number, limit: number): ReveilleEvent[] {
    const events: ReveilleEvent[] = [];
    if (after >= this.#last || limit <= 0) return events;
    for (const stored of this.#from.iterate(after + 1) as Iterable<unknown>) {
      const [first, at, text] = stored as StoredEntry;
      for (const [index, fact] of (JSON.parse(text) as Fact[]).entries()) {
        const number = first + index;
        if (number <= after) continue;
        events.push({ number, at, ...fact });
        if (events.length === limit) return events;
      }
    }
    return events;
  }
}

export const factsText = (change: Change): string => JSON.stringify(change.facts);
