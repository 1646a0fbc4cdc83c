import { ReveilleError, type AgentType, type Plan, type Session, type SessionKind } from '@reveille/protocol';
import type { Context } from './context.ts';
import type { Tx } from './tx.ts';

/** The agent that makes plans of goals and decides what comes up; a repository may define its own under this name. */
const ORCHESTRATOR = 'orchestrator';

/**
 * An orchestrator is a worker whose session is of a kind of its own: a person gives it a goal, it owns the plans it
 * saves, and a chain of tasks begins with it (SUB7). One that an agent spawns is a worker like any other.
 */
export function bornAs(
  { settings }: Pick<Context, 'settings'>,
  parent: Session,
  agent: AgentType,
): { readonly kind: SessionKind; readonly rootKind: SessionKind; readonly depth: number } {
  if (agent.name !== ORCHESTRATOR || parent.task !== null)
    return { kind: 'worker', rootKind: parent.rootKind, depth: parent.depth + 1 };
  if (settings.orchestrator === 'policy')
    throw new ReveilleError(
      'not_allowed',
      'No orchestrator decides here: the setting engine.orchestrator is "policy". Write a plan, or give one task to an agent.',
    );
  return { kind: 'orchestrator', rootKind: 'orchestrator', depth: 0 };
}

/** Whether a session is a model that decides, not somebody's client. */
export const isOrchestrator = ({ kind, task }: Pick<Session, 'kind' | 'task'>): boolean =>
  kind === 'orchestrator' && task !== null;

/** Whether it may be asked: by setting, nobody asks a model. */
export const decides = ({ settings }: Pick<Context, 'settings'>, session: Session): boolean =>
  settings.orchestrator === 'model' || !isOrchestrator(session);

/** Of those a run has saved, the plans that have not ended. */
export async function openPlans(tx: Tx, { plans = [] }: Session): Promise<Plan[]> {
  const open: Plan[] = [];
  for (const id of plans) {
    const plan = await tx.need('plan', id);
    if (['draft', 'active', 'paused'].includes(plan.state)) open.push(plan);
  }
  return open;
}

/** Its plan is its to wait for. */
export async function keepPlan(tx: Tx, owner: Session, plan: Plan): Promise<void> {
  if (owner.task === null) return;
  const row = await tx.need('session', owner.id);
  tx.put('session', { ...row, plans: [...(row.plans ?? []), plan.id] });
}
