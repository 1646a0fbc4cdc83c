import type { Checkout, Repository } from '../checkout.ts';
import { readOtherTips } from './agent-refs.ts';
import { enter } from './entry.ts';
import { importInto } from './import.ts';
import { takeObjects } from './intake.ts';
import { atHome, updateRefs } from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { withCheckout } from './scratch.ts';
import { keepSnapshot, readSnapshots, type KeptSnapshot } from './snapshot-refs.ts';
import { takeState } from './state.ts';

export interface TakenSnapshot extends KeptSnapshot {
  readonly notices: readonly string[];
  /** What it does not hold. As long as it is there, the checkout must not be deleted. */
  readonly leftOut: readonly string[];
}

/**
 * Keeps the whole of a checkout under a ref, before anything is done to it: its files, committed or not, its branch, and
 * whatever other branches and stashes its agent made. Works also when the agent's repository is damaged or the folder is
 * gone, with what there is.
 */
export async function snapshot(checkout: Checkout, why: string): Promise<TakenSnapshot> {
  return await withCheckout(checkout, async (scratch) => await takeSnapshot(scratch, checkout, why));
}

export async function takeSnapshot(
  scratch: Scratch,
  checkout: Checkout,
  why: string,
  names: readonly string[] = [],
): Promise<TakenSnapshot> {
  const { tip, base, head, problem } = await importInto(scratch, checkout);
  const others = await takeOthers(scratch, checkout, [checkout.start, tip, head]);
  const state = await takeState(scratch, checkout, { base, head, names, known: [tip] });
  try {
    const tips = await independent(checkout.repository, tip, [head, ...others.tips]);
    const kept = await keepSnapshot(checkout, { tree: state.tree, tips, why });
    const notices = [...state.notices, ...(problem === null ? [] : [problem])];
    return { ...kept, notices, leftOut: [...state.leftOut, ...others.leftOut] };
  } finally {
    await state.release();
    await others.release();
  }
}

interface Others {
  readonly tips: readonly string[];
  readonly leftOut: readonly string[];
  readonly release: () => Promise<void>;
}

async function takeOthers(scratch: Scratch, checkout: Checkout, known: readonly string[]): Promise<Others> {
  const wanted = readOtherTips(checkout).filter((oid) => !known.includes(oid));
  if (wanted.length > 0) await takeObjects(scratch, checkout);
  const [tips, leftOut]: [string[], string[]] = [[], []];
  const releases: (() => Promise<void>)[] = [];
  for (const oid of wanted) {
    const entry = await enter(scratch, { tips: [`${oid}^{commit}`], known });
    if (!entry.entered)
      leftOut.push(`The agent’s commit ${oid.slice(0, 12)} cannot be taken: ${entry.problem}`);
    else {
      tips.push(oid);
      releases.push(entry.release);
    }
  }
  const release = async (): Promise<void> => {
    for (const done of releases) await done();
  };
  return { tips, leftOut, release };
}

/** The first, and those of the others that no one else leads to. */
async function independent(
  repository: Repository,
  tip: string,
  others: readonly string[],
): Promise<string[]> {
  const all = [...new Set([tip, ...others])];
  if (all.length === 1) return all;
  const { stdout } = await atHome(repository, { args: ['merge-base', '--independent', ...all] });
  return [tip, ...stdout.split('\n').filter((oid) => oid !== '' && oid !== tip)];
}

/** Of one checkout, by its name or its branch, or of all; the oldest first. */
export async function listSnapshots(
  repository: Repository,
  of: { readonly name?: string; readonly branch?: string } = {},
): Promise<KeptSnapshot[]> {
  const all = await readSnapshots(repository, of.name);
  return of.branch === undefined ? all : all.filter(({ branch }) => branch === of.branch);
}

export interface Retention {
  /** Of these checkouts only. */
  readonly names?: ReadonlySet<string>;
  /** Those made before this time, in milliseconds. */
  readonly olderThan?: number;
  /** Of each checkout the newest so many stay. */
  readonly keep?: number;
  /** Only says what would go. */
  readonly dry?: boolean;
}

/** Drops the snapshots that are both old enough and not among the newest, and answers with them. */
export async function dropSnapshots(repository: Repository, retention: Retention): Promise<KeptSnapshot[]> {
  const { names, olderThan, keep = 0, dry = false } = retention;
  if (olderThan === undefined && retention.keep === undefined) return [];
  const all = (await readSnapshots(repository)).filter(({ name }) => names?.has(name) ?? true);
  const newest = new Map<string, number>();
  const dropped = all.toReversed().filter((kept) => {
    const rank = (newest.get(kept.name) ?? 0) + 1;
    newest.set(kept.name, rank);
    return rank > keep && (olderThan === undefined || kept.at < olderThan);
  });
  if (!dry && dropped.length > 0) {
    const updates = dropped.map(({ ref, commit }) => ({ ref, to: null, from: commit }));
    await updateRefs(repository, updates, 'retention');
  }
  return dropped;
}
