/** Time, and the only way to wait in core. `now` is the wall clock and may jump; `mono` never goes back. */
export interface Clock {
  now(): number;
  mono(): number;
  /** Calls `fire` once, `ms` of monotonic time from now. The returned function takes it back. */
  after(ms: number, fire: () => void): () => void;
}

/** Chance, so that a seed can decide it. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A name never given before by any host: 0-9a-z, growing with time so that rows are appended, not scattered. */
  id(): string;
}
