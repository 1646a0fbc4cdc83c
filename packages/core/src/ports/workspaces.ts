import type {
  CheckoutStart,
  Diff,
  DirtyPolicy,
  FileChange,
  Plan,
  Pulled,
  RunId,
  Snapshot,
  Task,
  TaskId,
  WorkProduct,
} from '@reveille/protocol';

/** What the checkout of a task starts from. */
export type Origin =
  /** A branch, or where the person's checkout stands. */
  | ({ readonly kind: 'base' } & Base)
  /** The merged changes of what it depends on (PLN5). */
  | ({ readonly kind: 'dependencies'; readonly made: readonly Made[] } & Base)
  /** A branch, or the commit the person's checkout stands on, whatever else is there: everything is merged into it (PLN6). */
  | { readonly kind: 'integration'; readonly branch: string | null }
  /** Its parent's state at the spawn (WKT7). */
  | { readonly kind: 'checkpoint'; readonly commit: string }
  /** It works in that task's checkout (WKT2). */
  | { readonly kind: 'shared'; readonly with: Task };

interface Base {
  readonly branch: string | null;
  /** What was decided about the person's uncommitted changes when the work was made; null: the setting decides now (WKT3). */
  readonly startsFrom: CheckoutStart | null;
}

/** What a task that completed made: the commit that holds it, if it made anything. */
export interface Made {
  readonly task: Task;
  readonly commit: string | null;
}

export interface OpenSpec {
  readonly task: Task;
  readonly run: RunId;
  readonly plan: Plan | null;
  readonly origin: Origin;
  /**
   * The last attempt failed or was cancelled: unless the checkout was opened for this run already, a snapshot is made of
   * what is there, and the run begins at the origin.
   */
  readonly fresh: boolean;
  /**
   * The run begins in the files of this snapshot, on what the task starts from; null: in what was left or, if that is gone, in the
   * newest snapshot. Once: a run for which the checkout was opened already goes on with what is there.
   */
  readonly from?: string | null | undefined;
  /** Its agent may only read. It is given no `.env` files. */
  readonly readOnly: boolean;
  /** Somebody wants the task cancelled, or this host stops. */
  readonly signal: AbortSignal;
}

/** Where a run works. */
export interface Workspace {
  readonly path: string;
  readonly branch: string;
  readonly environment: Readonly<Record<string, string>>;
  /** What its agent should know: a dependency that did not merge, a submodule that is not there. */
  readonly notices: readonly string[];
}

/** What a look after a turn found. */
export interface Findings {
  /** Changes outside its checkout that no run may make, in words (BND3). */
  readonly escapes: readonly string[];
  /** Conflicts of live branches of the repository that began or ended (PLN7), whichever run is looked at. */
  readonly conflicts: readonly ConflictNews[];
}

export interface ConflictNews {
  readonly task: TaskId;
  /** Another live branch; or a branch of the person that others started from, by its name. */
  readonly with: { readonly task: TaskId } | { readonly base: string };
  readonly began: boolean;
  readonly files: readonly string[];
  /** Names this conflict from its begin to its end: another one has another key. */
  readonly key: string;
}

/** Whether the branch of a task can still change or be integrated, by the records (PLN7). */
export type IsLive = (task: TaskId) => Promise<boolean>;

/** What a run left behind: its work, and what a last look found. */
export interface Left {
  /** Null: it never had a checkout. */
  readonly work: WorkProduct | null;
  readonly findings: Findings;
  /** Why the work could not be taken may pass by itself: the machine lacks room for something. */
  readonly scarce?: boolean;
}

/** What is to become of uncommitted changes: as the call says or, null, the setting; where that is silent too, `otherwise`. */
export interface DirtyWish {
  readonly wanted: DirtyPolicy | null;
  readonly otherwise: DirtyPolicy;
}

export interface Inspection {
  readonly start: CheckoutStart;
  /** The first of what is uncommitted, and how many there are. */
  readonly files: readonly string[];
  readonly count: number;
}

/**
 * The checkouts. The room that owns git implements it; without one, tasks have no files. Everything may be called
 * again after a crash and then does what is left to do.
 */
export interface Workspaces {
  /**
   * Looks at the person's checkout before work is created that starts from it. Throws `dirty_checkout`, naming the files, where
   * uncommitted changes are not to be passed over.
   */
  inspect(repository: string, wish: DirtyWish): Promise<Inspection>;
  open(spec: OpenSpec): Promise<Workspace>;
  /** A commit of the state as it is, uncommitted changes included, without touching it. */
  checkpoint(task: Task): Promise<string>;
  /** What is different now from a checkpoint of the same checkout, uncommitted changes included. */
  changedSince(task: Task, checkpoint: string): Promise<readonly FileChange[]>;
  /** At the end of a turn: its branch is imported, and looked at. Only live branches are forecast. */
  look(task: Task, run: RunId, isLive: IsLive): Promise<Findings>;
  /** Before the end is committed: leftovers are committed and counted. */
  collect(task: Task, run: RunId, isLive: IsLive): Promise<Left>;
  /**
   * Its agent is gone, after the end: what it still wrote is kept, what it had of its parent is given back. Returns the
   * escapes that no look has found yet, and the conflicts that ended with it.
   */
  leave(task: Task, run: RunId, isLive: IsLive): Promise<Findings>;
  diff(task: Task): Promise<Diff>;
  pull(child: Task, into: Task): Promise<Pulled>;
  discard(task: Task): Promise<Snapshot>;
  snapshots(task: Task): Promise<readonly Snapshot[]>;
  restore(
    task: Task,
    snapshot: string | null,
  ): Promise<{ readonly worktree: string; readonly branch: string }>;
  /** Into the person's own checkout, which must be clean. */
  bringHome(task: Task): Promise<Pulled>;
}

export const NOTHING_FOUND: Findings = { escapes: [], conflicts: [] };
