import { mkdir, rm, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { git, GitError } from '../git/git.ts';
import type { Filled, Filling } from './filling.ts';
import { takeWarm } from './pool.ts';
import { copyTemplate } from './template.ts';
import { throwAway } from './trash.ts';

/**
 * Fills the stage's tree in the fastest way there is: a tree that is ready, a copy that shares its blocks on a file
 * system that can, a checkout. All of them end with the same files and an index that knows them.
 */
export async function fillTree(filling: Filling): Promise<Filled> {
  return (await attempt(filling, fromPool)) ?? (await fillCold(filling));
}

/** Without the pool. */
export async function fillCold(filling: Filling): Promise<Filled> {
  return (await attempt(filling, copyTemplate)) ?? (await checkOut(filling));
}

type Way = (filling: Filling) => Promise<(Filled & { readonly commit: string }) | null>;

/** A way that does not lead there is given up, with all it did: the next begins with nothing. */
async function attempt(filling: Filling, way: Way): Promise<Filled | null> {
  try {
    const found = await way(filling);
    if (!found) return null;
    if (found.commit !== filling.commit) await moveTo(filling);
    return found;
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    filling.signal?.throwIfAborted();
    await throwAway(filling.repository, filling.stage.tree);
    await rm(filling.indexFile, { force: true });
    return null;
  }
}

const fromPool: Way = async ({ repository, stage, commit, indexFile }) =>
  await takeWarm(repository, stage, { commit, indexFile });

export async function checkOut(filling: Filling): Promise<Filled> {
  await mkdir(filling.stage.tree);
  await moveTo(filling);
  return { setupKey: null };
}

/**
 * Brings a tree that nobody else touches to the commit. Files that are the same stay as they are and are not looked
 * at, so it costs what has changed.
 */
export async function moveTo(filling: Filling): Promise<void> {
  const { stage, ownGitDir, indexFile, commit, background = false, signal } = filling;
  await git({
    gitDir: ownGitDir,
    workTree: stage.tree,
    indexFile,
    // A worker per core, from 100 files on (git's own threshold).
    args: ['-c', `checkout.workers=${availableParallelism()}`, 'read-tree', '-m', '-u', commit],
    background,
    ...(signal ? { signal } : {}),
  }).catch(async (error: unknown) => {
    throw (await isOutOfSpace(filling, error)) ? outOfSpace(error) : error;
  });
}

/** Of a file that it could not write, git does not say why: whether all of them would fit has to do. */
async function isOutOfSpace({ stage, ownGitDir, commit }: Filling, error: unknown): Promise<boolean> {
  if (!(error instanceof GitError) || !/unable to (write|create)/i.test(error.stderr)) return false;
  const { stdout } = await git({
    gitDir: ownGitDir,
    args: ['ls-tree', '-r', '--format=%(objectsize)', commit],
  });
  const needed = stdout.split('\n').reduce((sum, size) => sum + (Number(size) || 0), 0);
  const { bavail, bsize, files, ffree } = await statfs(stage.path);
  return bavail * bsize < needed || (files > 0 && ffree === 0);
}

const outOfSpace = (cause: unknown): Error =>
  Object.assign(new Error('There is no space left for the files of the commit.', { cause }), {
    code: 'ENOSPC',
  });
