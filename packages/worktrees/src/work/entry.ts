import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isOfTheDisk } from '../creation/failures.ts';
import { git, GitError } from '../git/git.ts';
import { countEntries, type NewTree } from './bombs.ts';
import { placePack, type Placed, type Quarantine } from './placing.ts';
import { atHome } from './refs.ts';
import type { Scratch } from './scratch-place.ts';

/** How much may come in at once. */
export const LIMITS = {
  objects: 1_000_000,
  /** Of all of them, unpacked. */
  bytes: 4 * 1024 ** 3,
  treeBytes: 256 * 1024 ** 2,
  /** Files of one tree: a tree can name another many times, and that one a third, and be small. */
  files: 2_000_000,
} as const;

export type Entry =
  /** Until `release`, no gc takes what came in. */
  | { readonly entered: true; readonly release: () => Promise<void> }
  | { readonly entered: false; readonly problem: string };

export interface EntrySpec {
  /** Commits or trees that are wanted with all they need. */
  readonly tips: readonly string[];
  /** What the person's repository has, with all it needs. Only what is beneath these trees, or these commits' trees if
   * the tips are commits, is left out: name the trees too where a tip is a tree. */
  readonly known: readonly string[];
  /** The objects are there already (linked worktrees) and are only checked. */
  readonly checkOnly?: boolean;
}

/**
 * The one way for objects into the person's repository: what is new is put into a pack; the pack is indexed anew, so
 * that every name follows from its bytes; every object is checked as strictly as git can; everything that is named must
 * be in the pack or in the repository; and only then the pack is placed there. An agent's objects are never believed: a
 * forged one gets its true name and the tip is missing.
 */
export async function enter(scratch: Scratch, spec: EntrySpec): Promise<Entry> {
  try {
    const placed = await makeAndPlace(scratch, spec);
    return { entered: true, release: async () => await placed?.release() };
  } catch (error) {
    if (error instanceof Refused) return { entered: false, problem: error.message };
    if (error instanceof GitError && !isOfTheDisk(error))
      return { entered: false, problem: firstLine(error.stderr) || error.message };
    throw error;
  }
}

class Refused extends Error {
  override readonly name = 'Refused';
}

const firstLine = (text: string): string => text.trim().split('\n')[0]?.slice(0, 300) ?? '';

async function makeAndPlace(scratch: Scratch, spec: EntrySpec): Promise<Placed | null> {
  const { repository } = scratch;
  const range = [...spec.tips, ...spec.known.map((oid) => `^${oid}`)].join('\n');
  const listed = await scratch.git({ args: ['rev-list', '--objects', '--stdin'], input: `${range}\n` });
  const lines = listed.stdout.split('\n').filter((line) => line !== '');
  if (lines.length > LIMITS.objects) throw new Refused(`There are ${lines.length} new objects, too many.`);
  const walk = { args: ['rev-list', '--objects', '--quiet', '--stdin'], input: `${range}\n` };
  if (lines.length === 0) {
    // Nothing new; but is it all there, in a store that nobody forged anything in?
    await atHome(repository, walk);
    return null;
  }
  await checkSizes(scratch, lines);
  const quarantine = await packAndCheck(scratch, listed.stdout);
  await atHome(repository, { ...walk, alternates: [quarantine.objects] });
  return spec.checkOnly ? null : await placePack(scratch, quarantine);
}

async function checkSizes(scratch: Scratch, lines: readonly string[]): Promise<void> {
  const oids = lines.map((line) => line.split(' ', 1)[0] ?? '');
  const { stdout } = await scratch.git({
    args: ['cat-file', '--batch-check', '--buffer'],
    input: `${oids.join('\n')}\n`,
  });
  let [total, treeTotal] = [0, 0];
  const trees: NewTree[] = [];
  for (const line of stdout.split('\n')) {
    const [oid = '', type = '', size = '0'] = line.split(' ');
    total += Number(size);
    if (type !== 'tree') continue;
    treeTotal += Number(size);
    trees.push({ oid });
  }
  if (total > LIMITS.bytes) throw new Refused(`The new objects have ${total} bytes, too many.`);
  if (treeTotal > LIMITS.treeBytes) throw new Refused(`The new folders have ${treeTotal} bytes, too many.`);
  const most = await countEntries(scratch, trees);
  if (most > LIMITS.files) throw new Refused(`A tree has more than ${LIMITS.files} files, or is too deep.`);
}

async function packAndCheck(scratch: Scratch, objects: string): Promise<Quarantine> {
  const made = join(scratch.folder, `made-${Date.now()}-${Math.random().toString(36).slice(2)}`);
  const store = join(made, 'objects');
  await mkdir(join(store, 'pack'), { recursive: true });
  const args = [
    'pack-objects',
    '-q',
    '--delta-base-offset',
    '--threads=1',
    '--window=5',
    '--window-memory=64m',
    join(made, 'pack'),
  ];
  await scratch.git({ args: ['-c', 'pack.compression=1', ...args], input: objects });
  const names = (await readdir(made)).filter((name) => name.endsWith('.pack'));
  const [pack] = names;
  if (pack === undefined || names.length > 1) throw new Refused('The new objects do not fit into one pack.');
  const path = join(store, 'pack', pack);
  await rename(join(made, pack), path);
  if ((await stat(path)).size > LIMITS.bytes) throw new Refused('The pack of the new objects is too large.');
  await git({
    gitDir: scratch.repository.gitDir,
    args: ['index-pack', '--strict', '--fsck-objects', path],
  });
  return { objects: store, name: pack.slice(0, -'.pack'.length) };
}
