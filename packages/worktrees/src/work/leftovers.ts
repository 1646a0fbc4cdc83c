import { join } from 'node:path';
import type { Checkout } from '../checkout.ts';
import { commit } from './commits.ts';
import { oneLine, type Person } from './identity.ts';
import { replaceIndex } from './index-file.ts';
import { checkedOut, importInto, type Standpoint } from './import.ts';
import { pendingPulls, type PendingPulls } from './pulled.ts';
import { branchRef, isAncestor, moved, treeAt, updateRefs } from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { withCheckout } from './scratch.ts';
import { keepSnapshot } from './snapshot-refs.ts';
import { takeState, type State } from './state.ts';

export interface Leftovers {
  /** The agent. */
  readonly author: Person;
  readonly message: string;
  readonly patienceMs?: number | undefined;
}

export interface Collected {
  /** The branch, with everything that was in the checkout. */
  readonly tip: string;
  readonly committed: boolean;
  readonly problem: string | null;
  readonly notices: readonly string[];
  /** What is only in the checkout. */
  readonly leftOut: readonly string[];
}

/**
 * Commits whatever an agent left uncommitted, on the branch in the person's repository, with the agent as author. The
 * agent's own repository is not touched: there the same files still lie as uncommitted, and its next commit replaces
 * ours on the branch, which a snapshot then keeps. Called again, it finds nothing more to commit. On a branch that is ours
 * nothing is committed for anybody.
 */
export async function commitLeftovers(checkout: Checkout, leftovers: Leftovers): Promise<Collected> {
  return await withCheckout(checkout, async (scratch) => {
    const stand = await importInto(scratch, checkout);
    const { base, head, tip } = stand;
    // What lies in there was not merged, and not checked: it stays where it is.
    if (checkout.branchIsOurs) return { tip, committed: false, problem: null, notices: [], leftOut: [] };
    const { patienceMs } = leftovers;
    const state = await takeState(scratch, checkout, { base, head, known: [tip], patienceMs });
    try {
      return await commitState({ scratch, checkout, leftovers, stand, state });
    } finally {
      await state.release();
    }
  });
}

interface Commit {
  readonly scratch: Scratch;
  readonly checkout: Checkout;
  readonly leftovers: Leftovers;
  readonly stand: Standpoint;
  readonly state: State;
}

async function commitState(call: Commit): Promise<Collected> {
  const { checkout, leftovers, stand, state } = call;
  const { repository } = checkout;
  const { notices, leftOut } = state;
  const found = { tip: stand.tip, committed: false, problem: stand.problem, notices, leftOut };
  if (stand.behind) return await besideBranch(call, found);
  const pulls = await pendingPulls(checkout, stand.tip);
  if (state.tree === (await treeAt(repository, stand.tip)) && pulls.parents.length === 0) return found;
  const tip = await commit(repository, {
    tree: state.tree,
    parents: [stand.tip, ...pulls.parents],
    message: messageOf(leftovers, stand, pulls),
    author: leftovers.author,
  });
  const problem = await moveBranch(call, tip);
  return { ...found, tip, committed: true, problem: problem ?? stand.problem };
}

function messageOf({ message }: Leftovers, { underWay }: Standpoint, { words }: PendingPulls): string {
  const middle = underWay ? [`Taken in the middle of a ${underWay}: files may hold conflict markers.`] : [];
  return [
    message.replaceAll('\0', '').trim() || 'What was left uncommitted',
    ...middle,
    ...words.map(oneLine),
  ].join('\n\n');
}

/** Changes on top of something older than the branch would undo the branch: they are kept beside it. */
async function besideBranch({ checkout, stand, state }: Commit, found: Collected): Promise<Collected> {
  if (state.tree === (await treeAt(checkout.repository, stand.head))) return found;
  const why = 'uncommitted changes on an older commit than the branch';
  const { ref } = await keepSnapshot(checkout, { tree: state.tree, tips: [stand.head], why });
  const notice = `The agent stood on ${stand.head.slice(0, 12)}, behind its branch; its uncommitted changes are kept at ${ref}.`;
  return { ...found, notices: [...found.notices, notice] };
}

async function moveBranch({ scratch, checkout, stand, state }: Commit, tip: string): Promise<string | null> {
  const { repository, branch } = checkout;
  const problem = await checkedOut(checkout);
  if (problem !== null) {
    await keepSnapshot(checkout, { tree: state.tree, tips: [tip], why: 'what was left uncommitted' });
    return problem;
  }
  const update = { ref: branchRef(branch), to: tip, from: stand.tip };
  if (!(await updateRefs(repository, [update], 'leftovers'))) throw moved(update.ref);
  if (checkout.kind === 'linked' && !stand.underWay && (await isAncestor(repository, stand.head, tip)))
    await renewIndex(scratch, checkout);
  return null;
}

/** A linked worktree shares the branch: with the old index, it would show the commit as about to be undone. */
async function renewIndex(scratch: Scratch, { agentGitDir }: Checkout): Promise<void> {
  await replaceIndex(scratch.index, join(agentGitDir, 'index'), join(agentGitDir, 'reveille-index'));
}
