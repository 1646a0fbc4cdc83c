import { PlanTaskInput, type ParsedPlanInput, type Plan, type Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import { INTEGRATOR } from './integrator.ts';
import type { CheckedPlan } from './plan-rules.ts';
import { moveTask } from './task-table.ts';
import type { Tx } from './tx.ts';

const PROMPT =
  'Merge the branches of the plan, in the order of their dependencies, into one, and check each step.';

/** The plan as it was checked, with its integration, if there is a repository to integrate in and somebody to do it. */
export function withIntegration(
  context: Context,
  checked: CheckedPlan,
  repository: string | null,
): { checked: CheckedPlan; integration: string | null } {
  const { plan, agents } = checked;
  if (repository === null || !plan.integrate || !context.executors.get(INTEGRATOR.backend))
    return { checked, integration: null };
  const needed = new Set(plan.tasks.flatMap((task) => task.dependencies));
  const last = plan.tasks.filter((task) => !needed.has(task.id)).map((task) => task.id);
  const task = integrationInput(nameFor(plan), last);
  return {
    checked: { ...checked, plan: { ...plan, tasks: [...plan.tasks, task] }, agents: [...agents, INTEGRATOR] },
    integration: task.id,
  };
}

export const integrationInput = (id: string, dependencies: readonly string[]): PlanTaskInput =>
  PlanTaskInput.parse({ id, prompt: PROMPT, dependencies });

/** Authors may call a task of theirs so. */
function nameFor(plan: ParsedPlanInput): string {
  const taken = new Set(plan.tasks.map((task) => task.id));
  for (let n = 1; ; n++) {
    const name = n === 1 ? 'integration' : `integration-${n}`;
    if (!taken.has(name)) return name;
  }
}

/** Whether one can only start when the other has completed, however far down. */
async function dependsOn(tx: Tx, task: Task, other: Task): Promise<boolean> {
  const seen = new Set(task.dependencies);
  for (const id of seen) {
    if (id === other.id) return true;
    for (const above of (await tx.need('task', id)).dependencies) seen.add(above);
  }
  return false;
}

/** A task was added: the integration waits for it too, if it has not begun or is what it waits for. False: it needs a new one. */
export async function integrateAlso(tx: Tx, plan: Plan, added: Task): Promise<boolean> {
  const integration = plan.integration ? await tx.need('task', plan.integration) : null;
  if (!integration) return true;
  if (integration.state !== 'pending' && integration.state !== 'blocked') return false;
  if (await dependsOn(tx, added, integration)) return false;
  const bad = added.state === 'blocked';
  tx.put('task', { ...added, dependents: [...added.dependents, integration.id] });
  const next = {
    ...integration,
    dependencies: [...integration.dependencies, added.id],
    openDependencies: integration.openDependencies + 1,
    badDependencies: integration.badDependencies + (bad ? 1 : 0),
  };
  tx.put('task', next);
  if (bad && next.state === 'pending') moveTask(tx, next, 'blocked', { why: `"${added.name}" is blocked` });
  return true;
}
