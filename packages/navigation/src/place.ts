import type { ToolFiles } from '@reveille/protocol';

/** A command as it is to be started, inside whatever holds it. */
export interface Launched {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The server sees our processes: it may watch whether we live. In a namespace of its own it cannot. */
  readonly seesUs: boolean;
  readonly dispose: () => Promise<void>;
}

/**
 * Puts a server's command into the sandbox of a tree: the tree readable and not writable, no network, and the folders in
 * `reads` besides. Given by whoever composes; this room knows nothing of worktrees.
 */
export type Launch = (command: readonly string[], options: LaunchOptions) => Promise<Launched>;
export interface LaunchOptions {
  readonly reads: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** One tree in which questions are asked. */
export interface Place {
  /** Absolute and resolved. */
  readonly root: string;
  /** The same for all trees of one repository: only those are compared. */
  readonly repository: string;
  /** Nobody writes here: another tree with the same content may answer. */
  readonly readOnly: boolean;
  /** The door to its files (BND1): whatever is shown of a file was read through it. */
  readonly files: Pick<ToolFiles, 'readFile'>;
  readonly launch: Launch;
}
