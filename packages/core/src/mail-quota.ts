import { ReveilleError, type Caller, type Message, type SessionId } from '@reveille/protocol';
import { deliveredMessages, queuedMessages } from './mailbox.ts';
import type { Tx } from './tx.ts';

/** Shorter ones are kept by number, as all rows are. */
const LONG = 2_000;
/** Characters of one run's long messages that wait in one mailbox. Nobody may ever read them, and all of them are kept. */
const MOST_WAITING = 2_000_000;

/** Refuses a long message of a run to whoever has not read what it wrote before (BND7). */
export async function checkMailRoom(tx: Tx, caller: Caller, to: SessionId, text: string): Promise<void> {
  if (caller.kind !== 'worker' || text.length <= LONG) return;
  const { task } = await tx.need('session', caller.session);
  const isOwn = ({ from, text: words }: Message): boolean =>
    words.length > LONG &&
    ((from.kind === 'session' && from.session === caller.session) ||
      (from.kind === 'task' && from.task === task));
  const waiting = [...(await queuedMessages(tx, to)), ...(await deliveredMessages(tx, to))].filter(isOwn);
  const sum = waiting.reduce((total, message) => total + message.text.length, text.length);
  if (sum <= MOST_WAITING) return;
  throw new ReveilleError(
    'limit_reached',
    `${waiting.length} long messages of yours have not been read, and no more are taken. Say it in at most ${LONG} characters, and put the rest into a file of your worktree.`,
    { data: { waiting: waiting.length, limit: MOST_WAITING } },
  );
}
