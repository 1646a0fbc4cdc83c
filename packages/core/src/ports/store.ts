import type {
  Budget,
  Fact,
  Message,
  Plan,
  Request,
  ReveilleEvent,
  Run,
  Session,
  Task,
} from '@reveille/protocol';
import type { Offer } from './dispatch.ts';

/** The records, by table. A row is immutable: a change writes a new one with the next version. */
export interface Tables {
  plan: Plan;
  task: Task;
  session: Session;
  run: Run;
  message: Message;
  request: Request;
  budget: Budget;
}
export type TableName = keyof Tables;
export interface Row<T extends TableName> {
  readonly version: number;
  readonly doc: Tables[T];
}

/**
 * The columns that rows can be found by, computed from the document. This table is the only description
 * of the indexes: every store derives its own from it. `lists` names the lookups: which columns must equal
 * something, then the column the answer is ordered by.
 */
type ColumnValue = string | number | null;
interface TableIndex<T extends TableName> {
  readonly columns: Readonly<Record<string, (doc: Tables[T]) => ColumnValue>>;
  readonly lists: Readonly<Record<string, { readonly equal: readonly string[]; readonly order: string }>>;
  /** Columns whose values no two rows share. They are made of what is `fixed` alone. */
  readonly unique?: readonly string[];
  /** What rarely or never changes once the row is there; a store may keep it apart and not write it again. */
  readonly fixed?: readonly (keyof Tables[T])[];
  /** Whether the row has come to its end: it will hardly be read again, and a store need not keep it at hand. */
  readonly over?: (doc: Tables[T]) => boolean;
}

export const INDEX: { readonly [T in TableName]: TableIndex<T> } = {
  plan: {
    columns: { state: (p) => p.state, at: (p) => p.createdAt },
    lists: { byState: { equal: ['state'], order: 'at' } },
  },
  task: {
    columns: {
      plan: (t) => t.plan,
      owner: (t) => t.owner,
      open: (t) => (t.state === 'completed' || t.state === 'failed' || t.state === 'cancelled' ? null : 1),
      key: (t) => (t.key === null ? null : `${t.plan ?? t.owner}/${t.key}`),
    },
    lists: {
      byPlan: { equal: ['plan'], order: 'id' },
      byOwner: { equal: ['owner'], order: 'id' },
      openByOwner: { equal: ['owner', 'open'], order: 'id' },
      open: { equal: ['open'], order: 'id' },
      byKey: { equal: ['key'], order: 'id' },
    },
    unique: ['key'],
    fixed: [
      ...([
        'id',
        'plan',
        'key',
        'name',
        'prompt',
        'expectedOutput',
        'resultSchema',
        'repository',
        'checkpoint',
        'isolation',
        'agent',
        'model',
      ] as const),
      ...([
        'priority',
        'targetFiles',
        'review',
        'owner',
        'session',
        'depth',
        'dependencies',
        'dependents',
      ] as const),
      ...(['budget', 'createdAt', 'policy', 'reviews', 'startsFrom'] as const),
    ],
    over: (t) => t.state === 'completed' || t.state === 'failed' || t.state === 'cancelled',
  },
  session: {
    columns: { kind: (s) => (s.kind === 'worker' ? null : s.kind) },
    lists: { byKind: { equal: ['kind'], order: 'id' } },
    fixed: ['id', 'kind', 'name', 'parent', 'rootKind', 'depth', 'task', 'repository', 'createdAt'],
    over: (s) => s.state === 'ended',
  },
  run: {
    // Found by its task; what is open is known to dispatch.
    columns: {},
    lists: {},
    fixed: ['id', 'task', 'session', 'attempt', 'startedAt'],
    over: (r) => r.state === 'ended',
  },
  message: {
    columns: {
      to: (m) => m.to,
      state: (m) => m.state,
      number: (m) => m.number,
      // The end of a run needs none: the run ends in the same change, and only once.
      key: (m) => (m.kind === 'end' ? null : `${m.to}/${m.key}`),
    },
    lists: {
      byState: { equal: ['to', 'state'], order: 'number' },
      byKey: { equal: ['key'], order: 'id' },
    },
    unique: ['key'],
    fixed: [
      'id',
      'to',
      'number',
      'key',
      'kind',
      'from',
      'task',
      'run',
      'request',
      'text',
      'urgent',
      'quiet',
      'at',
    ],
    over: (m) => m.state === 'read' || m.state === 'dead',
  },
  request: {
    columns: {
      task: (r) => r.task,
      open: (r) => (r.state === 'open' ? 1 : null),
      /** With an agent, which may have to pass it on. */
      passes: (r) => (r.state === 'open' && r.with !== null ? 1 : null),
    },
    lists: {
      openByTask: { equal: ['task', 'open'], order: 'id' },
      open: { equal: ['open'], order: 'id' },
      passing: { equal: ['passes'], order: 'id' },
    },
  },
  budget: { columns: {}, lists: {} },
};

