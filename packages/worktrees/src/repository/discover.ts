import { existsSync } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import { git } from '../git/git.ts';
import { readSmall } from './files.ts';
import { isWithin, overlapping, realPathOf } from './paths.ts';

/** Folders that no repository may be in, be, or contain. */
export interface ReservedFolders {
  /** Reveille's own: its state with tokens and database, its config. */
  readonly own?: readonly string[];
  /** The homes of worktrees that are known. One on the way up from a path is found without this. */
  readonly homes?: readonly string[];
}

/** Where a repository is. All are real paths. */
export interface RepositoryPlace {
  readonly root: string;
  /** The common git directory. */
  readonly gitDir: string;
  /** The git directory of this checkout. Another than `gitDir` where that is a linked worktree. */
  readonly headDir: string;
}

/**
 * Looks upwards as git does, but runs nothing: the folder may be anybody's, and git would read a config on its way.
 * It goes on to `/` after the first `.git`, because a repository inside a worktree of ours or inside another
 * repository was made by somebody other than the person who owns that one (BND6).
 */
export async function discover(path: string, reserved: ReservedFolders = {}): Promise<RepositoryPlace> {
  const from = await realpath(path).catch((error: unknown) => {
    throw refused(`${path} does not exist or cannot be read.`, path, error);
  });
  if (isAmongWorktrees(from)) throw madeByReveille(path);
  let place: RepositoryPlace | null = null;
  for (const folder of upwards(from)) {
    if (place) await refuseNested(place, folder);
    else place = await repositoryAt(folder, path);
  }
  if (!place) throw refused(`${path} is not in a git repository. Run git init there first.`, path);
  refuseReserved(place, reserved);
  return place;
}

function* upwards(from: string): Generator<string> {
  for (let folder = from; ; folder = dirname(folder)) {
    yield folder;
    if (folder === dirname(folder)) return;
  }
}

/** Whether a real path is in a home of worktrees, of any repository. Only Reveille makes these files: see `layoutOf`. */
export const isAmongWorktrees = (path: string): boolean =>
  [...upwards(path)].some((folder) =>
    ['.lock.db', '.stage'].some((name) => existsSync(join(folder, '.reveille', name))),
  );

async function repositoryAt(folder: string, path: string): Promise<RepositoryPlace | null> {
  const place = await locate(folder);
  if (place) return await checkedBack(place);
  if (await isGitDir(folder)) throw basename(folder) === '.git' ? inside(path) : bare(folder);
  return null;
}

/** What the `.git` of a folder leads to, as git would follow it; null if there is none. */
async function locate(root: string): Promise<RepositoryPlace | null> {
  const at = join(root, '.git');
  const found = await stat(at).catch(() => null);
  if (!found) return null;
  if (found.isDirectory()) {
    if (!(await isGitDir(at))) return null;
    const headDir = await realpath(at);
    return { root, headDir, gitDir: await commonDirOf(headDir) };
  }
  const target = gitDirIn((await readSmall(at)) ?? '');
  if (target === '') throw refused(`${at} is no git directory and names none.`, root);
  const headDir = await realpath(resolve(root, target)).catch((error: unknown) => {
    throw refused(`${at} names the git directory ${target}, which is not there.`, root, error);
  });
  return { root, headDir, gitDir: await commonDirOf(headDir) };
}

/** The git directory that the file `.git` of a worktree names; empty if it names none. */
function gitDirIn(text: string): string {
  const start = 'gitdir: '.length;
  let end = text.length;
  while (end > start && '\r\n'.includes(text[end - 1] ?? ' ')) end -= 1;
  return text.startsWith('gitdir: ') ? text.slice(start, end) : '';
}

const isGitDir = async (folder: string): Promise<boolean> =>
  (await stat(join(folder, 'HEAD')).catch(() => null)) !== null &&
  ((await stat(join(folder, 'commondir')).catch(() => null)) !== null ||
    ((await stat(join(folder, 'objects')).catch(() => null))?.isDirectory() ?? false));

async function commonDirOf(gitDir: string): Promise<string> {
  const file = join(gitDir, 'commondir');
  const common = await readSmall(file);
  // Git takes away nothing but the end of the line: what else looks blank is part of the name.
  if (common !== null) return await realpath(resolve(gitDir, common.replace(/[\r\n]+$/, '')));
  if (await lstat(file).catch(() => null))
    throw refused(`${file} is no plain file. Git would follow it, and Reveille does not.`, gitDir);
  return gitDir;
}

