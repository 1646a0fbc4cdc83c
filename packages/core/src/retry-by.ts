import {
  ReveilleError,
  formatAgentType,
  type Caller,
  type RunId,
  type SwapInput,
  type Task,
} from '@reveille/protocol';
import type { Context } from './context.ts';
import { checkDelegation, checkSharing, modelFor } from './definitions.ts';
import { titleOf, workOf } from './envelope.ts';
import { isIntegrator } from './integrator.ts';
import { countRetry } from './limits.ts';
import { enqueue } from './mailbox.ts';
import { checkApproved, checkGoalApproved } from './plan-approval.ts';
import { foundAgent, resolveAgent } from './plan-rules.ts';
import { holdBelow, policyOf } from './policy-chain.ts';
import { meet } from './policy.ts';
import { retry } from './task-acts.ts';
import type { Tx } from './tx.ts';

/** `claude:coder`, `model opus`, `claude:coder model opus`. */
export function retryWords(words: string): SwapInput {
  const [, agent, model] = /^(?:(?!model\b)(\S+))?\s*(?:model\s+(\S+))?$/i.exec(words.trim()) ?? [];
  if (agent === undefined && model === undefined)
    throw new ReveilleError(
      'invalid_input',
      'Say with whom: `retry with claude:coder`, `retry with model opus`, or both.',
    );
  return { ...(agent === undefined ? {} : { agent }), ...(model === undefined ? {} : { model }) };
}

/** Another attempt at a task, by the same agent or by another; what it is to do stays, and so does its worktree. */
export async function retryBy(
  tx: Tx,
  context: Context,
  task: Task,
  given: {
    readonly caller: Caller;
    readonly by: SwapInput;
    /** The snapshot to begin from; null: what the last attempt left; undefined: where the task began. */
    readonly from?: string | null | undefined;
  },
): Promise<void> {
  await checkApproved(tx, given.caller, task.plan);
  if (given.from !== undefined) return retryFrom(tx, context, task, { ...given, from: given.from });
  if (given.caller.kind !== 'person') await countRetry(tx, context.settings, task);
  const isSame = given.by.agent === undefined && given.by.model === undefined;
  const next = isSame ? task : await withAnother(tx, context, task, given);
  tx.put('task', next);
  await retry(tx, next);
  if (task.from?.attempt !== task.attempts + 1) await tellOfAttempt(tx, context, task);
}

/**
 * After a login that was refused in the middle, the next attempt goes on with what is there. An agent that takes its session up
 * again is told why it was stopped; any other, what the last attempt did.
 */
async function tellOfAttempt(tx: Tx, context: Context, { id, session, agent, lastRun }: Task): Promise<void> {
  const last = lastRun ? await tx.need('run', lastRun) : null;
  if (last?.end?.error?.class !== 'auth' || !last.assigned) return;
  const resumes = last.resume !== null && !last.swap;
  await enqueue(tx, context, {
    to: session,
    key: `again:${last.id}`,
    kind: 'resume',
    from: { kind: 'harness' },
    task: id,
    text: resumes
      ? 'You were stopped because your login was refused. You are tried again: look at what is there, and go on.'
      : `Attempt ${last.attempt} at this task, by ${formatAgentType(agent)}, was stopped because its login was refused. ${workOf(last.end.output)}`,
  });
}

async function retryFrom(
  tx: Tx,
  context: Context,
  task: Task,
  { from, caller, by }: { readonly caller: Caller; readonly by: SwapInput; readonly from: string | null },
): Promise<void> {
  if (isIntegrator(task))
    throw new ReveilleError(
      'not_allowed',
      `Task ${titleOf(task)} merges the plan’s branches, from the beginning.`,
    );
  // Bound to that attempt: a later one begins as any other.
  const next = { ...task, from: { snapshot: from, attempt: task.attempts + 1 } };
  tx.put('task', next);
  tx.note({ type: 'work.retried_from', task: task.id, data: { snapshot: from } });
  return retryBy(tx, context, next, { caller, by });
}

/** The task as another agent, or another model, is to do it, if there is one of that name and the caller may choose it. */
export async function withAnother(
  tx: Tx,
  context: Context,
  task: Task,
  given: { readonly caller: Caller; readonly by: SwapInput },
): Promise<Task> {
  const { agent: name, model } = given.by;
  if (isIntegrator(task))
    throw new ReveilleError(
      'not_allowed',
      `Task ${titleOf(task)} merges the plan’s branches; no agent does that.`,
    );
  const { repository } = task;
  // The prompt of a reviewer only quotes the work that it is about.
  const prompt = task.reviews ? null : task.prompt;
  const agent =
    name === undefined ? task.agent : foundAgent(resolveAgent(context, name, { repository, prompt }));
  await checkDelegation(tx, context, given.caller, [agent]);
  await checkGoalApproved(tx, context, given.caller, [agent]);
  await checkSharing(tx, context, task, agent);
  if (!task.run && task.lastRun) await keepFromNext(tx, task, task.lastRun);
  // One that was named for its old backend says nothing to another.
  const kept = agent.backend === task.agent.backend && agent.name === task.agent.name;
  // It may do no more than the one before it, nor may those it has work for it.
  const own = kept ? undefined : policyOf(context, agent, task.repository, undefined);
  if (own) await holdBelow(tx, task, own);
  return {
    ...task,
    agent,
    ...(own ? { policy: meet(task.policy ?? [], own) } : {}),
    model: model ?? (kept ? task.model : modelFor(context, agent, { repository: task.repository, model })),
  };
}

/** Nobody is at work on it: what its last agent had of its own is nothing for another, whatever it goes on with. */
async function keepFromNext(tx: Tx, task: Task, last: RunId): Promise<void> {
  tx.put('run', { ...(await tx.need('run', last)), swap: { from: formatAgentType(task.agent) } });
}
