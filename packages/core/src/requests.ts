import {
  ReveilleError,
  choiceLines,
  formatAgentType,
  optionsOf,
  type Action,
  type MessageId,
  type MessageKind,
  type PlanId,
  type Request,
  type Run,
  type Sender,
  type Session,
  type SessionId,
  type Task,
} from '@reveille/protocol';
import { newId, type Context } from './context.ts';
import { whoHears } from './hearing.ts';
import { enqueue } from './mailbox.ts';
import { decides } from './orchestrator-session.ts';
import { mayAllow } from './policy-chain.ts';
import type { Tx } from './tx.ts';

const MESSAGE_OF: { readonly [K in Request['kind']]: MessageKind } = {
  question: 'question',
  approval: 'approval_request',
  review: 'review',
  idle: 'health',
  failure: 'error',
  escape: 'error',
  plan: 'approval_request',
  conflict: 'question',
  budget: 'approval_request',
};

interface Asked {
  readonly kind: Request['kind'];
  readonly run: Run | null;
  readonly text: string;
  /** The ids of the choices; for an approval without any, the usual two. */
  readonly options: readonly string[];
  /** Their labels, if these are other words. */
  readonly labels?: readonly string[] | undefined;
  readonly freeText?: boolean | undefined;
  /** Goes to the inbox of the person at once, not up the tree. */
  readonly toPerson?: boolean;
  readonly key?: string | undefined;
  readonly plan?: PlanId;
  /** Who is told of it by other mail, if it is the one that holds it. */
  readonly told?: SessionId;
  /** What exactly is asked for. Whoever would have to ask for it itself cannot allow it. */
  readonly action?: Action;
}

/** The open requests of a task, as this decision has left them so far; most sessions never asked for anything, and their row says so. */
export async function openRequests(tx: Tx, task: Task): Promise<Request[]> {
  const { requests } = tx.known('session', task.session) ?? (await tx.need('session', task.session));
  if (requests === 0) return [];
  const stored = await tx.list('request', { list: 'openByTask', equal: [task.id, 1] });
  const known = new Set(stored.map(({ id }) => id));
  const put = [...tx.requestsOf(task.id)].filter(({ id, state }) => state === 'open' && !known.has(id));
  return [...stored, ...put];
}

export async function closeRequests(tx: Tx, task: Task): Promise<void> {
  for (const request of await openRequests(tx, task)) {
    // One that is answered by this very change stays answered, and an escape is the person's to see, whatever follows.
    if (request.state === 'open' && request.kind !== 'escape')
      tx.put('request', { ...request, state: 'closed' });
  }
}

/** Requests that an agent makes, as it likes; the others are made by the engine, one for each occasion. */
const BY_AGENTS: ReadonlySet<Request['kind']> = new Set(['question', 'approval', 'conflict']);
const LONGEST_TEXT = 65_536;

/** The open request that says the same, if there is one; refuses more than one run may have (BND7). */
async function sameRequest(tx: Tx, context: Context, task: Task, asked: Asked): Promise<Request | undefined> {
  const { run, kind, text, key, options } = asked;
  const byAgent = run !== null && BY_AGENTS.has(kind);
  if (!key && !byAgent) return undefined;
  const open = (await openRequests(tx, task)).filter(({ state }) => state === 'open');
  const own = open.filter((request) => request.run === run?.id && BY_AGENTS.has(request.kind));
  const isSame = (request: Request): boolean =>
    request.kind === kind && request.text === text && request.options.join('\n') === options.join('\n');
  const same = key ? open.find((request) => request.key === key) : own.find(isSame);
  if (same || !byAgent) return same;
  if (text.length > LONGEST_TEXT)
    throw new ReveilleError(
      'limit_reached',
      `A request of ${text.length} characters is too long to be read. Say it in at most ${LONGEST_TEXT}, and name files for the rest.`,
    );
  const { openPerRun } = context.settings.requests;
  if (own.length >= openPerRun)
    throw new ReveilleError(
      'limit_reached',
      `${own.length} of your requests wait for an answer, and more are not taken. Wait for these, or put what you want to ask into one.`,
      { data: { open: own.length, limit: openPerRun } },
    );
  return undefined;
}

/** Opens a request and gives it to the first in the tree who can answer: an agent, else the person (INB2). */
export async function openRequest(tx: Tx, context: Context, task: Task, wish: Asked): Promise<Opened> {
  const isBare = wish.kind === 'approval' && wish.options.length === 0;
  const asked = isBare ? { ...wish, options: optionsOf('approval') } : wish;
  const same = await sameRequest(tx, context, task, asked);
  if (same) return { request: same, message: await messageOf(tx, same) };
  const skipTree = asked.toPerson || (asked.kind === 'review' && task.review === 'person');
  const holder = skipTree ? null : await answerer(tx, context, whoHears(task), asked);
  const request: Request = {
    id: newId(context, 'req'),
    kind: asked.kind,
    from: task.session,
    task: task.id,
    run: asked.run?.id ?? null,
    ...(asked.plan ? { plan: asked.plan } : {}),
    key: asked.key ?? null,
    text: asked.text,
    options: [...asked.options],
    ...(asked.labels ? { labels: [...asked.labels] } : {}),
    ...(asked.freeText ? { freeText: true } : {}),
    ...(asked.action ? { action: asked.action } : {}),
    with: holder,
    movedAt: tx.now,
    state: 'open',
    answer: null,
    at: tx.now,
  };
  tx.put('request', request);
  const asker = await tx.need('session', task.session);
  tx.put('session', { ...asker, requests: asker.requests + 1 });
  const told = holder === null || holder === asked.told;
  const message = told ? null : await tellHolder(tx, context, task, request, holder);
  return { request, message };
}

