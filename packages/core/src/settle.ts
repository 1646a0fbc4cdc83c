import {
  formatAgentType,
  isTerminal,
  type Run,
  type RunEnd,
  type Session,
  type Task,
  type TaskState,
} from '@reveille/protocol';
import { release } from './budget.ts';
import { newId, type Context } from './context.ts';
import { blockDependents, releaseDependents } from './graph.ts';
import { closeMailbox, deliveredMessages, enqueue, markRead } from './mailbox.ts';
import { closeRequests, openRequest } from './requests.ts';
import { cancelled, type Ending } from './ending.ts';
import { judged, tellFindings } from './findings.ts';
import { counted } from './run-counts.ts';
import { moveTask } from './task-table.ts';
import type { Tx } from './tx.ts';

/**
 * The one way a run ends, whatever ends it: its report, its last message, its process, a limit, a cancel,
 * silence. One change holds the run's end, the task's next state, the message to its owner, its requests
 * closed, its reservations given back, its dependents and its children. The guard is the run being open, so
 * the first end wins; the caller refuses and records a second one.
 *
 * `run` is null for a task that never had one open (cancelled before it began).
 */
export async function settle(
  tx: Tx,
  context: Context,
  task: Task,
  run: Run | null,
  ending: Ending,
): Promise<Task> {
  const left = run ? tx.leftBy(task, run.id) : null;
  const end: RunEnd = {
    ...(left ? judged(ending, left) : ending),
    work: left?.work ?? null,
    at: tx.now,
  };
  if (run) {
    const host = run.identity === null ? null : run.host;
    const rest = { host, turn: null, inquiry: null, retryAt: null, end, ...counted(context, run) };
    tx.put('run', { ...run, state: 'ended', ...rest });
    if (rest.counts) tx.note({ type: 'run.counted', task: task.id, run: run.id, data: rest.counts });
    if (task.budget) await release(tx, task.budget, `${run.id}/`);
  }
  const to = nextState(task, end);
  const also = { run: null, lastRun: run?.id ?? task.lastRun, byHand: false };
  const next = moveTask(tx, task, to, { why: endWhy(end), also });
  // An agent that may still live keeps its task at its host, so that a crash now leaves somebody to end it.
  if (!run || run.identity === null) tx.drop(task.id);
  tx.wake(task.session);
  await closeRequests(tx, task);
  if (left && run) await tellFindings(tx, context, next, run, left.findings);
  const lastWord = end.cause === 'report' || end.cause === 'last_message';
  if (to === 'review') {
    // Its mailbox stays open, and its report shows that it has what it was given.
    if (lastWord) markRead(tx, await deliveredMessages(tx, task.session));
    return askForReview(tx, context, next, run);
  }
  await finish(tx, context, next, { run, lastWord, wasBlocked: task.state === 'blocked' });
  return next;
}

/** A task has ended for good (a retry aside): its owner is told, its session closed, its graph and children follow. */
export async function finish(
  tx: Tx,
  context: Context,
  task: Task,
  options: { run: Run | null; lastWord: boolean; wasBlocked?: boolean },
): Promise<void> {
  await tellOwner(tx, context, task, options.run);
  const session = await tx.need('session', task.session);
  await closeMailbox(tx, session, { read: options.lastWord });
  tx.put('session', { ...(await tx.need('session', task.session)), state: 'ended' });
  if (task.state === 'completed') await releaseDependents(tx, task);
  // What depends on a blocked task has already counted it.
  else if (!options.wasBlocked) await blockDependents(tx, task);
  if (session.childrenOpen > 0) await endChildren(tx, context, session, task);
}

function nextState(task: Task, end: RunEnd): TaskState {
  if (end.status === 'cancelled') return 'cancelled';
  if (end.status === 'failed') return 'failed';
  const wantsReview = task.review !== 'none' || (end.status === 'partial' && task.plan !== null);
  return wantsReview && end.cause !== 'completed_by_owner' ? 'review' : 'completed';
}

