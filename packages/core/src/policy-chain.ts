import type { Action, AgentType, PolicyChain, Run, Session, Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import { USUAL_LAYER, judge, meet, type Judged } from './policy.ts';
import type { Tx } from './tx.ts';

/** What holds for a new task: everything that holds for whoever makes it, and what is said of its own agent (INB2). */
export function policyOf(
  { agents }: Pick<Context, 'agents'>,
  agent: AgentType,
  repository: string | null,
  parent: PolicyChain | undefined,
): PolicyChain | undefined {
  const layers = agents.policy?.(agent, repository);
  if (!layers) return parent;
  return meet(parent ?? [], [{ agent, layers: [...layers] }]);
}

/** With what is said now: a later word can take away, and gives nothing to a task that there is already. */
export const policyNow = (context: Pick<Context, 'agents'>, task: Task): PolicyChain =>
  heldNow(context, task) ?? [{ agent: task.agent, layers: [USUAL_LAYER] }];

/** Undefined: nobody has said anything. What is said now of one above it holds for it too. */
function heldNow({ agents }: Pick<Context, 'agents'>, task: Task): PolicyChain | undefined {
  const stored = task.policy ?? [];
  const whose = [...stored.map(({ agent }) => agent), task.agent];
  const now = whose.flatMap((agent) => {
    const layers = agents.policy?.(agent, task.repository) ?? [];
    return layers.length > 0 ? [{ agent, layers: [...layers] }] : [];
  });
  const chain = meet(stored, now);
  return chain.length > 0 ? chain : undefined;
}

/** What holds for whatever a session makes: all that holds for itself, as of now. */
export async function policyOfSession(
  tx: Tx,
  context: Pick<Context, 'agents'>,
  session: Session,
): Promise<PolicyChain | undefined> {
  return session.task ? heldNow(context, await tx.need('task', session.task)) : undefined;
}

/** Another agent is at work on a task: what is said of that one holds for all there is below it, too. */
export async function holdBelow(tx: Tx, task: Task, own: PolicyChain): Promise<void> {
  for (const child of await tx.list('task', { list: 'byOwner', equal: [task.session] })) {
    tx.put('task', { ...child, policy: meet(own, child.policy ?? []) });
    await holdBelow(tx, child, own);
  }
}

/** Whether a session could do it without asking: only then can it allow it to another. */
export async function mayAllow(tx: Tx, context: Context, session: Session, action: Action): Promise<boolean> {
  if (session.task) {
    const task = await tx.need('task', session.task);
    return (
      judgeTask(context, task, task.run ? await tx.need('run', task.run) : null, action).verdict === 'auto'
    );
  }
  // One at the top is what it is called: a person may let "orchestrator" or "chat" decide.
  const agent = { backend: context.settings.defaultBackend, name: session.kind };
  const layers = context.agents.policy?.(agent, session.repository) ?? [];
  return (
    judge([{ agent, layers: layers.length > 0 ? [...layers] : [USUAL_LAYER] }], action).verdict === 'auto'
  );
}

export function judgeTask(
  context: Pick<Context, 'agents'>,
  task: Task,
  run: Run | null,
  action: Action,
  also: PolicyChain = [],
): Judged {
  const usd = run?.used.usd ?? 0;
  return judge(meet(policyNow(context, task), also), { ...action, usd });
}
