import {
  ReveilleError,
  type Fact,
  type Message,
  type Request,
  type RunId,
  type SessionId,
  type Task,
  type TaskId,
  type TaskState,
} from '@reveille/protocol';
import { factsOf } from './facts.ts';
import type { Offer } from './ports/dispatch.ts';
import type { Change, Find, Guard, Row, Store, TableName, Tables, Write } from './ports/store.ts';
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
  // Most decisions need few of these, and three are made for every child: each is made when it is needed.
  #letters: Map<SessionId, Map<string, Message>> | null = null;
  #requests: Map<TaskId, Map<string, Request>> | null = null;
  #facts: Fact[] | null = null;
  #offers: Map<string, Offer> | null = null;
  #drops: Set<string> | null = null;
  #wakes: Set<SessionId> | null = null;
  #planMoves: Map<string, Map<TaskState, number>> | null = null;
  #reviewers: Task[] | null = null;
  readonly #left: ReadonlyMap<RunId, Left> | null;
  #judged: Set<RunId> | null = null;
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
    (this.#judged ??= new Set()).add(run);
    return left;
  }

  /** Whether it took into account what the run left. */
  judges(run: RunId): boolean {
    return this.#judged?.has(run) ?? false;
  }

  get<T extends TableName>(table: T, id: string): Promise<Tables[T] | undefined> {
    return this.#read(table, id, false);
  }

  need<T extends TableName>(table: T, id: string): Promise<Tables[T]> {
    // `#read` gives nothing else if it must be there.
    return this.#read(table, id, true) as Promise<Tables[T]>;
  }

  /**
   * The row, if it need not be waited for: a decision reads a dozen rows, some of them again and again, and each turn of
   * the microtask queue is felt. Where it is felt most one asks for this first.
   */
  known<T extends TableName>(table: T, id: string): Tables[T] | undefined {
    const entry = this.#entries.get(keyOf(table, id));
    if (entry) return entry.after as Tables[T] | undefined;
    const row = this.#store.atHand?.(table, id);
    if (row) this.#saw(table, id, row);
    return row?.doc;
  }

  #read<T extends TableName>(table: T, id: string, must: boolean): Promise<Tables[T] | undefined> {
    const known = this.known(table, id);
    if (known) return Promise.resolve(known);
    const looked = this.#entries.has(keyOf(table, id));
    if (looked) return must ? Promise.reject(notFound(table, id)) : Promise.resolve(undefined);
    return this.#store.get(table, id).then((row) => {
      this.#saw(table, id, row);
      if (must && !row) throw notFound(table, id);
      return row?.doc;
    });
  }

  #saw<T extends TableName>(table: T, id: string, row: Row<T> | undefined): void {
    const doc = row?.doc;
    this.#entries.set(keyOf(table, id), { table, id, version: row?.version ?? 0, before: doc, after: doc });
  }

  async list<T extends TableName>(table: T, find: Find): Promise<Tables[T][]> {
    const rows = await this.#store.find(table, find);
    return rows.flatMap((row) => {
      const known = this.#entries.get(keyOf(table, row.doc.id));
      if (known) return known.after ? [known.after as Tables[T]] : [];
      this.#saw(table, row.doc.id, row);
      return [row.doc];
    });
  }

  /** Writes a row that was read before by this decision, or a new one. */
  put<T extends TableName>(table: T, doc: Tables[T]): void {
    const key = keyOf(table, doc.id);
    const known = this.#entries.get(key);
    if (known) known.after = doc;
    else this.#entries.set(key, { table, id: doc.id, version: 0, before: undefined, after: doc });
    if (table === 'message') keep((this.#letters ??= new Map()), (doc as Message).to, doc as Message);
    if (table === 'request') keep((this.#requests ??= new Map()), (doc as Request).task, doc as Request);
    this.#dirty = true;
  }

  /** The messages to a session that this decision has put. With requests, the only rows it may have to list before they are stored. */
  lettersTo(session: SessionId): Iterable<Message> {
    return this.#letters?.get(session)?.values() ?? NONE;
  }

  /** The requests of a task that this decision has put. */
  requestsOf(task: TaskId): Iterable<Request> {
    return this.#requests?.get(task)?.values() ?? NONE;
  }

  /** Whether a row has changed since it was read. */
  async isStale(): Promise<boolean> {
    for (const { table, id, version } of this.#entries.values()) {
      if (((await this.#store.get(table, id))?.version ?? 0) !== version) return true;
    }
    return false;
  }

  note(fact: Fact): void {
    (this.#facts ??= []).push(fact);
    this.#dirty = true;
  }

  /** `release`: whoever holds the task gives it up with this change; otherwise a task that is held stays so. */
  offer(offer: Offer, options: { release?: boolean } = {}): void {
    if (options.release) (this.#drops ??= new Set()).add(offer.task);
    (this.#offers ??= new Map()).set(offer.task, offer);
    this.#dirty = true;
  }

  drop(task: string): void {
    this.#offers?.delete(task);
    (this.#drops ??= new Set()).add(task);
    this.#dirty = true;
  }

  wake(session: SessionId): void {
    (this.#wakes ??= new Set()).add(session);
  }

  /** Its mail is taken in this very decision: there is nothing to look at. */
  letSleep(session: SessionId): void {
    this.#wakes?.delete(session);
  }

  get wakes(): Iterable<SessionId> {
    return this.#wakes ?? NONE;
  }

  /** Tasks of plans that moved, for the plan's derived status: plan → state → difference. */
  get planMoves(): Map<string, Map<TaskState, number>> {
    return (this.#planMoves ??= new Map());
  }

  get movesPlans(): boolean {
    return (this.#planMoves?.size ?? 0) > 0;
  }

  /** The task of a reviewer has ended; see core/review. */
  reviewerDone(reviewer: Task): void {
    (this.#reviewers ??= []).push(reviewer);
  }

  get reviewersDone(): readonly Task[] {
    return this.#reviewers ?? NONE;
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
      facts: this.#facts ? [...facts, ...this.#facts] : facts,
      offers: this.#offers ? [...this.#offers.values()] : NONE,
      drops: this.#drops ? [...this.#drops] : NONE,
      wakes: this.#wakes ? [...this.#wakes] : NONE,
      at: this.now,
    };
  }
}

const NONE: readonly never[] = [];

function keep<K, V extends { readonly id: string }>(rows: Map<K, Map<string, V>>, of: K, row: V): void {
  const known = rows.get(of);
  if (known) known.set(row.id, row);
  else rows.set(of, new Map([[row.id, row]]));
}

const notFound = (table: TableName, id: string): ReveilleError =>
  new ReveilleError('not_found', `There is no ${table} ${id}.`, { data: { table, id } });

/** Ids carry their noun, so they are unlike in all tables but one: a budget has the id of its plan or task. */
const keyOf = (table: TableName, id: string): string => (table === 'budget' ? `budget/${id}` : id);
