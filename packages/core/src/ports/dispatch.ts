/**
 * Who works on what. Core says, inside the change that makes it so, that a task needs a host (an offer in a
 * `Change`) or no longer does (a drop); hosts claim offers, renew what they hold, and give back what they
 * cannot serve. A claim that is not renewed is offered again. Nothing outside an implementation knows
 * whether this is a table of leases or a job queue.
 *
 * Fencing is not done here: whoever claims raises the epoch of the run in core's own rows, and every later
 * write about the run is guarded by that.
 */
export interface Dispatch {
  /** Takes up to `max` offers that are due, lowest rank first, then oldest. */
  claim(request: { host: string; max: number; maxRank?: number }): Promise<Claim[]>;
  /** Extends what this host holds; answers with what it no longer holds. */
  renew(request: { host: string; tasks: readonly string[] }): Promise<string[]>;
  /** The task needs a host again, not before `delayMs` from now. */
  giveBack(request: { host: string; task: string; delayMs: number }): Promise<void>;
  /** At start: whatever an earlier life of this host held is offered again at once. */
  reclaim(host: string): Promise<number>;
  /** Milliseconds until the next offer or expired lease becomes claimable; null if there is none. */
  nextDueIn(): Promise<number | null>;
  /** Called when an offer was committed, here or on another host. */
  onOffer(listener: () => void): () => void;
}

/** Rank 0 goes on with a run that was waiting; 1 is a subtask; 2 and up are plan tasks by priority. */
export interface Offer {
  readonly task: string;
  readonly rank: number;
  readonly delayMs: number;
}

export interface Claim {
  readonly task: string;
  readonly rank: number;
}

export const LEASE = { lastsMs: 15_000, renewEveryMs: 5_000 } as const;
