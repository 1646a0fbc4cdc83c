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

/** Between two looks whether there is still something to be handed over. */
const LOOK_MS = 250;
/** Enough for a machine in its worst moment; two hooks at once would keep each other waiting for ever. */
const MOST_LOOKS = 80;

/** Whether something waits that is worth a turn: not what is only good to know. */
export async function hasNews({ session, person }: Desk): Promise<boolean> {
  const mail = await person.mailbox(session);
  return mail.some(({ state, kind }) => state === 'queued' && !INFORMATIONAL.has(kind));
}

/** About how long the words for the mail that waits would be. */
export async function lengthAt({ session, person }: Desk): Promise<number> {
  const queued = (await person.mailbox(session)).filter(({ state }) => state === 'queued');
  const lengths = queued.map(async ({ kind, task, text }) => {
    if (kind !== 'end' || task === null) return text.length;
    return JSON.stringify((await person.getTask(task)).end).length;
  });
  return (await Promise.all(lengths)).reduce((sum, length) => sum + length, 0);
}

/**
 * Hands the mail that waits to the chat. It counts as received when `hand` has returned, that is when it was written; if
 * this process is ended before, it waits as before. False: somebody else was given it meanwhile.
 */
export async function handOver(
  { session, client, person }: Desk,
  hand: (deliveries: readonly Delivery[]) => void,
): Promise<boolean> {
  // Whatever the chat was given before, it has: it went on after it. What it was given would come again otherwise.
  await client.checkUpdates({ taskIds: [] });
  let spoken = false;
  const handed = Promise.withResolvers<void>();
  const leave = await client.attach(session, async (deliveries) => {
    // A hook speaks once: what comes after it waits for the next.
    if (spoken) throw new Error('the hook is over');
    spoken = true;
    hand(deliveries);
    handed.resolve();
  });
  try {
    for (let looks = 0; looks < MOST_LOOKS && !spoken; looks++) {
      await Promise.race([handed.promise, sleep(LOOK_MS)]);
      if (!spoken && !(await isComing({ session, person }))) break;
    }
    return spoken;
  } finally {
    spoken = true;
    await leave();
  }
}

/** Whether mail waits, or is on its way to whoever is attached. */
async function isComing({ session, person }: Pick<Desk, 'session' | 'person'>): Promise<boolean> {
  const mail = await person.mailbox(session);
  return mail.some(
    ({ state, taken }) => state === 'queued' || (state === 'delivered' && taken?.by === 'receiver'),
  );
}
