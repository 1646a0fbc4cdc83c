import type { Checkout } from '../checkout.ts';
import { commit } from './commits.ts';
import { importInto } from './import.ts';
import { refuseUnderWay } from './pull.ts';
import { addNumbered, atHome, numberOf, REFS, treeAt } from './refs.ts';
import { withCheckout } from './scratch.ts';
import { takeState } from './state.ts';

/**
 * A commit of a checkout's state, uncommitted changes included, without touching it: what a child starts from. It is on
 * no branch; a ref keeps it. The same state again is the same commit.
 */
export async function checkpoint(checkout: Checkout): Promise<string> {
  refuseUnderWay(checkout, 'checkpointed');
  return await withCheckout(checkout, async (scratch) => {
    const { tip, base, head, behind } = await importInto(scratch, checkout);
    const parent = behind ? head : tip;
    const state = await takeState(scratch, checkout, { base, head, known: [tip] });
    try {
      return await keep(checkout, parent, state.tree);
    } finally {
      await state.release();
    }
  });
}

async function keep({ repository, name }: Checkout, parent: string, tree: string): Promise<string> {
  // With nothing uncommitted it is the commit itself, and part of everybody's history.
  if (tree === (await treeAt(repository, parent))) return parent;
  const prefix = REFS.checkpoints(name);
  const last = await lastOf(repository, prefix);
  if (last?.tree === tree && last.parent === parent) return last.commit;
  const made = await commit(repository, { tree, parents: [parent], message: 'Checkpoint' });
  await addNumbered(repository, prefix, made, 'checkpoint');
  return made;
}

async function lastOf(
  repository: Checkout['repository'],
  prefix: string,
): Promise<{ commit: string; tree: string; parent: string } | null> {
  const args = ['for-each-ref', '--format=%(refname) %(objectname) %(tree) %(parent)', prefix];
  const lines = (await atHome(repository, { args })).stdout.split('\n').filter((line) => line !== '');
  const found = lines
    .map((line) => line.split(' '))
    .toSorted(([a = ''], [b = '']) => numberOf(prefix, a) - numberOf(prefix, b))
    .at(-1);
  if (!found) return null;
  const [, made = '', tree = '', parent = ''] = found;
  return { commit: made, tree, parent };
}
