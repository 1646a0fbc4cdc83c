import type { Backend } from '@reveille/stores';

/** A store under test. Every call of `open` gives an empty one. */
export interface Subject {
  readonly backend: Backend;
  /** Lets the time of the dispatch go by. */
  advance(ms: number): Promise<void>;
  /** Ends it as a stop does, and opens what it left. Not on memory, which leaves nothing. */
  reopen?(): Promise<Subject>;
  dispose(): Promise<void>;
}
export type OpenSubject = () => Promise<Subject>;
