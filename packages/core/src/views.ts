import {
  PLAN_STATES,
  ReveilleError,
  SessionKind,
  isTerminal,
  type Plan,
  type PlanId,
  type PlanView,
  type Run,
  type SessionId,
  type Task,
  type TaskView,
  healthOf,
  type WorkerState,
} from '@reveille/protocol';
import { budgetNotes } from './budget-notes.ts';
import type { Context } from './context.ts';
import type { Find, Store } from './ports/store.ts';

type Seen = Pick<Context, 'store' | 'governor' | 'executors' | 'settings'>;

/** What a person is shown of a task: derived from its records, never stored. */
export async function viewTask(seen: Seen, task: Task): Promise<TaskView> {
  const { store, governor } = seen;
  const id = task.run ?? task.lastRun;
  const row = id ? ((await store.get('run', id))?.doc ?? null) : null;
  // What its agent uses now is newer than what is on record.
  const run = row && { ...row, ...governor?.measured(row) };
  const notes = await budgetNotes(seen, task, run);
  const health = healthOf(run);
  const derived = { worker: workerState(task, run), end: run?.end ?? null, ...(health ? { health } : {}) };
  return { task, run, ...derived, ...notes };
}

export function workerState(task: Task, run: Run | null): WorkerState {
  if (task.state === 'completed' || task.state === 'failed' || task.state === 'cancelled') return task.state;
  if (!run || isTerminal(task.state) || run.state === 'ended')
    return run && task.state === 'review' ? 'idle' : 'created';
  if (run.paused) return 'paused';
  return run.turn ? 'running' : 'idle';
}

export async function everyPlan(store: Store): Promise<Plan[]> {
  const plans = await Promise.all(
    PLAN_STATES.map((state) => store.find('plan', { list: 'byState', equal: [state] })),
  );
  return plans.flat().map((row) => row.doc);
}

/** Every task there is: the plans' own, those of sessions, and what these have spawned. */
export async function everyTask(store: Store): Promise<Task[]> {
  const sessions = await Promise.all(
    ROOTS.map((kind) => store.find('session', { list: 'byKind', equal: [kind] })),
  );
  const found = new Map<string, Task>();
  const add = async (find: Find): Promise<void> => {
    for (const { doc } of await store.find('task', find)) found.set(doc.id, doc);
  };
  for (const { id } of await everyPlan(store)) await add({ list: 'byPlan', equal: [id] });
  for (const { doc } of sessions.flat()) await add({ list: 'byOwner', equal: [doc.id] });
  await addBelow(found, add);
  return [...found.values()].toSorted(byId);
}

/** The tasks that a session owns, and all that their workers own in turn. */
export async function tasksBelow(store: Store, session: SessionId): Promise<Task[]> {
  const found = new Map<string, Task>();
  const add = async (find: Find): Promise<void> => {
    for (const { doc } of await store.find('task', find)) found.set(doc.id, doc);
  };
  await add({ list: 'byOwner', equal: [session] });
  await addBelow(found, add);
  return [...found.values()].toSorted(byId);
}

/** A map can grow while it is walked: tasks that are found below come next. */
async function addBelow(found: Map<string, Task>, add: (find: Find) => Promise<void>): Promise<void> {
  for (const task of found.values()) await add({ list: 'byOwner', equal: [task.session] });
}

const byId = (a: Task, b: Task): number => (a.id < b.id ? -1 : 1);

const ROOTS = SessionKind.options.filter((kind) => kind !== 'worker');

export async function viewPlan(seen: Seen, id: PlanId): Promise<PlanView> {
  const { store } = seen;
  const plan = await store.get('plan', id);
  if (!plan) throw new ReveilleError('not_found', `There is no plan ${id}.`);
  const tasks = await store.find('task', { list: 'byPlan', equal: [id] });
  const view = { plan: plan.doc, tasks: await Promise.all(tasks.map((row) => viewTask(seen, row.doc))) };
  await store.barrier();
  return view;
}
