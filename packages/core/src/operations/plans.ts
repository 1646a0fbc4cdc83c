import {
  PlanTaskInput,
  RepositoryPath,
  ReveilleError,
  StartInput,
  invalidInput,
  parseInput,
  type AddTaskInput,
  type Caller,
  type Orchestrator,
  type ParsedPlanInput,
  type Plan,
  type PlanId,
  type PlanView,
  type StartedPlan,
  type TaskView,
} from '@reveille/protocol';
import {
  authorize,
  checkCaller,
  isVisible,
  knownCaller,
  nameOf,
  sessionOf,
  storedRows,
} from '../authority.ts';
import { decideStart, type StartDecision } from '../checkout-start.ts';
import type { Context } from '../context.ts';
import { decide } from '../decide.ts';
import { checkDelegation } from '../definitions.ts';
import type { Host } from '../host.ts';
import { checkPlan, foundAgent, resolveAgent, reviewerOf, type CheckedPlan } from '../plan-rules.ts';
import { knownRepository } from '../repository-agents.ts';
import { askAgain, checkGuards, startOrAsk } from '../plan-approval.ts';
import { addTask, cancelPlan, createPlan, pausePlan, resumePlan } from '../plans.ts';
import type { Store } from '../ports/store.ts';
import { personSession } from '../sessions.ts';
import type { Tx } from '../tx.ts';
import { everyPlan, viewPlan, viewTask } from '../views.ts';

export const PLAN_OPERATIONS = [
  'savePlan',
  'addPlanTask',
  'startPlan',
  'pausePlan',
  'resumePlan',
  'cancelPlan',
  'getPlan',
  'listPlans',
] as const;

/** The repository that a plan names, before anything about the plan has been checked. */
export function repositoryIn(input: unknown): string | null {
  const named = typeof input === 'object' && input && 'repository' in input ? input.repository : null;
  const path = RepositoryPath.safeParse(named);
  return path.success ? path.data : null;
}

interface Storing {
  readonly start: boolean | undefined;
  readonly startsFrom: StartDecision['startsFrom'];
}

async function storePlan(
  context: Context,
  caller: Caller,
  checked: CheckedPlan,
  { start, startsFrom }: Storing,
): Promise<PlanId> {
  return await decide(context, async (tx) => {
    await checkCaller(tx, caller);
    await checkGuards(tx, context, { caller, operation: 'savePlan' });
    await checkDelegation(tx, context, caller, [...checked.agents, ...checked.reviewers.values()]);
    const owner = sessionOf(caller) ?? (await personSession(tx, context, nameOf(caller))).id;
    return createPlan(tx, context, checked, {
      owner,
      start: start === true && caller.kind !== 'worker',
      startsFrom,
    });
  });
}

