import { PRIORITIES, type Task } from '@reveille/protocol';
import type { Tx } from './tx.ts';

export interface OfferOptions {
  readonly continues?: boolean;
  readonly delayMs?: number;
  readonly release?: boolean;
}

/**
 * What goes first: a run that was waiting (0), then a subtask, whose parent may be waiting for it (1), then new
 * plan tasks by priority. So the children of waiting parents never queue behind new work.
 */
export function offerTask(tx: Tx, task: Task, options: OfferOptions = {}): void {
  const offer = { task: task.id, rank: options.continues ? 0 : rankOf(task), delayMs: options.delayMs ?? 0 };
  tx.offer(offer, { release: options.release ?? false });
}

export const rankOf = (task: Task): number =>
  task.plan === null ? 1 : 2 + PRIORITIES.indexOf(task.priority);
