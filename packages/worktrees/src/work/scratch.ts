import { mkdir, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isReveilleError, ReveilleError } from '@reveille/protocol';
import type { Checkout, Repository } from '../checkout.ts';
import { codeOf, workspaceError } from '../creation/failures.ts';
import { makeFolder } from '../creation/files.ts';
import { layoutOf } from '../creation/layout.ts';
import { withLock } from '../creation/lock.ts';
import { newId } from '../creation/stage.ts';
import { gitBytes, GitError } from '../git/git.ts';
import { COMMITTER, identity } from './identity.ts';
import { mergeDirIn } from './merge-dir.ts';
import type { Scratch } from './scratch-place.ts';
import { settleFolder } from './settle-folder.ts';

type Work<T> = (scratch: Scratch) => Promise<T>;

const PATIENCE_MS = 300_000;
const ROUNDS = 3;

/** One operation at a time on a checkout, in all processes. What a killed one had begun is settled first. */
export async function withCheckout<T>(checkout: Checkout, work: Work<T>): Promise<T> {
  const { repository, room, ownGitDir } = checkout;
  return await inRoom({ repository, room, gitDir: async () => ownGitDir, work });
}

/** For what belongs to no checkout. Those of one purpose come one after another, others beside them. */
export async function withRepository<T>(repository: Repository, purpose: string, work: Work<T>): Promise<T> {
  const room = join(layoutOf(repository).ours, '.work', purpose);
  await makeFolder(room);
  return await inRoom({ repository, room, gitDir: (folder) => mergeDirIn(repository, folder), work });
}

interface RoomCall<T> {
  readonly repository: Repository;
  readonly room: string;
  readonly gitDir: (folder: string) => Promise<string>;
  readonly work: Work<T>;
}

async function inRoom<T>({ repository, room, gitDir, work }: RoomCall<T>): Promise<T> {
  await makeIn(room, join(room, 'scratch'));
  const alone = withLock(join(room, 'work.db'), async () => {
    for (let round = 1; ; round += 1) {
      try {
        return await inFolder({ repository, room, gitDir, work });
      } catch (error) {
        // A ref moved: perhaps by a git that outlived the process before us. Or the person's gc took a commit that no
        // ref named yet. Everything is looked at again.
        const isPassing = isReveilleError(error, 'contention') || isPruned(error);
        if (!isPassing || round === ROUNDS) throw error;
      }
    }
  });
  return await alone.catch((error: unknown) => {
    throw workspaceError(`Work on ${basename(room)}`, error);
  });
}

const isPruned = (error: unknown): boolean =>
  error instanceof GitError && /with nonexistent object/.test(error.stderr);

async function inFolder<T>({ repository, room, gitDir, work }: RoomCall<T>): Promise<T> {
  const scratches = join(room, 'scratch');
  // Whoever holds the lock is alone here: what lies there was left by a process that died.
  for (const name of await readdir(scratches)) await settleAndRemove(repository, join(scratches, name));
  const folder = join(scratches, newId());
  try {
    await mkdir(join(folder, 'objects', 'pack'), { recursive: true });
    return await work(scratchIn(repository, folder, await gitDir(folder)));
  } finally {
    await settleAndRemove(repository, folder);
  }
}

async function makeIn(room: string, folder: string): Promise<void> {
  await mkdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) === 'ENOENT')
      throw new ReveilleError('not_found', `There is no checkout any more: ${room} is gone.`, {
        cause: error,
      });
    throw error;
  });
}

async function settleAndRemove(repository: Repository, folder: string): Promise<void> {
  await settleFolder(repository, folder);
  // A git that outlived its process may still be writing here.
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

function scratchIn(repository: Repository, folder: string, gitDir: string): Scratch {
  const objects = join(folder, 'objects');
  const index = join(folder, 'index');
  const bytes: Scratch['bytes'] = async ({ patienceMs = PATIENCE_MS, args, env, ...call }) => {
    return await gitBytes({
      gitDir,
      indexFile: index,
      ...call,
      // A blob above the threshold is passed through, not held in memory. Commit graphs could lie.
      args: ['-c', 'core.bigFileThreshold=32m', '-c', 'core.commitGraph=false', ...args],
      env: { GIT_OBJECT_DIRECTORY: objects, ...identity(COMMITTER), ...env },
      alternates: [join(repository.gitDir, 'objects')],
      patienceMs,
    });
  };
  const git: Scratch['git'] = async (call) => {
    const answer = await bytes(call);
    return { ...answer, stdout: answer.stdout.toString('utf8') };
  };
  return { repository, folder, gitDir, objects, index, git, bytes };
}
