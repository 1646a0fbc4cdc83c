export interface PoolSettings {
  /** For all servers of all trees together. */
  readonly budgetBytes: number;
  /** A server that nobody asks for so long is ended. */
  readonly idleMs: number;
  /** Servers that load their project at once. */
  readonly coldStarts: number;
  /** A server that does not begin within this time, or does not answer for so long later, hangs. */
  readonly startMs: number;
  readonly hangMs: number;
  /** After so many failures in a row a server is left alone for this time. */
  readonly restMs: number;
  /** With more than this share of the budget in use, servers are made to forget projects. */
  readonly pressShare: number;
  /** Not more often: what a server has forgotten it gives back when it next collects, and until then its size is no news. */
  readonly reliefMs: number;
  /** How often memory is measured. */
  readonly watchMs: number;
}

export interface PoolFigures {
  readonly servers: number;
  readonly bytes: number;
  readonly highest: number;
  readonly started: number;
  readonly evicted: number;
  readonly failed: number;
  /** The first process of each server. */
  readonly pids: readonly number[];
}
