/** What a host has left, as of the last look at it. */
export interface Free {
  readonly memoryBytes: number;
  /** How many processes wanted a core, on average, and how many cores there are. */
  readonly load: number;
  readonly cores: number;
  /** Where worktrees and records are; null: nobody can say. */
  readonly diskBytes: number | null;
}

/** What an agent and everything beneath it uses, as of the last look. */
export interface Used {
  readonly rssBytes: number;
  /** The most it was ever seen with. */
  readonly peakBytes: number;
  readonly cpuMs: number;
}

/** Looks at the host now and then. Core only reads what was seen last, and is told when somebody has looked again. */
export interface HostGauge {
  /** Null: nobody has looked yet, and then nothing counts as scarce. */
  free(): Free | null;
  /** Of an agent, by the identity its executor gave it; null: it has no process of its own, or nobody has looked yet. */
  used(identity: string): Used | null;
  onLook(listener: () => void): () => void;
  /** What agents were seen to need, by backend, in earlier lives too. */
  readonly learned: ReadonlyMap<string, number>;
  learn(backend: string, bytes: number): void;
}

/** What a host keeps for others. */
export interface HostLimits {
  /** Never handed out to agents. */
  readonly reserveBytes: number;
  /** Processes that want a core, per core, at which nothing more is started; null: any number. */
  readonly maxLoad: number | null;
  /** Below this nothing new is started. */
  readonly minDiskBytes: number;
}
