import type { Client, ReveilleEvent, Task, Wait } from '@reveille/protocol';
import { hasNews, type Desk } from './mail.ts';

interface HoldOptions {
  readonly desks: readonly Desk[];
  /** Ends the wait; it looks once before. */
  readonly signal: AbortSignal;
}

/** Waits until there is news at one of the desks. Null: none came, or none is to come because nothing is under way. */
export async function untilNews({ desks, signal }: HoldOptions): Promise<Desk | null> {
  const [first] = desks;
  if (!first) return null;
  const { person } = first;
  // From before the first look on, so that nothing comes between them.
  const { lastEvent } = await person.health();
  let found = await look(desks);
  if (found.underWay.size === 0 || found.news) return found.news;
  for await (const events of person.follow({ after: lastEvent, signal })) {
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
const GOES_ON: ReadonlySet<Wait> = new Set(['children', 'memory', 'cpu', 'disk', 'backoff', 'mail']);

/** The subtasks of a session that will have something to say by themselves: not those that wait to be answered. */
export async function tasksUnderWay({ session, person }: Desk): Promise<Task[]> {
  const open = (await person.listTasks({ owner: session, open: true })).map(({ task }) => task);
  const moving = await Promise.all(open.map((task) => isUnderWay(task, person)));
  return open.filter((_, i) => moving[i]);
}

async function isUnderWay(task: Task, person: Client): Promise<boolean> {
  const { state, waitingOn, plan, byHand } = task;
  if (state === 'running') return true;
  if (state === 'ready')
    return plan === null || byHand || (await person.getPlan(plan)).plan.state === 'active';
  if (state !== 'waiting' || waitingOn === null) return false;
  // One that was answered goes on as soon as its worker has looked.
  return GOES_ON.has(waitingOn) || (await hasMail(task, person));
}

async function hasMail({ session }: Task, person: Client): Promise<boolean> {
  const mail = await person.mailbox(session);
  return mail.some(({ state }) => state === 'queued' || state === 'delivered');
}
