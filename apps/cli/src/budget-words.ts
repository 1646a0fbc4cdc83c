import type { Budget, BudgetLimits, BudgetView } from '@reveille/protocol';
import { UsageError } from './usage.ts';
import { cost, duration } from './view/words.ts';

/** What a person writes, and what it is called in a budget. A minute is what people count by. */
const WORDS = { tokens: 'tokens', usd: 'usd', turns: 'turns', spawns: 'spawns', minutes: 'wallMs' } as const;
type Word = keyof typeof WORDS;
const NAMES = Object.keys(WORDS) as Word[];

/** `tokens=500k,usd=2.50,minutes=30` */
export function parseBudget(text: string, command: string): BudgetLimits {
  const pairs = text.split(',').map((part) => part.split('='));
  const given: Partial<Record<Word, string>> = {};
  for (const [name = '', value = '', more] of pairs) {
    const word = NAMES.find((each) => each === name.trim());
    if (!word || value.trim() === '' || more !== undefined)
      throw new UsageError(
        `--budget takes tokens=500k,usd=2.50,turns=20,spawns=5,minutes=30, not "${text.slice(0, 60)}".`,
        command,
      );
    if (given[word] !== undefined) throw new UsageError(`--budget says ${word} twice.`, command);
    given[word] = value;
  }
  return limitsOf(given, command);
}

/** Limits as options give them. Which of them can be, the engine says. */
export function limitsOf(given: Partial<Record<Word, string | undefined>>, command: string): BudgetLimits {
  const limits: BudgetLimits = {};
  for (const word of NAMES) {
    const text = given[word];
    if (text !== undefined) limits[WORDS[word]] = amount(word, text, command);
  }
  return limits;
}

const TIMES: Readonly<Record<string, number>> = { k: 1e3, m: 1e6 };

function amount(word: Word, text: string, command: string): number {
  const match = /^(-?\d[\d_]*(?:\.\d+)?)([km]?)$/i.exec(text.trim().replace(/^\$/, ''));
  if (!match)
    throw new UsageError(`"${text.slice(0, 40)}" is no amount of ${word}: 2000, 500k, 1.5m.`, command);
  const value = Number((match[1] ?? '').replaceAll('_', '')) * (TIMES[(match[2] ?? '').toLowerCase()] ?? 1);
  return word === 'minutes' ? Math.round(value * 60_000) : value;
}

/** What was used of what, by node and by task. */
export function budgetLines({ chain, below, tasks }: BudgetView, now: number): string[] {
  const nodes = [...chain, ...below].flatMap((node) => [node.id, ...nodeLines(node, now)]);
  const used = tasks.map(({ id, name, state, tokens, usd, turns, unpriced }) => {
    const words = cost({ tokens, usd, unpriced }) || 'nothing yet';
    return `  ${id}  ${name} (${state}): ${words}, ${turns} turns`;
  });
  return [
    ...(nodes.length > 0 ? nodes : ['Nothing limits it.']),
    ...(used.length > 0 ? ['Used, by task (its last two runs):', ...used] : []),
  ];
}

function nodeLines({ limits, used, unpriced, since }: Budget, now: number): string[] {
  const amounts = (['tokens', 'usd', 'turns', 'spawns'] as const).flatMap((key) => {
    const limit = limits[key];
    if (limit === undefined) return [];
    const shown = (value: number): string => (key === 'usd' ? `$${value.toFixed(2)}` : String(value));
    const over = used[key] > limit ? `, ${shown(used[key] - limit)} over` : '';
    return [`  ${key.padEnd(8)} ${shown(used[key])} of ${shown(limit)}${over}`];
  });
  const time =
    limits.wallMs === undefined
      ? []
      : [`  time     ${duration(since === undefined ? 0 : now - since)} of ${duration(limits.wallMs)}`];
  const unknown = unpriced
    ? [`  unknown  ${unpriced.tokens} tokens in ${unpriced.calls} calls have no price`]
    : [];
  return [...amounts, ...time, ...unknown];
}
