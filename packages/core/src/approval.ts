import {
  ReveilleError,
  isStoreError,
  type Caller,
  type Message,
  type RequestId,
  type Task,
} from '@reveille/protocol';
import { checkCaller } from './authority.ts';
import { takenBy, type Room } from './calls.ts';
import type { Context } from './context.ts';
import { decide } from './decide.ts';
import { markRead, queuedMessages, take } from './mailbox.ts';
import type { Taker } from './mailroom.ts';
import { openRequest } from './requests.ts';
import { moveTask } from './task-table.ts';
import type { Tx } from './tx.ts';

type WorkerCaller = Extract<Caller, { kind: 'worker' }>;

/** What an agent that stands still until it has an answer wants to do. */
export interface AskedApproval {
  readonly text: string;
  readonly options: readonly string[];
  /** The same wish again, while nobody has answered, is the same request. */
  readonly key: string;
}

export type Asking = Pick<Room, 'context' | 'mailroom' | 'blocked'>;

/**
 * Asks up the tree (INB2) and waits for the answer, for whoever asks in the name of an agent that cannot go on without
 * it. The answer is taken here and comes by no other road. If the wait is given up the request is closed; if the
 * engine stops it stays, and its answer comes by mail.
 */
export async function askApproval(
  room: Asking,
  caller: WorkerCaller,
  asked: AskedApproval,
  signal: AbortSignal,
): Promise<string> {
  const id = await decide(room.context, (tx) => open(tx, room, caller, asked));
  const answer = await waitForAnswer(room, caller, id, { signal });
  if (answer === null) throw new ReveilleError('internal', 'A wait without an end ended.');
  return answer;
}

/** The answer to a request; null: it did not come in time. Then the request stays, and its answer comes by mail. */
export async function waitForAnswer(
  room: Asking,
  caller: WorkerCaller,
  id: RequestId,
  { signal, patienceMs = null }: { readonly signal: AbortSignal; readonly patienceMs?: number | null },
): Promise<string | null> {
  const { context, mailroom } = room;
  const wait = new AnswerWait(room, caller, id);
  const giveUp = (): void => wait.fail(new ReveilleError('aborted', 'Nobody waits for the answer any more.'));
  const cleanups = [room.blocked(caller), () => mailroom.leave(caller.session, wait)];
  mailroom.sit(caller.session, 'call', wait);
  signal.addEventListener('abort', giveUp, { once: true });
  cleanups.push(() => signal.removeEventListener('abort', giveUp));
  if (signal.aborted) giveUp();
  if (patienceMs !== null) cleanups.push(context.clock.after(patienceMs, () => wait.timeUp()));
  mailroom.wake(caller.session);
  try {
    return await wait.answer;
  } finally {
    for (const cleanup of cleanups) cleanup();
    if (!wait.closed)
      await decide(context, (tx) => goOn(tx, caller, id, !wait.over)).catch((error: unknown) => {
        // Only what is shown: the end of the turn puts it right.
        context.log?.('warn', 'an approval is over, but its run is still shown as waiting', {
          error: String(error),
        });
      });
  }
}

async function open(tx: Tx, { context }: Asking, caller: WorkerCaller, asked: AskedApproval) {
  await checkCaller(tx, caller);
  const run = await tx.need('run', caller.run);
  const task = await tx.need('task', run.task);
  const { text, options, key } = asked;
  return askFor(tx, context, task, { kind: 'approval', run, text, options, key });
}

/** Opens the request; until it is answered its task is shown as waiting for that. */
export async function askFor(
  tx: Tx,
  context: Context,
  task: Task,
  asked: Parameters<typeof openRequest>[3],
): Promise<RequestId> {
  const { request } = await openRequest(tx, context, task, asked);
  const current = await tx.need('task', task.id);
  if (current.state === 'running')
    moveTask(tx, current, 'waiting', { why: 'waits: approval', on: 'approval' });
  return request.id;
}

/** Whatever came of it, it is not waited for any more. */
async function goOn(tx: Tx, caller: WorkerCaller, id: RequestId, close: boolean): Promise<void> {
  const run = await tx.get('run', caller.run);
  // Somebody else may have gone on with the run, and wait for the answer to the same request.
  if (!run || run.state === 'ended' || run.epoch !== caller.epoch) return;
  const request = await tx.need('request', id);
  if (request.state === 'open' && close) tx.put('request', { ...request, state: 'closed' });
  if (!run.turn) return;
  const task = await tx.need('task', run.task);
  if (task.state === 'waiting' && task.waitingOn === 'approval')
    moveTask(tx, task, 'running', { why: 'has its answer' });
}

class AnswerWait implements Taker {
  readonly answer: Promise<string | null>;
  closed = false;
  /** The time is up: the next look answers with what there is. */
  over = false;
  readonly #room: Asking;
  readonly #caller: WorkerCaller;
  readonly #request: RequestId;
  #settled = false;
  #resolve: (text: string | null) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(room: Asking, caller: WorkerCaller, request: RequestId) {
    this.#room = room;
    this.#caller = caller;
    this.#request = request;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  wants(message: Message): boolean {
    return !this.#settled && message.kind === 'answer' && message.request === this.#request;
  }

  async look(): Promise<void> {
    if (this.#settled) return;
    const { context, mailroom } = this.#room;
    try {
      const text = await decide(context, (tx) => this.#take(tx));
      if (text === null && !this.over) return;
      this.#settled = true;
      this.#resolve(text);
    } catch (error) {
      if (!isStoreError(error)) this.fail(error);
      else {
        const { session } = this.#caller;
        context.retries.later(() => mailroom.wake(session), `look:${session}`);
      }
    }
  }

  /** Null: there is no answer yet. */
  async #take(tx: Tx): Promise<string | null> {
    await checkCaller(tx, this.#caller);
    const queued = await queuedMessages(tx, this.#caller.session);
    const answer = queued.filter((message) => this.wants(message));
    const [first] = take(tx, answer, takenBy(this.#room.context, this.#caller));
    if (!first) return null;
    markRead(tx, [first]);
    return first.text;
  }

  timeUp(): void {
    this.over = true;
    this.#room.mailroom.wake(this.#caller.session);
  }

  close(): void {
    this.closed = true;
    this.fail(new ReveilleError('stopping', 'The engine is stopping; the answer will come by mail.'));
  }

  fail(error: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#reject(error);
  }
}
