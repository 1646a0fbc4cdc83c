import { ReveilleError, type Conflict } from '@reveille/protocol';
import type { Repository } from '../checkout.ts';
import { commit, latestTime } from './commits.ts';
import { enter } from './entry.ts';
import { oneLine, type Person } from './identity.ts';
import { commitAt, isAncestor } from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { withRepository } from './scratch.ts';
import { mergeCommits } from './three-way.ts';

export interface MergeSpec {
  /** A commit, or the name of a branch. */
  readonly base: string;
  /** Merged into it one after another: commits, or names of branches. */
  readonly branches: readonly string[];
  readonly author?: Person;
  /** What a merge commit says of each; `Merge <branch>` unless told. */
  readonly message?: (branch: string) => string;
}

export type MergedBranches =
  /** In the person's repository, on no branch. Nothing keeps it but its age: give it a ref. */
  | { readonly commit: string; readonly conflict?: never }
  | { readonly conflict: BranchConflict; readonly commit?: never };

export interface BranchConflict {
  readonly branch: string;
  readonly files: readonly Conflict[];
}

/**
 * Merges branches without a checkout. A branch that is there already adds nothing; one that goes on from what is merged
 * so far needs no merge commit. The same input is the same commit, however often it is asked for.
 */
export async function mergeBranches(repository: Repository, spec: MergeSpec): Promise<MergedBranches> {
  return await withRepository(repository, 'merge', async (scratch) => {
    let tip = await need(repository, spec.base);
    for (const branch of spec.branches) {
      const next = await mergeOne(scratch, spec, tip, branch);
      if (next.commit === undefined) return next;
      tip = next.commit;
    }
    return { commit: tip };
  });
}

async function mergeOne(
  scratch: Scratch,
  spec: MergeSpec,
  tip: string,
  branch: string,
): Promise<MergedBranches> {
  const { repository } = scratch;
  const other = await need(repository, branch);
  if (await isAncestor(repository, other, tip)) return { commit: tip };
  if (await isAncestor(repository, tip, other)) return { commit: other };
  const { tree, conflicts } = await mergeCommits(scratch, tip, other);
  if (tree === undefined) return { conflict: { branch, files: conflicts } };
  const entry = await enter(scratch, {
    tips: [tree],
    known: [tip, other, `${tip}^{tree}`, `${other}^{tree}`],
  });
  if (!entry.entered)
    throw new ReveilleError('workspace_failed', `Git refuses the merge of ${branch}: ${entry.problem}`);
  try {
    const message = oneLine(spec.message?.(branch) ?? `Merge ${branch}`);
    const at = await latestTime(repository, [tip, other]);
    const { author } = spec;
    return {
      commit: await commit(repository, {
        tree,
        parents: [tip, other],
        message,
        at,
        ...(author ? { author } : {}),
      }),
    };
  } finally {
    await entry.release();
  }
}

/** A branch before anything else of that name. */
async function need(repository: Repository, name: string): Promise<string> {
  const found = (await commitAt(repository, `refs/heads/${name}`)) ?? (await commitAt(repository, name));
  if (found !== null) return found;
  throw new ReveilleError('not_found', `The repository ${repository.root} has no branch or commit ${name}.`, {
    data: { branch: name },
  });
}
