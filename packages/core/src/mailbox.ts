import {
  INFORMATIONAL,
  type Message,
  type MessageId,
  type MessageKind,
  type RequestId,
  type RunId,
  type Sender,
  type Session,
  type SessionId,
  type Taken,
  type TaskId,
} from '@reveille/protocol';
import { newId, type Context } from './context.ts';
import type { Tx } from './tx.ts';
import { isQuiet } from './wake-policy.ts';

export interface Letter {
  readonly to: SessionId;
  /** Makes a second copy impossible. */
  readonly key: string;
  readonly kind: MessageKind;
  readonly from: Sender;
  readonly text: string;
  readonly urgent?: boolean;
  /** See the wake policy. */
  readonly moves?: boolean;
  readonly task?: TaskId | null;
  readonly run?: RunId | null;
  readonly request?: RequestId | null;
  /** The key is known to be new because something else guards it; saves a look-up. */
  readonly fresh?: boolean;
}

/**
 * Puts a message into a mailbox, in the change that causes it (MBX2). To a session that has ended it is dead on
 * arrival, and stays on record; a retry revives it.
 */
export async function enqueue(tx: Tx, context: Context, letter: Letter): Promise<MessageId> {
  if (!letter.fresh) {
    for (const put of tx.lettersTo(letter.to)) if (put.key === letter.key) return put.id;
    const [existing] = await tx.list('message', {
      list: 'byKey',
      equal: [`${letter.to}/${letter.key}`],
      limit: 1,
    });
    if (existing) return existing.id;
  }
  const session = tx.known('session', letter.to) ?? (await tx.need('session', letter.to));
  const number = session.mail + 1;
  tx.put('session', { ...session, mail: number });
  const ended = session.state === 'ended';
  const message: Message = {
    id: newId(context, 'msg'),
    to: letter.to,
    number,
    key: letter.key,
    kind: letter.kind,
    from: letter.from,
    task: letter.task ?? null,
    run: letter.run ?? null,
    request: letter.request ?? null,
    text: letter.text,
    urgent: letter.urgent ?? false,
    ...(isQuiet(session, letter) ? { quiet: true } : {}),
    state: ended ? 'dead' : 'queued',
    taken: null,
    maybeSeen: 0,
    dead: ended ? RECIPIENT_ENDED : null,
    at: tx.now,
  };
  if (INFORMATIONAL.has(letter.kind) && !ended) await fold(tx, context, session, message);
  else tx.put('message', message);
  tx.wake(letter.to);
  return message.id;
}

/** Words to a session; with a key, once. */
export function say(
  tx: Tx,
  context: Context,
  to: Pick<Session, 'id' | 'task'>,
  words: { readonly from: Sender; readonly text: string; readonly key?: string },
): Promise<MessageId> {
  const { from, text, key } = words;
  return enqueue(tx, context, {
    to: to.id,
    key: `said:${key ?? newId(context, 'msg')}`,
    kind: 'words',
    from,
    task: to.task,
    text,
    fresh: key === undefined,
  });
}

const RECIPIENT_ENDED = 'its recipient has ended';

/**
 * At most `maxUpdates` undelivered informational messages wait in a mailbox (MBX4): one more folds the oldest
 * half of them into the newest of that half, with a warning. Nothing else is ever touched.
 */
async function fold(tx: Tx, context: Context, session: Session, added: Message): Promise<void> {
  const queued = await queuedMessages(tx, session.id);
  const updates = queued.filter((message) => INFORMATIONAL.has(message.kind));
  tx.put('message', added);
  if (updates.length < context.settings.maxUpdates) return;
  const old = updates.slice(0, Math.ceil(updates.length / 2) + 1);
  const keeper = old.at(-1);
  if (!keeper) return;
  for (const message of old) {
    if (message !== keeper)
      tx.put('message', { ...message, state: 'dead', dead: `folded into ${keeper.id}` });
  }
  const digest = old.map((message) => firstLine(message.text)).join('\n');
  tx.put('message', {
    ...keeper,
    text: `[${old.length} updates were folded: the mailbox was full]\n${digest}`,
  });
  tx.note({ type: 'mailbox.folded', session: session.id, data: { folded: old.length, into: keeper.id } });
}

const firstLine = (text: string): string => (text.split('\n', 1)[0] ?? '').slice(0, 200);

