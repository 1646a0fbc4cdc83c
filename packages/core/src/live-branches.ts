import type { Plan, Task } from '@reveille/protocol';
import { isIntegrator } from './integrator.ts';
import type { Store } from './ports/store.ts';
import type { IsLive } from './ports/workspaces.ts';
import type { Tx } from './tx.ts';

/**
 * Whether the branch of a task can still change or be integrated (PLN7). A task of a plan can be integrated until the plan
 * ends, in whatever way; any other until it ends, because what its owner takes of it then is on the owner's branch. The
 * integration itself is made of the branches of its plan: those are forecast, not it.
 */
function isLive(task: Task, plan: Plan | null): boolean {
  if (isIntegrator(task) || task.cancelling || task.state === 'failed' || task.state === 'cancelled')
    return false;
  if (task.plan === null) return task.state !== 'completed';
  return plan !== null && ['draft', 'active', 'paused'].includes(plan.state);
}

/** By the rows of a store. */
export const isLiveIn =
  (store: Store): IsLive =>
  async (id) => {
    const task = (await store.get('task', id))?.doc;
    const plan = task?.plan ? (await store.get('plan', task.plan))?.doc : undefined;
    return task !== undefined && isLive(task, plan ?? null);
  };

/** As a decision has left them so far. */
export async function isLiveTask(tx: Tx, task: Task): Promise<boolean> {
  return isLive(task, task.plan ? await tx.need('plan', task.plan) : null);
}
