import {
  ReveilleError,
  isTerminal,
  type ParsedReview,
  type Sender,
  type Session,
  type Task,
} from '@reveille/protocol';
import type { Context } from './context.ts';
import { titleOf } from './envelope.ts';
import { makeReady, unblockDependents } from './graph.ts';
import { isIntegrator } from './integrator.ts';
import { enqueue, reviveMailbox } from './mailbox.ts';
import { offerTask } from './offers.ts';
import { closeRequests } from './requests.ts';
import type { Ending } from './ending.ts';
import { askForReview, reviewedAnew } from './review-start.ts';
import { cancelTree, finish, settle, stopReviewer } from './settle.ts';
import { moveTask } from './task-table.ts';
import type { Tx } from './tx.ts';

/** The retry of a task that ended: the same worker session, a new run when a host takes it (ID4). */
export async function retry(tx: Tx, task: Task): Promise<void> {
  if (task.state !== 'failed' && task.state !== 'cancelled') {
    throw new ReveilleError(
      'wrong_state',
      `Task ${titleOf(task)} is ${task.state}; only a failed or cancelled task can be tried again.`,
    );
  }
  if (task.reviews)
    throw new ReveilleError(
      'wrong_state',
      `Task ${titleOf(task)} was a review, which is over; decide about ${task.reviews.task} instead.`,
    );
  await closeRequests(tx, task);
  if (task.plan === null) await reopenChild(tx, task);
  tx.put('session', { ...(await tx.need('session', task.session)), state: 'open' });
  await reviveMailbox(tx, task.session);
  const pending = moveTask(tx, task, 'pending', { why: 'to be tried again', also: reviewedAnew(task) });
  if (pending.badDependencies > 0) {
    moveTask(tx, pending, 'blocked', { why: 'a dependency failed or was cancelled' });
    return;
  }
  await unblockDependents(tx, pending);
  await makeReady(tx, await tx.need('task', task.id));
}

async function reopenChild(tx: Tx, task: Task): Promise<void> {
  const owner: Session = await tx.need('session', task.owner);
  if (owner.state === 'ended') {
    throw new ReveilleError(
      'wrong_state',
      `The owner of task ${titleOf(task)} has ended; there is nobody to report to.`,
    );
  }
  const parent = owner.task ? await tx.need('task', owner.task) : null;
  if (parent?.cancelling) {
    throw new ReveilleError('wrong_state', `Task ${titleOf(parent)}, its parent, is being cancelled.`);
  }
  tx.put('session', { ...owner, childrenOpen: owner.childrenOpen + 1 });
}

/** The owner, the orchestrator or a person calls it done. A run that is still open is ended by it. */
export async function complete(tx: Tx, context: Context, task: Task, output: string): Promise<void> {
  // A plan that says that it is merged is (PLN6): nobody's word stands for the merges.
  if (isIntegrator(task))
    throw new ReveilleError(
      'wrong_state',
      `Task ${task.id} merges the plan’s branches, and is completed when it has. To do without the merge, cancel it.`,
    );
  if (task.state === 'review') return approve(tx, context, task);
  const run = task.run ? await tx.need('run', task.run) : null;
  if (isTerminal(task.state) || !run) {
    throw new ReveilleError('wrong_state', `Task ${titleOf(task)} is ${task.state} and cannot be completed.`);
  }
  const ending: Ending = {
    status: 'success',
    cause: 'completed_by_owner',
    output: output || run.lastWords,
    error: null,
  };
  await settle(tx, context, task, run, ending);
}

export async function approve(tx: Tx, context: Context, task: Task): Promise<void> {
  const run = task.lastRun ? await tx.need('run', task.lastRun) : null;
  await closeRequests(tx, task);
  const next = moveTask(tx, task, 'completed', { why: 'approved' });
  await finish(tx, context, next, { run, lastWord: true });
}

/** PLN8: approved, or back to the same worker with what is to be changed, or rejected. */
export async function review(tx: Tx, context: Context, input: ParsedReview, from: Sender): Promise<void> {
  const task = await tx.need('task', input.task);
  if (task.state !== 'review')
    throw new ReveilleError('wrong_state', `Task ${titleOf(task)} is ${task.state}, not in review.`);
  if (input.verdict === 'approve') return approve(tx, context, task);
  await closeRequests(tx, task);
  const run = task.lastRun ? await tx.need('run', task.lastRun) : null;
  if (input.verdict === 'reject') {
    const next = moveTask(tx, task, 'failed', { why: `rejected: ${input.comment.slice(0, 200)}` });
    return finish(tx, context, next, { run, lastWord: true });
  }
  if (await isSpent(tx, task, from)) {
    const text = `The last round of ${task.reviewing?.most} asks for changes again: ${input.comment.slice(0, 4_000)}`;
    await stopReviewer(tx, context, task);
    await askForReview(tx, context, await tx.need('task', task.id), { run, text, toPerson: true });
    return;
  }
  await sendBack(tx, context, task, { comment: input.comment, from });
}

/** Whether no round is left to an agent; a person has as many as it likes. */
async function isSpent(tx: Tx, { reviewing }: Task, from: Sender): Promise<boolean> {
  if (!reviewing || reviewing.round < reviewing.most || from.kind !== 'session') return false;
  return (await tx.need('session', from.session)).kind !== 'terminal';
}

const MOST_SAID = 50_000;

/** What is to be changed goes to the same worker, in the same worktree; its next report begins the next round. */
export async function sendBack(
  tx: Tx,
  context: Context,
  task: Task,
  wanted: { readonly comment: string; readonly from: Sender },
): Promise<void> {
  await enqueue(tx, context, {
    to: task.session,
    key: `changes:${task.lastRun}`,
    kind: 'changes',
    from: wanted.from,
    task: task.id,
    text: wanted.comment,
    urgent: true,
  });
  await stopReviewer(tx, context, task);
  const { reviewing, ...rest } = await tx.need('task', task.id);
  const said = wanted.comment.slice(0, MOST_SAID);
  const next = { ...rest, ...(reviewing ? { reviewing: { ...reviewing, said } } : {}) };
  offerTask(tx, moveTask(tx, next, 'ready', { why: 'the review asks for changes' }));
}

export async function cancel(
  tx: Tx,
  context: Context,
  task: Task,
  wish: { by: string; why: string },
): Promise<number> {
  if (isTerminal(task.state))
    throw new ReveilleError('wrong_state', `Task ${titleOf(task)} has already ended: ${task.state}.`);
  return cancelTree(tx, context, task, wish);
}
