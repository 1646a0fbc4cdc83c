import {
  ReveilleError,
  isStoreError,
  isTerminal,
  type AwaitResult,
  type Caller,
  type Delivery,
  type Message,
  type SessionId,
  type TaskId,
} from '@reveille/protocol';
import { deliveries } from './briefing.ts';
import { newId, type Context } from './context.ts';
import { decide } from './decide.ts';
import { checkCaller } from './authority.ts';
import { giveBackTaken, queuedMessages, take } from './mailbox.ts';
import type { Mailroom, Taker } from './mailroom.ts';
import { moveTask } from './task-table.ts';
import type { Tx } from './tx.ts';

/** Kinds that end a wait for a child: how it ended, or that it needs its parent first (SUB2). */
const ENDS = new Set<Message['kind']>(['end']);
const NEEDS = new Set<Message['kind']>(['question', 'approval_request', 'review']);

interface Wanted {
  readonly session: SessionId;
  readonly tasks: ReadonlySet<TaskId>;
  readonly mode: 'all' | 'any';
  /** The answer has room for one end and nothing else. */
  readonly single?: boolean;
}

interface Taken {
  readonly messages: Message[];
  readonly open: TaskId[];
  readonly why: AwaitResult['why'];
}

interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Room {
  readonly context: Context;
  readonly mailroom: Mailroom;
  /** The call is about to answer with messages: the caller's next sign of life will show that they arrived. */
  readonly handedOver: (caller: Caller, messages: readonly Message[]) => void;
  /** The run behind the caller holds no slot until the returned function is called. */
  readonly blocked: (caller: Caller) => () => void;
}

/** Takes what is queued, all of it or what the filter names; only that is consumed (SUB5). */
export async function checkUpdates(
  room: Room,
  caller: Caller,
  session: SessionId,
  tasks?: ReadonlySet<TaskId>,
): Promise<Delivery[]> {
  const messages = await decide(room.context, async (tx) => {
    await checkCaller(tx, caller);
    const queued = await queuedMessages(tx, session);
    const wanted = tasks ? queued.filter((message) => message.task && tasks.has(message.task)) : queued;
    return take(tx, wanted, takenBy(room.context, caller));
  });
  return handOver(room, caller, messages);
}

/** What a call took, as its caller gets it. If it cannot be read now nobody has it, and it is queued again. */
export async function handOver(
  room: Pick<Room, 'context' | 'handedOver'>,
  caller: Caller,
  messages: readonly Message[],
): Promise<Delivery[]> {
  try {
    const rendered = await deliveries(room.context.store, messages);
    room.handedOver(caller, messages);
    return rendered;
  } catch (error) {
    await putBack(room.context, messages, 'no');
    throw error;
  }
}

/** Again and again while the store fails: nobody else knows that the call did not hand them over. */
export async function putBack(
  context: Context,
  messages: readonly Message[],
  seen: 'no' | 'unknown',
): Promise<void> {
  try {
    await decide(context, (tx) => giveBackTaken(tx, messages, seen));
  } catch (error) {
    if (!isStoreError(error)) throw error;
    context.retries.later(() => void putBack(context, messages, seen));
  }
}

/**
 * Waits until the tasks have ended, or one of them needs the caller, or the time is up (SUB4). What it answers with
 * is delivered before it answers; what was delivered before by another road is not given again.
 */
export async function awaitTasks(
  room: Room,
  caller: Caller,
  wanted: Wanted,
  options: WaitOptions,
): Promise<AwaitResult> {
  const { context } = room;
  const first = await decide(context, (tx) => tryTake(tx, context, caller, wanted, options.timeoutMs <= 0));
  const taken = first ?? (await wait(room, caller, wanted, options));
  if (options.signal?.aborted) {
    await putBack(context, taken.messages, 'no');
    throw givenUp();
  }
  const { why, open, messages } = taken;
  return { done: why === 'ended', why, open, deliveries: await handOver(room, caller, messages) };
}

/** Sits at the session's desk until a look is satisfied. */
async function wait(room: Room, caller: Caller, wanted: Wanted, options: WaitOptions): Promise<Taken> {
  const { context, mailroom } = room;
  await decide(context, (tx) => setWaiting(tx, caller, true));
  const call = new WaitingCall(room, caller, wanted);
  const timeUp = (): void => {
    call.over = true;
    mailroom.wake(wanted.session);
  };
  const cleanups = [room.blocked(caller), () => mailroom.leave(wanted.session, call)];
  mailroom.sit(wanted.session, 'call', call);
  cleanups.push(context.clock.after(options.timeoutMs, timeUp));
  // At once: what comes from now on is for others to take.
  const giveUp = (): void => call.fail(givenUp());
  options.signal?.addEventListener('abort', giveUp, { once: true });
  cleanups.push(() => options.signal?.removeEventListener('abort', giveUp));
  if (options.signal?.aborted) giveUp();
  mailroom.wake(wanted.session);
  try {
    return await call.answer;
  } finally {
    for (const cleanup of cleanups) cleanup();
    // The engine stops: a later life opens a new turn, which says what the run does.
    if (!call.closed)
      await decide(context, (tx) => setWaiting(tx, caller, false)).catch((error: unknown) => {
        // Only what is shown of the run: its next turn or rest puts it right.
        context.log?.('warn', 'a call returned, but its run is still shown as waiting', {
          error: String(error),
        });
      });
  }
}

