import type { Plan, Task } from '@reveille/protocol';
import { offerTask } from './offers.ts';
import { moveTask } from './task-table.ts';
import type { Tx } from './tx.ts';

/** A task completed: dependents that waited for nothing else become ready (PLN3). Answers with how many. */
export async function releaseDependents(tx: Tx, task: Task): Promise<number> {
  let freed = 0;
  for (const id of task.dependents) {
    const dependent = tx.known('task', id) ?? (await tx.need('task', id));
    const openDependencies = dependent.openDependencies - 1;
    const next = { ...dependent, openDependencies };
    tx.put('task', next);
    if (await makeReady(tx, next)) freed++;
  }
  return freed;
}

/** A pending task whose dependencies have completed is ready; it is offered while its plan is active. Whether it is now. */
export async function makeReady(tx: Tx, task: Task): Promise<boolean> {
  if (task.state !== 'pending' || task.openDependencies > 0) return false;
  const plan = task.plan ? await tx.need('plan', task.plan) : null;
  if (plan?.state === 'draft' && !task.byHand) return false;
  const next = moveTask(tx, task, 'ready', { why: readyWhy(plan, task) });
  if (mayStart(plan, next)) offerTask(tx, next);
  return true;
}

export const mayStart = (plan: Plan | null, task: Task): boolean =>
  task.byHand || !plan || !['draft', 'paused'].includes(plan.state);

const readyWhy = (plan: Plan | null, task: Task): string =>
  plan?.state === 'paused' && !task.byHand ? 'its plan is paused' : 'its dependencies have completed';

/**
 * A task failed or was cancelled: everything that depends on it, however far down, is blocked (PLN4). Each
 * task counts its bad dependencies, and a blocked one is bad in turn. Answers with how many were blocked.
 */
export async function blockDependents(tx: Tx, task: Task): Promise<number> {
  let blocked = 0;
  const queue = [task];
  for (let bad = queue.shift(); bad; bad = queue.shift()) {
    for (const id of bad.dependents) {
      const dependent = await tx.need('task', id);
      const counted = { ...dependent, badDependencies: dependent.badDependencies + 1 };
      tx.put('task', counted);
      if (counted.state !== 'pending') continue;
      queue.push(moveTask(tx, counted, 'blocked', { why: `"${task.name}" is ${task.state}` }));
      blocked++;
    }
  }
  return blocked;
}

/** The way back: a task that was bad may complete after all. */
export async function unblockDependents(tx: Tx, task: Task): Promise<void> {
  const queue = [task];
  for (let good = queue.shift(); good; good = queue.shift()) {
    for (const id of good.dependents) {
      const dependent = await tx.need('task', id);
      const counted = { ...dependent, badDependencies: dependent.badDependencies - 1 };
      tx.put('task', counted);
      if (counted.state !== 'blocked' || counted.badDependencies > 0) continue;
      queue.push(moveTask(tx, counted, 'pending', { why: `"${task.name}" is tried again` }));
    }
  }
}
