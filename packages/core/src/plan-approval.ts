import {
  AUTHORITY,
  ReveilleError,
  isTerminal,
  optionsOf,
  type AgentType,
  type Caller,
  type Operation,
  type Plan,
  type PlanId,
  type Request,
  type Sender,
  type Session,
  type SessionId,
  type Task,
} from '@reveille/protocol';
import type { Context } from './context.ts';
import { isOrchestrator } from './orchestrator-session.ts';
import { planWords } from './plan-words.ts';
import { planTasks, startPlan } from './plans.ts';
import { answerRequest, openRequest, openRequests } from './requests.ts';
import type { Tx } from './tx.ts';

const WAITS = 'waits for a person’s approval';

/** It runs, or a person is asked whether it may. */
export const isUnderWay = ({ state, why }: Plan): boolean => state !== 'draft' || why === WAITS;

/**
 * The nearest orchestrator at or above a session whose plans a person approves before they start; null: there is none, or
 * the person said that its plans may start (`plans: 'start'`).
 */
async function askingOrchestrator(tx: Tx, from: SessionId): Promise<Session | null> {
  for (let id: SessionId | null = from; id !== null;) {
    const session: Session = await tx.need('session', id);
    if (session.task !== null && isOrchestrator(session))
      return (await tx.need('task', session.task)).plans === 'start' ? null : session;
    id = session.parent;
  }
  return null;
}

/** The orchestrator's task in whose name the person is asked about a plan; null: the caller may start it. */
async function mustAsk(tx: Tx, caller: Caller, plan: Plan): Promise<Task | null> {
  // A person starts whatever they like. Everybody else is bound by the orchestrator above the plan, or above themselves.
  if (caller.kind === 'person') return null;
  const asking = (await askingOrchestrator(tx, plan.owner)) ?? (await askingOrchestrator(tx, caller.session));
  return asking?.task ? tx.need('task', asking.task) : null;
}

/** What an orchestrator made of a goal is shown to the person before it starts, unless they said otherwise (ORC1). */
export async function startOrAsk(tx: Tx, context: Context, caller: Caller, plan: Plan): Promise<void> {
  const asks = plan.state === 'draft' ? await mustAsk(tx, caller, plan) : null;
  if (!asks) {
    await startPlan(tx, plan);
    return closeApproval(tx, context, plan, { by: 'person', from: { kind: 'person', name: 'person' } });
  }
  if (plan.why !== WAITS) tx.put('plan', { ...plan, why: WAITS });
  await openApproval(tx, context, asks, { plan, tasks: await planTasks(tx, plan.id) });
}

