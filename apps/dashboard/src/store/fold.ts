import { TASK_STATES, WAITS, isId, type ReveilleEvent, type RunRow, type TaskRow } from '@reveille/protocol';
import { clean } from '../parts/clean.ts';
import type { Store } from './store.ts';

/** Of what happened before the rows were read, only what no row says: mail that moved, conflicts that began. */
export function foldHistory(store: Store, events: readonly ReveilleEvent[]): void {
  for (const event of events) {
    if (event.type.startsWith('message.')) foldMail(store, event);
    else if (event.type.startsWith('conflict.')) foldConflict(store, event);
  }
  store.remember(events);
}

/** What these tell is in the row of their task. */
const OF_ROWS: ReadonlySet<string> = new Set(['task', 'run', 'turn', 'work']);

/**
 * Brings the rows up to date with an event. An event says how a state changed; what it does not say (a new task's agent, a
 * run's tokens) is read again, later and together. An event that is older than its row puts the row back for a moment:
 * those that follow it are on their way.
 */
export function fold(store: Store, events: readonly ReveilleEvent[]): void {
  for (const event of events) {
    store.event = event.number;
    const [noun = ''] = event.type.split('.', 1);
    if (OF_ROWS.has(noun) && event.task !== undefined && isId('task', event.task))
      store.touched.add(event.task);
    if (noun === 'task') foldTask(store, event);
    else if (noun === 'run' || noun === 'turn') foldRun(store, event);
    else if (noun === 'plan') foldPlan(store, event);
    else if (noun === 'request') store.stale.inbox = true;
    else if (noun === 'message') foldMail(store, event);
    else if (noun === 'conflict') foldConflict(store, event);
    else if (noun === 'work' || noun === 'health') want(store, event);
  }
  store.remember(events);
}

/** What it says of a task is in the task's row, and nowhere else. */
function want(store: Store, { task }: ReveilleEvent): void {
  if (task !== undefined && isId('task', task)) store.wanted.add(task);
}

const READ_AGAIN: ReadonlySet<string> = new Set(['task.created', 'task.handed_up', 'task.swapped']);

function foldTask(store: Store, { type, task, at, data = {} }: ReveilleEvent): void {
  if (task === undefined || !isId('task', task)) return;
  const row = store.rows.get(task);
  if (!row || READ_AGAIN.has(type)) return void store.wanted.add(task);
  if (type === 'task.cancelling') return void store.rows.set(task, { ...row, cancelling: true });
  const state = TASK_STATES.find((known) => known === data['state']);
  if (!state) return;
  const waitingOn = WAITS.find((known) => known === data['on']) ?? null;
  const why = typeof data['why'] === 'string' ? clean(data['why']) : '';
  store.rows.set(task, { ...row, state, why, waitingOn, since: at });
}

function foldRun(store: Store, { type, task, run, data = {} }: ReveilleEvent): void {
  if (task === undefined || !isId('task', task)) return;
  const row = store.rows.get(task);
  const known = row?.run;
  if (!row || !known || known.id !== run || type === 'run.opened' || type === 'run.ended')
    return void store.wanted.add(task);
  const change = runChange(type, data);
  if (change) store.rows.set(task, { ...row, run: { ...known, ...change } } satisfies TaskRow);
}

function runChange(type: string, data: Record<string, unknown>): Partial<RunRow> | null {
  switch (type) {
    case 'turn.opened':
      return { inTurn: true, ...(typeof data['turn'] === 'number' ? { turns: data['turn'] } : {}) };
    case 'turn.ended':
      return { inTurn: false };
    case 'run.paused':
      return { paused: true };
    case 'run.resumed':
      return { paused: false, takenBy: null };
    default:
      return null;
  }
}

function foldPlan(store: Store, { type, plan, at, data = {} }: ReveilleEvent): void {
  const row = plan !== undefined && isId('plan', plan) ? store.plans.get(plan) : undefined;
  // What it is made of, and how far its cancel has come, no event says.
  if (!row || type === 'plan.created') return void (store.stale.plans = true);
  const state = data['state'] as typeof row.state;
  store.plans.set(row.id, {
    ...row,
    state,
    why: clean(typeof data['why'] === 'string' ? data['why'] : ''),
    since: at,
  });
}

function foldMail(store: Store, { type, session, messages = [], at, data = {} }: ReveilleEvent): void {
  if (session === undefined || !isId('session', session)) return;
  const before = store.mail.get(session)?.waiting ?? 0;
  const queued = type === 'message.queued' || type === 'message.given_back';
  const taken = type === 'message.delivered' || type === 'message.dead';
  const waiting = queued ? before + messages.length : taken ? Math.max(0, before - messages.length) : before;
  const kind = typeof data['kind'] === 'string' ? `${data['kind']} ` : '';
  store.mail.set(session, { waiting, last: `${kind}${type.slice('message.'.length)}`, at });
}

function foldConflict(store: Store, { type, task, data = {} }: ReveilleEvent): void {
  const other = data['with'];
  if (task === undefined || !isId('task', task) || typeof other !== 'string' || !isId('task', other)) return;
  const key = [task, other].toSorted((a, b) => (a < b ? -1 : 1)).join(' ');
  if (type !== 'conflict.began') return void store.conflicts.delete(key);
  const files = Array.isArray(data['files']) ? data['files'].map((file) => clean(String(file))) : [];
  store.conflicts.set(key, { a: task, b: other, files });
}
