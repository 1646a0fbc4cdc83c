import { TASK_STATES, type Plan, type PlanState, type Task, type TaskState } from '@reveille/protocol';
import type { Tx } from './tx.ts';

const CAN_STILL_RUN = ['pending', 'ready', 'running', 'waiting', 'review'] as const;

/**
 * A plan's status is derived from its own tasks, in the same change that moved them (PLN4): it ends only when
 * nothing of it can run any more, and a retry or a new task brings it back.
 */
export async function derivePlans(tx: Tx): Promise<void> {
  for (const [id, moves] of tx.planMoves) {
    const plan = tx.known('plan', id) ?? (await tx.need('plan', id));
    const counts = counted(plan, moves);
    const state = derivedState(plan, counts);
    const moved = state === plan.state ? {} : { state, since: tx.now, why: reason(plan, state, counts) };
    tx.put('plan', { ...plan, counts, ...moved, ...(isEnded(state) ? { cancelling: null } : {}) });
    if (state !== plan.state) tx.wake(plan.owner);
  }
  tx.planMoves.clear();
}

/** Whether, as this decision has left its tasks so far, nothing more of a task's plan can run. */
export async function endsPlan(tx: Tx, { plan: id }: Task): Promise<boolean> {
  if (!id) return false;
  const plan = await tx.need('plan', id);
  const state = derivedState(plan, counted(plan, tx.planMoves.get(id) ?? new Map()));
  return isEnded(state);
}

const isEnded = (state: PlanState): boolean => !['draft', 'active', 'paused'].includes(state);

function counted(plan: Plan, moves: ReadonlyMap<TaskState, number>): Record<string, number> {
  const counts: Record<string, number> = { ...plan.counts };
  for (const [state, difference] of moves) counts[state] = (counts[state] ?? 0) + difference;
  return counts;
}

function derivedState(plan: Plan, counts: Record<string, number>): PlanState {
  if (plan.state === 'draft') return 'draft';
  const open = CAN_STILL_RUN.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  if (open > 0) return plan.state === 'paused' ? 'paused' : 'active';
  const total = TASK_STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  if ((counts['completed'] ?? 0) === total) return 'completed';
  // One that was cancelled stays so until something of it can run again.
  return plan.cancelling === null && plan.state !== 'cancelled' ? 'failed' : 'cancelled';
}

function reason(plan: Plan, state: PlanState, counts: Record<string, number>): string {
  if (state === 'completed') return 'every task completed';
  if (state === 'cancelled') return plan.cancelling ?? 'cancelled';
  if (state === 'failed') {
    const parts = (['failed', 'cancelled', 'blocked'] as const).filter((key) => counts[key]);
    return `nothing more can run: ${parts.map((key) => `${counts[key]} ${key}`).join(', ')}`;
  }
  return 'a task can run again';
}
