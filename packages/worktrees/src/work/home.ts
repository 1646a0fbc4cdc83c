import { lstatSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ReveilleError, type FileChange, type Pulled } from '@reveille/protocol';
import type { Repository } from '../checkout.ts';
import { git, type GitAnswer, type GitCall } from '../git/git.ts';
import { confirmTree } from './accepted.ts';
import { countChanges } from './counts.ts';
import { lockHome, settleHome, type HomeMove } from './home-lock.ts';
import { copyIndex } from './index-file.ts';
import { concludeLaying, foldersAbove, lay, type TreeChange } from './lay.ts';
import { mergeBranches, type MergeSpec } from './merge.ts';
import { commitAt, moved } from './refs.ts';
import type { Scratch } from './scratch-place.ts';
import { withRepository } from './scratch.ts';
import { changesBetween, linkFolders, toTreeChanges } from './trees.ts';

/** `headDir`: where the person works in a linked worktree of their own, that one's git directory. */
export type HomeRepository = Repository & { readonly headDir?: string };

const MOST_NAMED = 100;
const UNDER_WAY = ['MERGE_HEAD', 'rebase-merge', 'rebase-apply', 'CHERRY_PICK_HEAD', 'REVERT_HEAD'];

/**
 * Merges a branch into the one the person has checked out, files and all. Only if that checkout has no uncommitted
 * changes; a file that git does not know and that would be overwritten is a conflict. It happens as a whole or not at
 * all, also when this process is killed.
 */
export async function bringHome(
  repository: HomeRepository,
  branch: string,
  options: Pick<MergeSpec, 'author' | 'message'> = {},
): Promise<Pulled> {
  return await withRepository(repository, 'home', async (scratch) => {
    const at = await standsAt(repository);
    const merged = await mergeBranches(repository, { ...options, base: at.from, branches: [branch] });
    if (merged.commit === undefined) return { merged: false, conflicts: merged.conflict.files };
    if (merged.commit === at.from) return { merged: true, commit: at.from, files: [] };
    return await moveHome(scratch, { ...at, to: merged.commit }, branch);
  });
}

const asked = async (move: Pick<HomeMove, 'headDir'>, call: Omit<GitCall, 'gitDir'>): Promise<GitAnswer> =>
  await git({ ...call, gitDir: move.headDir });

async function standsAt(repository: HomeRepository): Promise<Omit<HomeMove, 'to'>> {
  const { root } = repository;
  const headDir = repository.headDir ?? repository.gitDir;
  const underWay = UNDER_WAY.find((file) => lstatSync(join(headDir, file), { throwIfNoEntry: false }));
  if (underWay !== undefined)
    throw new ReveilleError('wrong_state', `A merge or rebase is half done in ${root}. Finish it first.`);
  const ref = (await asked({ headDir }, { args: ['symbolic-ref', '-q', 'HEAD'], accept: [1] })).stdout.trim();
  const from = ref === '' ? null : await commitAt(repository, ref);
  if (from === null)
    throw new ReveilleError(
      'wrong_state',
      `${root} is on no branch. Check one out first: that is what is merged into.`,
    );
  const sparse = await asked(
    { headDir },
    { args: ['config', '--get', '--type=bool', 'core.sparseCheckout'], accept: [1] },
  );
  if (sparse.stdout.trim() === 'true')
    throw new ReveilleError(
      'wrong_state',
      `${root} is a sparse checkout. Merge the branch there with git itself.`,
    );
  return { root, headDir, ref, from };
}

async function moveHome(scratch: Scratch, move: HomeMove, branch: string): Promise<Pulled> {
  const { repository, folder } = scratch;
  const between = await changesBetween(scratch, move.from, move.to);
  const [changes, links] = [toTreeChanges(between), linkFolders(between)];
  const puts = changes.filter((change) => change.puts).map(({ path }) => path);
  const staged = await stageHome(scratch, move, { puts, branch });
  await lockHome(folder, move);
  await refuseDirty(scratch, move);
  const until = { ref: move.ref, from: move.from, to: move.to, why: `merge ${branch}` };
  const conflicts = await lay(repository, { folder, root: move.root, staged, changes, links, until });
  if (conflicts.length > 0) return { merged: false, conflicts };
  await confirmHome(
    scratch,
    move,
    changes.filter(({ path }) => !links.come.includes(path)),
  );
  // From here on it is done: whoever settles the scratch brings the index after.
  if (!(await concludeLaying(repository, folder, until))) throw moved(move.ref);
  await settleHome(repository, folder);
  const files: FileChange[] = await countChanges(scratch, move.from, move.to);
  return { merged: true, commit: move.to, files };
}

