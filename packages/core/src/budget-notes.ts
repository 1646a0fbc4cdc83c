import { isTerminal, type Budget, type Run, type Task, type TaskView } from '@reveille/protocol';
import { overrunWords } from './budget.ts';
import type { Context } from './context.ts';
import type { Capabilities } from './ports/executor.ts';
import type { Store } from './ports/store.ts';
import type { Settings } from './settings.ts';

/** The budget of a task and everything above it, as the store has it. */
export async function storedChain(store: Store, id: string | null): Promise<Budget[]> {
  const chain: Budget[] = [];
  for (let next = id; next !== null;) {
    const row: { readonly doc: Budget } | undefined = await store.get('budget', next);
    if (!row) break;
    chain.push(row.doc);
    next = row.doc.parent;
  }
  return chain;
}

/** What a person is told of the budget of a task: what its limits cannot do, and which of them are overrun (LIM1). */
export async function budgetNotes(
  { store, executors, settings }: Pick<Context, 'store' | 'executors' | 'settings'>,
  task: Task,
  run: Run | null,
): Promise<Pick<TaskView, 'warning' | 'overrun'>> {
  if (task.budget === null) return {};
  const chain = await storedChain(store, task.budget);
  const warning = isTerminal(task.state) ? null : limitWarning({ executors, settings }, task, chain);
  const overrun = run ? overrunWords(chain, task.id) : null;
  return { ...(warning === null ? {} : { warning }), ...(overrun === null ? {} : { overrun }) };
}

/** What limits of tokens and money cannot do on the backend of a task. Null: they hold there as they are. */
export function limitWarning(
  { executors, settings }: Pick<Context, 'executors' | 'settings'>,
  { agent: { backend } }: Pick<Task, 'agent'>,
  chain: readonly Budget[],
): string | null {
  const isLimited = (key: 'tokens' | 'usd'): boolean => chain.some(({ limits }) => limits[key] !== undefined);
  const can = executors.get(backend)?.capabilities;
  if (can?.reports === undefined || !(isLimited('tokens') || isLimited('usd'))) return null;
  const words = [
    ...(can.reports === 'request' ? [] : [estimateWords(backend, can, settings)]),
    ...(isLimited('usd') && !can.cost ? [priceWords(backend, settings)] : []),
  ];
  return words.length === 0 ? null : words.join(' ');
}

function estimateWords(backend: string, { reports, usage }: Capabilities, { budgets }: Settings): string {
  const when =
    reports === 'unknown'
      ? `Nobody knows when ${backend} says what it used`
      : `${backend} says what it used only when a turn ends${usage ? '' : ', and then of its last request alone'}`;
  return `${when}: its limit cannot be exact there. Each call counts as an estimated ${budgets.callTokens} tokens (engine.budgets.callTokens) until it says more, and the run is stopped when the estimate passes the limit.`;
}

function priceWords(backend: string, { budgets }: Settings): string {
  const how = {
    estimate: `money counts as an estimate of $${budgets.usdPerMillion} for a million tokens (engine.budgets.usdPerMillion)`,
    allow: 'money is not counted, and its limit stops nothing (engine.budgets.unpriced)',
    stop: `the run is stopped at the end of the turn (engine.budgets.unpriced), or before that at an estimate of $${budgets.usdPerMillion} for a million tokens`,
  }[budgets.unpriced];
  return `${backend} does not say what it costs: where the price of its model is not known (prices), ${how}.`;
}
