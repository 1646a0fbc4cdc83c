import { z } from 'zod';

/** No amount is larger: what is, is a slip of the hand. */
const MOST = { tokens: 1e12, usd: 1e7, turns: 1e6, spawns: 1e6, wallMs: 10 * 365 * 86_400_000 } as const;

/** What may be used, and what has been. Of money only what is known: see `Unpriced`. */
export const Amounts = z.object({
  tokens: z.number().nonnegative().max(MOST.tokens),
  usd: z.number().nonnegative().max(MOST.usd),
  turns: z.number().int().nonnegative().max(MOST.turns),
  spawns: z.number().int().nonnegative().max(MOST.spawns),
});
export type Amounts = z.infer<typeof Amounts>;

/** Some amounts; what is not named is nothing. */
export const AmountsInput = Amounts.partial().transform((amounts) => defined(amounts));

function defined(amounts: z.output<ReturnType<typeof Amounts.partial>>): Partial<Amounts> {
  return Object.fromEntries(Object.entries(amounts).filter(([, value]) => value !== undefined));
}

export const BudgetLimits = Amounts.extend({
  wallMs: z.number().int().positive().max(MOST.wallMs),
}).partial();
export type BudgetLimits = z.infer<typeof BudgetLimits>;

/** What was used and nobody knows the price of: it is in no sum of money (EXE5). */
export const Unpriced = z.object({ tokens: z.number(), calls: z.number().int() });
export type Unpriced = z.infer<typeof Unpriced>;

/**
 * A node of the budget tree: a plan or a task. What a descendant uses or reserves counts here too, so
 * that a child can only use what its parent still has (LIM1).
 */
export const Budget = z.object({
  id: z.string(),
  parent: z.string().nullable(),
  limits: BudgetLimits,
  used: Amounts,
  reserved: z.record(z.string(), Amounts.partial()),
  unpriced: Unpriced.optional(),
  /** When the first run under it began: its wall time counts from then. */
  since: z.number().optional(),
});
export type Budget = z.infer<typeof Budget>;

/** Which budget a run ran into: `total` would have been, or has been, used of `limit`. */
export const Short = z.object({
  node: z.string(),
  key: z.enum(['tokens', 'usd', 'turns', 'spawns', 'wallMs', 'unpriced']),
  total: z.number(),
  limit: z.number(),
  /** It happened before anybody could stop it. */
  over: z.boolean(),
});
export type Short = z.infer<typeof Short>;

/** A budget, as a person is shown it: the node with everything above it, and what has one below. */
export interface BudgetView {
  /** From the node up to the root; empty: nothing limits it. */
  readonly chain: readonly Budget[];
  readonly below: readonly Budget[];
  /** What the tasks there have used themselves, in all their runs that are on record. */
  readonly tasks: readonly {
    readonly id: string;
    readonly name: string;
    readonly state: string;
    readonly tokens: number;
    readonly usd: number;
    readonly turns: number;
    readonly unpriced: Unpriced;
  }[];
}