export function planOperations(
  host: Host,
  caller: Caller,
): Pick<Orchestrator, (typeof PLAN_OPERATIONS)[number]> {
  const { context } = host;
  const { store } = context;
  const wish = (why?: string) => ({ by: nameOf(caller), why: why ?? 'cancelled by request' });

  const getPlan = (id: PlanId): Promise<PlanView> => viewPlan(context, id);

  /** Changes a plan, if the authority table lets the caller use `operation` on it, and answers with what became of it. */
  async function change(
    operation: keyof Orchestrator,
    id: PlanId,
    act: (tx: Tx, plan: Plan) => Promise<unknown>,
  ): Promise<Plan> {
    await decide(context, async (tx) => {
      const plan = await tx.need('plan', id);
      await authorize({ rows: tx, agents: context.agents }, caller, operation, [{ plan: id }]);
      await checkGuards(tx, context, { caller, operation, plan });
      await act(tx, plan);
    });
    return (await getPlan(id)).plan;
  }

  async function startPlan(id: PlanId, by: StartInput = {}): Promise<StartedPlan> {
    const { dirty } = parseInput(StartInput, by);
    const { state, repository, baseBranch, startsFrom } = (await getPlan(id)).plan;
    const isOpen = state === 'draft' && baseBranch === null && (!startsFrom || dirty !== undefined);
    const decided: StartDecision = isOpen
      ? await decideStart(context, caller, { repository, dirty })
      : { note: null };
    const started = decided.startsFrom ? { startsFrom: decided.startsFrom } : {};
    const plan = await change('startPlan', id, (tx, draft) =>
      startOrAsk(tx, context, caller, { ...draft, ...started }),
    );
    return { ...plan, ...(decided.note === null ? {} : { warning: decided.note }) };
  }

  return {
    async savePlan(input, options = {}) {
      const repository = await knownRepository(host, caller, repositoryIn(input));
      const checked = checkPlan(context, input, repository);
      if ('problems' in checked) throw invalidInput(checked.problems);
      const saving = { repository, ...options };
      const { startsFrom, note } = await decideSaved(context, caller, checked.plan, saving);
      const id = await storePlan(context, caller, checked, { start: options.start, startsFrom });
      // A worker may have to ask first.
      if (options.start && caller.kind === 'worker') await startPlan(id);
      return { ...(await getPlan(id)), ...(note === null ? {} : { warning: note }) };
    },

    addPlanTask: (id, input) => addTaskTo(host, caller, id, input),
    startPlan,
    pausePlan: (id) => change('pausePlan', id, (tx, plan) => pausePlan(tx, plan)),
    resumePlan: (id) => change('resumePlan', id, (tx, plan) => resumePlan(tx, plan)),
    cancelPlan: (id, why) => change('cancelPlan', id, (tx, plan) => cancelPlan(tx, context, plan, wish(why))),
    getPlan,
    listPlans: () => listPlans(store, caller),
  };
}

/** A draft of a person or a chat starts nothing: the checkout is looked at when it is started. */
async function decideSaved(
  context: Host['context'],
  caller: Caller,
  { baseBranch, dirty }: ParsedPlanInput,
  { repository, start }: { readonly repository: string | null; readonly start?: boolean },
): Promise<StartDecision> {
  const isLater = start !== true && dirty === undefined && caller.kind !== 'worker';
  if (isLater || baseBranch !== undefined) return { note: null };
  return decideStart(context, caller, { repository, dirty });
}

async function listPlans(store: Store, caller: Caller): Promise<Plan[]> {
  const rows = storedRows(store);
  const known = await knownCaller(rows, caller);
  const plans: Plan[] = [];
  for (const plan of await everyPlan(store))
    if (await isVisible(rows, known, 'listPlans', { plan: plan.id })) plans.push(plan);
  await store.barrier();
  return plans;
}

async function addTaskTo(host: Host, caller: Caller, id: PlanId, input: AddTaskInput): Promise<TaskView> {
  const { context } = host;
  const task = parseInput(PlanTaskInput, input);
  const repository = await knownRepository(host, caller, (await viewPlan(context, id)).plan.repository);
  const { prompt } = task;
  const agent = foundAgent(resolveAgent(context, task.agent, { repository, prompt }));
  const by = reviewerOf(context, task.review, { repository, prompt });
  const reviewer = by && foundAgent(by);
  const added = await decide(context, async (tx) => {
    const plan = await tx.need('plan', id);
    await authorize({ rows: tx, agents: context.agents }, caller, 'addPlanTask', [{ plan: id }]);
    await checkGuards(tx, context, { caller, operation: 'addPlanTask', plan });
    await checkDelegation(tx, context, caller, reviewer ? [agent, reviewer] : [agent]);
    const made = await addTask(tx, context, plan, { task, agent, reviewer });
    await askAgain(tx, context, await tx.need('plan', id), await tx.need('task', made));
    return made;
  });
  const row = await context.store.get('task', added);
  if (!row) throw new ReveilleError('not_found', `There is no task ${added}.`);
  return viewTask(context, row.doc);
}
