import {
  ReveilleError,
  isTerminal,
  type PlanId,
  type PlanView,
  type Run,
  type Task,
  type TaskView,
  type WorkerState,
} from '@reveille/protocol';
import type { Store } from './ports/store.ts';

/** What a person is shown of a task: derived from its records, never stored. */
export async function viewTask(store: Store, task: Task): Promise<TaskView> {
  const id = task.run ?? task.lastRun;
  const run = id ? ((await store.get('run', id))?.doc ?? null) : null;
  return { task, run, worker: workerState(task, run), end: run?.end ?? null };
}

export function workerState(task: Task, run: Run | null): WorkerState {
  if (task.state === 'completed' || task.state === 'failed' || task.state === 'cancelled') return task.state;
  if (!run || isTerminal(task.state) || run.state === 'ended')
    return run && task.state === 'review' ? 'idle' : 'created';
  if (run.paused) return 'paused';
  return run.turn ? 'running' : 'idle';
}

export async function viewPlan(store: Store, id: PlanId): Promise<PlanView> {
  const plan = await store.get('plan', id);
  if (!plan) throw new ReveilleError('not_found', `There is no plan ${id}.`);
  const tasks = await store.find('task', { list: 'byPlan', equal: [id] });
  const view = { plan: plan.doc, tasks: await Promise.all(tasks.map((row) => viewTask(store, row.doc))) };
  await store.barrier();
  return view;
}
