import { ReveilleError, type Conflict, type Pulled } from '@reveille/protocol';
import type { Checkout } from '../checkout.ts';
import { confirmTree } from './accepted.ts';
import { readUnderWay } from './agent-refs.ts';
import { capture } from './capture.ts';
import { countChanges } from './counts.ts';
import { importBranch, importInto } from './import.ts';
import { concludeLaying, lay, type Until } from './lay.ts';
import { commitAt, moved, REFS, treeAt } from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { withCheckout } from './scratch.ts';
import { mergeTrees } from './three-way.ts';
import { changesBetween, linkFolders, stageFiles, toTreeChanges, type RawChange } from './trees.ts';

/**
 * Lays the changes of a child into its parent's tree, as uncommitted changes beside those that are there. What counts
 * as a change of the child is what differs from where it started, or from what was pulled before; so what a checkpoint
 * held of the parent does not come back as the child's. A conflict changes nothing.
 */
export async function pull(child: Checkout, parent: Checkout): Promise<Pulled> {
  const { tip } = await importBranch(child);
  return await withCheckout(parent, async (scratch) => {
    refuseUnderWay(parent, 'pulled into');
    const ref = REFS.pulled(parent.name, child.name);
    const before = await commitAt(parent.repository, ref);
    if (before === tip) return { merged: true, commit: tip, files: [] };
    return await pullInto({ scratch, parent, tip, ref, before, base: before ?? child.start });
  });
}

/** With a merge half done, what lies in the tree is not what anybody meant. */
export function refuseUnderWay(checkout: Checkout, what: string): void {
  const underWay = readUnderWay(checkout);
  if (!underWay) return;
  throw new ReveilleError(
    'wrong_state',
    `${checkout.name} cannot be ${what} in the middle of a ${underWay}. Finish it or give it up first.`,
    { data: { underWay } },
  );
}

interface PullCall {
  readonly scratch: Scratch;
  readonly parent: Checkout;
  readonly tip: string;
  readonly ref: string;
  readonly before: string | null;
  readonly base: string;
}

async function pullInto({ scratch, parent, tip, ref, before, base }: PullCall): Promise<Pulled> {
  const { repository } = parent;
  const judged = await importInto(scratch, parent);
  const state = await capture(scratch, parent, judged);
  const [from, theirs] = [await treeAt(repository, base), await treeAt(repository, tip)];
  const { tree, conflicts } = await mergeTrees(scratch, { base: from, ours: state.tree, theirs });
  if (tree === undefined) return { merged: false, conflicts };
  const changes = await changesBetween(scratch, state.tree, tree);
  const until = { ref, from: before, to: tip, why: 'pull' };
  const inTheWay = await layChecked(scratch, { checkout: parent, changes, tree, until });
  if (inTheWay.length > 0) return { merged: false, conflicts: inTheWay };
  const after = await capture(scratch, parent, { ...judged, laid: [tip] });
  // Whoever works there may write other files at the same time.
  const only = new Set(changes.map(({ path }) => path));
  await confirmTree(scratch, {
    what: `The pull into ${parent.name}`,
    accepted: tree,
    found: after.tree,
    only,
  });
  if (!(await concludeLaying(repository, scratch.folder, until))) throw moved(ref);
  return { merged: true, commit: tip, files: await countChanges(scratch, state.tree, tree) };
}

interface CheckedLaying {
  readonly checkout: Checkout;
  readonly changes: readonly RawChange[];
  readonly tree: string;
  readonly until?: Until;
}

/** Lays files of a tree over what the scratch's index says is there. What changed since is a conflict. */
export async function layChecked(scratch: Scratch, laying: CheckedLaying): Promise<readonly Conflict[]> {
  const { checkout, tree, until } = laying;
  const [changes, links] = [toTreeChanges(laying.changes), linkFolders(laying.changes)];
  const puts = changes.filter((change) => change.puts).map(({ path }) => path);
  const staged = await stageFiles(scratch, tree, puts);
  const args = ['ls-files', '-z', '-m', '-d'];
  const { stdout } = await scratch.git({ args, workTree: checkout.path });
  const touched = new Set(stdout.split('\0'));
  const meanwhile = changes.filter(({ path }) => touched.has(path));
  if (meanwhile.length > 0) return meanwhile.map(({ path }) => ({ path, why: 'it was changed meanwhile' }));
  return await lay(scratch.repository, {
    folder: scratch.folder,
    root: checkout.path,
    staged,
    changes,
    links,
    ...(until ? { until } : {}),
  });
}
