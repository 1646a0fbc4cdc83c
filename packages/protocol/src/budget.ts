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

export const BudgetLimits = Amounts.extend({
  wallMs: z.number().int().positive().max(MOST.wallMs),
}).partial();
export type BudgetLimits = z.infer<typeof BudgetLimits>;

/** What was used and nobody knows the price of: it is in no sum of money (EXE5). */
export const Unpriced = z.object({ tokens: z.number(), calls: z.number().int() });
export type Unpriced = z.infer<typeof Unpriced>;

/** The part of what counts as used that nobody reported: an estimate, and shown as one (LIM1). */
export const Estimated = z.object({ tokens: z.number(), usd: z.number() });
export type Estimated = z.infer<typeof Estimated>;

/**
 * Estimates of the open turn, until the final report of that turn takes their place: `told` are amounts that the backend
 * named in the middle of the turn, `guessed` are calls it said nothing about. `unknown`: tokens in `told` without a price.
 */
export const OpenUse = z.object({ told: Estimated, guessed: Estimated, unknown: z.number() });
export type OpenUse = z.infer<typeof OpenUse>;

/** What one run has used. `estimated` and `open` are parts of the sums. */
export const Used = z.object({
  tokens: z.number(),
  usd: z.number(),
  unpriced: Unpriced.optional(),
  estimated: Estimated.optional(),
  open: OpenUse.optional(),
});
export type Used = z.infer<typeof Used>;

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
  estimated: Estimated.optional(),
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
  /** How much of `total` is an estimate; absent: nothing. */
  estimated: z.number().optional(),
});
export type Short = z.infer<typeof Short>;

/** One limit that has to be raised before a run can go on, and what the choice "raise" sets it to. */
export const Raise = z.object({
  node: z.string(),
  key: z.enum(['tokens', 'usd', 'turns', 'spawns', 'wallMs']),
  to: z.number(),
});
export type Raise = z.infer<typeof Raise>;

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
    readonly estimated: Estimated;
  }[];
}
