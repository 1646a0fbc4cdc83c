import type { Dispatch, Store } from '@reveille/core';

/** A store and the dispatch that lives in the same place, so that an offer is part of the change that makes it. */
export interface Backend {
  readonly store: Store;
  readonly dispatch: Dispatch;
  close(): Promise<void>;
}

/**
 * Where a crash test may end the process. `before-apply`: nothing of the change is anywhere. `before-commit`: it is
 * applied, and not on disk. `after-commit`: it is on disk, and nothing else is done yet. `after-commit-before-ack`:
 * the store's own state has followed; only the caller does not know.
 */
export type CrashPoint = (
  name: 'before-apply' | 'before-commit' | 'after-commit' | 'after-commit-before-ack',
) => void;
