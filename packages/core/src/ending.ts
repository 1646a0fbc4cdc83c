import type { RunEnd } from '@reveille/protocol';

/** How a run ends; what it left and when is added where it is settled. */
export type Ending = Omit<RunEnd, 'at' | 'work'>;

export const cancelled = (why: string): Ending => ({
  status: 'cancelled',
  cause: 'cancel',
  output: why,
  error: null,
});
