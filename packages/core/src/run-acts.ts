import {
  formatAgentType,
  isTerminal,
  type ErrorClass,
  type Message,
  type Run,
  type Session,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { draw, lostCalls, shortWords, startClocks } from './budget.ts';
import { askAnew } from './budget-request.ts';
import { newId, type Context } from './context.ts';
import { mayStart } from './graph.ts';
import { whoHears } from './hearing.ts';
import { hearAnswer, inquire, isAsked } from './inquiry.ts';
import { deliveredMessages, enqueue, giveBack, markRead, queuedMessages, take } from './mailbox.ts';
import type { Seen } from './ports/executor.ts';
import type { Findings } from './ports/workspaces.ts';
import { spendUsage, type Told } from './observations.ts';
import { offerTask } from './offers.ts';
import { openPlans } from './orchestrator-session.ts';
import { park } from './parking.ts';
import { openRequests } from './requests.ts';
import { maxTries, retryDelay } from './retry.ts';
import { escape, tellFindings } from './findings.ts';
import { outOfBudget, wantsPerson } from './ending.ts';
import { measured } from './run-counts.ts';
import { settle } from './settle.ts';
import { recovered } from './recorded-health.ts';
import { asNewcomer } from './swap.ts';
import { moveTask } from './task-table.ts';
import type { Tx } from './tx.ts';
import { withoutOpen } from './usage.ts';
import { wakes } from './wake-policy.ts';

/** What a host that claimed a task has to do about it. */
export type Begun =
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'start';
      readonly task: Task;
      readonly run: Run;
      readonly turn: OpenedTurn | null;
      readonly reap: string | null;
      readonly waits: boolean;
    }
  /** The run has ended; what an earlier life left of its agent has not. */
  | { readonly kind: 'reap'; readonly task: Task; readonly run: Run };

/** A turn that has been opened: what is to be handed over, once the commit is on disk. */
export interface OpenedTurn {
  readonly number: number;
  readonly assignment: boolean;
  readonly resumed: boolean;
  readonly messages: readonly Message[];
}

/**
 * Opens a run for a task that is ready, or goes on with its open one under the next epoch (ID4).
 *
 * `isLost`: another host may have the run on record because the lease that was claimed for it here is gone, dropped by a
 * pause and claimed there when it was offered again. If it goes after that look, the other's beginning conflicts with
 * this one.
 */
export async function begin(
  tx: Tx,
  context: Context,
  id: TaskId,
  isLost: () => Promise<boolean>,
): Promise<Begun> {
  const task = await tx.get('task', id);
  const last = task?.lastRun ? await tx.need('run', task.lastRun) : null;
  if (!task || !['ready', 'running', 'waiting'].includes(task.state)) {
    if (task && last && leftAlive(context, last) !== null) return { kind: 'reap', task, run: last };
    return forget(tx, id);
  }
  if (task.run) {
    const run = await tx.need('run', task.run);
    const anothers = run.host !== null && run.host !== context.host && (await isLost());
    return anothers ? { kind: 'nothing' } : goOn(tx, context, task, run);
  }
  const plan = task.plan ? await tx.need('plan', task.plan) : null;
  if (!mayStart(plan, task)) {
    // If it waited for room, it does no longer.
    if (task.waitingOn) tx.put('task', { ...task, waitingOn: null, why: 'its plan does not run' });
    return forget(tx, id);
  }
  const queued = await queuedMessages(tx, task.session);
  const wasGiven = last?.end ? wantsPerson(last.end) : false;
  const goesOn = queued.some(({ kind }) => kind === 'changes' || (wasGiven && kind === 'resume'));
  const run = newRun(context, task, tx.now, { run: last, goesOn });
  tx.put('run', run);
  if (task.budget) await startClocks(tx, task.budget);
  if (last?.identity) tx.put('run', { ...last, host: null, identity: null });
  const running = moveTask(tx, task, 'running', {
    why: 'started',
    also: { run: run.id, attempts: run.attempt },
  });
  const turn = await openTurn(tx, context, running, run);
  const begun = await tx.need('run', run.id);
  if (turn) return { kind: 'start', task: running, run: begun, turn, reap: run.identity, waits: false };
  return begun.identity === null ? { kind: 'nothing' } : { kind: 'reap', task: running, run: begun };
}

