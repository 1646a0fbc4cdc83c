import { BudgetLimits, ReveilleError, type Budget } from '@reveille/protocol';
import type { Tx } from './tx.ts';

const KEYS = ['tokens', 'usd', 'turns', 'spawns'] as const;

/**
 * Raises what is used up, from a task's budget up the tree: to what is said (`tokens=200000 usd=5`) at its nearest node,
 * or to twice as much, and in any case beyond what was used already.
 */
export async function raise(tx: Tx, id: string | null, words: string): Promise<void> {
  const wanted = limitsIn(words);
  let nearest = true;
  for (let next = id; next !== null;) {
    const node: Budget = await tx.need('budget', next);
    const limits = { ...node.limits };
    for (const key of KEYS) {
      const limit = limits[key];
      if (limit !== undefined && node.used[key] >= limit)
        limits[key] = Math.max(limit * 2, node.used[key] * 2);
    }
    if (limits.wallMs !== undefined) limits.wallMs *= 2;
    tx.put('budget', { ...node, limits: nearest ? { ...limits, ...wanted } : limits });
    nearest = false;
    next = node.parent;
  }
}

function limitsIn(words: string): BudgetLimits {
  if (words.trim() === '') return {};
  const pairs = words.split(/[\s,]+/).flatMap((word) => {
    const [key = '', value = ''] = word.split('=');
    return word === '' ? [] : [[key, Number(value)] as const];
  });
  const parsed = BudgetLimits.strict().safeParse(Object.fromEntries(pairs));
  if (parsed.success) return parsed.data;
  throw new ReveilleError(
    'invalid_input',
    `"${words.slice(0, 80)}" is no budget: write nothing, or tokens=200000 usd=5.`,
  );
}
