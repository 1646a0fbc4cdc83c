import type { Repository } from '../checkout.ts';
import type { GitAnswer, GitCall } from '../git/git.ts';

/** Asked of git in a scratch. */
export interface ScratchCall extends Pick<GitCall, 'args' | 'input' | 'env' | 'accept' | 'workTree'> {
  /** An index in place of the scratch's own. */
  readonly indexFile?: string;
  /** A git directory in place of the scratch's own; ours too. */
  readonly gitDir?: string;
  /** How long it may take. What an agent wrote can make git wait for ever: a pipe in place of a `.gitignore`. */
  readonly patienceMs?: number | undefined;
}

/**
 * Where one operation works. Its git directory is ours; what git writes goes to objects of its own, which are thrown away
 * at the end: only what was checked leaves it (`enter`). It reads the person's objects besides, and nothing else.
 */
export interface Scratch {
  readonly repository: Repository;
  readonly folder: string;
  /** Ours, with a config of ours. */
  readonly gitDir: string;
  readonly objects: string;
  readonly index: string;
  git(call: ScratchCall): Promise<GitAnswer>;
  bytes(call: ScratchCall): Promise<Omit<GitAnswer, 'stdout'> & { readonly stdout: Buffer }>;
}
