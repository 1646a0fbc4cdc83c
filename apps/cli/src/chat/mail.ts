import { setTimeout as sleep } from 'node:timers/promises';
import { INFORMATIONAL, type Client, type Delivery, type SessionId } from '@reveille/protocol';

/** Where a session of the chat gets its mail. */
export interface Desk {
  readonly session: SessionId;
  /** As the session. */
  readonly client: Client;
  /** As the person, who may look at everything and is not taken for the chat. */
  readonly person: Client;
}

/** Longer than a daemon takes to hand over what it has. */
const HAND_MS = 2_000;

/** Whether something waits that is worth a turn: not what is only good to know. */
export async function hasNews({ session, person }: Desk): Promise<boolean> {
  const mail = await person.mailbox(session);
  return mail.some(({ state, kind }) => state === 'queued' && !INFORMATIONAL.has(kind));
}

/**
 * Hands the mail that waits to the chat. It counts as received when `hand` has returned, that is when it was written; if
 * this process is ended before, it waits as before. False: somebody else was given it meanwhile.
 */
export async function handOver(
  { session, client }: Desk,
  hand: (deliveries: readonly Delivery[]) => void,
): Promise<boolean> {
  // Whatever the chat was given before, it has: it went on after it. What it was given would come again otherwise.
  await client.checkUpdates({ taskIds: [] });
  const handed = Promise.withResolvers<boolean>();
  const waits = new AbortController();
  let spoken = false;
  const leave = await client.attach(session, async (deliveries) => {
    // A hook speaks once: what comes after it waits for the next.
    if (spoken) throw new Error('the hook is over');
    spoken = true;
    hand(deliveries);
    handed.resolve(true);
  });
  const gaveUp = sleep(HAND_MS, false, { signal: waits.signal }).catch(() => false);
  try {
    return await Promise.race([handed.promise, gaveUp]);
  } finally {
    spoken = true;
    waits.abort();
    await leave();
  }
}
