import {
  PlanTaskInput,
  RepositoryPath,
  ReveilleError,
  invalidInput,
  parseInput,
  type AgentType,
  type Caller,
  type Orchestrator,
  type Plan,
  type PlanId,
  type PlanView,
} from '@reveille/protocol';
import { checkCaller, checkOwnsPlan, nameOf, sessionOf } from '../authority.ts';
import { decide } from '../decide.ts';
import { checkDelegation } from '../definitions.ts';
import type { Host } from '../host.ts';
import { checkPlan, resolveAgent, reviewerOf } from '../plan-rules.ts';
import { knownRepository } from '../repository-agents.ts';
import { startOrAsk } from '../plan-approval.ts';
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

/** Before anything has been checked: it may be anything. */
function namedIn(input: unknown): string | null {
  const named = typeof input === 'object' && input && 'repository' in input ? input.repository : null;
  const path = RepositoryPath.safeParse(named);
  return path.success ? path.data : null;
}

export function planOperations(
  host: Host,
  caller: Caller,
): Pick<Orchestrator, (typeof PLAN_OPERATIONS)[number]> {
  const { context } = host;
  const { store } = context;
  const wish = (why?: string) => ({ by: nameOf(caller), why: why ?? 'cancelled by request' });

  const getPlan = (id: PlanId): Promise<PlanView> => viewPlan(store, id);

  /** Changes a plan the caller may change, and answers with what became of it. */
  async function change(id: PlanId, act: (tx: Tx, plan: Plan) => Promise<unknown>): Promise<Plan> {
    await host.alive(caller);
    await decide(context, async (tx) => {
      const plan = await tx.need('plan', id);
      await checkOwnsPlan(tx, caller, plan);
      await act(tx, plan);
    });
    return (await getPlan(id)).plan;
  }

  const startPlan = (id: PlanId): Promise<Plan> =>
    change(id, (tx, plan) => startOrAsk(tx, context, caller, plan));

  return {
    async savePlan(input, options = {}) {
      const repository = await knownRepository(host, caller, namedIn(input));
      const checked = checkPlan(context, input, repository);
      if ('problems' in checked) throw invalidInput(checked.problems);
      await host.alive(caller);
      const id = await decide(context, async (tx) => {
        await checkCaller(tx, caller);
        await checkDelegation(tx, context, caller, [...checked.agents, ...checked.reviewers.values()]);
        const owner = sessionOf(caller) ?? (await personSession(tx, context, nameOf(caller))).id;
        const start = options.start === true && caller.kind !== 'worker';
        return createPlan(tx, context, checked, { owner, start });
      });
      // A worker may have to ask first.
      if (options.start && caller.kind === 'worker') await startPlan(id);
      return getPlan(id);
    },

    async addPlanTask(id, input) {
      const task = parseInput(PlanTaskInput, input);
      const repository = await knownRepository(host, caller, (await getPlan(id)).plan.repository);
      const agent = known(resolveAgent(context, task.agent, repository));
      const by = reviewerOf(context, task.review, repository);
      const reviewer = by && known(by);
      await host.alive(caller);
      const added = await decide(context, async (tx) => {
        const plan = await tx.need('plan', id);
        await checkOwnsPlan(tx, caller, plan);
        await checkDelegation(tx, context, caller, reviewer ? [agent, reviewer] : [agent]);
        return addTask(tx, context, plan, { task, agent, reviewer });
      });
      const row = await store.get('task', added);
      if (!row) throw new ReveilleError('not_found', `There is no task ${added}.`);
      return viewTask(store, row.doc);
    },

    startPlan,
    pausePlan: (id) => change(id, (tx, plan) => pausePlan(tx, plan)),
    resumePlan: (id) => change(id, (tx, plan) => resumePlan(tx, plan)),
    cancelPlan: (id, why) => change(id, (tx, plan) => cancelPlan(tx, context, plan, wish(why))),
    getPlan,
    listPlans: () => listPlans(store),
  };
}

function known(agent: ReturnType<typeof resolveAgent>): AgentType {
  if (!('problem' in agent)) return agent;
  throw new ReveilleError('unknown_agent', agent.problem, { data: { known: agent.known } });
}

async function listPlans(store: Store): Promise<Plan[]> {
  const plans = await everyPlan(store);
  await store.barrier();
  return plans;
}