/** What lies in the checkout now, as the person's own git would commit it. */
async function confirmHome(scratch: Scratch, move: HomeMove, changes: readonly TreeChange[]): Promise<void> {
  const { folder, objects, repository } = scratch;
  const place = {
    indexFile: join(folder, 'confirm-index'),
    env: { GIT_OBJECT_DIRECTORY: objects },
    alternates: [join(repository.gitDir, 'objects')],
  };
  await asked(move, { ...place, args: ['read-tree', move.from] });
  // A file or a link where a folder was takes the place of all that was in it; git does not look behind a link.
  const put = new Set(changes.filter(({ puts }) => puts).map(({ path }) => path));
  const named = changes.filter(({ path }) => !foldersAbove(path).some((folder) => put.has(folder)));
  const input = named.map(({ path }) => `${path}\0`).join('');
  const args = ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'];
  await asked(move, { ...place, workTree: move.root, args, input });
  const found = (await asked(move, { ...place, args: ['write-tree'] })).stdout.trim();
  const only = new Set(changes.map(({ path }) => Buffer.from(path, 'utf8').toString('latin1')));
  await confirmTree(scratch, { what: `The merge into ${move.root}`, accepted: move.to, found, only });
}

/** As the person's own git would write them: with the line ends their repository asks for. */
async function stageHome(
  scratch: Scratch,
  move: HomeMove,
  { puts, branch }: { readonly puts: readonly string[]; readonly branch: string },
): Promise<string> {
  const staged = join(scratch.folder, 'staged');
  await mkdir(staged);
  if (puts.length === 0) return staged;
  const input = `${puts.join('\0')}\0`;
  const place = { indexFile: join(scratch.folder, 'staged-index'), workTree: staged };
  await asked(move, { ...place, args: ['read-tree', move.to] });
  const attributes = await asked(move, {
    ...place,
    args: ['check-attr', '--cached', '-z', '--stdin', 'filter'],
    input,
  });
  const filtered = readAttributes(attributes.stdout);
  // Their programs are in the person's own settings, which we do not read.
  if (filtered.length > 0)
    throw new ReveilleError(
      'wrong_state',
      `Some files go through a filter (such as LFS): ${filtered.slice(0, 3).join(', ')}. Merge with git itself: git merge ${branch}`,
      { data: { files: filtered.slice(0, MOST_NAMED) } },
    );
  await asked(move, { ...place, args: ['checkout-index', '-z', '--stdin'], input });
  return staged;
}

/** `<path> <attribute> <value>`, one after another. */
function readAttributes(text: string): string[] {
  const parts = text.split('\0');
  return parts.filter((_, i) => i % 3 === 0 && !['unspecified', 'unset', undefined].includes(parts[i + 2]));
}

async function refuseDirty(scratch: Scratch, move: HomeMove): Promise<void> {
  const indexFile = join(scratch.folder, 'status-index');
  await copyIndex(join(move.headDir, 'index'), indexFile);
  const args = [
    'status',
    '--porcelain',
    '-z',
    '--untracked-files=no',
    '--ignore-submodules=all',
    '--no-renames',
  ];
  const { stdout } = await asked(move, { args, workTree: move.root, indexFile });
  const files = stdout
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => line.slice(3));
  if (files.length === 0) return;
  const more = files.length > MOST_NAMED ? ` and ${files.length - MOST_NAMED} more` : '';
  throw new ReveilleError(
    'dirty_checkout',
    `${move.root} has uncommitted changes: ${files.slice(0, MOST_NAMED).join(', ')}${more}. Commit or stash them first.`,
    { data: { files: files.slice(0, MOST_NAMED) } },
  );
}
