import type { Change, TableName, Tables } from '@reveille/core';
import type { Budget, Fact, Message, Request, Task } from '@reveille/protocol';

export interface Delta<T extends TableName = TableName> {
  readonly table: T;
  readonly before: Tables[T] | undefined;
  readonly after: Tables[T];
}

/** One change that is on disk, as the auditors see it: every row it wrote, before and after. */
export interface Durable {
  readonly deltas: readonly Delta[];
  readonly facts: readonly Fact[];
  readonly host: string;
  readonly at: number;
}

/**
 * What is on disk, kept apart from the store: a change gets here only when the store says that it will last. So
 * whoever is told something can be asked whether it was true by then, and a store that forgets is found out.
 */
export class Ledger {
  readonly rows: { readonly [T in TableName]: Map<string, Tables[T]> } = {
    plan: new Map(),
    task: new Map(),
    session: new Map(),
    run: new Map(),
    message: new Map(),
    request: new Map(),
    budget: new Map(),
  };
  readonly facts: Fact[] = [];
  /** Per session: its messages. */
  readonly mail = new Map<string, Set<string>>();
  /** Per session: the tasks it owns now. */
  readonly owned = new Map<string, Set<string>>();
  /** Nodes that a task, or a budget, was put below after it was made: what it had used before may not be in them. */
  readonly lateBudgets = new Set<string>();
  readonly planTasks = new Map<string, Set<string>>();
  /** Per session: the open requests that are with it. */
  readonly #held = new Map<string, Set<string>>();
  /** Per message: every turn, call or receiver it was recorded for before it was handed over. */
  readonly takers = new Map<string, Set<string>>();

  add(change: Change, host: string): Durable {
    const deltas = change.writes.map((write): Delta => {
      const rows = this.rows[write.table] as Map<string, Tables[TableName]>;
      const before = rows.get(write.id);
      rows.set(write.id, write.doc);
      const delta = { table: write.table, before, after: write.doc };
      this.#index(delta);
      return delta;
    });
    this.facts.push(...change.facts);
    return { deltas, facts: change.facts, host, at: change.at };
  }

  #index(delta: Delta): void {
    if (is(delta, 'task')) {
      const { before, after } = delta;
      if (before && after.budget !== null && before.budget !== after.budget)
        this.lateBudgets.add(after.budget);
      if (before && before.owner !== after.owner) this.owned.get(before.owner)?.delete(after.id);
      if (before?.owner !== after.owner) within(this.owned, after.owner).add(after.id);
      if (!before && after.plan) within(this.planTasks, after.plan).add(after.id);
    }
    if (is(delta, 'budget')) {
      const { before, after } = delta;
      if (before && after.parent !== null && before.parent !== after.parent)
        this.lateBudgets.add(after.parent);
    }
    if (is(delta, 'request')) {
      const { before, after } = delta;
      if (before?.with) this.#held.get(before.with)?.delete(after.id);
      if (after.with && after.state === 'open') within(this.#held, after.with).add(after.id);
    }
    if (is(delta, 'message')) {
      if (!delta.before) within(this.mail, delta.after.to).add(delta.after.id);
      if (delta.after.taken) within(this.takers, delta.after.id).add(delta.after.taken.id);
    }
  }

  mailOf(session: string): Message[] {
    return [...(this.mail.get(session) ?? [])].flatMap((id) => this.rows.message.get(id) ?? []);
  }

  tasksOf(owner: string): Task[] {
    return [...(this.owned.get(owner) ?? [])].flatMap((id) => this.rows.task.get(id) ?? []);
  }

  tasksIn(plan: string): Task[] {
    return [...(this.planTasks.get(plan) ?? [])].flatMap((id) => this.rows.task.get(id) ?? []);
  }

  heldBy(session: string): Request[] {
    return [...(this.#held.get(session) ?? [])].flatMap((id) => this.rows.request.get(id) ?? []);
  }

  /** The answer to an agent that stands still is taken in its name; whether it lives to hear it, nobody knows. */
  isLeave({ kind, request }: Message): boolean {
    const asked = this.rows.request.get(request ?? '');
    return kind === 'answer' && (asked?.action !== undefined || asked?.key?.startsWith('wish') === true);
  }

  /** A node of the budget tree, and all above it. */
  *budgets(from: string | null): Generator<Budget> {
    for (let node = from === null ? undefined : this.rows.budget.get(from); node;) {
      yield node;
      node = node.parent === null ? undefined : this.rows.budget.get(node.parent);
    }
  }

  isUnder(from: string | null, node: string): boolean {
    for (const { id } of this.budgets(from)) if (id === node) return true;
    return false;
  }

  /** A task's owner, the task of that owner, and so on up. */
  *above(task: Task): Generator<Task> {
    for (let owner = this.rows.session.get(task.owner); owner?.task;) {
      const parent = this.rows.task.get(owner.task);
      if (!parent) return;
      yield parent;
      owner = this.rows.session.get(parent.owner);
    }
  }

  /** A task and those that it ends with. A plan outlives whoever saved it, and a person may try it again. */
  *ofOneLife(task: Task): Generator<Task> {
    let last = task;
    yield task;
    for (const parent of this.above(task)) {
      if (last.plan !== null) return;
      yield parent;
      last = parent;
    }
  }
}

export function is<T extends TableName>(delta: Delta, table: T): delta is Delta<T> {
  return delta.table === table;
}

export function within<K, V>(map: Map<K, Set<V>>, key: K): Set<V> {
  let set = map.get(key);
  if (!set) map.set(key, (set = new Set()));
  return set;
}