/** A request, and the message by which its holder was told; a person is not told by mail. */
interface Opened {
  readonly request: Request;
  readonly message: MessageId | null;
}

async function messageOf(tx: Tx, request: Request): Promise<MessageId | null> {
  if (!request.with) return null;
  const key = `${request.with}/${request.id}:${request.movedAt}`;
  const [message] = await tx.list('message', { list: 'byKey', equal: [key], limit: 1 });
  return message?.id ?? null;
}

/** The nearest session from here up that an agent answers for; null when only a person is left. */
async function answerer(
  tx: Tx,
  context: Context,
  from: SessionId | null,
  { action }: Pick<Asked, 'action'>,
): Promise<SessionId | null> {
  for (let id = from; id !== null;) {
    const session: Session = await tx.need('session', id);
    const answers = session.state === 'open' && session.kind !== 'terminal' && decides(context, session);
    if (answers && (!action || (await mayAllow(tx, context, session, action)))) return id;
    id = session.parent;
  }
  return null;
}

async function tellHolder(
  tx: Tx,
  context: Context,
  task: Task,
  request: Request,
  holder: SessionId,
): Promise<MessageId> {
  return enqueue(tx, context, {
    to: holder,
    key: `${request.id}:${request.movedAt}`,
    kind: MESSAGE_OF[request.kind],
    from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
    task: task.id,
    run: request.run,
    request: request.id,
    text:
      request.options.length > 0
        ? `${request.text}\nchoices: ${choiceLines(request).join(' | ')}`
        : request.text,
    urgent: true,
    fresh: true,
  });
}

/**
 * A verdict is no answer to read, it moves the task; nor is what is to be done about a silence, a failure or a budget, or
 * that an escape was seen.
 */
const NOT_TOLD: ReadonlySet<Request['kind']> = new Set(['review', 'idle', 'escape', 'failure', 'budget']);

/** One answer, once; it reaches the asker as a message and wakes it. */
export async function answerRequest(
  tx: Tx,
  context: Context,
  id: Request['id'],
  answer: { text: string; by: string; from: Sender },
): Promise<Request> {
  const request = await tx.need('request', id);
  if (request.state !== 'open') {
    const how = request.answer
      ? `by ${request.answer.by}: ${request.answer.text.slice(0, 200)}`
      : request.state;
    throw new ReveilleError(
      'already_answered',
      `Request ${id} no longer needs an answer (${how}). Nothing was changed.`,
    );
  }
  const { text, by, from } = answer;
  const next: Request = { ...request, state: 'answered', answer: { text, by, at: tx.now } };
  tx.put('request', next);
  if (!NOT_TOLD.has(request.kind))
    await enqueue(tx, context, {
      to: request.from,
      key: `answer:${id}`,
      kind: 'answer',
      from,
      task: request.task,
      request: id,
      text,
      fresh: true,
    });
  return next;
}

/**
 * Whoever did not answer in time passes it on, one up; a person's item waits, and expires only by setting. The
 * sweep measured the time, on the monotonic clock, since the request moved at `movedAt`; if it has moved since,
 * nothing is due.
 */
export async function passOn(tx: Tx, context: Context, due: Pick<Request, 'id' | 'movedAt'>): Promise<void> {
  const request = await tx.need('request', due.id);
  if (request.state !== 'open' || request.movedAt !== due.movedAt) return;
  if (request.with === null) return expire(tx, context, request);
  const holder = await tx.need('session', request.with);
  const { action } = request;
  const next = await answerer(tx, context, holder.parent, action ? { action } : {});
  // A later move in the same millisecond must be another move.
  const moved: Request = { ...request, with: next, movedAt: Math.max(tx.now, request.movedAt + 1) };
  tx.put('request', moved);
  if (next) await tellHolder(tx, context, await tx.need('task', request.task), moved, next);
}

async function expire(tx: Tx, context: Context, request: Request): Promise<void> {
  tx.put('request', { ...request, state: 'expired' });
  await enqueue(tx, context, {
    to: request.from,
    key: `answer:${request.id}`,
    kind: 'answer',
    from: { kind: 'harness' },
    task: request.task,
    request: request.id,
    text: 'Nobody answered in time. This counts as: denied.',
    fresh: true,
  });
}
