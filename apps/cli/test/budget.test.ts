import type { BudgetView } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { budgetLines, limitsOf, parseBudget } from '../src/budget-words.ts';
import { cost } from '../src/view/words.ts';

test('[LIM1.30] a budget is written as people count: thousands, dollars, minutes', () => {
  expect(parseBudget('tokens=500k, usd=$2.50,turns=20,spawns=1_000,minutes=1.5', 'spawn')).toEqual({
    tokens: 500_000,
    usd: 2.5,
    turns: 20,
    spawns: 1_000,
    wallMs: 90_000,
  });
  expect(limitsOf({ tokens: '1.5M', usd: undefined }, 'budget')).toEqual({ tokens: 1_500_000 });
  // What can be counted and cannot be, the engine refuses.
  expect(limitsOf({ tokens: '-5' }, 'budget')).toEqual({ tokens: -5 });
});

test.each(['tokens', 'tokens=', 'token=5', 'tokens=5=6', 'tokens=many', 'usd=1e9', 'tokens=5,tokens=6', ''])(
  '[LIM1.30] what is no budget is refused with what is: %s',
  (text) => {
    expect(() => parseBudget(text, 'spawn')).toThrow(/--budget|no amount/);
  },
);

test('[LIM1.30] what was used is shown by node and by task, with what is over and what has no price', () => {
  const used = { tokens: 130, usd: 0.5, turns: 3, spawns: 0 };
  const view: BudgetView = {
    chain: [
      {
        id: 'plan_1',
        parent: null,
        limits: { tokens: 100, usd: 2, wallMs: 60_000 },
        used,
        reserved: { 'run_1/1-2': { tokens: 40, usd: 0.25 }, 'run_2/1-1': { tokens: 2 } },
        estimated: { tokens: 30, usd: 0 },
        unpriced: { tokens: 30, calls: 2 },
        since: 1_000,
      },
    ],
    below: [],
    tasks: [
      {
        id: 'task_1',
        name: 'a',
        state: 'failed',
        tokens: 130,
        usd: 0.5,
        turns: 3,
        unpriced: { tokens: 30, calls: 2 },
        estimated: { tokens: 30, usd: 0 },
      },
    ],
  };
  expect(budgetLines(view, 31_000)).toEqual([
    'plan_1',
    '  tokens   130 of 100, 30 over, 30 of it estimated, 42 set aside',
    '  usd      $0.50 of $2.00, $0.25 set aside',
    '  time     30.0 s of 1m 00s',
    '  unknown  30 tokens in 2 calls have no price',
    'Used, by task (its last two runs):',
    '  task_1  a (failed): $0.50, ≈130 tokens (30 of unknown price), 3 turns',
  ]);
  expect(budgetLines({ chain: [], below: [], tasks: [] }, 0)).toEqual(['Nothing limits it.']);
  expect(cost({ tokens: 10, usd: 0 })).toBe('10 tokens');
  expect(cost({ tokens: 10, usd: 1, estimated: { tokens: 0, usd: 1 } })).toBe('≈$1.00, 10 tokens');
});
