import {
  LegiblePlan,
  PlanInput,
  isReviewWord,
  nearest,
  parseAgentType,
  problemIn,
  ReveilleError,
  type AgentType,
  type LegibleTask,
  type ParsedPlanInput,
  type PlanProblem,
} from '@reveille/protocol';
import type { Agents } from './ports/agents.ts';
import type { Executors } from './ports/executor.ts';
import type { Settings } from './settings.ts';

export interface Known {
  readonly agents: Agents;
  readonly executors: Executors;
  readonly settings: Settings;
}

/** The work an agent is named for, as far as it can be read. */
interface Assignment {
  readonly repository: string | null;
  /** Null: it cannot be read. */
  readonly prompt: string | null;
  /** Its work is to review that of the task with this prompt. */
  readonly reviews?: boolean;
}

/** The parsed form, or why not, naming what exists, nearest first (AGT2). No type given is never the parent's (AGT3). */
export function resolveAgent(
  known: Known,
  text: string | undefined,
  { repository, ...work }: Assignment,
): AgentType | Unknown {
  const { settings, agents: definitions, executors } = known;
  const names = definitions.names(repository);
  const named = parseAgentType(text ?? settings.defaultAgent, '');
  if (!named) return noType(text ?? settings.defaultAgent, names);
  const wish = named.backend === '' ? (definitions.defined?.(named.name, repository)?.backend ?? null) : null;
  const type = { ...named, backend: named.backend || (wish ?? settings.defaultBackend) };
  if (!executors.backends(type.backend).includes(type.backend))
    return noBackend(executors, type, wish !== null);
  // The default agent needs no file.
  if (text === undefined || names.includes(type.name)) return refusal(executors, type, work) ?? type;
  const agents = nearest(type.name, names).slice(0, 10);
  return {
    problem: `there is no agent "${type.name}"; there are: ${agents.join(', ')}`,
    known: agents,
  };
}

interface Unknown {
  readonly problem: string;
  readonly known: string[];
}

/** The agent that was named, or an error that says which there are. */
export function foundAgent(named: AgentType | Unknown): AgentType {
  if (!('problem' in named)) return named;
  throw new ReveilleError('unknown_agent', `Refused: ${named.problem}.`, { data: { known: named.known } });
}

function noType(text: string, names: readonly string[]): Unknown {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return {
    problem: `"${shown}" is not an agent type; write [@][backend:]name`,
    known: nearest(text, names).slice(0, 10),
  };
}

function noBackend(executors: Executors, { backend, name }: AgentType, wished: boolean): Unknown {
  const backends = nearest(backend, executors.backends());
  const there = `there are: ${backends.join(', ')}`;
  const why = executors.problem?.(backend);
  const missing = why === undefined ? '' : ` (${why})`;
  if (wished) {
    const wants = `agent "${name}" runs on the backend "${backend}" by its definition, which is not here${missing}`;
    return {
      problem: `${wants}; ${there}. Name another: ${backends[0] ?? 'backend'}:${name}`,
      known: backends,
    };
  }
  const problem =
    why === undefined
      ? `there is no backend "${backend}"; ${there}`
      : `the backend "${backend}" cannot be used here: ${why}; ${there}`;
  return { problem, known: backends };
}

/** A backend that cannot do this work at all, as scripted agents without a script: they would report success for nothing. */
function refusal(
  executors: Executors,
  { backend, name }: AgentType,
  work: Omit<Assignment, 'repository'>,
): Unknown | null {
  const why =
    work.prompt === null ? null : executors.get(backend)?.refuses?.({ ...work, prompt: work.prompt });
  if (!why) return null;
  const others = executors.backends().filter((other) => other !== backend);
  const advice =
    others.length > 0
      ? `; on other backends there are: ${others.map((other) => `${other}:${name}`).join(', ')}`
      : '; no other backend is installed, and `reveille doctor` says how to get one';
  return {
    problem: `@${backend}:${name} cannot do this: ${why}${advice}`,
    known: others.map((other) => `${other}:${name}`),
  };
}

export interface CheckedPlan {
  readonly plan: ParsedPlanInput;
  readonly agents: readonly AgentType[];
  /** Who reviews which of them, where that is an agent: by the id of the task in its plan. */
  readonly reviewers: ReadonlyMap<string, AgentType>;
}

/** The agent that is to review, as an author wrote it; null: none does. */
export function reviewerOf(
  known: Known,
  review: string | undefined,
  work: Assignment,
): AgentType | Unknown | null {
  if (review === undefined || isReviewWord(review)) return null;
  const agent = resolveAgent(known, review, { ...work, reviews: true });
  if (!('problem' in agent)) return agent;
  return { ...agent, problem: `a review is by none, owner, person or an agent: ${agent.problem}` };
}

/**
 * A plan has at most so many problems that are told. Looking for the names that were meant takes time, and agents send plans in
 * which every word is wrong (BND7.42).
 */
const MOST_PROBLEMS = 100;
/** Of these, so many are looked for among the other tasks, of which there may be thousands. */
const MOST_LOOKED_FOR = 10;

const MORE: PlanProblem = {
  at: 'tasks',
  problem: `more may be wrong: only the first ${MOST_PROBLEMS} problems are told`,
};

