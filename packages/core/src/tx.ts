import {
  ReveilleError,
  type Fact,
  type Message,
  type RunId,
  type SessionId,
  type Task,
  type TaskState,
} from '@reveille/protocol';
import { factsOf } from './facts.ts';
import type { Offer } from './ports/dispatch.ts';
import type { Change, Find, Guard, Store, TableName, Tables, Write } from './ports/store.ts';
import type { Left } from './ports/workspaces.ts';

/** Not a failure: the decision ends this run, and what it left has to be collected before. */
export class NotCollected extends Error {
  readonly run: RunId;

  constructor(run: RunId) {
    super(`what ${run} left has not been collected`);
    this.run = run;
  }
}

interface Entry {
  readonly table: TableName;
  readonly id: string;
  readonly version: number;
  readonly before: Tables[TableName] | undefined;
  after: Tables[TableName] | undefined;
}

/**
 * One decision in the making: what it read, and what it wants written. Everything it read becomes a guard, so
 * a decision made on rows that have changed since is refused by the store and made again. It writes
 * nothing itself.
 *
 * `list` does not see rows this decision has put and not yet committed; `get` does.
 */
export class Tx {
  readonly now: number;
  readonly #store: Store;
  readonly #entries = new Map<string, Entry>();
  readonly #letters = new Map<SessionId, Map<string, Message>>();
  readonly #facts: Fact[] = [];
  readonly #offers = new Map<string, Offer>();
  readonly #drops = new Set<string>();
  readonly #wakes = new Set<SessionId>();
  /** Tasks of plans that moved, for the plan's derived status: plan → state → difference. */
  readonly planMoves = new Map<string, Map<TaskState, number>>();
  readonly #left: ReadonlyMap<RunId, Left> | null;
  #dirty = false;

  /** `left`: what runs left in their checkouts, as far as it was collected; null if there are no checkouts. */
  constructor(store: Store, now: number, left: ReadonlyMap<RunId, Left> | null = null) {
    this.#store = store;
    this.now = now;
    this.#left = left;
  }

  /** What a run that is about to end left behind. Throws to have it collected first. */
  leftBy(task: Task, run: RunId): Left | null {
    // One that begins and ends in this very change never had a checkout.
    const isNew = this.#entries.get(run)?.before === undefined;
    if (!this.#left || task.repository === null || isNew) return null;
    const left = this.#left.get(run);
    if (!left) throw new NotCollected(run);
    return left;
  }

  get<T extends TableName>(table: T, id: string): Promise<Tables[T] | undefined> {
    return this.#read(table, id, false);
  }

  need<T extends TableName>(table: T, id: string): Promise<Tables[T]> {
    // `#read` gives nothing else if it must be there.
    return this.#read(table, id, true) as Promise<Tables[T]>;
  }

  /** Not async: a decision reads a dozen rows, and each turn of the microtask queue is felt. */
  #read<T extends TableName>(table: T, id: string, must: boolean): Promise<Tables[T] | undefined> {
    const key = keyOf(table, id);
    const known = this.#entries.get(key);
    if (known && (known.after || !must)) return Promise.resolve(known.after as Tables[T] | undefined);
    if (known) return Promise.reject(notFound(table, id));
    return this.#store.get(table, id).then((row) => {
      this.#entries.set(key, { table, id, version: row?.version ?? 0, before: row?.doc, after: row?.doc });
      if (must && !row) throw notFound(table, id);
      return row?.doc;
    });
  }

  async list<T extends TableName>(table: T, find: Find): Promise<Tables[T][]> {
    const rows = await this.#store.find(table, find);
    return rows.flatMap((row) => {
      const key = keyOf(table, row.doc.id);
      const known = this.#entries.get(key);
      if (known) return known.after ? [known.after as Tables[T]] : [];
      this.#entries.set(key, {
        table,
        id: row.doc.id,
        version: row.version,
        before: row.doc,
        after: row.doc,
      });
      return [row.doc];
    });
  }

  /** Writes a row that was read before by this decision, or a new one. */
  put<T extends TableName>(table: T, doc: Tables[T]): void {
    const key = keyOf(table, doc.id);
    const known = this.#entries.get(key);
    if (known) known.after = doc;
    else this.#entries.set(key, { table, id: doc.id, version: 0, before: undefined, after: doc });
    if (table === 'message') this.#letter(doc as Message);
    this.#dirty = true;
  }

  #letter(message: Message): void {
    const known = this.#letters.get(message.to);
    if (known) known.set(message.id, message);
    else this.#letters.set(message.to, new Map([[message.id, message]]));
  }

  /** The messages to a session that this decision has put: the only rows it may have to list before they are stored. */
  lettersTo(session: SessionId): Iterable<Message> {
    return this.#letters.get(session)?.values() ?? [];
  }

  /** Whether a row has changed since it was read. */
  async isStale(): Promise<boolean> {
    for (const { table, id, version } of this.#entries.values()) {
      if (((await this.#store.get(table, id))?.version ?? 0) !== version) return true;
    }
    return false;
  }

  note(fact: Fact): void {
    this.#facts.push(fact);
    this.#dirty = true;
  }

  /** `release`: whoever holds the task gives it up with this change; otherwise a task that is held stays so. */
  offer(offer: Offer, options: { release?: boolean } = {}): void {
    if (options.release) this.#drops.add(offer.task);
    this.#offers.set(offer.task, offer);
    this.#dirty = true;
  }

  drop(task: string): void {
    this.#offers.delete(task);
    this.#drops.add(task);
    this.#dirty = true;
  }

  wake(session: SessionId): void {
    this.#wakes.add(session);
  }

  /** Its mail is taken in this very decision: there is nothing to look at. */
  letSleep(session: SessionId): void {
    this.#wakes.delete(session);
  }

  get wakes(): ReadonlySet<SessionId> {
    return this.#wakes;
  }

  get dirty(): boolean {
    return this.#dirty;
  }

  change(): Change {
    const writes: Write[] = [];
    const guards: Guard[] = [];
    const facts: Fact[] = [];
    for (const { table, id, version, before, after } of this.#entries.values()) {
      if (after === before || !after) {
        guards.push({ table, id, version });
        continue;
      }
      writes.push({ table, id, expect: version, doc: after });
      factsOf(facts, table, before, after);
    }
    return {
      writes,
      guards,
      facts: [...facts, ...this.#facts],
      offers: [...this.#offers.values()],
      drops: [...this.#drops],
      wakes: [...this.#wakes],
      at: this.now,
    };
  }
}

const notFound = (table: TableName, id: string): ReveilleError =>
  new ReveilleError('not_found', `There is no ${table} ${id}.`, { data: { table, id } });

/** Ids carry their noun, so they are unlike in all tables but one: a budget has the id of its plan or task. */
const keyOf = (table: TableName, id: string): string => (table === 'budget' ? `budget/${id}` : id);
