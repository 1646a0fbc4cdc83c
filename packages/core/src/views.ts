import {
  PLAN_STATES,
  ReveilleError,
  SessionKind,
  isTerminal,
  type Plan,
  type PlanId,
  type PlanView,
  type Run,
  type Task,
  type TaskView,
  type WorkerState,
} from '@reveille/protocol';
import type { Context } from './context.ts';
import type { Find, Store } from './ports/store.ts';

type Seen = Pick<Context, 'store' | 'governor'>;

/** What a person is shown of a task: derived from its records, never stored. */
export async function viewTask({ store, governor }: Seen, task: Task): Promise<TaskView> {
  const id = task.run ?? task.lastRun;
  const row = id ? ((await store.get('run', id))?.doc ?? null) : null;
  // What its agent uses now is newer than what is on record.
  const run = row && { ...row, ...governor?.measured(row) };
  return { task, run, worker: workerState(task, run), end: run?.end ?? null };
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
  // A map can grow while it is walked: what is found below comes next.
  for (const task of found.values()) await add({ list: 'byOwner', equal: [task.session] });
  return [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

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