const bounded = (problems: readonly PlanProblem[]): PlanProblem[] =>
  problems.length > MOST_PROBLEMS ? [...problems.slice(0, MOST_PROBLEMS), MORE] : [...problems];

/** Checks a plan whole and reports every problem at once, each with its place (PLN1). */
export function checkPlan(
  known: Known,
  input: unknown,
  repository: string | null = null,
): CheckedPlan | { readonly problems: PlanProblem[] } {
  const parsed = PlanInput.safeParse(input);
  const tasks = parsed.success ? parsed.data.tasks : legible(input);
  const problems = parsed.success
    ? []
    : parsed.error.issues.map((issue) => ({ at: place(issue.path), problem: problemIn(issue) }));
  const agents: AgentType[] = [];
  const reviewers = new Map<string, AgentType>();
  for (const [i, task] of tasks.entries()) {
    if (problems.length > MOST_PROBLEMS) break;
    const agent = resolveAgent(known, task.agent, { repository, prompt: task.prompt });
    if ('problem' in agent) problems.push({ at: `tasks[${i}].agent`, problem: agent.problem });
    else agents.push(agent);
    const by = reviewerOf(known, task.review, { repository, prompt: task.prompt });
    if (by && 'problem' in by) problems.push({ at: `tasks[${i}].review`, problem: by.problem });
    else if (by && task.id !== null) reviewers.set(task.id, by);
  }
  problems.push(...graphProblems(tasks));
  if (!parsed.success || problems.length > 0) return { problems: bounded(problems) };
  return { plan: parsed.data, agents, reviewers };
}

/** What can be read of the tasks of a plan that has the wrong shape somewhere, each in its place. */
function legible(input: unknown): LegibleTask[] {
  const plan = LegiblePlan.safeParse(input);
  return plan.success ? plan.data.tasks : [];
}

const place = (path: readonly PropertyKey[]): string =>
  path
    .map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${String(key)}`))
    .join('') || 'plan';

/** Null: it has no id that could be read. */
interface Node {
  readonly id: string | null;
  readonly dependencies: readonly string[];
}

type Named = Node & { readonly id: string };

export function graphProblems(tasks: readonly Node[]): PlanProblem[] {
  const problems: PlanProblem[] = [];
  const index = new Map<string, number>();
  tasks.forEach((task, i) => {
    if (task.id === null) return;
    const first = index.get(task.id);
    if (first === undefined) index.set(task.id, i);
    else problems.push({ at: `tasks[${i}].id`, problem: `"${task.id}" is also the id of tasks[${first}]` });
  });
  problems.push(...dependencyProblems(tasks, index));
  const cycle = findCycle(tasks);
  if (cycle)
    problems.push({ at: `tasks[${index.get(cycle[0] ?? '') ?? 0}]`, problem: `cycle: ${cycle.join(' → ')}` });
  return problems;
}

function dependencyProblems(tasks: readonly Node[], index: ReadonlyMap<string, number>): PlanProblem[] {
  const problems: PlanProblem[] = [];
  // The one that is missing may be one that could not be read.
  const complete = tasks.every((task) => task.id !== null);
  const names = [...index.keys()].slice(0, 200);
  let lookedFor = 0;
  for (const [i, task] of tasks.entries()) {
    const listed = new Set<string>();
    for (const [j, dependency] of task.dependencies.entries()) {
      if (problems.length > MOST_PROBLEMS) return problems;
      const at = `tasks[${i}].dependencies[${j}]`;
      if (dependency === task.id) problems.push({ at, problem: 'a task cannot depend on itself' });
      else if (!index.has(dependency)) {
        const close = complete && lookedFor++ < MOST_LOOKED_FOR ? nearest(dependency, names).slice(0, 3) : [];
        if (complete) problems.push({ at, problem: unknownDependency(dependency, close) });
      } else if (listed.has(dependency)) problems.push({ at, problem: `"${dependency}" is listed twice` });
      listed.add(dependency);
    }
  }
  return problems;
}

function unknownDependency(id: string, close: readonly string[]): string {
  const meant = close.length > 0 ? `; did you mean ${close.map((name) => `"${name}"`).join(', ')}?` : '';
  return `there is no task "${id}" in this plan${meant}`;
}

/** Depth first without recursion: a chain of twenty thousand tasks must not end the stack. */
function findCycle(tasks: readonly Node[]): string[] | null {
  const named = tasks.filter((task): task is Named => task.id !== null);
  const byId = new Map(named.toReversed().map((task) => [task.id, task]));
  const state = new Map<string, 'open' | 'done'>();
  for (const root of named) {
    const path: { node: Named; next: number }[] = [];
    const enter = (node: Named): void => {
      state.set(node.id, 'open');
      path.push({ node, next: 0 });
    };
    if (!state.has(root.id)) enter(root);
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const id = top.node.dependencies[top.next++];
      if (id === undefined) {
        state.set(top.node.id, 'done');
        path.pop();
        continue;
      }
      const node = byId.get(id);
      if (!node || id === top.node.id || state.get(id) === 'done') continue;
      if (state.get(id) !== 'open') enter(node);
      else
        return [...path.slice(path.findIndex((step) => step.node.id === id)).map((step) => step.node.id), id];
    }
  }
  return null;
}
