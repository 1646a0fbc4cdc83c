import type { Conflict } from '@reveille/protocol';
import type { Checkout } from '../checkout.ts';
import { capture } from '../work/capture.ts';
import { importInto } from '../work/import.ts';
import { mergeBranches } from '../work/merge.ts';
import { branchRef, commitAt, isAncestor, moved, treeAt, updateRefs } from '../work/refs.ts';
import { layTree, putFiles } from '../work/restore.ts';
import type { Scratch } from '../work/scratch-place.ts';
import { withCheckout } from '../work/scratch.ts';
import { changesBetween, toTreeChanges } from '../work/trees.ts';
import { droppedBase } from './base.ts';
import type { Bench, Merged, Verdict } from './integration.ts';
import { refusalOf } from './resolution.ts';

type Verify = (command: string) => Promise<Verdict>;

/** The integrator's own checkout. No agent works there; a person may look around, and what they change is kept. */
export function benchIn(checkout: Checkout, verify: Verify): Bench {
  const { repository, branch } = checkout;
  const tip = async (): Promise<string> => (await commitAt(repository, branchRef(branch))) ?? checkout.start;
  return {
    holds: async (other) => await isAncestor(repository, other, await tip()),
    async merge(other, message): Promise<Merged> {
      const spec = { base: await tip(), branches: [other], message: () => message };
      const merged = await mergeBranches(repository, spec);
      if (merged.commit !== undefined) return { commit: merged.commit };
      return { conflicts: merged.conflict.files as readonly Conflict[] };
    },
    refusal: async (made, theirs) => await refusalOf(repository, { ours: await tip(), theirs, made }),
    lay: async (target) => await lay(checkout, target ?? (await tip()), await tip()),
    droppedBase: async (tasks) => await droppedBase(checkout, tasks),
    verify,
    async accept(commit) {
      const update = {
        ref: branchRef(branch),
        to: commit,
        from: await commitAt(repository, branchRef(branch)),
      };
      if (!(await updateRefs(repository, [update], 'integrate'))) throw moved(update.ref);
    },
  };
}

/** If the tree is not what we left there, a snapshot of it is made first. */
async function lay(checkout: Checkout, target: string, tip: string): Promise<void> {
  const { repository } = checkout;
  const [wanted, own] = [await treeAt(repository, target), await treeAt(repository, tip)];
  const laid = await withCheckout(checkout, async (scratch) => {
    const judged = await importInto(scratch, checkout);
    // Files of the target that a check built before, and git ignores, are seen and not taken for something in the way.
    const { tree } = await capture(scratch, checkout, { ...judged, names: [target] });
    if (await isAlike(scratch, tree, wanted)) return true;
    if (!(await isAlike(scratch, tree, own))) return false;
    await layTree(scratch, checkout, { from: tree, target, laid: target });
    return true;
  });
  if (!laid) await putFiles(checkout, { target, why: 'the next step of the integration' });
}

/** The same files. A link to another repository has none to be laid. */
const isAlike = async (scratch: Scratch, a: string, b: string): Promise<boolean> =>
  toTreeChanges(await changesBetween(scratch, a, b)).length === 0;
