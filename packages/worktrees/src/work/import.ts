import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkout, Repository } from '../checkout.ts';
import { readAgent, readUnderWay, type AgentRefs, type UnderWay } from './agent-refs.ts';
import { enter } from './entry.ts';
import { takeObjects } from './intake.ts';
import {
  atHome,
  branchRef,
  commitAt,
  isAncestor,
  moved,
  readRefs,
  REFS,
  treeAt,
  updateRefs,
  type RefUpdate,
} from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { withCheckout } from './scratch.ts';
import { keepSnapshot } from './snapshot-refs.ts';

export interface Imported {
  /** Where the branch stands in the person's repository, or would, were the person not working on it. */
  readonly tip: string;
  /** Something new came in. */
  readonly imported: boolean;
  /** Why the agent's repository could not be taken as it is; the tip is then the last that could. */
  readonly problem: string | null;
  /** The snapshot that keeps what the branch held before, where it did not just move on. */
  readonly replaced: string | null;
}

/**
 * Brings a branch from an agent's repository into the person's: its commits are checked on the way in, then the ref moves.
 * May be called at any time and as often as one likes.
 */
export async function importBranch(checkout: Checkout): Promise<Imported> {
  return await withCheckout(checkout, async (scratch) => {
    const { tip, imported, problem, replaced } = await importInto(scratch, checkout);
    return { tip, imported, problem, replaced };
  });
}

/** What else an import found out. */
export interface Standpoint extends Imported {
  /** The commit the agent stands on. */
  readonly head: string;
  /** The commit its files are judged against: what we committed on top of the agent's commit is in its tree too. */
  readonly base: string;
  /** It only looks at something older: its branch is ahead of it. */
  readonly behind: boolean;
  readonly underWay: UnderWay | null;
}

export async function importInto(scratch: Scratch, checkout: Checkout): Promise<Standpoint> {
  const standing = await standingOf(checkout);
  if (checkout.branchIsOurs) return standsOnBranch(checkout, standing);
  const last = standing.branch ?? standing.seen ?? checkout.start;
  const agent = await readAgent(checkout);
  const candidates = [...new Set([agent.head, agent.branch].filter((oid) => oid !== null))];
  if (candidates.length === 0) return await unreadable(checkout, standing, CANNOT_BE_READ);
  const isNews = candidates.some((oid) => oid !== (standing.seen ?? checkout.start));
  const taken = isNews ? await takeIn(scratch, checkout, candidates, standing) : NOTHING_TAKEN;
  try {
    const usable = candidates.filter((oid) => !taken.problems.has(oid));
    const tip = await chooseTip(checkout, agent, usable);
    const problem = [...taken.problems.values()][0] ?? null;
    if (tip === null) return await unreadable(checkout, standing, problem ?? CANNOT_BE_READ);
    const result = await moveTo({ checkout, standing, tip });
    const { underWay } = agent;
    const head = agent.head !== null && usable.includes(agent.head) ? agent.head : tip;
    return {
      ...result,
      imported: result.tip !== last,
      problem: result.problem ?? problem,
      head,
      base: head === tip ? result.tip : head,
      behind: head !== tip && tip === agent.branch && underWay !== 'rebase',
      underWay,
    };
  } finally {
    await taken.release();
  }
}

function standsOnBranch({ start }: Checkout, { branch }: Standing): Standpoint {
  const tip = branch ?? start;
  const nothing = { imported: false, problem: null, replaced: null, behind: false, underWay: null };
  return { ...nothing, tip, head: tip, base: tip };
}

const CANNOT_BE_READ =
  'The agent’s repository cannot be read: its HEAD and its branch are missing or damaged.';

interface Standing {
  /** The person's ref of the branch. */
  readonly branch: string | null;
  /** What the agent's stood at when it was last taken. */
  readonly seen: string | null;
}

async function standingOf({ repository, branch, name }: Checkout): Promise<Standing> {
  const refs = await readRefs(repository, [branchRef(branch), REFS.seen(name)]);
  return { branch: refs.get(branchRef(branch)) ?? null, seen: refs.get(REFS.seen(name)) ?? null };
}

async function unreadable(checkout: Checkout, standing: Standing, problem: string): Promise<Standpoint> {
  const { start } = checkout;
  const tip = standing.branch ?? standing.seen ?? start;
  const good = standing.seen ?? start;
  const answer = {
    imported: false,
    problem,
    replaced: null,
    behind: false,
    underWay: readUnderWay(checkout),
  };
  if (checkout.kind === 'clone') return { ...answer, tip, head: tip, base: tip };
  if (!(await isWhole(checkout, good))) await setBack(checkout, good);
  return { ...answer, tip: good, head: good, base: good };
}

