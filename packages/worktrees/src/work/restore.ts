import { ReveilleError } from '@reveille/protocol';
import type { Checkout, Repository } from '../checkout.ts';
import { confirmTree } from './accepted.ts';
import { capture } from './capture.ts';
import { commit } from './commits.ts';
import { importInto } from './import.ts';
import { concludeLaying, endLaying, type Until } from './lay.ts';
import { layChecked } from './pull.ts';
import { atHome, branchRef, commitAt, moved, REFS, treeAt, updateRefs } from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { withCheckout } from './scratch.ts';
import { readSnapshots, type KeptSnapshot } from './snapshot-refs.ts';
import { takeSnapshot } from './snapshots.ts';
import { changesBetween } from './trees.ts';

/** Brings a snapshot back: its files into a checkout, or all of it onto a new branch. Answers with the commit. */
export async function restore(
  repository: Repository,
  ref: string,
  into: { readonly checkout: Checkout } | { readonly branch: string },
): Promise<string> {
  const kept = (await readSnapshots(repository)).find((snapshot) => snapshot.ref === ref);
  if (!kept) throw new ReveilleError('not_found', `There is no snapshot ${ref}.`, { data: { ref } });
  if ('branch' in into) return await onBranch(repository, kept, into.branch);
  const { checkout } = into;
  await putFiles(checkout, {
    target: kept.commit,
    why: `restoring ${ref}`,
    remember: REFS.restored(checkout.name),
  });
  return kept.commit;
}

async function onBranch(repository: Repository, kept: KeptSnapshot, branch: string): Promise<string> {
  const ref = branchRef(branch);
  const valid = await atHome(repository, { args: ['check-ref-format', ref], accept: [1] });
  if (valid.code !== 0) throw new ReveilleError('invalid_input', `${branch} is no name for a branch.`);
  const [parent = kept.commit] = kept.tips;
  const { tree } = kept;
  const made =
    tree === (await treeAt(repository, parent)) ? parent : await restoredOn(repository, kept, parent);
  if (!(await updateRefs(repository, [{ ref, to: made, from: null }], `restore ${kept.ref}`)))
    throw new ReveilleError('wrong_state', `There is a branch ${branch} already.`, { data: { branch } });
  return made;
}

const restoredOn = async (
  repository: Repository,
  { tree, why, at }: KeptSnapshot,
  parent: string,
): Promise<string> =>
  await commit(repository, {
    tree,
    parents: [parent],
    message: `Restored from a snapshot (${why})`,
    at: Math.floor(at / 1000),
  });

interface Replacement {
  readonly target: string;
  readonly why: string;
  /** The ref that remembers what was laid, and makes it final. */
  readonly remember?: string;
}

/**
 * Makes the files of a checkout those of a commit: what differs is written, what is not in it goes, what git ignores
 * stays unless it is in the way. What was there before is in a snapshot first.
 */
export async function putFiles(checkout: Checkout, { target, why, remember }: Replacement): Promise<void> {
  await withCheckout(checkout, async (scratch) => {
    const before = await takeSnapshot(scratch, checkout, `before ${why}`, [target]);
    if (before.leftOut.length > 0) throw cannotBeKept(checkout, before.leftOut);
    const laying = { from: before.tree, target };
    if (remember === undefined) return await layTree(scratch, checkout, { ...laying, laid: target });
    const until = await restoredOver(scratch, checkout, { target, why, ref: remember });
    await layTree(scratch, checkout, { ...laying, laid: until.to, until });
  });
}

/** A commit of what is laid on top of what was there: later changes are told from it, whatever the snapshot came from. */
async function restoredOver(
  scratch: Scratch,
  checkout: Checkout,
  { target, why, ref }: { readonly target: string; readonly why: string; readonly ref: string },
): Promise<Until> {
  const { repository } = checkout;
  const { base } = await importInto(scratch, checkout);
  const tree = await treeAt(repository, target);
  const to = await commit(repository, { tree, parents: [base], message: why });
  return { ref, from: await commitAt(repository, ref), to, why };
}

const cannotBeKept = ({ name }: Checkout, leftOut: readonly string[]): ReveilleError =>
  new ReveilleError(
    'wrong_state',
    `The files of ${name} cannot be replaced: some of them would be lost. ${leftOut.join(' ')}`,
    { data: { files: [...leftOut] } },
  );

interface TreeLaying {
  /** The tree that is there now, as the scratch's index knows it. */
  readonly from: string;
  readonly target: string;
  /** The commit that stands for it in the checkout. */
  readonly laid: string;
  readonly until?: Until;
}

export async function layTree(
  scratch: Scratch,
  checkout: Checkout,
  { from, target, laid, until }: TreeLaying,
): Promise<void> {
  const { repository } = checkout;
  const found = await commitAt(repository, target);
  if (found === null) throw new ReveilleError('not_found', `There is no commit ${target}.`);
  const tree = await treeAt(repository, found);
  const changes = await changesBetween(scratch, from, tree);
  const conflicts = await layChecked(scratch, { checkout, changes, tree, ...(until ? { until } : {}) });
  if (conflicts.length > 0)
    throw new ReveilleError(
      'wrong_state',
      `Files are in the way: ${conflicts.map(({ path }) => path).join(', ')}.`,
      {
        data: { files: conflicts.map(({ path }) => path) },
      },
    );
  const judged = await importInto(scratch, checkout);
  const { tree: there } = await capture(scratch, checkout, { ...judged, laid: [laid] });
  await confirmTree(scratch, { what: `Laying files into ${checkout.name}`, accepted: tree, found: there });
  if (until && !(await concludeLaying(repository, scratch.folder, until))) throw moved(until.ref);
  if (!until) await endLaying(scratch.folder);
}
