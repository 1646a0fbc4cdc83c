import { z } from 'zod';

/** What may be used, and what has been. Amounts that a backend does not report stay 0 and are shown as unknown. */
export const Amounts = z.object({
  tokens: z.number().nonnegative(),
  usd: z.number().nonnegative(),
  turns: z.number().int().nonnegative(),
  spawns: z.number().int().nonnegative(),
});
export type Amounts = z.infer<typeof Amounts>;

/** Some amounts; what is not named is nothing. */
export const AmountsInput = Amounts.partial().transform((amounts) => defined(amounts));

function defined(amounts: z.output<ReturnType<typeof Amounts.partial>>): Partial<Amounts> {
  return Object.fromEntries(Object.entries(amounts).filter(([, value]) => value !== undefined));
}

export const BudgetLimits = Amounts.extend({ wallMs: z.number().int().positive() }).partial();
export type BudgetLimits = z.infer<typeof BudgetLimits>;

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
});
export type Budget = z.infer<typeof Budget>;
