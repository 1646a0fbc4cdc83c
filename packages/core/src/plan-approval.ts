import {
  ReveilleError,
  formatAgentType,
  optionsOf,
  type Caller,
  type Plan,
  type PlanId,
  type Sender,
  type Task,
} from '@reveille/protocol';
import { checkOwnsPlan, sessionOf } from './authority.ts';
import type { Context } from './context.ts';
import { isOrchestrator } from './orchestrator-session.ts';
import { planTasks, startPlan } from './plans.ts';
import { answerRequest, openRequest, openRequests } from './requests.ts';
import type { Tx } from './tx.ts';

const WAITS = 'waits for a person’s approval';
const SHOWN = 100;

/** It runs, or a person is asked whether it may. */
export const isUnderWay = ({ state, why }: Plan): boolean => state !== 'draft' || why === WAITS;

/** The task of an orchestrator that may not start a plan by itself; null: whoever this is, may. */
async function mustAsk(tx: Tx, caller: Caller): Promise<Task | null> {
  const id = sessionOf(caller);
  const session = id ? await tx.need('session', id) : null;
  if (!session?.task || !isOrchestrator(session)) return null;
  const task = await tx.need('task', session.task);
  return task.plans === 'start' ? null : task;
}

/** What an orchestrator made of a goal is shown to the person before it starts, unless they said otherwise (ORC1). */
export async function startOrAsk(tx: Tx, context: Context, caller: Caller, plan: Plan): Promise<void> {
  const asks = plan.state === 'draft' ? await mustAsk(tx, caller) : null;
  if (!asks) {
    await startPlan(tx, plan);
    return closeApproval(tx, context, plan, { by: 'person', from: { kind: 'person', name: 'person' } });
  }
  if (plan.why !== WAITS) tx.put('plan', { ...plan, why: WAITS });
  await openRequest(tx, context, asks, {
    kind: 'plan',
    run: asks.run ? await tx.need('run', asks.run) : null,
    text: planWords(plan, await planTasks(tx, plan.id)),
    options: optionsOf('plan'),
    toPerson: true,
    key: `plan:${plan.id}`,
    plan: plan.id,
  });
}

/** Starting the tasks one by one is no way around the question, nor is trying again what was not agreed to. */
export async function checkApproved(tx: Tx, caller: Caller, id: PlanId | null): Promise<void> {
  const plan = id ? await tx.need('plan', id) : null;
  const never = plan?.state === 'draft' || (plan?.state === 'cancelled' && !plan.started);
  if (!plan || !never || !(await mustAsk(tx, caller))) return;
  const how = plan.why === WAITS ? WAITS : `is ${plan.state === 'draft' ? 'a draft' : 'given up'}`;
  throw new ReveilleError(
    'not_allowed',
    `Plan ${plan.id} ${how}: its tasks start when a person has approved it.`,
  );
}

/** A draft may be changed by whoever owns it; what was given up as one is not begun by adding to it. */
export async function checkMayAdd(tx: Tx, caller: Caller, plan: Plan): Promise<void> {
  await checkOwnsPlan(tx, caller, plan);
  if (plan.state !== 'draft') await checkApproved(tx, caller, plan.id);
}

/** Whoever starts a plan that waits for approval has approved it. */
async function closeApproval(
  tx: Tx,
  context: Context,
  plan: Plan,
  who: { readonly by: string; readonly from: Sender },
): Promise<void> {
  const owner = await tx.need('session', plan.owner);
  if (!isOrchestrator(owner) || !owner.task) return;
  const open = await openRequests(tx, await tx.need('task', owner.task));
  const request = open.find((each) => each.kind === 'plan' && each.plan === plan.id);
  if (request) await answerRequest(tx, context, request.id, { text: APPROVED, ...who });
}

export const APPROVED = 'Approved: the plan has been started.';

function planWords(plan: Plan, tasks: readonly Task[]): string {
  const names = new Map(tasks.map(({ id, key, name }) => [id, key ?? name]));
  const shown = tasks.filter(({ id }) => id !== plan.integration);
  const lines = shown.slice(0, SHOWN).map((task) => {
    const after = task.dependencies.map((id) => names.get(id) ?? id);
    const goal = (task.prompt.trim().split('\n', 1)[0] ?? '').slice(0, 160);
    const when = after.length > 0 ? ` after ${after.join(', ')}` : '';
    return `- ${names.get(task.id)} (${formatAgentType(task.agent)}${when}): ${goal}`;
  });
  const left = shown.length - lines.length;
  return [
    `Start the plan "${plan.name}" (${plan.id})?`,
    ...(plan.description ? [plan.description] : []),
    ...lines,
    ...(left > 0 ? [`- … and ${left} more`] : []),
    ...(plan.integration ? ['Then their branches are merged into one.'] : []),
  ].join('\n');
}
