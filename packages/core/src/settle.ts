import {
  formatAgentType,
  isTerminal,
  type Request,
  type Run,
  type RunEnd,
  type Session,
  type SessionId,
  type Task,
  type TaskState,
} from '@reveille/protocol';
import { release } from './budget.ts';
import { askToRaise } from './budget-request.ts';
import { newId, type Context } from './context.ts';
import { blockDependents, releaseDependents } from './graph.ts';
import { closeMailbox, deliveredMessages, enqueue, markRead } from './mailbox.ts';
import { askAboutFailure } from './failure.ts';
import { isOrchestrator, openPlans } from './orchestrator-session.ts';
import { endsPlan } from './plan-status.ts';
import { closeRequests, openRequests, passOn } from './requests.ts';
import { beginReview } from './review-start.ts';
import { cancelled, type Ending } from './ending.ts';
import { judged, tellFindings } from './findings.ts';
import { measured } from './run-counts.ts';
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
    const rest = { host, turn: null, inquiry: null, retryAt: null, end, ...measured(context, run) };
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
    const ended = run ? await tx.need('run', run.id) : null;
    return beginReview(tx, context, next, ended);
  }
  const request = await askAboutFailure(tx, context, next, { run, end });
  await finish(tx, context, next, { run, lastWord, request, wasBlocked: task.state === 'blocked' });
  if (end.cause === 'budget' && run && !task.reviews) await askToRaise(tx, context, next, run);
  return next;
}

/** A task has ended for good (a retry aside): its owner is told, its session closed, its graph and children follow. */
export async function finish(
  tx: Tx,
  context: Context,
  task: Task,
  options: { run: Run | null; lastWord: boolean; wasBlocked?: boolean; request?: Request['id'] | null },
): Promise<void> {
  const { run, request = null } = options;
  if (task.reviewing?.task) await stopReviewer(tx, context, task);
  const moved = await moveDependents(tx, task, options.wasBlocked ?? false);
  const moves = task.plan === null || moved > 0 || (await endsPlan(tx, task));
  await tellOwner(tx, context, task, { run, request, moves });
  const session = tx.known('session', task.session) ?? (await tx.need('session', task.session));
  await closeMailbox(tx, session, { read: options.lastWord });
  tx.put('session', { ...(await tx.need('session', task.session)), state: 'ended' });
  if (session.childrenOpen > 0) await endChildren(tx, context, session, task);
  if (task.state === 'cancelled') await cancelPlans(tx, context, session, { by: 'reveille', why: task.why });
  // What was closed with the plans is for nobody.
  if (isOrchestrator(session)) await passOnAll(tx, context, session.id);
}

/** The review is over, whoever decided: an agent that is still at it has nothing more to say. */
export async function stopReviewer(tx: Tx, context: Context, { id, reviewing }: Task): Promise<void> {
  if (!reviewing?.task) return;
  tx.put('task', { ...(await tx.need('task', id)), reviewing: { ...reviewing, task: null } });
  const wish = { by: 'reveille', why: 'its review is over' };
  await cancelTree(tx, context, await tx.need('task', reviewing.task), wish);
}

/** How many tasks were freed or blocked by its end. */
async function moveDependents(tx: Tx, task: Task, wasBlocked: boolean): Promise<number> {
  if (task.state === 'completed') return releaseDependents(tx, task);
  // What depends on a blocked task has already counted it.
  return wasBlocked ? 0 : blockDependents(tx, task);
}

function nextState(task: Task, end: RunEnd): TaskState {
  if (end.status === 'cancelled') return 'cancelled';
  // It is not done, and can go on when somebody gives it more.
  if (end.status === 'failed' || end.cause === 'budget') return 'failed';
  const wantsReview = task.review !== 'none' || (end.status === 'partial' && task.plan !== null);
  return wantsReview && end.cause !== 'completed_by_owner' ? 'review' : 'completed';
}

function endWhy(end: RunEnd): string {
  const why = end.error ? `${end.error.class}: ${end.error.message}` : end.output.split('\n', 1)[0];
  return `${end.cause}: ${(why ?? '').slice(0, 200)}`;
}

/** The end, keyed by its run: a second attempt's end is not a duplicate of the first's. */
async function tellOwner(
  tx: Tx,
  context: Context,
  task: Task,
  told: { readonly run: Run | null; readonly request: Request['id'] | null; readonly moves: boolean },
): Promise<void> {
  const { run, request, moves } = told;
  // Its end is the verdict on another's work, and no letter.
  if (task.reviews) return tx.reviewerDone(task);
  if (task.plan === null) {
    const owner = tx.known('session', task.owner) ?? (await tx.need('session', task.owner));
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
    request,
    text: run ? '' : task.why,
    moves,
    urgent: task.state === 'failed',
    fresh: true,
  });
}

