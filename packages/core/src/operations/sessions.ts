import {
  ReveilleError,
  type Caller,
  type Message,
  type Orchestrator,
  type SessionId,
} from '@reveille/protocol';
import { decide } from '../decide.ts';
import type { Host } from '../host.ts';
import type { Store } from '../ports/store.ts';
import { AttachedReceiver } from '../receiver.ts';
import { endSession, openSession } from '../sessions.ts';

export const SESSION_OPERATIONS = [
  'openSession',
  'endSession',
  'attach',
  'mailbox',
  'getMessage',
  'inbox',
  'events',
] as const;

export function sessionOperations(
  host: Host,
  caller: Caller,
): Pick<Orchestrator, (typeof SESSION_OPERATIONS)[number]> {
  const { context } = host;
  const { store } = context;

  /** A session's mail is its own, and a person's to see. */
  function checkOwn(session: SessionId): void {
    if (caller.kind === 'person' || caller.session === session) return;
    throw new ReveilleError('not_allowed', `The mailbox of ${session} is not yours.`);
  }

  return {
    async openSession(kind, name) {
      if (caller.kind === 'worker')
        throw new ReveilleError('not_allowed', 'A worker has the session it has; it opens no other.');
      return decide(context, async (tx) => openSession(tx, context, kind, name.slice(0, 200)));
    },
    async endSession(session) {
      checkOwn(session);
      await decide(context, async (tx) => {
        const row = await tx.need('session', session);
        if (row.kind === 'worker')
          throw new ReveilleError('not_allowed', `${session} is a worker; it ends with its task.`);
        await endSession(tx, context, row);
      });
    },
    async attach(session, receive) {
      checkOwn(session);
      await decide(context, async (tx) => {
        const row = await tx.need('session', session);
        if (row.kind === 'worker')
          throw new ReveilleError('not_allowed', `${session} is a worker; its run receives its mail.`);
        if (row.state === 'ended') throw new ReveilleError('wrong_state', `Session ${session} has ended.`);
      });
      const receiver = new AttachedReceiver(context, session, receive);
      const leave = host.mailroom.sit(session, 'holder', receiver);
      host.mailroom.wake(session);
      return async () => {
        receiver.disconnect();
        leave();
        await host.disconnected(session);
      };
    },
    async mailbox(session) {
      checkOwn(session);
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
