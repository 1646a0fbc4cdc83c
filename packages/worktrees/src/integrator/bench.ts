import type { Conflict } from '@reveille/protocol';
import type { Checkout } from '../checkout.ts';
import { capture } from '../work/capture.ts';
import { commit } from '../work/commits.ts';
import { importInto } from '../work/import.ts';
import { mergeBranches } from '../work/merge.ts';
import { branchRef, commitAt, isAncestor, moved, treeAt, updateRefs } from '../work/refs.ts';
import { layTree, putFiles } from '../work/restore.ts';
import { withCheckout } from '../work/scratch.ts';
import type { Bench, Merged, Verdict } from './integration.ts';

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
    async join(other, message) {
      const own = await tip();
      return await commit(repository, {
        tree: await treeAt(repository, own),
        parents: [own, other],
        message,
      });
    },
    lay: async (target) => await lay(checkout, target ?? (await tip()), await tip()),
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
    const { head } = await importInto(scratch, checkout);
    const { tree } = await capture(scratch, checkout, { head });
    if (tree === wanted) return true;
    if (tree !== own) return false;
    await layTree(scratch, checkout, { from: tree, target });
    return true;
  });
  if (!laid) await putFiles(checkout, target, 'the next step of the integration');
}
