import { readdir, readlink, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { existsSync } from 'node:fs';
import type { Repository } from '../checkout.ts';
import { undoClaim } from './claim.ts';
import { workspaceError } from './failures.ts';
import { orNull } from './files.ts';
import { layoutOf, roomOf, treeOf } from './layout.ts';
import { withLock } from './lock.ts';
import { readRecord, roomNames } from './record.ts';
import { emptyBin } from './remove.ts';
import { lockStage } from './stage.ts';
import { binsOf, throwAway } from './trash.ts';

export interface Orphan {
  readonly name: string;
  readonly path: string;
  /**
   * `no_run`: nobody knows the worktree. `no_tree`: somebody does, or its record is there, and its tree is not.
   * `no_record`: a folder in the home that is not one of our worktrees.
   */
  readonly why: 'no_run' | 'no_tree' | 'no_record';
}

/**
 * Called at the start with the names of the worktrees that runs have. What dead processes left half made or half
 * removed is ours, and is taken away; a worktree is only ever reported.
 */
export async function findOrphans(repository: Repository, known: Iterable<string>): Promise<Orphan[]> {
  try {
    await sweep(repository);
    return await orphansOf(repository, new Set(known));
  } catch (error) {
    throw workspaceError(`Looking through ${repository.home}`, error);
  }
}

/** Takes away what processes left that died. What is being made or removed by others right now is left alone. */
export async function sweep(repository: Repository): Promise<void> {
  // Side by side: to take back a linked worktree takes seconds of waiting.
  await Promise.all([sweepStages(repository), sweepBins(repository)]);
  await sweepBins(repository);
  await sweepPorts(repository);
}

const sweepBins = async (repository: Repository): Promise<unknown> =>
  await Promise.all((await binsOf(repository)).map((bin) => emptyBin(repository, bin)));

async function sweepStages(repository: Repository): Promise<void> {
  const { stages } = layoutOf(repository);
  const ids = (await orNull(readdir(stages))) ?? [];
  await Promise.all(ids.map((id) => sweepStage(repository, join(stages, id))));
}

async function sweepStage(repository: Repository, path: string): Promise<void> {
  using held = lockStage(path);
  if (!held) return;
  await undoClaim(repository, { id: basename(path), path });
  await throwAway(repository, path);
}

/** A block belongs to a room; a room that is made now has its place before its ports. */
async function sweepPorts(repository: Repository): Promise<void> {
  const { lock, ports } = layoutOf(repository);
  if (!existsSync(ports)) return;
  await withLock(lock, async () => {
    for (const block of await readdir(ports)) {
      const name = await orNull(readlink(join(ports, block)));
      if (name !== null && !existsSync(roomOf(repository, name)))
        await rm(join(ports, block), { force: true });
    }
  });
}

async function orphansOf(repository: Repository, known: ReadonlySet<string>): Promise<Orphan[]> {
  const { records, trees } = await listed(repository);
  const why = (name: string): Orphan['why'] | null => {
    if (!trees.has(name)) return 'no_tree';
    if (!records.has(name)) return 'no_record';
    return known.has(name) ? null : 'no_run';
  };
  return [...new Set([...known, ...records, ...trees])].toSorted().flatMap((name) => {
    const reason = why(name);
    return reason ? [{ name, path: treeOf(repository, name), why: reason }] : [];
  });
}

/** Under the lock, so that nothing is seen half removed. What is still being made is left out. */
async function listed(repository: Repository): Promise<{ records: Set<string>; trees: Set<string> }> {
  const { lock, ours } = layoutOf(repository);
  if (!existsSync(ours)) return { records: new Set(), trees: new Set() };
  return await withLock(lock, async () => {
    const trees = new Set((await readdir(repository.home)).filter((name) => !name.startsWith('.')));
    const records = new Set<string>();
    for (const name of await roomNames(repository)) {
      if (await readRecord(roomOf(repository, name))) records.add(name);
      else trees.delete(name);
    }
    return { records, trees };
  });
}
