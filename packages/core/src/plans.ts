import {
  LENGTHS,
  ReveilleError,
  isTerminal,
  type AgentType,
  type CheckoutStart,
  type Plan,
  type PlanId,
  type PlanTaskInput,
  type PolicyChain,
  type Session,
  type SessionId,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { bornSession, bornTask } from './births.ts';
import { draw, openBudget, shortWords } from './budget.ts';
import { newId, type Context } from './context.ts';
import { modelFor } from './definitions.ts';
import { titleOf } from './envelope.ts';
import { makeReady, mayStart } from './graph.ts';
import { integrateAlso, integrationInput, withIntegration } from './integration.ts';
import { INTEGRATOR, isIntegrator } from './integrator.ts';
import { checkDepth, countPlanned } from './limits.ts';
import { offerTask } from './offers.ts';
import { isOrchestrator, keepPlan } from './orchestrator-session.ts';
import { policyOf, policyOfSession } from './policy-chain.ts';
import { reviewOf } from './review-start.ts';
import type { CheckedPlan } from './plan-rules.ts';
import { cancelTree } from './settle.ts';
import { countMove } from './task-table.ts';
import type { Tx } from './tx.ts';

/** Stores a checked plan, all of it, in one change. Dependencies may come in any order (B22). */
export async function createPlan(
  tx: Tx,
  context: Context,
  given: CheckedPlan,
  options: { owner: SessionId; start: boolean; startsFrom?: CheckoutStart | undefined },
): Promise<PlanId> {
  const owner = await tx.need('session', options.owner);
  const repository = given.plan.repository ?? owner.repository;
  const { checked, integration } = withIntegration(context, given, repository);
  const { plan: input } = checked;
  const ids = new Map(input.tasks.map((task) => [task.id, newId(context, 'task')]));
  const plan: Plan = {
    id: newId(context, 'plan'),
    name: input.name,
    description: input.description,
    repository,
    baseBranch: input.baseBranch ?? null,
    verify: input.verify ?? null,
    ...(options.startsFrom ? { startsFrom: options.startsFrom } : {}),
    integration: integration === null ? null : idOf(ids, integration),
    owner: options.owner,
    state: 'draft',
    why: 'saved',
    since: tx.now,
    counts: {},
    cancelling: null,
    createdAt: tx.now,
  };
  tx.put('plan', plan);
  await keepPlan(tx, owner, plan);
  const place = await placeOf(tx, context, options.owner);
  await countTasks(tx, context, place, { owner: options.owner, count: given.plan.tasks.length });
  openBudget(tx, plan.id, place.budget, input.budget);
  const dependents = new Map<string, TaskId[]>();
  for (const task of input.tasks) {
    for (const name of task.dependencies) {
      const known = dependents.get(name);
      if (known) known.push(idOf(ids, task.id));
      else dependents.set(name, [idOf(ids, task.id)]);
    }
  }
  input.tasks.forEach((task, i) => {
    const agent = checked.agents[i];
    if (!agent) return;
    createTask(tx, context, {
      plan,
      place,
      task,
      agent,
      id: idOf(ids, task.id),
      dependencies: task.dependencies.map((name) => idOf(ids, name)),
      dependents: dependents.get(task.id) ?? [],
      budget: input.budget ? plan.id : place.budget,
      reviewer: checked.reviewers.get(task.id) ?? null,
    });
  });
  if (options.start)
    await startTasks(tx, plan, await Promise.all([...ids.values()].map((id) => tx.need('task', id))));
  return plan.id;
}

/** Where in the tree the tasks of a plan are. */
interface Place {
  readonly rootKind: Session['rootKind'];
  readonly depth: number;
  readonly budget: string | null;
  /** What holds for whoever owns the plan, if a worker does. */
  readonly policy?: PolicyChain | undefined;
}

/**
 * A plan task is depth 1 of an orchestrator's chain, whoever owns the plan, unless a worker does: then it is one
 * below it, with what that one may still use, so that a plan is no way around a limit (SUB7, LIM1).
 */
async function placeOf(tx: Tx, context: Context, owner: SessionId): Promise<Place> {
  const session = await tx.need('session', owner);
  if (!session.task) return { rootKind: 'orchestrator', depth: 1, budget: null };
  const { budget } = await tx.need('task', session.task);
  const policy = await policyOfSession(tx, context, session);
  if (isOrchestrator(session)) return { rootKind: 'orchestrator', depth: 1, budget, policy };
  checkDepth(context.settings, session);
  return { rootKind: session.rootKind, depth: session.depth + 1, budget, policy };
}

/** Tasks that a run plans are subtasks: they come out of its budget, and it has so many in all (LIM1). */
async function countTasks(
  tx: Tx,
  { settings }: Context,
  { budget }: Place,
  { owner: id, count }: { readonly owner: SessionId; readonly count: number },
): Promise<void> {
  const owner = await tx.need('session', id);
  if (owner.task === null) return;
  tx.put('session', countPlanned(settings, owner, count));
  const short = await draw(tx, budget, { spawns: count });
  if (!short) return;
  const why = shortWords(short);
  throw new ReveilleError('budget_exhausted', `Refused: ${why}.`, { data: { why, ...short } });
}

function idOf(ids: ReadonlyMap<string, TaskId>, name: string): TaskId {
  const id = ids.get(name);
  if (!id) throw new ReveilleError('internal', `A checked plan has no task "${name}".`);
  return id;
}

interface NewTask {
  readonly plan: Plan;
  readonly place: Place;
  readonly task: PlanTaskInput;
  readonly agent: AgentType;
  readonly id: TaskId;
  readonly dependencies: TaskId[];
  readonly dependents: TaskId[];
  readonly openDependencies?: number;
  readonly badDependencies?: number;
  readonly budget: string | null;
  /** The agent that reviews its work, if one does. */
  readonly reviewer?: AgentType | null;
}

function createTask(tx: Tx, context: Context, made: NewTask): Task {
  const { plan, task: input, agent, id } = made;
  const { rootKind, depth } = made.place;
  const session = bornSession(tx, context, {
    kind: 'worker',
    task: id,
    parent: plan.owner,
    rootKind,
    depth,
    name: input.name ?? input.id,
    repository: plan.repository,
  });
  const policy = policyOf(context, agent, plan.repository, made.place.policy);
  const task = bornTask(tx, {
    id,
    plan: plan.id,
    key: input.id,
    name: input.name ?? input.id,
    prompt: input.prompt,
    expectedOutput: input.expectedOutput ?? null,
    resultSchema: null,
    repository: plan.repository,
    checkpoint: null,
    isolation: 'own',
    agent,
    model: modelFor(context, agent, { repository: plan.repository, model: input.model }),
    priority: input.priority,
    targetFiles: input.targetFiles,
    ...reviewOf(context, input, made.reviewer ?? null),
    owner: plan.owner,
    session: session.id,
    depth,
    dependencies: made.dependencies,
    dependents: made.dependents,
    openDependencies: made.openDependencies ?? made.dependencies.length,
    badDependencies: made.badDependencies ?? 0,
    state: (made.badDependencies ?? 0) > 0 ? 'blocked' : 'pending',
    why: 'created',
    budget: openBudget(tx, id, made.budget, input.budget),
    ...(policy ? { policy } : {}),
  });
  countMove(tx, task, task.state, true);
  return task;
}

/** Adds a task to a plan that may be running already; it may depend on the plan's tasks, not they on it. */
export async function addTask(
  tx: Tx,
  context: Context,
  plan: Plan,
  added: { readonly task: PlanTaskInput; readonly agent: AgentType; readonly reviewer: AgentType | null },
): Promise<TaskId> {
  const { task: input, agent, reviewer } = added;
  if (plan.cancelling !== null) throw wrongState(plan, 'added to: it is being cancelled');
  const id = newId(context, 'task');
  const dependencies: Task[] = [];
  for (const name of input.dependencies) {
    const [task] = await tx.list('task', { list: 'byKey', equal: [`${plan.id}/${name}`], limit: 1 });
    if (!task)
      throw new ReveilleError('invalid_input', `There is no task "${name}" in plan ${titleOf(plan)}.`);
    dependencies.push(task);
  }
  const [same] = await tx.list('task', { list: 'byKey', equal: [`${plan.id}/${input.id}`], limit: 1 });
  if (same)
    throw new ReveilleError('invalid_input', `Plan ${titleOf(plan)} already has a task "${input.id}".`);
  for (const task of dependencies) tx.put('task', { ...task, dependents: [...task.dependents, id] });
  const place = await placeOf(tx, context, plan.owner);
  await countTasks(tx, context, place, { owner: plan.owner, count: 1 });
  const budget = (await tx.get('budget', plan.id)) ? plan.id : place.budget;
  const task = createTask(tx, context, {
    plan,
    place,
    task: input,
    agent,
    id,
    dependencies: dependencies.map((dependency) => dependency.id),
    dependents: [],
    openDependencies: dependencies.filter((dependency) => dependency.state !== 'completed').length,
    badDependencies: dependencies.filter(isBad).length,
    budget,
    reviewer,
  });
  if (!(await integrateAlso(tx, plan, task))) await integrateAgain(tx, context, plan, task);
  if (plan.state !== 'draft') await makeReady(tx, await tx.need('task', id));
  return id;
}

/**
 * What is added after the integration began or was given up is merged by another one. It waits for everything that has not
 * completed, because an integration merges what has completed and leaves the rest out.
 */
async function integrateAgain(tx: Tx, context: Context, plan: Plan, added: Task): Promise<void> {
  const name = `integration after ${added.key ?? added.id}`.slice(0, LENGTHS.name);
  const id = newId(context, 'task');
  const others = (await planTasks(tx, plan.id)).filter((task) => task.id !== added.id && !isIntegrator(task));
  const open = [added, ...others.filter(({ state }) => state !== 'completed')];
  for (const task of open) tx.put('task', { ...task, dependents: [...task.dependents, id] });
  createTask(tx, context, {
    plan,
    place: await placeOf(tx, context, plan.owner),
    task: integrationInput(name, []),
    agent: INTEGRATOR,
    id,
    dependencies: open.map((task) => task.id),
    dependents: [],
    badDependencies: open.filter(isBad).length,
    budget: added.budget,
  });
  tx.put('plan', { ...(await tx.need('plan', plan.id)), integration: id });
}

const isBad = ({ state }: Task): boolean => ['failed', 'cancelled', 'blocked'].includes(state);

export async function startPlan(tx: Tx, plan: Plan): Promise<void> {
  if (plan.state !== 'draft') throw wrongState(plan, 'started');
  await startTasks(tx, plan, await planTasks(tx, plan.id));
}

/** The tasks are given: those of a plan saved in this very change are in no list yet. */
async function startTasks(tx: Tx, plan: Plan, tasks: readonly Task[]): Promise<void> {
  tx.put('plan', { ...plan, state: 'active', why: 'started', since: tx.now, started: true });
  for (const task of tasks) {
    // One that was started by hand and sent back by its review is ready already.
    if (task.state === 'ready') offerTask(tx, task);
    else await makeReady(tx, task);
  }
  // Its tasks may all have been run by hand: its status is theirs, even if none moves now.
  if (!tx.planMoves.has(plan.id)) tx.planMoves.set(plan.id, new Map());
}

export const planTasks = (tx: Tx, plan: PlanId): Promise<Task[]> =>
  tx.list('task', { list: 'byPlan', equal: [plan] });

/** Pause: no new task starts; what runs goes on. Its ready tasks are no longer offered. */
export async function pausePlan(tx: Tx, plan: Plan): Promise<void> {
  if (plan.state !== 'active') throw wrongState(plan, 'paused');
  tx.put('plan', { ...plan, state: 'paused', why: 'paused', since: tx.now });
  for (const task of await planTasks(tx, plan.id)) {
    if (task.state === 'ready' && !task.byHand) tx.drop(task.id);
  }
}

export async function resumePlan(tx: Tx, plan: Plan): Promise<void> {
  if (plan.state !== 'paused') throw wrongState(plan, 'resumed');
  const next: Plan = { ...plan, state: 'active', why: 'resumed', since: tx.now };
  tx.put('plan', next);
  for (const task of await planTasks(tx, plan.id)) {
    if (task.state === 'ready' && mayStart(next, task)) offerTask(tx, task);
  }
}

export async function cancelPlan(
  tx: Tx,
  context: Context,
  plan: Plan,
  wish: { by: string; why: string },
): Promise<number> {
  if (['completed', 'failed', 'cancelled'].includes(plan.state)) throw wrongState(plan, 'cancelled');
  // A draft has no status derived from its tasks; it ends here.
  const state = plan.state === 'draft' ? 'active' : plan.state;
  tx.put('plan', { ...plan, state, cancelling: wish.why });
  let count = 0;
  for (const task of await planTasks(tx, plan.id)) {
    // A cancel blocks what depends on it, in this same change: read each again.
    const now = await tx.need('task', task.id);
    if (!isTerminal(now.state)) count += await cancelTree(tx, context, now, wish);
  }
  // All of a draft's tasks may have ended before, by hand.
  if (!tx.planMoves.has(plan.id)) tx.planMoves.set(plan.id, new Map());
  return count;
}

/** Starts one task by hand, whatever its plan's state; its dependencies still hold. */
export async function deployTask(tx: Tx, task: Task): Promise<void> {
  if (!['pending', 'ready'].includes(task.state) || task.openDependencies > 0) {
    const why =
      task.openDependencies > 0
        ? `${task.openDependencies} of its dependencies have not completed`
        : `it is ${task.state}`;
    throw new ReveilleError('wrong_state', `Task ${titleOf(task)} cannot be started: ${why}.`);
  }
  const next = { ...task, byHand: true };
  tx.put('task', next);
  if (next.state === 'pending') await makeReady(tx, next);
  else offerTask(tx, next);
}

const wrongState = (plan: Plan, wanted: string): ReveilleError =>
  new ReveilleError('wrong_state', `Plan ${titleOf(plan)} is ${plan.state} and cannot be ${wanted}.`, {
    data: { state: plan.state },
  });
