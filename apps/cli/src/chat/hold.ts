import type { Client, ReveilleEvent, Task, Wait } from '@reveille/protocol';
import { hasNews, type Desk } from './mail.ts';

export interface HoldOptions {
  /** As the person. */
  readonly client: Client;
  readonly desks: readonly Desk[];
  /** Ends the wait; it looks once before. */
  readonly signal: AbortSignal;
}

/** Waits until there is news at one of the desks. Null: none came, or none is to come because nothing is under way. */
export async function untilNews({ client, desks, signal }: HoldOptions): Promise<Desk | null> {
  // From before the first look on, so that nothing comes between them.
  const { lastEvent } = await client.health();
  let found = await look(desks);
  if (found.underWay.size === 0 || found.news) return found.news;
  for await (const events of client.follow({ after: lastEvent, signal })) {
    const { underWay } = found;
    if (!events.some((event) => concerns(event, desks, underWay))) continue;
    found = await look(desks);
    if (found.underWay.size === 0 || found.news) return found.news;
  }
  return null;
}

interface Found {
  readonly underWay: ReadonlySet<string>;
  readonly news: Desk | null;
}

async function look(desks: readonly Desk[]): Promise<Found> {
  // What is under way first: an end that comes between the two looks is then seen by the second.
  const underWay = new Set((await Promise.all(desks.map(tasksUnderWay))).flat().map(({ id }) => id));
  for (const desk of desks) if (await hasNews(desk)) return { underWay, news: desk };
  return { underWay, news: null };
}

const concerns = (
  { session, messages, task }: ReveilleEvent,
  desks: readonly Desk[],
  underWay: ReadonlySet<string>,
): boolean =>
  (messages !== undefined && desks.some((desk) => desk.session === session)) ||
  (task !== undefined && underWay.has(task));

/** What these wait for comes without a person. */
const GOES_ON: ReadonlySet<Wait> = new Set(['children', 'memory', 'backoff', 'mail']);

/** The subtasks of a session that will have something to say by themselves: not those that wait to be answered. */
export async function tasksUnderWay({ session, client }: Desk): Promise<Task[]> {
  const open = (await client.listTasks({ owner: session, open: true })).map(({ task }) => task);
  const moving = await Promise.all(open.map((task) => isUnderWay(task, client)));
  return open.filter((_, i) => moving[i]);
}

async function isUnderWay({ state, waitingOn, plan, byHand }: Task, client: Client): Promise<boolean> {
  if (state === 'running') return true;
  if (state === 'waiting') return waitingOn !== null && GOES_ON.has(waitingOn);
  if (state !== 'ready') return false;
  return plan === null || byHand || (await client.getPlan(plan)).plan.state === 'active';
}
