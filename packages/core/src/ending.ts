import type { RunEnd } from '@reveille/protocol';

/** How a run ends; what it left and when is added where it is settled. */
export type Ending = Omit<RunEnd, 'at' | 'work'>;

/** Ended in order, with what it has, because it may use no more. */
export const outOfBudget = (output: string, message: string): Ending => ({
  status: 'partial',
  cause: 'budget',
  output,
  error: { class: 'budget', message },
});

/**
 * Whether a run ended for want of something that only a person can give: budget, or a login. Tried again, the task goes on in
 * the same checkout, and where its agent can, in the same session.
 */
export const wantsPerson = ({ cause, error }: RunEnd): boolean =>
  cause === 'budget' || error?.class === 'auth';

export const cancelled = (why: string): Ending => ({
  status: 'cancelled',
  cause: 'cancel',
  output: why,
  error: null,
});
