import { z } from 'zod';

/** What is needed to go on with an agent's session: its id, and what it had used when that was last known. */
export const ResumeToken = z.object({
  session: z.string().min(1),
  tokens: z.number().nonnegative(),
  usd: z.number().nonnegative(),
  /** Tokens that its messages have named since. */
  told: z.number().nonnegative().default(0),
});
export type ResumeToken = z.infer<typeof ResumeToken>;

export const writeToken = (token: ResumeToken): string => JSON.stringify(token);

/** Null: there is none, or none that could be read; the agent begins anew. */
export function readToken(text: string | null): ResumeToken | null {
  if (text === null) return null;
  try {
    return ResumeToken.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