function endWhy(end: RunEnd): string {
  const why = end.error ? `${end.error.class}: ${end.error.message}` : end.output.split('\n', 1)[0];
  return `${end.cause}: ${(why ?? '').slice(0, 200)}`;
}

/** The end, keyed by its run: a second attempt's end is not a duplicate of the first's. */
async function tellOwner(tx: Tx, context: Context, task: Task, run: Run | null): Promise<void> {
  if (task.plan === null) {
    const owner = await tx.need('session', task.owner);
    tx.put('session', { ...owner, childrenOpen: owner.childrenOpen - 1 });
  }
  await enqueue(tx, context, {
    to: task.owner,
    // Without a run nothing but the state of the task keeps it from ending twice, and it may be tried again at once.
    key: run ? `end:${run.id}` : `end:${task.id}:${newId(context, 'msg')}`,
    kind: 'end',
    from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
    task: task.id,
    run: run?.id ?? null,
    text: run ? '' : task.why,
    urgent: task.state === 'failed',
    fresh: true,
  });
}

async function askForReview(tx: Tx, context: Context, task: Task, run: Run | null): Promise<Task> {
  const { request } = await openRequest(tx, context, task, {
    kind: 'review',
    run,
    text: 'review',
    options: ['approve', 'changes', 'reject'],
  });
  if (request.with === null) {
    await enqueue(tx, context, {
      to: task.owner,
      key: `review:${run?.id ?? task.id}`,
      kind: 'review',
      from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
      task: task.id,
      run: run?.id ?? null,
      request: request.id,
      text: '',
      fresh: true,
    });
  }
  return task;
}

/** MBX6: running children are cancelled or, by setting, handed to the parent's own owner. A cancel always goes down (SUB7). */
async function endChildren(tx: Tx, context: Context, session: Session, parent: Task): Promise<void> {
  const handUp = context.settings.orphans === 'hand_up' && parent.state !== 'cancelled';
  for (const child of await tx.list('task', { list: 'openByOwner', equal: [session.id, 1] })) {
    if (isTerminal(child.state)) continue;
    if (handUp) await handTo(tx, child, parent.owner);
    else
      await cancelTree(tx, context, child, {
        by: 'reveille',
        why: `its parent "${parent.name}" is ${parent.state}`,
      });
  }
}

async function handTo(tx: Tx, child: Task, owner: Task['owner']): Promise<void> {
  const last = await tx.need('session', child.owner);
  tx.put('session', { ...last, childrenOpen: last.childrenOpen - 1 });
  const next = await tx.need('session', owner);
  const { childrenTotal, childrenOpen } = next;
  tx.put('session', { ...next, childrenTotal: childrenTotal + 1, childrenOpen: childrenOpen + 1 });
  tx.put('session', { ...(await tx.need('session', child.session)), parent: owner });
  tx.put('task', { ...child, owner, key: null });
}

/**
 * Cancels a task and everything below it (SUB7). What has no agent alive ends at once, in this change; the rest
 * gets the wish recorded, which already forbids it to spawn, report or begin a turn, and ends as cancelled when
 * its host has stopped it: a state that is shown is so.
 */
export async function cancelTree(
  tx: Tx,
  context: Context,
  task: Task,
  wish: { by: string; why: string },
): Promise<number> {
  if (isTerminal(task.state) || task.cancelling) return 0;
  const run = task.run ? await tx.need('run', task.run) : null;
  if (!run || run.host === null) {
    await settle(tx, context, task, run, cancelled(wish.why));
    return 1;
  }
  tx.put('task', { ...task, cancelling: { ...wish, at: tx.now } });
  tx.wake(task.session);
  let count = 1;
  for (const child of await tx.list('task', { list: 'openByOwner', equal: [task.session, 1] })) {
    count += await cancelTree(tx, context, child, {
      by: wish.by,
      why: `its parent "${task.name}" is cancelled`,
    });
  }
  return count;
}
