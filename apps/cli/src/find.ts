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
import type { Call } from './command/spec.ts';
import { repositoryIfAny } from './repository.ts';
import { say } from './say.ts';
import { oneLine } from './view/columns.ts';
import { duration, isEnded, plural } from './view/words.ts';

/** Something that a word on the command line may mean. */
interface Candidate<T> {
  readonly id: string;
  readonly names: readonly (string | null)[];
  readonly open: boolean;
  readonly repository: string | null;
  /** What tells it from others of the same name. */
  readonly label: string;
  readonly value: T;
}

/** From where somebody looks: what is of this repository is meant rather than what is of another. */
export interface Viewpoint {
  readonly repository: string | null;
  /** Told which of several was taken. */
  readonly note: (text: string) => void;
}

const ANYWHERE: Viewpoint = { repository: null, note: () => undefined };

/** Where the command was called. */
export async function viewpointOf(
  call: Pick<Call, 'io'> & { options: { repo: string | undefined } },
): Promise<Viewpoint> {
  const repository = await repositoryIfAny(call);
  return { repository: repository?.top ?? null, note: (text) => say(call.io.err, text) };
}

type Finder = Pick<Client, 'listPlans' | 'getPlan' | 'listTasks' | 'getTask' | 'inbox'>;

/** A plan by its id, the beginning of its id, or its name. */
export async function findPlan(client: Finder, text: string, from = ANYWHERE): Promise<Plan> {
  return pick('plan', text, (await client.listPlans()).map(planCandidate), from);
}

/** A task by its id, the beginning of its id, its name or its id in the plan; `plan/task` to say of which plan. */
export async function findTask(client: Finder, text: string, from = ANYWHERE): Promise<TaskView> {
  if (isId('task', text)) {
    const exact = await ifThere(client.getTask(text));
    if (exact) return exact;
  }
  const slash = text.indexOf('/');
  if (slash > 0) {
    const plan = await ifThere(findPlan(client, text.slice(0, slash), from));
    if (plan) {
      const tasks = await client.listTasks({ plan: plan.id });
      return pick('task', text.slice(slash + 1), tasks.map(taskCandidate), from);
    }
  }
  // Most who are named are open, and there are fewer of them.
  const open = nearer(matches(text, (await client.listTasks({ open: true })).map(taskCandidate)), from);
  const [only] = open;
  if (only && open.length === 1 && isHere(only, from)) return only.value;
  return pick('task', text, (await client.listTasks({})).map(taskCandidate), from);
}

export type Either =
  | { readonly plan: Plan; readonly task?: never }
  | { readonly task: TaskView; readonly plan?: never };

/** A plan or a task. A plan and a running task of one name are told apart as two plans of one name are. */
export async function findEither(client: Finder, text: string, from = ANYWHERE): Promise<Either> {
  if (isId('plan', text)) return { plan: await findPlan(client, text) };
  if (isId('task', text) || text.includes('/')) return { task: await findTask(client, text, from) };
  const plans = (await client.listPlans()).map(planCandidate);
  if (matches(text, plans).length > 0) {
    const open = matches(text, (await client.listTasks({ open: true })).map(taskCandidate));
    const both: Candidate<Either>[] = [
      ...plans.map((found) => ({ ...found, value: { plan: found.value } })),
      ...open.map((found) => ({ ...found, value: { task: found.value } })),
    ];
    return pick(open.length > 0 ? 'plan or task' : 'plan', text, both, from);
  }
  const task = await ifThere(findTask(client, text, from));
  if (task) return { task };
  throw notFound('plan or task', text, plans);
}

/** A request by its id, the beginning of its id, or the task that asks; `plan/task` to say of which plan. */
export async function findRequest(client: Finder, text: string, from = ANYWHERE): Promise<Request> {
  const requests = await client.inbox();
  const views = await Promise.all(requests.map(({ task }) => client.getTask(task)));
  const candidates = requests.map((request, i) => requestCandidate(request, views[i]));
  const slash = text.indexOf('/');
  if (slash > 0 && matches(text, candidates).length === 0) {
    const plan = await ifThere(findPlan(client, text.slice(0, slash), from));
    const ofPlan = candidates.filter((_, i) => plan !== null && views[i]?.task.plan === plan.id);
    if (ofPlan.length > 0) return pick('request', text.slice(slash + 1), ofPlan, from);
  }
  return pick('request', text, candidates, from);
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
  repository: plan.repository,
  label: `${plan.state}, ${ago(plan.createdAt)}`,
  value: plan,
});