export interface Find {
  readonly list: string;
  readonly equal: readonly ColumnValue[];
  readonly limit?: number;
  /** Only rows whose order column is greater than this: for paging and for "what is new". */
  readonly after?: ColumnValue;
}

/** One row to write. `expect` is the version it must have now; 0 means that it must not exist. */
export interface Write<T extends TableName = TableName> {
  readonly table: T;
  readonly id: string;
  readonly expect: number;
  readonly doc: Tables[T];
}
/** A row the decision was based on: it must still be as it was when read. */
export interface Guard {
  readonly table: TableName;
  readonly id: string;
  readonly version: number;
}

/** A transition as data. All of it happens in one transaction, or none of it. */
export interface Change {
  readonly writes: readonly Write[];
  readonly guards: readonly Guard[];
  readonly facts: readonly Fact[];
  /** Tasks that no longer need a host, or whose host gives them up. Taken before `offers`. */
  readonly drops: readonly string[];
  readonly offers: readonly Offer[];
  /** Sessions whose mailbox or state changed: a hint to other hosts that share the store. */
  readonly wakes: readonly string[];
  readonly at: number;
}

/** `conflict`: a guard or an expected version did not hold, and nothing of the change happened. */
export type Outcome =
  | { readonly committed: true; readonly lastEvent: number }
  | { readonly committed: false };

/**
 * What must last. Changes take effect one after another, in the order of the calls.
 *
 * - `commit` resolves when the change is on disk, never before; it rejects with a `store_…` error if the
 *   store failed, and then nothing of it happened.
 * - Reads see every change that has been applied, which on a store with `readsOwnWrites` includes changes of
 *   this process that are not on disk yet. Whoever answers somebody outside waits for `barrier` first.
 */
export interface Store {
  readonly readsOwnWrites: boolean;
  get<T extends TableName>(table: T, id: string): Promise<Row<T> | undefined>;
  /** The row, if it need not be waited for. A store that always has to look need not have this. */
  atHand?<T extends TableName>(table: T, id: string): Row<T> | undefined;
  find<T extends TableName>(table: T, find: Find): Promise<Row<T>[]>;
  /** Sessions with queued messages, for the sweep (WAK4). */
  sessionsWithMail(limit: number): Promise<string[]>;
  commit(change: Change): Promise<Outcome>;
  /** Resolves when everything a read could have seen until now is on disk; rejects if that failed, and with it what was seen. */
  barrier(): Promise<void>;
  /** How often what reads could see was undone because it could not be written: whoever looked before that looks again. */
  undone(): number;
  events(after: number, limit: number): Promise<ReveilleEvent[]>;
  lastEvent(): Promise<number>;
  /** Hints that another host changed something for these sessions. */
  onHint(listener: (sessions: readonly string[]) => void): () => void;
  close(): Promise<void>;
}

/** What `look` saw, once that is on disk. If something was undone meanwhile, it may have been that: it looks again. */
export async function onDisk<T>(
  store: Pick<Store, 'barrier' | 'undone'>,
  look: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const undone = store.undone();
    const seen = await look();
    await store.barrier();
    if (store.undone() === undone) return seen;
  }
}
