import { z } from 'zod';

/**
 * A committed fact with a number. Numbers have no gaps and grow in the order of the commits. `data` holds
 * only small values: whoever wants the record reads it by its id.
 */
export const ReveilleEvent = z.object({
  number: z.number().int(),
  at: z.number(),
  type: z.string(),
  plan: z.string().optional(),
  task: z.string().optional(),
  run: z.string().optional(),
  session: z.string().optional(),
  messages: z.array(z.string()).optional(),
  request: z.string().optional(),
  data: z.record(z.string(), z.unknown()).optional(),
});
export type ReveilleEvent = z.infer<typeof ReveilleEvent>;

/** A fact before its commit gave it a number and a time. */
export type Fact = Omit<ReveilleEvent, 'number' | 'at'>;
