import { z } from 'zod';

/**
 * What is needed to go on with a session: its id, and the dollars that it is counted with so far. An agent names the cost of
 * its whole session in every later life too.
 */
const ResumeToken = z.object({ session: z.string().min(1), usd: z.number().nonnegative() });
export type ResumeToken = z.infer<typeof ResumeToken>;

/** A session without a cost is its id alone. */
export const writeToken = ({ session, usd }: ResumeToken): string =>
  usd > 0 ? JSON.stringify({ session, usd }) : session;

export function readToken(text: string | null): ResumeToken | null {
  if (text === null) return null;
  try {
    return ResumeToken.parse(JSON.parse(text));
  } catch {
    return { session: text, usd: 0 };
  }
}