/**
 * What may still live of the run's agent, here. It stays on record until it is known to be gone: a crash before it was
 * ended must not make anybody forget it. What another host left, that host has stopped before its lease ended.
 */
const leftAlive = (context: Context, run: Run): string | null =>
  run.host === context.host ? run.identity : null;

function forget(tx: Tx, id: TaskId): Begun {
  tx.drop(id);
  return { kind: 'nothing' };
}

/** If a review asks for changes the same agent goes on where it reported; after a failure, or as another, it begins anew. */
function newRun(
  context: Context,
  task: Task,
  now: number,
  last: { readonly run: Run | null; readonly goesOn: boolean },
): Run {
  const resume = last.goesOn && !last.run?.swap ? (last.run?.resume ?? null) : null;
  return {
    id: newId(context, 'run'),
    task: task.id,
    session: task.session,
    attempt: task.attempts + 1,
    state: 'open',
    host: context.host,
    epoch: 1,
    identity: last.run ? leftAlive(context, last.run) : null,
    ...(last.run?.on === undefined ? {} : { on: last.run.on }),
    resume,
    turn: null,
    turns: 0,
    assigned: resume !== null,
    paused: false,
    faults: 0,
    retryAt: null,
    inquiry: null,
    lastWords: '',
    used: { tokens: 0, usd: 0 },
    end: null,
    startedAt: now,
  };
}

/** An earlier life, another host, or a pause held this run. If there is nothing to say to its agent, none is started. */
async function goOn(tx: Tx, context: Context, task: Task, run: Run): Promise<Begun> {
  const identity = leftAlive(context, run);
  await spendUsage(tx, context, { task, run }, { usage: await lostCalls(tx, task.budget, run.id) });
  const counted = await tx.need('run', run.id);
  const next = asNewcomer({
    ...counted,
    used: withoutOpen(counted.used),
    host: context.host,
    epoch: run.epoch + 1,
    retryAt: null,
    identity,
  });
  // What is paused has nothing to say to it either, whatever waits: a turn that died is closed when it goes on.
  const quiet = run.paused || (run.turn === null && !wakes(await queuedMessages(tx, run.session)));
  const waits = quiet && !task.cancelling ? await waitReason(tx, task, run) : null;
  // What an earlier life left must end first, and only a run that is held has somebody to end it.
  if (waits && next.identity === null) {
    tx.put('run', { ...next, host: null });
    tx.drop(task.id);
    return { kind: 'nothing' };
  }
  tx.put('run', next);
  return { kind: 'start', task, run: next, turn: null, reap: next.identity, waits: waits !== null };
}

/** Why a run that rests has reason to: a child, an answer, a pause. Null: it is silent (HLT1). */
export async function waitReason(
  tx: Tx,
  task: Task,
  run: Run,
): Promise<'children' | 'answer' | 'approval' | 'paused' | null> {
  if (run.paused) return 'paused';
  const session = await tx.need('session', task.session);
  if (session.childrenOpen > 0 || (await isPlanRunning(tx, session))) return 'children';
  const requests = (await openRequests(tx, task)).filter(({ kind }) => kind !== 'escape');
  if (requests.some(({ kind }) => kind === 'approval' || kind === 'plan')) return 'approval';
  return requests.length > 0 ? 'answer' : null;
}

/** A draft that nobody was asked about is nothing to wait for. */
const isPlanRunning = async (tx: Tx, session: Session): Promise<boolean> =>
  (await openPlans(tx, session)).some(({ state }) => state !== 'draft');

/**
 * Opens the next turn if there is something to say: the task itself the first time, mail, or that the agent died
 * and goes on. One change closes the dead turn, gives its unread messages back or not, as the resumed history
 * tells, and takes all that is queued (MBX3, WAK2).
 */