const taskCandidate = (view: TaskView): Candidate<TaskView> => ({
  id: view.task.id,
  names: [view.task.name, view.task.key],
  open: !isTerminal(view.task.state),
  repository: view.task.repository,
  label: `${view.task.state}, ${ago(view.task.createdAt)}`,
  value: view,
});

const requestCandidate = (request: Request, view: TaskView | undefined): Candidate<Request> => ({
  id: request.id,
  names: [view?.task.name ?? null, view?.task.key ?? null, request.task],
  open: true,
  repository: view?.task.repository ?? null,
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

const isHere = ({ repository }: Candidate<unknown>, from: Viewpoint): boolean =>
  from.repository === null || repository === from.repository;

/** Those of the repository one is in, if there are any. */
function nearer<T>(found: readonly Candidate<T>[], from: Viewpoint): readonly Candidate<T>[] {
  const here = found.filter((candidate) => isHere(candidate, from));
  return here.length > 0 ? here : found;
}

/**
 * The one that is meant. Of several of one name the only one that has not ended is; if all have ended, the newest, and
 * that is said. Two that run, or the beginning of several ids, mean nobody in particular.
 */
function pick<T>(noun: string, text: string, candidates: readonly Candidate<T>[], from: Viewpoint): T {
  const found = nearer(matches(text, candidates), from).toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const [newest] = found;
  if (!newest) throw notFound(noun, text, candidates);
  const open = found.filter((candidate) => candidate.open);
  const [only] = found.length === 1 ? found : open.length === 1 ? open : [];
  if (only) {
    if (!isHere(only, from) && only.id !== text)
      from.note(
        `No ${noun} of this repository is called "${shown(text)}"; this is about ${only.id} in ${only.repository ?? 'no repository'}.`,
      );
    return only.value;
  }
  if (open.length > 1 || !isNamed(newest, text)) throw ambiguous(noun, text, open.length > 1 ? open : found);
  const { id, label, value } = newest;
  from.note(
    `${several(found.length, noun)} are called "${shown(text)}"; this is about the newest, ${id} (${label}).`,
  );
  return value;
}

const isNamed = ({ names }: Candidate<unknown>, text: string): boolean =>
  names.some((name) => name?.toLowerCase() === text.trim().toLowerCase());

function ambiguous(noun: string, text: string, found: readonly Candidate<unknown>[]): ReveilleError {
  const listed = found.slice(0, LISTED).map(({ id, label }) => `  ${id} (${label})`);
  const rest = found.length > LISTED ? [`  … and ${found.length - LISTED} more`] : [];
  const words = `"${shown(text)}" could be ${several(found.length, noun)}. Say which by its id:`;
  return new ReveilleError('invalid_input', [words, ...listed, ...rest].join('\n'), {
    data: { candidates: found.map(({ id }) => id) },
  });
}

function notFound(noun: string, text: string, candidates: readonly Candidate<unknown>[]): ReveilleError {
  const names = candidates.flatMap(({ names: all }) =>
    all.flatMap((name) => (name === null || isId('task', name) ? [] : [name])),
  );
  const near = nearest(text, [...new Set(names)].slice(0, 1_000)).slice(0, 3);
  const instead =
    near.length > 0 ? ` The nearest: ${near.map((name) => `"${shown(name)}"`).join(', ')}.` : '';
  const where = noun === 'request' ? 'reveille inbox' : 'reveille status --all';
  const words = `There is no ${noun} "${shown(text)}".${instead} \`${where}\` lists what there is.`;
  return new ReveilleError('not_found', words, { data: { nearest: near } });
}

/** "2 plans", "2 plans or tasks". */
const several = (count: number, noun: string): string =>
  plural(count, noun, noun.replaceAll(/plan|task|request/g, '$&s'));

const shown = (text: string): string => {
  const flat = oneLine(text);
  return flat.length > 60 ? `${flat.slice(0, 60)}…` : flat;
};
