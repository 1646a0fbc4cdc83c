import type { BudgetLimits, RetryInput } from '@reveille/protocol';
import { store } from '../store/store.ts';
import type { Field, Option, Said } from './act.ts';

const options = (values: Iterable<string>): Option[] =>
  [...new Set(values)].toSorted().map((value) => ({ value, label: value }));

/** Those that are known here; the daemon knows more, and says so. */
const knownAgents = async (): Promise<Option[]> =>
  options([...store.rows.values()].map(({ agent }) => agent));

export const AGENT: Field<unknown> = {
  name: 'agent',
  label: 'Agent',
  hint: '[backend:]name',
  among: knownAgents,
};

export const REPOSITORY: Field<unknown> = {
  name: 'repository',
  label: 'Repository',
  hint: 'the folder it works on; none: it has no files',
  among: async () => options([...store.plans.values()].flatMap(({ repository }) => repository ?? [])),
};

/** Another agent, another model, or both. */
export const ANOTHER: readonly Field<unknown>[] = [
  AGENT,
  { name: 'model', label: 'Model', hint: 'as it is, or the one its backend takes' },
];

export const anotherIn = ({ agent = '', model = '' }: Said): RetryInput => ({
  ...(agent === '' ? {} : { agent }),
  ...(model === '' ? {} : { model }),
});

export const checkAnother = (said: Said): string | null =>
  Object.keys(anotherIn(said)).length === 0 ? 'Say which agent, which model, or both.' : null;

const LIMITS = {
  tokens: ['Tokens', '2000, 500k, 1.5m'],
  usd: ['Dollars', '2.50'],
  turns: ['Turns', ''],
  spawns: ['Subtasks', ''],
  minutes: ['Minutes, from its first run on', ''],
} as const;
type Limit = keyof typeof LIMITS;
const NAMES = Object.keys(LIMITS) as readonly Limit[];

const BUDGET: readonly Field<unknown>[] = NAMES.map((name) => ({
  name,
  label: LIMITS[name][0],
  hint: LIMITS[name][1] || 'as it is',
}));

const TIMES: Readonly<Record<string, number>> = { k: 1e3, m: 1e6 };

function amountOf(text: string): number | null {
  const [, digits, times = ''] = /^\$?(\d[\d_]*(?:\.\d+)?)([km]?)$/i.exec(text) ?? [];
  return digits === undefined ? null : Number(digits.replaceAll('_', '')) * (TIMES[times.toLowerCase()] ?? 1);
}

export function checkBudget(said: Said): string | null {
  const given = NAMES.filter((name) => (said[name] ?? '') !== '');
  if (given.length === 0) return 'Say how much of what.';
  const wrong = given.find((name) => amountOf(said[name] ?? '') === null);
  return wrong === undefined ? null : `“${said[wrong]}” is no amount: 2000, 500k, 1.5m.`;
}

export function budgetIn(said: Said): BudgetLimits {
  const limits: BudgetLimits = {};
  for (const name of NAMES) {
    const amount = amountOf(said[name] ?? '');
    if (amount === null) continue;
    if (name === 'minutes') limits.wallMs = Math.round(amount * 60_000);
    else limits[name] = amount;
  }
  return limits;
}

/** To change a budget is the same for a task and a plan, but for what is said afterwards. */
export const CHANGES_BUDGET = {
  label: 'Change its budget',
  rare: true,
  confirm: () =>
    'What stopped because of a limit goes on when that is raised. What is left empty stays as it is.',
  fields: BUDGET,
  check: checkBudget,
} as const;
