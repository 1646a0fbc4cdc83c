import { constants, existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Repository } from '../checkout.ts';
import type { Claim } from './claimed.ts';
import { codeOf } from './failures.ts';
import { orNull } from './files.ts';
import { treeOf } from './layout.ts';
import { agentGitDirOf } from './record.ts';
import type { Stage } from './stage.ts';

/**
 * The entry of a linked worktree in the person's repository, as `git worktree add` writes it. It is put together aside
 * and moved to its place whole: a git that looks at all worktrees while another adds one fails
 * over its empty files ("failed to read commondir"), and the person's `git fetch` is such a git.
 */
export async function makeEntry(
  repository: Repository,
  { stage, claim, index }: { stage: Stage; claim: Claim; index: string },
): Promise<void> {
  const aside = asideOf(repository, stage.id);
  const entry = agentGitDirOf(repository, 'linked', claim.name);
  await mkdir(aside);
  await writeFile(join(aside, 'HEAD'), `ref: refs/heads/${claim.branch}\n`);
  await writeFile(join(aside, 'commondir'), '../..\n');
  await writeFile(join(aside, 'gitdir'), `${join(treeOf(repository, claim.name), '.git')}\n`);
  // Somebody's `git worktree prune` would drop the entry of a tree that is not in its place yet, or for a while.
  await writeFile(join(aside, 'locked'), 'Reveille works here\n');
  await copyFile(index, join(aside, 'index'), constants.COPYFILE_FICLONE);
  await moveIn(repository, aside, entry);
  await writeFile(join(stage.tree, '.git'), `gitdir: ${entry}\n`);
}

async function moveIn(repository: Repository, aside: string, entry: string): Promise<void> {
  for (;;) {
    await mkdir(join(repository.gitDir, 'worktrees'), { recursive: true });
    // Git takes the folder away when its last entry goes.
    if (await orNull(rename(aside, entry).then(() => true))) return;
  }
}

/**
 * An entry is taken away in two steps. A git that has seen it dies if it cannot read `commondir` a moment later, and one
 * that finds no `gitdir` does not look any further: so that file goes first, and the rest when those who may have seen
 * it are long past it.
 */
const GRACE_MS = 3_000;

/** The first step. Answers whether there is an entry to wait for. */
export async function hideEntry(repository: Repository, name: string): Promise<boolean> {
  const entry = agentGitDirOf(repository, 'linked', name);
  await rm(join(entry, 'gitdir'), { force: true });
  return existsSync(entry);
}

export const entryIsForgotten = async (): Promise<void> => await sleep(GRACE_MS);

/** The second step, and what is left of one that was being made. `id` is the stage's, or the bin's. */
export async function dropEntry(repository: Repository, name: string, id: string): Promise<void> {
  const aside = asideOf(repository, id);
  await rm(aside, { recursive: true, force: true });
  await orNull(rename(agentGitDirOf(repository, 'linked', name), aside));
  await rm(aside, { recursive: true, force: true });
  await rmdir(join(repository.gitDir, 'worktrees')).catch((error: unknown) => {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
  });
}

/** A name that git looks at nowhere. */
const asideOf = (repository: Repository, id: string): string => join(repository.gitDir, `reveille-${id}`);