export async function openTurn(
  tx: Tx,
  context: Context,
  task: Task,
  run: Run,
  seen?: ReadonlyMap<string, Seen>,
): Promise<OpenedTurn | null> {
  const died = run.turn !== null;
  const assigned = run.assigned || seen?.get(run.id) === 'yes';
  await reconcile(tx, run, seen ?? new Map());
  const queued = await queuedMessages(tx, run.session);
  const rest: Run = { ...(await recovered(tx, task, run)), turn: null, assigned };
  // A first turn that was interrupted is not begun again by itself; the next one brings the task with it (WRK1).
  const begun = assigned || run.turns > 0;
  if (run.paused || task.cancelling || (!died && begun && !wakes(queued))) {
    if (died) tx.put('run', rest);
    return null;
  }
  const short = task.budget ? await draw(tx, task.budget, { turns: 1 }) : null;
  if (short) {
    const ending = outOfBudget(run.lastWords, shortWords(short));
    await settle(tx, context, task, { ...rest, short }, ending);
    return null;
  }
  const number = run.turns + 1;
  const inquiry = run.inquiry && died && isAsked(run) ? { ...run.inquiry, turn: run.turns } : run.inquiry;
  tx.put('run', { ...rest, turns: number, turn: { number, at: tx.now, alive: false }, inquiry });
  const messages = take(tx, queued, { by: 'turn', id: `${run.id}/${number}`, run: run.id, epoch: run.epoch });
  if (task.state === 'waiting')
    moveTask(tx, task, 'running', { why: messages.length > 0 ? 'woken by mail' : 'goes on' });
  return { number, assignment: !assigned, resumed: died || (run.epoch > 1 && run.turns > 0), messages };
}

/**
 * A turn or call that died leaves delivered, unread messages; the resumed history decides what they are (MBX3).
 * Answers with those that are queued again.
 */
async function reconcile(tx: Tx, run: Run, seen: ReadonlyMap<string, Seen>): Promise<void> {
  for (const message of await deliveredMessages(tx, run.session)) {
    const told = seen.get(message.id) ?? 'unknown';
    // An answer that the history does not hold may still be on its way to whoever made the call.
    const answer = told === 'no' && message.taken?.by === 'call' ? 'unknown' : told;
    if (answer === 'yes') markRead(tx, [message]);
    else giveBack(tx, [message], answer);
  }
}

/** Takes what is queued for a turn that is already open, to be handed over at its next pause point (WAK1). */
export async function steerTurn(tx: Tx, run: Run, keep: (message: Message) => boolean): Promise<Message[]> {
  const queued = (await queuedMessages(tx, run.session)).filter((message) => !keep(message));
  if (!wakes(queued) || !run.turn) return [];
  return take(tx, queued, { by: 'turn', id: `${run.id}/${run.turn.number}`, run: run.id, epoch: run.epoch });
}

/** A sign of life after the hand-over: what the agent was given, it has. */
export async function signOfLife(tx: Tx, run: Run, has: readonly string[]): Promise<void> {
  for (const id of has) if (id !== run.id) markRead(tx, [await tx.need('message', id)]);
  if (run.turn) tx.put('run', { ...run, assigned: true, turn: { ...run.turn, alive: true } });
}

export interface TurnEnd {
  readonly lastWords: string;
  readonly interrupted: boolean;
  /** It called tools or changed files: an answer to an inquiry with work in it is not just words. */
  readonly worked: boolean;
  /** It gave any sign of life at all. */
  readonly alive: boolean;
  /** Whether the agent has a message that was taken for it. */
  readonly has: (id: string) => boolean;
  /** What a look at its checkout found. */
  readonly findings: Findings;
}

/** A turn ended. What follows: the next one if there is mail, rest if there is reason to, else the question why. */
export async function endTurn(tx: Tx, context: Context, task: Task, run: Run, turn: TurnEnd): Promise<void> {
  for (const message of await deliveredMessages(tx, run.session)) {
    if (turn.has(message.id)) markRead(tx, [message]);
    else giveBack(tx, [message], 'unknown');
  }
  const assigned = run.assigned || turn.alive || !turn.interrupted;
  const lastWords = turn.lastWords || run.lastWords;
  const well = await recovered(tx, task, run);
  const next: Run = { ...well, turn: null, assigned, faults: 0, lastWords, ...measured(context, run) };
  tx.put('run', next);
  if (turn.findings.escapes.length > 0) {
    const error = escape(turn.findings);
    const ending = { status: 'failed', cause: 'executor', output: next.lastWords, error } as const;
    await settle(tx, context, task, next, ending);
    // What could not be collected could not be looked at again; the person is told of what was seen before.
    if (!tx.leftBy(task, run.id)?.findings.escapes.length)
      await tellFindings(tx, context, task, next, { ...turn.findings, conflicts: [] });
    return;
  }
  await tellFindings(tx, context, task, next, turn.findings);
  if (wakes(await queuedMessages(tx, run.session)) && !run.paused) return;
  const reason = await waitReason(tx, task, next);
  if (reason) {
    if (task.state === 'running') moveTask(tx, task, 'waiting', { why: `waits: ${reason}`, on: reason });
    return;
  }
  const current =
    task.state === 'waiting' ? moveTask(tx, task, 'running', { why: 'nothing to wait for' }) : task;
  if (context.agents.reportsByLastMessage?.(current.agent, current.repository)) {
    const ending = {
      status: 'success',
      cause: 'last_message',
      output: next.lastWords,
      error: null,
    } as const;
    await settle(tx, context, current, next, ending);
    return;
  }
  if (turn.interrupted) return;
  if (isAsked(run)) return hearAnswer(tx, context, current, next, turn);
  await inquire(tx, context, current, turn.worked ? { ...next, inquiry: null } : next);
}

