import {
  LIMIT_NAMES,
  limitsIn,
  type Amounts,
  type Budget,
  type BudgetLimits,
  type BudgetView,
  type LimitWord,
} from '@reveille/protocol';
import { UsageError } from './usage.ts';
import { cost, duration, plural } from './view/words.ts';

/** `tokens=500k,usd=2.50,minutes=30` */
export function parseBudget(text: string, command: string): BudgetLimits {
  const pairs = text.split(',').map((part) => {
    const [name = '', value = '', more] = part.split('=');
    if (value.trim() === '' || more !== undefined) throw wrongBudget(text, command);
    return [name, value] as const;
  });
  return limitsFrom(pairs, text, command);
}

/** Limits as options give them. Which of them can be, the engine says. */
export function limitsOf(
  given: Partial<Record<LimitWord, string | undefined>>,
  command: string,
): BudgetLimits {
  const pairs = LIMIT_NAMES.flatMap((word) =>
    given[word] === undefined ? [] : [[word, given[word]] as const],
  );
  return limitsFrom(pairs, '', command);
}

function limitsFrom(
  pairs: readonly (readonly [string, string])[],
  text: string,
  command: string,
): BudgetLimits {
  const found = limitsIn(pairs);
  if ('limits' in found) return found.limits;
  if (found.why === 'word') throw wrongBudget(text, command);
  if (found.why === 'twice') throw new UsageError(`--budget says ${found.wrong.trim()} twice.`, command);
  throw new UsageError(`"${found.wrong.slice(0, 40)}" is no amount: 2000, 500k, 1.5m.`, command);
}

const wrongBudget = (text: string, command: string): UsageError =>
  new UsageError(
    `--budget takes tokens=500k,usd=2.50,turns=20,spawns=5,minutes=30, not "${text.slice(0, 60)}".`,
    command,
  );

/** What was used of what, by node and by task. */
export function budgetLines({ chain, below, tasks }: BudgetView, now: number): string[] {
  const nodes = [...chain, ...below].flatMap((node) => [node.id, ...nodeLines(node, now)]);
  const used = tasks.map(({ id, name, state, turns, ...amounts }) => {
    const words = cost(amounts) || 'nothing yet';
    return `  ${id}  ${name} (${state}): ${words}, ${plural(turns, 'turn')}`;
  });
  return [
    ...(nodes.length > 0 ? nodes : ['Nothing limits it.']),
    ...(used.length > 0 ? ['Used, by task (its last two runs):', ...used] : []),
  ];
}

function nodeLines(node: Budget, now: number): string[] {
  const { limits, unpriced, since } = node;
  const amounts = (['tokens', 'usd', 'turns', 'spawns'] as const).flatMap((key) => amountLine(node, key));
  const time =
    limits.wallMs === undefined
      ? []
      : [`  time     ${duration(since === undefined ? 0 : now - since)} of ${duration(limits.wallMs)}`];
  const unknown = unpriced
    ? [`  unknown  ${unpriced.tokens} tokens in ${plural(unpriced.calls, 'call')} have no price`]
    : [];
  return [...amounts, ...time, ...unknown];
}

/** What was used of a limit, with the part of it that is an estimate, and what calls in progress have set aside. */
function amountLine({ limits, used, estimated, reserved }: Budget, key: keyof Amounts): string[] {
  const limit = limits[key];
  if (limit === undefined) return [];
  const shown = (value: number): string =>
    key === 'usd' ? `$${value.toFixed(2)}` : String(Math.round(value));
  const guess = key === 'tokens' || key === 'usd' ? (estimated?.[key] ?? 0) : 0;
  const aside = Object.values(reserved).reduce((sum, amounts) => sum + (amounts[key] ?? 0), 0);
  const notes = [
    ...(used[key] > limit ? [`${shown(used[key] - limit)} over`] : []),
    ...(guess > 0 ? [`${shown(guess)} of it estimated`] : []),
    ...(aside > 0 ? [`${shown(aside)} set aside`] : []),
  ];
  return [`  ${key.padEnd(8)} ${[`${shown(used[key])} of ${shown(limit)}`, ...notes].join(', ')}`];
}
