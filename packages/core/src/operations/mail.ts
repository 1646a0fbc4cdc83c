import {
  ReveilleError,
  type Caller,
  type Message,
  type Orchestrator,
  type Request,
  type ReveilleEvent,
  type SessionId,
} from '@reveille/protocol';
import { isVisible, knownCaller, storedRows, type KnownCaller, type Named, type Rows } from '../authority.ts';
import type { Host } from '../host.ts';
import type { Store } from '../ports/store.ts';

const PAGE = 10_000;
/** The events that a call of a run looks at: whose they are is found out one by one, and the log may hold millions. */
const LOOKED_AT_BY_RUN = 2_000;

export const MAIL = ['mailbox', 'getMessage', 'inbox', 'events'] as const;

/** Looking, without taking: what is shown is on disk. */
export function mail(host: Host, caller: Caller): Pick<Orchestrator, (typeof MAIL)[number]> {
  const { store } = host.context;
  const rows = storedRows(store);
  return {
    async mailbox(session) {
      return readMailbox(store, session);
    },
    async getMessage(id) {
      const row = await store.get('message', id);
      if (!row) throw new ReveilleError('not_found', `There is no message ${id}.`);
      await store.barrier();
      return row.doc;
    },
    async inbox() {
      const known = await knownCaller(rows, caller);
      const found = await store.find('request', { list: 'open', equal: [1] });
      await store.barrier();
      const open = found.map((row) => row.doc).filter((request) => request.with === null);
      const shown: Request[] = [];
      for (const request of open)
        if (await isVisible(rows, known, 'inbox', { task: request.task })) shown.push(request);
      return shown;
    },
    async events(after, limit) {
      await store.barrier();
      const known = await knownCaller(rows, caller);
      if (known.role === 'person') return store.events(after, Math.min(limit, PAGE));
      // Pages that hold nothing for this caller are no end of the log.
      for (let from = after; ;) {
        const page = await store.events(from, known.task ? LOOKED_AT_BY_RUN : PAGE);
        const last = page.at(-1);
        if (!last) return [];
        const shown = await visibleEvents(rows, known, page);
        if (shown.length > 0) return shown.slice(0, limit);
        if (known.task && page.length === LOOKED_AT_BY_RUN) throw nothingUpTo(last.number);
        from = last.number;
      }
    },
  };
}

const nothingUpTo = (last: number): ReveilleError =>
  new ReveilleError(
    'limit_reached',
    `None of the events up to ${last} is about your work. Ask for those after ${last}.`,
    { data: { after: last } },
  );

/** The events of a page that the caller may see: those about its own tree, or its repository (ID6). */
export async function visibleEvents(
  rows: Rows,
  known: KnownCaller,
  events: readonly ReveilleEvent[],
): Promise<readonly ReveilleEvent[]> {
  if (known.role === 'person') return events;
  const shown: ReveilleEvent[] = [];
  for (const event of events) {
    const about = subjectOf(event);
    if (about && (await isVisible(rows, known, 'events', about).catch(() => false))) shown.push(event);
  }
  return shown;
}

/** What an event is about; null: the host itself, which concerns only the person. */
function subjectOf({ task, plan, session }: ReveilleEvent): Named | null {
  if (task !== undefined) return { task };
  if (plan !== undefined) return { plan };
  return session === undefined ? null : { session };
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
