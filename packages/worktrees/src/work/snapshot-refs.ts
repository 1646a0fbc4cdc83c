import type { Snapshot } from '@reveille/protocol';
import type { Checkout, Repository } from '../checkout.ts';
import { commit } from './commits.ts';
import { oneLine } from './identity.ts';
import { addNumbered, atHome, REFS } from './refs.ts';

/** A snapshot, with what its commit says about it. */
export interface KeptSnapshot extends Snapshot {
  /** The checkout's name and its branch. */
  readonly name: string;
  readonly branch: string;
  readonly tree: string;
  /** The branch's tip, and every other commit that it keeps. */
  readonly tips: readonly string[];
}

export interface SnapshotSpec {
  /** In the person's repository. */
  readonly tree: string;
  /** The branch's tip first. */
  readonly tips: readonly string[];
  readonly why: string;
}

const BRANCH = 'Branch: ';

/** One commit keeps it all: the files are its tree, and every tip is a parent. The same again is the same snapshot. */
export async function keepSnapshot(checkout: Checkout, spec: SnapshotSpec): Promise<KeptSnapshot> {
  const { repository, name, branch } = checkout;
  const why = oneLine(spec.why) || 'asked for';
  const same = (await readSnapshots(repository, name)).find(
    (kept) => kept.tree === spec.tree && kept.why === why && kept.tips.join() === spec.tips.join(),
  );
  if (same) return same;
  const { tree, tips } = spec;
  const message = `${why}\n\n${BRANCH}${branch}`;
  const at = Math.floor(Date.now() / 1000);
  const made = await commit(repository, { tree, parents: tips, message, at });
  const ref = await addNumbered(repository, REFS.snapshots(name), made, `snapshot: ${why}`);
  return { ref, commit: made, why, at: at * 1000, name, branch, tree, tips };
}

const FIELDS = ['refname', 'objectname', 'tree', 'parent', 'committerdate:unix', 'contents'];

/** All of a checkout, or of all checkouts; the oldest first. */
export async function readSnapshots(repository: Repository, name?: string): Promise<KeptSnapshot[]> {
  const prefix = name === undefined ? 'refs/reveille/snapshots/' : REFS.snapshots(name);
  const format = `${FIELDS.map((field) => `%(${field})`).join('%00')}%00%01`;
  const { stdout } = await atHome(repository, { args: ['for-each-ref', `--format=${format}`, prefix] });
  const snapshots = stdout
    .split('\0\x01\n')
    .filter((record) => record !== '')
    .map(parse);
  return snapshots.toSorted((a, b) => a.at - b.at || lastNumber(a.ref) - lastNumber(b.ref));
}

const lastNumber = (ref: string): number => Number(ref.slice(ref.lastIndexOf('/') + 1)) || 0;

function parse(record: string): KeptSnapshot {
  const [ref = '', commitName = '', tree = '', parents = '', seconds = '0', contents = ''] =
    record.split('\0');
  const [why = '', , ...rest] = contents.split('\n');
  const branch = rest.find((line) => line.startsWith(BRANCH))?.slice(BRANCH.length) ?? '';
  const name = ref.split('/')[3] ?? '';
  return {
    ref,
    commit: commitName,
    why,
    at: Number(seconds) * 1000,
    name,
    branch,
    tree,
    tips: parents.split(' '),
  };
}
