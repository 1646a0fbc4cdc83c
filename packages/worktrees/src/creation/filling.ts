import type { FoundRepository } from '../repository.ts';
import type { Stage } from './stage.ts';

/** A tree that is filled with the files of a commit, through a git directory of ours and an index of its own. */
export interface Filling {
  readonly repository: FoundRepository;
  readonly stage: Stage;
  readonly ownGitDir: string;
  readonly indexFile: string;
  readonly commit: string;
  readonly background?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Filled {
  /** What the set-up was run for there, if it was. */
  readonly setupKey: string | null;
}
