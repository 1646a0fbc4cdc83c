import { existsSync } from 'node:fs';
import { mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { git, GitError } from '../git/git.ts';
import type { FoundRepository } from '../repository.ts';
import { workspaceError } from './failures.ts';
import { makeGitDir } from './git-dirs.ts';
import { openHome } from './home.ts';
import { layoutOf } from './layout.ts';
import { tryLock } from './lock.ts';
import { poolIds, putEntry, readEntry, takeEntry, type PoolEntry } from './pool.ts';
import type { WorktreeSettings } from './settings.ts';
import { keyOf, runSetup, type SetupRunner } from './setup.ts';
import { openStage, type Stage } from './stage.ts';
import { putTemplate, sharesBlocks, templateCommit } from './template.ts';
import { deleteFolder, throwAway } from './trash.ts';
import type { Filling } from './filling.ts';
import { checkOut, fillCold, moveTo } from './ways.ts';

export interface FillSpec {
  readonly settings: WorktreeSettings;
  /** The commit that the next tasks will most likely start from. */
  readonly commit: string;
  /** Runs the set-up command ahead, where what it leaves can be moved. */
  readonly runSetup?: SetupRunner;
  readonly signal?: AbortSignal;
}

/**
 * Fills the pool up to its size and brings what is in it to the commit, behind everything else that runs. Ends when
 * that is done; at once if another process is at it. Whoever calls it decides when: at the start, and after a worktree
 * was taken.
 */
export async function fillPool(repository: FoundRepository, spec: FillSpec): Promise<void> {
  try {
    await openHome(repository);
    using filler = tryLock(layoutOf(repository).fillerLock);
    if (!filler) return;
    const ready = await tidy(repository, spec.settings.pool);
    let missing = spec.settings.pool - ready.size;
    for (const [id, entry] of ready)
      if (entry.commit !== spec.commit && !(await bringUp(repository, spec, id))) missing += 1;
    if (missing > 0) await keepTemplate(repository, spec);
    for (let i = 0; i < missing; i += 1) await add(repository, spec);
  } catch (error) {
    throw workspaceError('Filling the pool of worktrees', error, spec.signal);
  }
}

/** What is in the pool, without what is broken or too much. */
async function tidy(repository: FoundRepository, size: number): Promise<Map<string, PoolEntry>> {
  const kept = new Map<string, PoolEntry>();
  for (const id of await poolIds(repository)) {
    const entry = await readEntry(repository, id);
    if (entry && kept.size < size) kept.set(id, entry);
    else await throwAway(repository, join(layoutOf(repository).pool, id));
  }
  return kept;
}

/** False if it is of no more use, and gone. */
async function bringUp(repository: FoundRepository, spec: FillSpec, id: string): Promise<boolean> {
  let done = false;
  await staged(repository, spec, async (filling, stage) => {
    const entry = await takeEntry(repository, stage, id);
    if (!entry) return;
    await rename(join(warmOf(stage), 'tree'), stage.tree);
    await moveTo(filling);
    await finish(filling, spec, entry.setupKey);
    done = true;
  }).catch((error: unknown) => {
    // A file that a set-up command changed is in the way.
    if (!(error instanceof GitError)) throw error;
    spec.signal?.throwIfAborted();
  });
  return done;
}

async function add(repository: FoundRepository, spec: FillSpec): Promise<void> {
  await staged(repository, spec, async (filling, stage) => {
    await mkdir(warmOf(stage));
    await fillCold(filling);
    await finish(filling, spec, null);
  });
}

/** Where blocks can be shared, what is copied from is kept near to what is wanted. */
async function keepTemplate(repository: FoundRepository, spec: FillSpec): Promise<void> {
  await staged(repository, spec, async (filling, stage) => {
    if (!(await sharesBlocks(repository, stage)) || (await templateCommit(repository)) === spec.commit)
      return;
    await mkdir(warmOf(stage));
    await checkOut(filling);
    await settle(filling);
    await rename(stage.tree, join(warmOf(stage), 'tree'));
    await putTemplate(repository, stage, { commit: spec.commit });
  });
}

const warmOf = (stage: Stage): string => join(stage.path, 'warm');

/** Work in a stage with a git directory of its own and its index where the pool will have it. */
async function staged(
  repository: FoundRepository,
  spec: FillSpec,
  work: (filling: Filling, stage: Stage) => Promise<void>,
): Promise<void> {
  using stage = await openStage(repository);
  try {
    const ownGitDir = join(stage.path, 'own.git');
    await makeGitDir({
      repository,
      path: ownGitDir,
      alternates: repository.objectStores,
      branch: 'pool',
      refs: {},
      config: [],
      exclude: '',
    });
    const { commit, signal } = spec;
    const indexFile = join(warmOf(stage), 'index');
    await work({ repository, stage, ownGitDir, indexFile, commit, signal, background: true }, stage);
  } finally {
    await deleteFolder(stage.path);
  }
}

async function finish(filling: Filling, spec: FillSpec, setupKey: string | null): Promise<void> {
  const { repository, stage, commit } = filling;
  const key = await setUpAhead(filling, spec, setupKey);
  await settle(filling);
  await rename(stage.tree, join(warmOf(stage), 'tree'));
  await putEntry(repository, stage, { commit, setupKey: key });
}

async function setUpAhead(
  { repository, stage, ownGitDir, commit, signal }: Filling,
  spec: FillSpec,
  before: string | null,
): Promise<string | null> {
  const { setup } = spec.settings;
  if (!setup?.movable || !spec.runSetup) return before;
  if ((await keyOf(stage.tree, setup)) === before) return before;
  const checkout = {
    repository,
    name: stage.id,
    kind: 'clone' as const,
    path: stage.tree,
    agentGitDir: join(stage.tree, '.git'),
    room: stage.path,
    ownGitDir,
    branch: 'pool',
    start: commit,
  };
  await runSetup(checkout, { setup, run: spec.runSetup, environment: {}, signal });
  return await keyOf(stage.tree, setup);
}

/**
 * Git does not trust what an index says of a file that was changed in the second the index was written, and reads it.
 * So the index is written once more, a second later: then the first `git status` in the worktree reads nothing.
 */
async function settle({ ownGitDir, stage, indexFile, signal }: Filling): Promise<void> {
  if (!existsSync(indexFile)) return;
  const written = (await stat(indexFile)).mtimeMs;
  const wait = Math.floor(written / 1_000) * 1_000 + 1_010 - Date.now();
  if (wait > 0) await sleep(wait, undefined, { signal });
  await git({
    gitDir: ownGitDir,
    workTree: stage.tree,
    indexFile,
    args: ['update-index', '-q', '--refresh', '--force-write-index'],
    // A set-up command may have changed a file.
    accept: [1],
    background: true,
    ...(signal ? { signal } : {}),
  });
}
