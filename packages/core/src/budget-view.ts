import {
  ReveilleError,
  isId,
  type Budget,
  type BudgetView,
  type PlanId,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { storedChain } from './budget-notes.ts';
import type { Store } from './ports/store.ts';

/** A budget with everything above it, and what was used by whom below it. */
export async function viewBudget(store: Store, node: PlanId | TaskId): Promise<BudgetView> {
  const plan = isId('plan', node);
  const own = plan ? await store.get('plan', node) : await store.get('task', node);
  if (!own) throw new ReveilleError('not_found', `There is no ${plan ? 'plan' : 'task'} ${node}.`);
  const tasks = await tasksOf(store, node);
  const first = tasks.find(({ id }) => id === node) ?? tasks[0];
  const start = (await store.get('budget', node)) ? node : plan ? null : (first?.budget ?? null);
  const chain = await storedChain(store, start);
  const below: Budget[] = [];
  const used: BudgetView['tasks'][number][] = [];
  for (const task of tasks) {
    const budget = task.id === node ? undefined : await store.get('budget', task.id);
    if (budget) below.push(budget.doc);
    used.push(await usedBy(store, task));
  }
  await store.barrier();
  return { chain, below, tasks: used };
}

async function tasksOf(store: Store, node: PlanId | TaskId): Promise<Task[]> {
  const roots = isId('plan', node)
    ? await store.find('task', { list: 'byPlan', equal: [node] })
    : [await store.get('task', node)];
  const found = roots.flatMap((row) => (row ? [row.doc] : []));
  // It grows while it is walked: what is found below comes next.
  for (const task of found)
    for (const { doc } of await store.find('task', { list: 'byOwner', equal: [task.session] }))
      found.push(doc);
  return found;
}

async function usedBy(store: Store, task: Task): Promise<BudgetView['tasks'][number]> {
  const ids = new Set([task.run, task.lastRun].filter((id) => id !== null));
  const sum = {
    tokens: 0,
    usd: 0,
    turns: 0,
    unpriced: { tokens: 0, calls: 0 },
    estimated: { tokens: 0, usd: 0 },
  };
  for (const id of ids) {
    const run = (await store.get('run', id))?.doc;
    if (!run) continue;
    sum.tokens += run.used.tokens;
    sum.usd += run.used.usd;
    sum.turns += run.turns;
    sum.unpriced.tokens += run.used.unpriced?.tokens ?? 0;
    sum.unpriced.calls += run.used.unpriced?.calls ?? 0;
    sum.estimated.tokens += run.used.estimated?.tokens ?? 0;
    sum.estimated.usd += run.used.estimated?.usd ?? 0;
  }
  return { id: task.id, name: task.name, state: task.state, ...sum };
}
