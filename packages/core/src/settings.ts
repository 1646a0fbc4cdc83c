/** What can be set about decisions. One frozen object, made by whoever composes the engine. */
export interface Settings {
  readonly defaultBackend: string;
  readonly defaultAgent: string;
  readonly depth: { readonly orchestrator: number; readonly standalone: number };
  readonly children: {
    readonly total: number;
    readonly open: number;
    readonly perMinute: number;
    /** Tasks in the plans of one orchestrator, in all. Storing a plan keeps everybody else waiting. */
    readonly planned: number;
  };
  /** Turns that may be executing at once on this host before new work is admitted. */
  readonly concurrency: number;
  readonly maxUpdates: number;
  readonly sweepEveryMs: number;
  readonly health: {
    readonly inactiveAfterMs: number;
    readonly graceMs: number;
    readonly inquiryTimeoutMs: number;
    readonly stuckAfterMs: number;
    readonly progressEveryMs: number;
    readonly sameCalls: number;
    readonly fruitlessCalls: number;
    readonly errorStreak: number;
  };
  readonly budgets: {
    /** Where money is limited and nobody knows the price: count an estimate, count nothing, or end the run. */
    readonly unpriced: 'estimate' | 'allow' | 'stop';
    /** Tokens that one call counts as, as long as its backend does not say what it used. */
    readonly callTokens: number;
    /** Dollars that a million tokens of unknown price count as. */
    readonly usdPerMillion: number;
  };
  readonly requests: {
    readonly passOnAfterMs: number;
    readonly expireAfterMs: number | null;
    /** Requests of one run that may be open at once (BND7). */
    readonly openPerRun: number;
  };
  /** How often an agent may look at the same work, unless its task says; then the person decides (PLN8). */
  readonly review: { readonly rounds: number };
  /** What happens to running children when their parent ends for good (MBX6). */
  readonly orphans: 'cancel' | 'hand_up';
  /** Who decides what comes up in a plan that an orchestrator made: its model, or nobody but the person (ORC1). */
  readonly orchestrator: 'model' | 'policy';
  /** A call that its client would give up on answers "running, you will be woken" before that (SUB2). */
  readonly patienceMs: number;
  /** Give mail to a busy agent between two calls where its backend can take it, or only after the turn (WAK1). */
  readonly steer: boolean;
}

export const DEFAULTS: Settings = Object.freeze({
  defaultBackend: 'scripted',
  defaultAgent: 'agent',
  depth: { orchestrator: 2, standalone: 1 },
  children: { total: 100, open: 20, perMinute: 60, planned: 500 },
  concurrency: 16,
  maxUpdates: 100,
  sweepEveryMs: 5_000,
  health: {
    inactiveAfterMs: 30_000,
    graceMs: 5_000,
    inquiryTimeoutMs: 60_000,
    stuckAfterMs: 300_000,
    progressEveryMs: 300_000,
    sameCalls: 5,
    fruitlessCalls: 30,
    errorStreak: 5,
  },
  budgets: { unpriced: 'estimate' as const, callTokens: 20_000, usdPerMillion: 5 },
  requests: { passOnAfterMs: 300_000, expireAfterMs: null, openPerRun: 10 },
  review: { rounds: 3 },
  orphans: 'cancel',
  orchestrator: 'model',
  patienceMs: 50_000,
  steer: true,
});