/** MBX6: running children are cancelled or, by setting, handed to the parent's own owner. A cancel always goes down (SUB7). */
async function endChildren(tx: Tx, context: Context, session: Session, parent: Task): Promise<void> {
  const handUp = context.settings.orphans === 'hand_up' && parent.state !== 'cancelled';
  for (const child of await tx.list('task', { list: 'openByOwner', equal: [session.id, 1] })) {
    // A plan goes on: its owner may be tried again, and then finds its ends in its mailbox.
    if (isTerminal(child.state) || child.plan !== null || child.reviews) continue;
    if (handUp) await handTo(tx, context, child, await livingAbove(tx, parent.owner));
    else
      await cancelTree(tx, context, child, {
        by: 'reveille',
        why: `its parent "${parent.name}" is ${parent.state}`,
      });
  }
}

/** The first from here upwards that has not ended: of a plan that goes on, the owner may have. */
async function livingAbove(tx: Tx, id: SessionId): Promise<SessionId> {
  const session = await tx.need('session', id);
  return session.state === 'ended' && session.parent ? livingAbove(tx, session.parent) : id;
}

/** What somebody who has ended was to decide is for whoever is next; nobody waits five minutes for one that is gone. */
export async function passOnAll(tx: Tx, context: Context, ended: SessionId): Promise<void> {
  for (const request of await tx.list('request', { list: 'passing', equal: [1] }))
    if (request.with === ended) await passOn(tx, context, request);
}

/** The plans of an orchestrator that is cancelled go with it, and what was added to an ended one, or tried again there, since. */
async function cancelPlans(
  tx: Tx,
  context: Context,
  session: Session,
  wish: { by: string; why: string },
): Promise<number> {
  if (!session.plans?.length) return 0;
  let count = 0;
  for (const plan of await openPlans(tx, session)) {
    // A draft has no status derived from its tasks.
    const state = plan.state === 'draft' ? 'active' : plan.state;
    tx.put('plan', { ...plan, state, cancelling: plan.cancelling ?? wish.why });
    if (!tx.planMoves.has(plan.id)) tx.planMoves.set(plan.id, new Map());
  }
  for (const task of await tx.list('task', { list: 'openByOwner', equal: [session.id, 1] }))
    if (task.plan !== null) count += await cancelTree(tx, context, task, wish);
  return count;
}

async function handTo(tx: Tx, context: Context, child: Task, owner: Task['owner']): Promise<void> {
  const last = await tx.need('session', child.owner);
  tx.put('session', { ...last, childrenOpen: last.childrenOpen - 1 });
  const next = await tx.need('session', owner);
  const { childrenTotal, childrenOpen } = next;
  tx.put('session', { ...next, childrenTotal: childrenTotal + 1, childrenOpen: childrenOpen + 1 });
  tx.put('session', { ...(await tx.need('session', child.session)), parent: owner });
  tx.put('task', { ...child, owner, key: null });
  await leaveRequests(tx, context, child, last.id);
}

/** What a task, or one below it, asked somebody who has ended goes at once to the next who can answer (INB2). */
async function leaveRequests(tx: Tx, context: Context, task: Task, ended: SessionId): Promise<void> {
  for (const request of await openRequests(tx, task))
    if (request.with === ended) await passOn(tx, context, request);
  for (const child of await tx.list('task', { list: 'openByOwner', equal: [task.session, 1] }))
    await leaveRequests(tx, context, child, ended);
}

/**
 * Cancels a task and everything below it (SUB7). What has no agent alive ends at once, in this change; the rest
 * gets the wish recorded, which already forbids it to spawn, report or begin a turn, and ends as cancelled when
 * its host has stopped it: a state that is shown is so.
 */
export async function cancelTree(
  tx: Tx,
  context: Context,
  listed: Task,
  wish: { by: string; why: string },
): Promise<number> {
  // The end of one may have blocked another, in this same change.
  const task = await tx.need('task', listed.id);
  if (isTerminal(task.state) || task.cancelling) return 0;
  const run = task.run ? await tx.need('run', task.run) : null;
  if (!run || run.host === null) {
    await settle(tx, context, task, run, cancelled(wish.why));
    return 1;
  }
  tx.put('task', { ...task, cancelling: { ...wish, at: tx.now } });
  tx.wake(task.session);
  let count = 1;
  // Whoever spawns writes this row: read here, a child that is being made on another host cannot be missed.
  count += await cancelPlans(tx, context, await tx.need('session', task.session), wish);
  for (const child of await tx.list('task', { list: 'openByOwner', equal: [task.session, 1] })) {
    count += await cancelTree(tx, context, child, {
      by: wish.by,
      why: `its parent "${task.name}" is cancelled`,
    });
  }
  return count;
}
