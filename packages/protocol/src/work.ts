import type { FileChange } from './run.ts';

/** What a branch changed against the commit it started from. */
export interface Diff {
  readonly branch: string;
  readonly worktree: string;
  readonly start: string;
  readonly files: readonly FileChange[];
  /** Bounded; `truncated` says that there is more. */
  readonly patch: string;
  readonly truncated: boolean;
}

/** What became of a merge. A conflict names the files, and nothing was changed. */
export type Pulled =
  | { readonly merged: true; readonly commit: string; readonly files: readonly FileChange[] }
  | { readonly merged: false; readonly conflicts: readonly Conflict[] };

export interface Conflict {
  readonly path: string;
  readonly why: string;
}

/** A ref that keeps the whole state of a checkout, so that no work is ever lost. */
export interface Snapshot {
  readonly ref: string;
  readonly commit: string;
  readonly why: string;
  readonly at: number;
}

/** A checkout that a person works in while its worker is paused; not yet, while the worker's turn is being stopped. */
export type TakenOver =
  | { readonly ready: true; readonly worktree: string; readonly branch: string }
  | { readonly ready: false };