async function openApproval(
  tx: Tx,
  context: Context,
  asks: Task,
  { plan, tasks }: { readonly plan: Plan; readonly tasks: readonly Task[] },
): Promise<void> {
  await openRequest(tx, context, asks, {
    kind: 'plan',
    run: asks.run ? await tx.need('run', asks.run) : null,
    text: planWords(plan, tasks),
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
  if (!plan || !never || !(await mustAsk(tx, caller, plan))) return;
  const how = plan.why === WAITS ? WAITS : `is ${plan.state === 'draft' ? 'a draft' : 'given up'}`;
  throw new ReveilleError(
    'not_allowed',
    `Plan ${plan.id} ${how}: its tasks start when a person has approved it.`,
  );
}

/**
 * Until a person has approved a plan for its goal, an orchestrator and everything below it start read-only agents only:
 * whatever else it wants done belongs in the plan (ORC1).
 */
export async function checkGoalApproved(
  tx: Tx,
  { agents }: Pick<Context, 'agents'>,
  caller: Caller,
  wanted: readonly AgentType[],
): Promise<void> {
  if (caller.kind === 'person') return;
  const asking = await askingOrchestrator(tx, caller.session);
  if (!asking || (await hasApprovedPlan(tx, asking))) return;
  const { repository } = asking;
  const writer = wanted.find(({ name }) => agents.defined?.(name, repository)?.readOnly !== true);
  if (!writer) return;
  throw new ReveilleError(
    'not_allowed',
    `Refused: ${writer.name} can write, and no plan for this goal has been approved yet. Put its work into the plan, or use a read-only agent such as researcher.`,
    { data: { agent: writer.name } },
  );
}

async function hasApprovedPlan(tx: Tx, { plans = [] }: Session): Promise<boolean> {
  for (const id of plans) if ((await tx.need('plan', id)).started) return true;
  return false;
}

/** A task that a person is to review is completed, or sent back, by a person only, also before its review begins (PLN8). */
export async function checkMayDecide(tx: Tx, caller: Caller, task: Task): Promise<void> {
  if (caller.kind === 'person' || isTerminal(task.state)) return;
  const isInReview = ({ kind, state, with: holder }: Request): boolean =>
    kind === 'review' && state === 'open' && holder === null;
  if (task.review !== 'person' && !(await openRequests(tx, task)).some(isInReview)) return;
  throw new ReveilleError(
    'not_allowed',
    `Task ${task.id} is reviewed by the person: only they can complete it, approve it or send it back.`,
  );
}

/** What is to be reviewed is taken by nobody before it was approved, also when somebody cancelled it instead (PLN8). */
function checkReviewed(caller: Caller, { id, review, reviewing, state }: Task): void {
  const isAwaited = review === 'person' || (review === 'agent' && (reviewing?.round ?? 0) > 0);
  if (caller.kind === 'person' || !isAwaited || state === 'completed') return;
  throw new ReveilleError(
    'not_allowed',
    `Task ${id} is to be reviewed and was not approved: only a person can take what it changed.`,
  );
}

/** A worker starts nothing from the moment a person paused it, whatever it was about to do (WRK1.80). */
async function checkAtWork(tx: Tx, caller: Caller): Promise<void> {
  if (caller.kind !== 'worker') return;
  const run = await tx.need('run', caller.run);
  if (!run.paused) return;
  throw new ReveilleError(
    'wrong_state',
    `Task ${run.task} is paused and can start nothing: wait until you are told that you go on.`,
  );
}

interface GuardedCall {
  readonly caller: Caller;
  readonly operation: Operation;
  readonly task?: Task;
  readonly plan?: Plan;
  /** The agents that the call would start. */
  readonly agents?: readonly AgentType[];
}

/** Checks the state of what a call names, by the guards in the operation's row of the authority table. */
export async function checkGuards(tx: Tx, context: Context, call: GuardedCall): Promise<void> {
  const { caller, operation, task, plan } = call;
  for (const guard of AUTHORITY[operation].guards) {
    switch (guard) {
      case 'at work':
        await checkAtWork(tx, caller);
        break;
      case 'no person decides':
        if (task) await checkMayDecide(tx, caller, task);
        break;
      case 'reviewed':
        if (task) checkReviewed(caller, task);
        break;
      case 'plan approved':
        // A draft may be added to: it is shown to the person as it is then (`askAgain`).
        if (plan ? plan.state !== 'draft' : task)
          await checkApproved(tx, caller, plan?.id ?? task?.plan ?? null);
        break;
      case 'goal approved':
        await checkGoalApproved(tx, context, caller, call.agents ?? (task ? [task.agent] : []));
        break;
      default:
        guard satisfies never;
    }
  }
}

/**
 * A plan that gets another task, or loses one, while it waits for approval is shown again: a yes to what the person saw is none
 * to this. `changed` is that task.
 */
export async function askAgain(tx: Tx, context: Context, plan: Plan, changed: Task): Promise<void> {
  const { asks, request } = await approvalOf(tx, plan);
  if (!asks || !request) return;
  tx.put('request', { ...request, state: 'closed' });
  const before = (await planTasks(tx, plan.id)).filter(({ id }) => id !== changed.id);
  // A task of this very change is in no list yet.
  await openApproval(tx, context, asks, { plan, tasks: [...before, changed] });
}

/** Whoever starts a plan that waits for approval has approved it. */
async function closeApproval(
  tx: Tx,
  context: Context,
  plan: Plan,
  who: { readonly by: string; readonly from: Sender },
): Promise<void> {
  const { request } = await approvalOf(tx, plan);
  if (request) await answerRequest(tx, context, request.id, { text: APPROVED, ...who });
}

/** The open request for a plan's approval, and the orchestrator's task in whose name the person is asked. */
async function approvalOf(tx: Tx, plan: Plan): Promise<{ asks?: Task; request?: Request | undefined }> {
  const asking = await askingOrchestrator(tx, plan.owner);
  if (!asking?.task) return {};
  const asks = await tx.need('task', asking.task);
  const open = await openRequests(tx, asks);
  const isFor = ({ kind, state, plan: id }: Request): boolean =>
    kind === 'plan' && state === 'open' && id === plan.id;
  return { asks, request: open.find(isFor) };
}

export const APPROVED = 'Approved: the plan has been started.';
