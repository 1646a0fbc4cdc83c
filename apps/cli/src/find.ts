import {
  ReveilleError,
  isId,
  isReveilleError,
  isTerminal,
  nearest,
  type Client,
  type Plan,
  type Request,
  type TaskView,
} from '@reveille/protocol';
import { oneLine } from './view/columns.ts';
import { duration, isEnded, plural } from './view/words.ts';

/** Something that a word on the command line may mean. */
interface Candidate<T> {
  readonly id: string;
  readonly names: readonly (string | null)[];
  readonly open: boolean;
  /** What tells it from others of the same name. */
  readonly label: string;
  readonly value: T;
}

type Finder = Pick<Client, 'listPlans' | 'getPlan' | 'listTasks' | 'getTask' | 'inbox'>;

/** A plan by its id, the beginning of its id, or its name. */
export async function findPlan(client: Finder, text: string): Promise<Plan> {
  return pick('plan', text, (await client.listPlans()).map(planCandidate));
}

/** A task by its id, the beginning of its id, its name or its id in the plan; `plan/task` to say of which plan. */
export async function findTask(client: Finder, text: string): Promise<TaskView> {
  if (isId('task', text)) {
    const exact = await ifThere(client.getTask(text));
    if (exact) return exact;
  }
  const slash = text.indexOf('/');
  if (slash > 0) {
    const plan = await ifThere(findPlan(client, text.slice(0, slash)));
    if (plan)
      return pick(
        'task',
        text.slice(slash + 1),
        (await client.listTasks({ plan: plan.id })).map(taskCandidate),
      );
  }
  // Most who are named are open, and there are fewer of them.
  const open = matches(text, (await client.listTasks({ open: true })).map(taskCandidate));
  const [only] = open;
  if (only && open.length === 1) return only.value;
  return pick('task', text, (await client.listTasks({})).map(taskCandidate));
}

export type Either =
  | { readonly plan: Plan; readonly task?: never }
  | { readonly task: TaskView; readonly plan?: never };

/** A plan or a task. What is a plan by its name is a plan. */
export async function findEither(client: Finder, text: string): Promise<Either> {
  if (isId('plan', text)) return { plan: await findPlan(client, text) };
  if (isId('task', text) || text.includes('/')) return { task: await findTask(client, text) };
  const plans = (await client.listPlans()).map(planCandidate);
  if (matches(text, plans).length > 0) return { plan: pick('plan', text, plans) };
  const task = await ifThere(findTask(client, text));
  if (task) return { task };
  throw notFound('plan or task', text, plans);
}

/** A request by its id, the beginning of its id, or the task that asks. */
export async function findRequest(client: Finder, text: string): Promise<Request> {
  const requests = await client.inbox();
  const views = await Promise.all(requests.map(({ task }) => client.getTask(task)));
  return pick(
    'request',
    text,
    requests.map((request, i) => requestCandidate(request, views[i])),
  );
}

async function ifThere<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (isReveilleError(error, 'not_found')) return null;
    throw error;
  }
}

const planCandidate = (plan: Plan): Candidate<Plan> => ({
  id: plan.id,
  names: [plan.name],
  open: !isEnded(plan.state),
  label: `${plan.state}, ${ago(plan.createdAt)}`,
  value: plan,
});

const taskCandidate = (view: TaskView): Candidate<TaskView> => ({
  id: view.task.id,
  names: [view.task.name, view.task.key],
  open: !isTerminal(view.task.state),
  label: `${view.task.state}, ${ago(view.task.createdAt)}`,
  value: view,
});

const requestCandidate = (request: Request, view: TaskView | undefined): Candidate<Request> => ({
  id: request.id,
  names: [view?.task.name ?? null, view?.task.key ?? null, request.task],
  open: true,
  label: `${request.kind}, ${ago(request.at)}`,
  value: request,
});

const ago = (at: number): string => `${duration(Date.now() - at)} ago`;

/** The better way of naming comes first: whole ids, names, names in other letters, beginnings of ids. */
function matches<T>(text: string, candidates: readonly Candidate<T>[]): readonly Candidate<T>[] {
  const lower = text.trim().toLowerCase();
  const ways: ((candidate: Candidate<T>) => boolean)[] = [
    ({ id }) => id === text,
    ({ names }) => names.includes(text),
    ({ names }) => names.some((name) => name?.toLowerCase() === lower),
    ({ id }) => beginsWith(id, lower),
  ];
  for (const way of ways) {
    const found = candidates.filter(way);
    if (found.length > 0) return found;
  }
  return [];
}

/** With or without what kind of id it is, which says nothing alone. */
function beginsWith(id: string, text: string): boolean {
  const from = id.indexOf('_') + 1;
  const own = text.startsWith(id.slice(0, from)) ? text.slice(from) : text;
  return own.length >= SHORTEST && id.startsWith(own, from);
}

const SHORTEST = 4;
const LISTED = 5;

/** The one that is meant. Of several of one name the only one that has not ended is meant. */
function pick<T>(noun: string, text: string, candidates: readonly Candidate<T>[]): T {
  const found = matches(text, candidates);
  const open = found.filter((candidate) => candidate.open);
  const meant = found.length === 1 ? found[0] : open.length === 1 ? open[0] : undefined;
  if (meant) return meant.value;
  if (found.length === 0) throw notFound(noun, text, candidates);
  const newest = found.toSorted((a, b) => (a.id < b.id ? 1 : -1)).slice(0, LISTED);
  const listed = newest.map(({ id, label }) => `  ${id} (${label})`);
  const rest = found.length > LISTED ? [`  … and ${found.length - LISTED} more`] : [];
  const words = [
    `"${shown(text)}" could be ${plural(found.length, noun)}. Say which by its id:`,
    ...listed,
    ...rest,
  ];
  throw new ReveilleError('invalid_input', words.join('\n'), {
    data: { candidates: found.map(({ id }) => id) },
  });
}

function notFound(noun: string, text: string, candidates: readonly Candidate<unknown>[]): ReveilleError {
  const names = candidates.flatMap(({ names: all }) => all.filter((name) => name !== null));
  const near = nearest(text, [...new Set(names)].slice(0, 1_000)).slice(0, 3);
  const instead =
    near.length > 0 ? ` The nearest: ${near.map((name) => `"${shown(name)}"`).join(', ')}.` : '';
  const where = noun === 'request' ? 'reveille inbox' : 'reveille status --all';
  const words = `There is no ${noun} "${shown(text)}".${instead} \`${where}\` lists what there is.`;
  return new ReveilleError('not_found', words, { data: { nearest: near } });
}

const shown = (text: string): string => {
  const flat = oneLine(text);
  return flat.length > 60 ? `${flat.slice(0, 60)}…` : flat;
};
