import { ReveilleError, isTerminal, type Task, type TaskState, type Wait } from '@reveille/protocol';
import { titleOf } from './envelope.ts';
import type { Tx } from './tx.ts';

/**
 * The states of a task and the only ways between them (PLN2).
 *
 * It is `pending` until its dependencies have completed, `blocked` while one of them cannot, then `ready`: a
 * host may start it. `running` and `waiting` alternate while a run is open; waiting always says on what. A
 * report may send it to `review`, and a reviewer back to `running` by way of `ready`, since the report ended
 * the run. The three ends never change by themselves: a retry takes a task out of `failed` or `cancelled`,
 * nothing takes it out of `completed`.
 */
const TABLE: { readonly [S in TaskState]: readonly TaskState[] } = {
  pending: ['ready', 'blocked', 'cancelled'],
  blocked: ['pending', 'cancelled'],
  ready: ['running', 'cancelled'],
  running: ['waiting', 'review', 'completed', 'failed', 'cancelled'],
  waiting: ['running', 'review', 'completed', 'failed', 'cancelled'],
  review: ['ready', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: ['pending', 'ready'],
  cancelled: ['pending', 'ready'],
};

export const mayMove = (from: TaskState, to: TaskState): boolean => TABLE[from].includes(to);

/** Moves a task and returns its new row. What else the caller wants changed of it comes with `also`. */
export function moveTask(
  tx: Tx,
  task: Task,
  to: TaskState,
  change: { why: string; on?: Wait; also?: Partial<Task> },
): Task {
  if (!mayMove(task.state, to)) {
    throw new ReveilleError(
      'wrong_state',
      `Task ${titleOf(task)} is ${task.state} and cannot become ${to}.`,
      {
        data: { task: task.id, state: task.state, wanted: to },
      },
    );
  }
  const next: Task = {
    ...task,
    ...change.also,
    state: to,
    why: change.why,
    since: tx.now,
    waitingOn: change.on ?? null,
  };
  if (isTerminal(to)) next.cancelling = null;
  tx.put('task', next);
  countMove(tx, task, to);
  return next;
}

/** Notes for the derived status of its plan that a task left one state for another. */
export function countMove(tx: Tx, task: Task, to: TaskState, created = false): void {
  if (!task.plan) return;
  let moves = tx.planMoves.get(task.plan);
  if (!moves) tx.planMoves.set(task.plan, (moves = new Map()));
  if (!created) moves.set(task.state, (moves.get(task.state) ?? 0) - 1);
  moves.set(to, (moves.get(to) ?? 0) + 1);
}