/** What we do not take may be whole all the same, and is then the agent's to keep. */
async function isWhole({ repository, branch }: Checkout, good: string): Promise<boolean> {
  const args = ['rev-list', '--objects', '--quiet', branchRef(branch), `^${good}`];
  return (await atHome(repository, { args, accept: [128] })).code === 0;
}

/** A damaged branch of a linked worktree is the person's own ref: it goes back to what was good. */
async function setBack({ repository, branch }: Checkout, good: string): Promise<void> {
  // By hand: git does not replace a ref it cannot read, and would write what it read into the ref's log.
  for (const place of [repository.gitDir, join(repository.gitDir, 'logs')])
    await rm(join(place, branchRef(branch)), { force: true });
  const why = 'reveille: the branch was damaged';
  const args = ['update-ref', '--no-deref', '-m', why, branchRef(branch), good];
  await atHome(repository, { args, apart: true });
}

interface Taken {
  readonly problems: ReadonlyMap<string, string>;
  readonly release: () => Promise<void>;
}

const NOTHING_TAKEN: Taken = { problems: new Map(), release: async () => undefined };

async function takeIn(
  scratch: Scratch,
  checkout: Checkout,
  candidates: readonly string[],
  standing: Standing,
): Promise<Taken> {
  await takeObjects(scratch, checkout);
  const checkOnly = checkout.kind === 'linked';
  // A linked branch is the person's ref already, and proves nothing about itself.
  const known = [checkout.start, standing.seen, checkOnly ? null : standing.branch].filter(
    (oid) => oid !== null,
  );
  const problems = new Map<string, string>();
  const releases: (() => Promise<void>)[] = [];
  for (const oid of candidates) {
    const entry = await enter(scratch, { tips: [`${oid}^{commit}`], known, checkOnly });
    if (entry.entered) releases.push(entry.release);
    else problems.set(oid, `The agent’s commit ${oid.slice(0, 12)} was not taken: ${entry.problem}`);
  }
  const release = async (): Promise<void> => {
    for (const done of releases) await done();
  };
  return { problems, release };
}

/**
 * What counts is where the agent stands. Unless that is behind its own branch (it only looks at something older), or in
 * the middle of a rebase, whose result is not there yet.
 */
async function chooseTip(
  { repository }: Checkout,
  { head, branch, underWay }: AgentRefs,
  usable: readonly string[],
): Promise<string | null> {
  const [stand, own] = [head, branch].map((oid) => (oid !== null && usable.includes(oid) ? oid : null));
  if (!stand || !own) return stand ?? own ?? null;
  if (underWay === 'rebase') return own;
  return (await isAncestor(repository, stand, own)) ? own : stand;
}

interface Move {
  readonly checkout: Checkout;
  readonly standing: Standing;
  readonly tip: string;
}

async function moveTo(move: Move): Promise<Omit<Imported, 'imported'>> {
  const { checkout, standing, tip } = move;
  const { repository, branch, name, start } = checkout;
  const current = standing.branch;
  const last = standing.seen ?? start;
  // What we put on top of the agent's last commit stays there as long as the agent adds nothing.
  if (current !== null && tip === last && (await isAncestor(repository, tip, current)))
    return { tip: current, problem: null, replaced: null };
  let replaced: string | null = null;
  for (const before of checkout.kind === 'linked' ? [last, current] : [current])
    if (before !== null && (await isLost(repository, before, tip))) replaced = await keep(checkout, before);
  const seen: RefUpdate = { ref: REFS.seen(name), to: tip, from: standing.seen };
  const problem = await checkedOut(checkout);
  const updates = problem === null ? [{ ref: branchRef(branch), to: tip, from: current }, seen] : [seen];
  const needed = updates.filter(({ to, from }) => to !== from);
  if (needed.length > 0 && !(await updateRefs(repository, needed, 'import'))) throw moved(branchRef(branch));
  return { tip, problem, replaced };
}

/** A commit that is there, and not part of what the branch will be. */
const isLost = async (repository: Repository, commit: string, tip: string): Promise<boolean> =>
  (await commitAt(repository, commit)) !== null && !(await isAncestor(repository, commit, tip));

async function keep(checkout: Checkout, commit: string): Promise<string> {
  const tree = await treeAt(checkout.repository, commit);
  const why = 'the branch was rewound or rewritten';
  return (await keepSnapshot(checkout, { tree, tips: [commit], why })).ref;
}

/** The person, not the agent, works on the branch: its ref must not move under their hands. */
export async function checkedOut({ repository, branch, kind, path }: Checkout): Promise<string | null> {
  const args = ['for-each-ref', '--format=%(worktreepath)', branchRef(branch)];
  const at = (await atHome(repository, { args })).stdout.trim();
  if (at === '' || (kind === 'linked' && at === path)) return null;
  return `The branch ${branch} is checked out at ${at}, and was not moved there.`;
}