/**
 * A `.git` that leads out of its folder counts only if the git directory it leads to names the folder in turn: anybody
 * can write a `.git` file, but only the owner of a repository can write into its git directory.
 */
async function checkedBack(place: RepositoryPlace): Promise<RepositoryPlace> {
  const { root, headDir, gitDir } = place;
  if (headDir !== gitDir) {
    const back = (await readSmall(join(headDir, 'gitdir'))) ?? '';
    const entry = dirname(headDir) === join(gitDir, 'worktrees');
    if (entry && (await pointsAt(resolve(headDir, back.trim()), join(root, '.git')))) return place;
    throw pointsElsewhere(root, gitDir, `git -C ${gitDir} worktree repair ${root}`);
  }
  if (isWithin(gitDir, root)) return place;
  // So it is for submodules, whose git directory is in that of the repository round them.
  const worktree = await workTreeIn(gitDir);
  if (worktree !== '' && (await pointsAt(resolve(gitDir, worktree), root))) return place;
  throw pointsElsewhere(root, gitDir, `git --git-dir=${gitDir} config core.worktree ${root}`);
}

const pointsAt = async (path: string, target: string): Promise<boolean> =>
  (await realpath(path).catch(() => '')) === target;

/** `core.worktree` as the config of the git directory itself says it; empty if it does not. */
async function workTreeIn(gitDir: string): Promise<string> {
  const config = join(gitDir, 'config');
  if ((await readSmall(config)) === null) return '';
  const args = ['config', '--file', config, '--no-includes', '--get', 'core.worktree'];
  const { stdout } = await git({ gitDir, args, accept: [1] });
  return stdout.replace(/\n$/, '');
}

/** A folder above a repository belongs to the same repository, to the one it is a submodule of, or to none. */
async function refuseNested(inner: RepositoryPlace, folder: string): Promise<void> {
  if (folder !== inner.gitDir && (await isGitDir(folder))) throw inside(inner.root);
  // One that cannot be followed is no repository for git either.
  const outer = await locate(folder).catch(() => null);
  if (!outer || outer.gitDir === inner.gitDir) return;
  const modules = [outer.headDir, outer.gitDir].map((dir) => join(dir, 'modules'));
  if (modules.some((dir) => isWithin(inner.gitDir, dir))) return;
  throw refused(
    `${inner.root} is a repository inside the repository ${folder}. Reveille does not work in nested repositories, because whoever writes to the outer one could have made it. Move it out of ${folder}, or make it a submodule (git submodule add, or git submodule absorbgitdirs if it is one).`,
    inner.root,
  );
}

/** Also where the worktrees' home is a link or the repository is reached by one: all are real paths here. */
function refuseReserved(place: RepositoryPlace, { own = [], homes = [] }: ReservedFolders): void {
  for (const path of [place.root, place.headDir, place.gitDir]) {
    const ours = overlapping(path, own.map(realPathOf));
    if (ours !== null)
      throw refused(
        `${place.root} cannot be worked on: ${path} and Reveille's own folder ${ours}, which holds its tokens and settings, lie in each other. Move one of them; REVEILLE_HOME says where Reveille's is.`,
        place.root,
      );
    const home = overlapping(path, homes.map(realPathOf));
    if (home !== null)
      throw refused(
        `${place.root} cannot be worked on: ${path} and the folder ${home}, in which Reveille makes worktrees, lie in each other. Name the repository that the worktrees are of, or move one of them.`,
        place.root,
      );
  }
}

export const refused = (message: string, path: string, cause?: unknown): ReveilleError =>
  new ReveilleError('not_a_repository', message, { data: { path }, cause });

const pointsElsewhere = (root: string, gitDir: string, repair: string): ReveilleError =>
  refused(
    `${join(root, '.git')} leads to the git directory ${gitDir}, which does not name ${root} as its checkout. Name the checkout it belongs to, or, if ${root} is one of yours, run: ${repair}`,
    root,
  );

const madeByReveille = (path: string): ReveilleError =>
  refused(
    `${path} lies in a worktree that Reveille made, or where it makes them. Name the repository it was made from instead.`,
    path,
  );

export const bare = (path: string): ReveilleError =>
  refused(`${path} is a bare repository. Clone it, or add a worktree to it, and name that.`, path);

const inside = (path: string): ReveilleError =>
  refused(`${path} lies in a git directory. Name the checkout it belongs to.`, path);