/**
 * The agent failed or its process is gone. Between turns nothing is lost: the run is parked and its next message
 * resumes it. In a turn, a transient fault is tried again, the same run under the next epoch, after a pause by
 * its class; the owner sees attempt n of m (HLT5). Anything else ends the run.
 */
export async function fault(
  tx: Tx,
  context: Context,
  task: Task,
  run: Run,
  left: {
    error: { class: ErrorClass; message: string; retryAfterMs?: number; scarce?: boolean };
    lastWords: string;
  },
): Promise<void> {
  const { retryAfterMs = 0, scarce = false, ...error } = left.error;
  const rests = !run.turn && !isLimit(error.class) && (await waitReason(tx, task, run)) !== null;
  if (rests) return park(tx, task, run);
  const delay = retryDelay(error.class, run.faults, { random: context.random, retryAfterMs, scarce });
  if (delay === null || isTerminal(task.state)) {
    const output = left.lastWords || run.lastWords;
    const cause = error.class === 'limit' ? 'limit' : 'executor';
    const failed = { status: 'failed', cause, output, error } as const;
    await settle(
      tx,
      context,
      task,
      run,
      error.class === 'budget' ? outOfBudget(output, error.message) : failed,
    );
    return;
  }
  const faults = run.faults + 1;
  const well = await recovered(tx, task, run);
  tx.put('run', { ...well, host: null, identity: null, faults, retryAt: tx.now + delay });
  if (task.state === 'running')
    moveTask(tx, task, 'waiting', { why: `${error.class}: ${error.message.slice(0, 200)}`, on: 'backoff' });
  offerTask(tx, task, { continues: true, delayMs: delay, release: true });
  // It lasts as long as it lasts, and nobody is told of every try.
  if (scarce && run.faults > 0) return;
  const next = scarce
    ? 'it goes on by itself when the machine has room'
    : `attempt ${faults + 1} of ${maxTries(error.class) + 1} in ${Math.round(delay / 1000)} s`;
  await enqueue(tx, context, {
    to: whoHears(task),
    key: `fault:${run.id}:${run.epoch}`,
    kind: 'error',
    from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
    task: task.id,
    text: `${error.class}: ${error.message}; ${next}`,
  });
}

/** Past a limit nothing that an agent says counts any more. */
export const isLimit = (errorClass: ErrorClass): boolean => errorClass === 'limit' || errorClass === 'budget';

/** The agent of an ended run is gone: its task needs no host, unless it is tried again. Usage that it told of since then counts. */
export async function letGo(
  tx: Tx,
  context: Context,
  gone: Pick<Run, 'id' | 'identity'>,
  told: Told,
): Promise<void> {
  const run = await tx.need('run', gone.id);
  // Somebody else may have gone on with the run, and ended it: then that one's agent is on record, and may live.
  if (run.state === 'open' || run.identity !== gone.identity) return;
  const task = await tx.need('task', run.task);
  const released: Run = { ...run, host: null, identity: null };
  tx.put('run', released);
  await spendUsage(tx, context, { task, run: released }, told);
  if (told.usage.length > 0) await askAnew(tx, task, run.id);
  if (task.state === 'ready') offerTask(tx, task, { release: true });
  else if (task.run === null) tx.drop(task.id);
}

/** Whether its agent could be ended now and resumed by its next message, with all it knows. */
export async function mayPark(tx: Tx, task: Task, run: Run): Promise<boolean> {
  if (run.resume === null || run.turn || task.cancelling || run.swap) return false;
  return !wakes(await queuedMessages(tx, run.session)) && (await waitReason(tx, task, run)) !== null;
}
