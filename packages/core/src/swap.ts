import {
  ReveilleError,
  formatAgentType,
  isTerminal,
  type Caller,
  type Run,
  type SwapInput,
  type Task,
} from '@reveille/protocol';
import type { Context } from './context.ts';
import { titleOf, workOf } from './envelope.ts';
import { enqueue } from './mailbox.ts';
import { offerTask } from './offers.ts';
import { withAnother } from './retry-by.ts';
import type { Tx } from './tx.ts';

/**
 * Another agent, or another model, goes on with the same run: in the same worktree, with the same mailbox and children,
 * told the task anew and what was done so far. The one that is at work is stopped first; who holds the run does that.
 */
export async function swap(
  tx: Tx,
  context: Context,
  task: Task,
  given: { readonly caller: Caller; readonly by: SwapInput },
): Promise<void> {
  if (given.by.agent === undefined && given.by.model === undefined)
    throw new ReveilleError('invalid_input', 'Say which agent, which model, or both.');
  if (isTerminal(task.state) || task.state === 'review')
    throw new ReveilleError(
      'wrong_state',
      `Task ${titleOf(task)} is ${task.state}: nobody is at work on it. Try it again with another agent instead.`,
    );
  const next = await withAnother(tx, context, task, given);
  tx.put('task', next);
  tx.note({
    type: 'task.swapped',
    task: task.id,
    data: { from: formatAgentType(task.agent), to: formatAgentType(next.agent), model: next.model },
  });
  if (!task.run) return;
  const run = await tx.need('run', task.run);
  tx.put('run', { ...run, swap: { from: run.swap?.from ?? formatAgentType(task.agent) } });
  await enqueue(tx, context, {
    to: task.session,
    key: `swap:${run.id}:${run.epoch}:${run.turns}`,
    kind: 'resume',
    from: { kind: 'harness' },
    task: task.id,
    text: `You take this task over from ${formatAgentType(task.agent)}. ${workOf(run.lastWords)}`,
  });
}

/** Whoever was at work has been stopped: the run is free for the one that is to go on with it. */
export function leaveToNext(tx: Tx, task: Task, run: Run): void {
  tx.put('run', { ...run, host: null, identity: null });
  offerTask(tx, task, { continues: true, release: true });
}

/** What of a run is its agent's own, and nothing for the next one. */
export function asNewcomer({ swap: swapped, ...run }: Run): Run {
  return swapped ? { ...run, resume: null, assigned: false, inquiry: null } : run;
}