const givenUp = (): ReveilleError => new ReveilleError('aborted', 'The call was given up.');

class WaitingCall implements Taker {
  readonly answer: Promise<Taken>;
  /** The time is up: the next look answers with what there is. */
  over = false;
  closed = false;
  readonly #context: Context;
  readonly #mailroom: Mailroom;
  readonly #caller: Caller;
  readonly #wanted: Wanted;
  #answered = false;
  #resolve: (taken: Taken) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor({ context, mailroom }: Room, caller: Caller, wanted: Wanted) {
    this.#context = context;
    this.#mailroom = mailroom;
    this.#caller = caller;
    this.#wanted = wanted;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  wants(message: Message): boolean {
    if (this.#answered || !message.task || !this.#wanted.tasks.has(message.task)) return false;
    return ENDS.has(message.kind) || NEEDS.has(message.kind);
  }

  async look(): Promise<void> {
    if (this.#answered) return;
    try {
      const taken = await decide(this.#context, (tx) =>
        tryTake(tx, this.#context, this.#caller, this.#wanted, this.over),
      );
      if (!taken) return;
      // It was given up meanwhile: nobody has what it took.
      if (this.#answered) return await putBack(this.#context, taken.messages, 'no');
      this.#answered = true;
      this.#resolve(taken);
    } catch (error) {
      // A store that fails is looked at again; a caller that is stale will never be answered.
      if (!isStoreError(error)) this.fail(error);
      else {
        const { session } = this.#wanted;
        // One for all calls that wait there: each look is a look of all of them.
        this.#context.retries.later(() => this.#mailroom.wake(session), `look:${session}`);
      }
    }
  }

  close(): void {
    this.closed = true;
    this.fail(
      new ReveilleError('stopping', 'The engine is stopping; what the call waited for will come by mail.'),
    );
  }

  fail(error: unknown): void {
    this.#answered = true;
    this.#reject(error);
  }
}

async function tryTake(
  tx: Tx,
  context: Context,
  caller: Caller,
  wanted: Wanted,
  over: boolean,
): Promise<Taken | null> {
  await checkCaller(tx, caller);
  // The tasks before the mail: nothing guards an answer that takes nothing, and a task seen as ended has its end there.
  const open: TaskId[] = [];
  for (const id of wanted.tasks) if (!isTerminal((await tx.need('task', id)).state)) open.push(id);
  const queued = (await queuedMessages(tx, wanted.session)).filter(
    (message) => message.task && wanted.tasks.has(message.task),
  );
  const needs = queued.filter((message) => NEEDS.has(message.kind));
  const ends = queued.filter((message) => ENDS.has(message.kind));
  const ended =
    wanted.mode === 'all' ? open.length === 0 : ends.length > 0 || open.length < wanted.tasks.size;
  if (!ended && needs.length === 0 && !over) return null;
  // Of a child that was tried again there are several ends; those there is no room for come by mail.
  const single = ended ? ends.slice(-1) : needs;
  const wants = wanted.single ? single : [...needs, ...ends];
  const messages = take(tx, wants, takenBy(context, caller));
  return { messages, open, why: ended ? 'ended' : needs.length > 0 ? 'needs_you' : 'timeout' };
}

/** A run whose agent waits in a call is shown as waiting, and for what (PLN2). */
async function setWaiting(tx: Tx, caller: Caller, waiting: boolean): Promise<void> {
  if (caller.kind !== 'worker') return;
  const run = await tx.get('run', caller.run);
  if (!run || run.state === 'ended' || run.epoch !== caller.epoch) return;
  const task = await tx.need('task', run.task);
  if (waiting && task.state === 'running')
    moveTask(tx, task, 'waiting', { why: 'waits in a call', on: 'children' });
  if (!waiting && task.state === 'waiting' && run.turn)
    moveTask(tx, task, 'running', { why: 'its call returned' });
}

export function takenBy(context: Context, caller: Caller) {
  const worker = caller.kind === 'worker' ? caller : null;
  return {
    by: 'call',
    id: newId(context, 'call'),
    run: worker?.run ?? null,
    epoch: worker?.epoch ?? 0,
  } as const;
}