export const queuedMessages = (tx: Tx, session: SessionId): Promise<Message[]> =>
  inState(tx, session, 'queued');
export const deliveredMessages = (tx: Tx, session: SessionId): Promise<Message[]> =>
  inState(tx, session, 'delivered');

/** As this decision has left them so far. Most sessions never get any mail, and their row says so. */
async function inState(tx: Tx, id: SessionId, state: Message['state']): Promise<Message[]> {
  const { mail } = tx.known('session', id) ?? (await tx.need('session', id));
  if (mail === 0) return [];
  const stored = await tx.list('message', { list: 'byState', equal: [id, state] });
  const known = new Set(stored.map((message) => message.id));
  const put = [...tx.lettersTo(id)].filter((message) => !known.has(message.id));
  const all = [...stored, ...put].filter((message) => message.state === state);
  return put.length > 0 ? all.toSorted((a, b) => a.number - b.number) : all;
}

/** Records who takes the messages, before they are handed over (MBX3). Failures and questions come first (WAK2). */
export function take(tx: Tx, messages: readonly Message[], taken: Omit<Taken, 'at'>): Message[] {
  const given = messages.map((message): Message => ({
    ...message,
    state: 'delivered',
    taken: { ...taken, at: tx.now },
  }));
  for (const message of given) tx.put('message', message);
  return inOrder(given);
}

export const inOrder = (messages: readonly Message[]): Message[] =>
  messages.toSorted((a, b) => Number(b.urgent) - Number(a.urgent) || a.number - b.number);

/** A sign of life after the hand-over, or a turn that ended well: the agent has them. */
export function markRead(tx: Tx, messages: readonly Message[]): void {
  for (const message of messages) {
    if (message.state === 'delivered') tx.put('message', { ...message, state: 'read' });
  }
}

/** Whoever took them is gone without a sign: they are queued again, and say so if they may have been seen. */
export function giveBack(tx: Tx, messages: readonly Message[], seen: 'no' | 'unknown'): void {
  for (const message of messages) {
    if (message.state !== 'delivered') continue;
    const maybeSeen = message.maybeSeen + (seen === 'unknown' ? 1 : 0);
    tx.put('message', { ...message, state: 'queued', taken: null, maybeSeen });
    tx.wake(message.to);
  }
}

/**
 * As `giveBack`, of messages as they were when they were taken: what another took since stays with it. One that counts
 * as read is taken back too, because whoever calls this knows better; not from a session that has ended.
 */
export async function giveBackTaken(
  tx: Tx,
  messages: readonly Message[],
  seen: 'no' | 'unknown',
): Promise<void> {
  for (const message of await stillTaken(tx, messages)) {
    if (message.state === 'read' && (await tx.need('session', message.to)).state === 'ended') continue;
    giveBack(tx, [{ ...message, state: message.state === 'read' ? 'delivered' : message.state }], seen);
  }
}

/** As `markRead`, of messages as they were when they were taken. */
export async function markReadTaken(tx: Tx, messages: readonly Message[]): Promise<void> {
  markRead(tx, await stillTaken(tx, messages));
}

async function stillTaken(tx: Tx, messages: readonly Message[]): Promise<Message[]> {
  const rows: Message[] = [];
  for (const { id, taken } of messages) {
    const message = await tx.need('message', id);
    if (message.taken !== null && message.taken.id === taken?.id) rows.push(message);
  }
  return rows;
}

/** The session has ended: what it did not read stays on record as dead. `read`: its last word was a sign of life. */
export async function closeMailbox(tx: Tx, session: Session, options: { read: boolean }): Promise<void> {
  const delivered = await deliveredMessages(tx, session.id);
  if (options.read) markRead(tx, delivered);
  else giveBack(tx, delivered, 'unknown');
  for (const message of await queuedMessages(tx, session.id))
    tx.put('message', { ...message, state: 'dead', taken: null, dead: RECIPIENT_ENDED });
}

/** The session works again: mail that died with it is queued again. */
export async function reviveMailbox(tx: Tx, session: SessionId): Promise<void> {
  for (const message of await tx.list('message', { list: 'byState', equal: [session, 'dead'] })) {
    if (message.dead === RECIPIENT_ENDED) tx.put('message', { ...message, state: 'queued', dead: null });
  }
  tx.wake(session);
}
