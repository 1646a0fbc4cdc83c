import { ReveilleError, type AgentType, type Caller, type Task } from '@reveille/protocol';
import { sessionOf } from './authority.ts';
import type { Context } from './context.ts';
import type { Tx } from './tx.ts';

/** The model of a task: its own, or its definition's, or null, which is its backend's. */
export function modelFor(
  { agents }: Pick<Context, 'agents'>,
  agent: AgentType,
  about: { readonly repository: string | null; readonly model: string | undefined },
): string | null {
  if (about.model !== undefined) return about.model;
  const defined = agents.defined?.(agent.name, about.repository);
  // A model of one backend says nothing to another that was named instead of it.
  const elsewhere = (defined?.backend ?? agent.backend) !== agent.backend;
  return elsewhere ? null : (defined?.model ?? null);
}

/** A definition may name the only agents that it hands work to, by whichever way. */
export async function checkDelegation(
  tx: Tx,
  { agents }: Context,
  caller: Caller,
  wanted: readonly AgentType[],
): Promise<void> {
  const session = agents.defined ? sessionOf(caller) : null;
  const own = session ? (await tx.need('session', session)).task : null;
  if (own === null) return;
  const { agent, repository } = await tx.need('task', own);
  const only = agents.defined?.(agent.name, repository)?.delegatesTo ?? null;
  const other = only && wanted.find(({ name }) => !only.includes(name));
  if (!other) return;
  const whom = only.length > 0 ? `only to ${only.join(', ')}` : 'to nobody';
  throw new ReveilleError(
    'not_allowed',
    `Refused: by its definition ${agent.name} hands work ${whom}, not to ${other.name}.`,
    { data: { known: only } },
  );
}

/**
 * Refuses an agent that can write for a task that shares the checkout of an owner that cannot: a read-only agent, or a reviewer,
 * whose checkout is the work under review (PLN8.17).
 */
export async function checkSharing(
  tx: Tx,
  { agents }: Pick<Context, 'agents'>,
  { owner, isolation }: Pick<Task, 'owner' | 'isolation'>,
  agent: AgentType,
): Promise<void> {
  if (isolation !== 'shared') return;
  const { task: id, repository } = await tx.need('session', owner);
  const above = id === null ? null : await tx.need('task', id);
  const isReadOnly = ({ name }: AgentType): boolean => agents.defined?.(name, repository)?.readOnly === true;
  if (!above || isReadOnly(agent) || (!above.reviews && !isReadOnly(above.agent))) return;
  throw new ReveilleError(
    'not_allowed',
    `Refused: ${above.agent.name} works on "${above.name}" without writing, so ${agent.name}, which can write, cannot share its worktree. Leave \`isolation\` out, or use a read-only agent.`,
    { data: { agent: agent.name } },
  );
}
