import type { BudgetLimits, Raise } from './budget.ts';

/** What a person writes, and the limit it names. People count time in minutes. */
const LIMIT_WORDS = {
  tokens: 'tokens',
  usd: 'usd',
  turns: 'turns',
  spawns: 'spawns',
  minutes: 'wallMs',
} as const;
export type LimitWord = keyof typeof LIMIT_WORDS;
export const LIMIT_NAMES = Object.keys(LIMIT_WORDS) as readonly LimitWord[];

const TIMES: Readonly<Record<string, number>> = { k: 1e3, m: 1e6 };

/** `2000`, `500k`, `1.5m`, `$2.50`; null: the text is no amount. */
function amountIn(text: string): number | null {
  const [, digits, times = ''] = /^\$?(-?\d[\d_]*(?:\.\d+)?)([km]?)$/i.exec(text.trim()) ?? [];
  return digits === undefined ? null : Number(digits.replaceAll('_', '')) * (TIMES[times.toLowerCase()] ?? 1);
}

/** The limits that the words name, or the first word that names none. Whether they can be set, the engine says. */
export function limitsIn(
  given: Iterable<readonly [word: string, amount: string]>,
): { readonly limits: BudgetLimits } | { readonly wrong: string; readonly why: 'word' | 'amount' | 'twice' } {
  const limits: BudgetLimits = {};
  for (const [name, text] of given) {
    const word = LIMIT_NAMES.find((each) => each === name.trim().toLowerCase());
    if (word === undefined) return { wrong: name, why: 'word' };
    const amount = amountIn(text);
    if (amount === null) return { wrong: `${name}=${text}`, why: 'amount' };
    if (limits[LIMIT_WORDS[word]] !== undefined) return { wrong: name, why: 'twice' };
    limits[LIMIT_WORDS[word]] = word === 'minutes' ? Math.round(amount * 60_000) : amount;
  }
  return { limits };
}

const NAMES = {
  tokens: 'tokens',
  usd: 'money',
  turns: 'turns',
  spawns: 'spawns',
  wallMs: 'wall time',
} as const;

/** What a limit is called in a sentence. */
export const limitName = (key: Raise['key']): string => NAMES[key];

/** An amount of a limit as people count: dollars, minutes, plain numbers. */
export function limitAmount(key: Raise['key'], amount: number): string {
  if (key === 'usd') return `$${Number(amount.toFixed(4))}`;
  if (key !== 'wallMs') return String(Number(amount.toFixed(2)));
  const seconds = amount / 1_000;
  return seconds < 60 ? `${Number(seconds.toFixed(1))} s` : `${Number((seconds / 60).toFixed(1))} min`;
}
