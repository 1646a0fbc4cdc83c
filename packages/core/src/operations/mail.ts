import {
  ReveilleError,
  type Caller,
  type Message,
  type Orchestrator,
  type SessionId,
} from '@reveille/protocol';
import { checkOwnMail } from '../authority.ts';
import type { Host } from '../host.ts';
import type { Store } from '../ports/store.ts';

export const MAIL = ['mailbox', 'getMessage', 'inbox', 'events'] as const;

/** Looking, without taking: what is shown is on disk. */
export function mail(host: Host, caller: Caller): Pick<Orchestrator, (typeof MAIL)[number]> {
  const { store } = host.context;
  return {
    async mailbox(session) {
      checkOwnMail(caller, session);
      return readMailbox(store, session);
    },
    async getMessage(id) {
      const row = await store.get('message', id);
      if (!row) throw new ReveilleError('not_found', `There is no message ${id}.`);
      if (caller.kind !== 'person' && !(await isParty(store, caller.session, row.doc))) {
        throw new ReveilleError('not_allowed', `Message ${id} is neither from you nor for you.`);
      }
      await store.barrier();
      return row.doc;
    },
    async inbox() {
      const rows = await store.find('request', { list: 'open', equal: [1] });
      await store.barrier();
      return rows.map((row) => row.doc).filter((request) => request.with === null);
    },
    async events(after, limit) {
      await store.barrier();
      return store.events(after, Math.min(limit, 10_000));
    },
  };
}

async function readMailbox(store: Store, session: SessionId): Promise<Message[]> {
  if (!(await store.get('session', session)))
    throw new ReveilleError('not_found', `There is no session ${session}.`);
  const states = ['queued', 'delivered', 'read', 'dead'];
  const found = states.map((state) => store.find('message', { list: 'byState', equal: [session, state] }));
  const rows = (await Promise.all(found)).flat();
  await store.barrier();
  return rows.map((row) => row.doc).toSorted((a, b) => a.number - b.number);
}

async function isParty(store: Store, session: SessionId, message: Message): Promise<boolean> {
  if (message.to === session) return true;
  if (message.from.kind === 'session') return message.from.session === session;
  if (message.from.kind !== 'task') return false;
  return (await store.get('task', message.from.task))?.doc.session === session;
}
