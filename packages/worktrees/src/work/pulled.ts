import type { Checkout } from '../checkout.ts';
import { atHome, isAncestor, readRefs, REFS } from './refs.ts';

/** What was pulled into a checkout and is not yet part of its history. */
export interface PendingPulls {
  /** Further parents of its next commit. */
  readonly parents: readonly string[];
  /** What its message says besides. */
  readonly words: readonly string[];
}

/**
 * A pull only lays files. Where its child started from a commit, that history becomes part of the parent's with the next
 * commit of ours. Where it started from a checkpoint it does not: a checkpoint is nobody's commit, and is squashed away.
 */
export async function pendingPulls({ repository, name }: Checkout, tip: string): Promise<PendingPulls> {
  const prefix = REFS.pulled(name, '');
  const pulled = await readRefs(repository, [prefix]);
  const [parents, words]: [string[], string[]] = [[], []];
  for (const [ref, commit] of pulled) {
    if (await isAncestor(repository, commit, tip)) continue;
    if (await hasCheckpoint(repository, commit, tip)) continue;
    parents.push(commit);
    words.push(`With the work of ${ref.slice(prefix.length)}, as of ${commit}.`);
  }
  return { parents, words };
}

async function hasCheckpoint(
  repository: Checkout['repository'],
  commit: string,
  tip: string,
): Promise<boolean> {
  const checkpoints = new Set((await readRefs(repository, ['refs/reveille/checkpoints/'])).values());
  if (checkpoints.size === 0) return false;
  const { stdout } = await atHome(repository, { args: ['rev-list', commit, `^${tip}`] });
  return stdout.split('\n').some((oid) => checkpoints.has(oid));
}
