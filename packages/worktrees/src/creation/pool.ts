import { mkdir, readdir, rename } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../checkout.ts';
import type { FoundRepository } from '../repository.ts';
import { moveFolder, orNull, readJson, writeWhole } from './files.ts';
import { layoutOf } from './layout.ts';
import type { Stage } from './stage.ts';
import { throwAway } from './trash.ts';

/**
 * Trees that are ready to be taken: `<id>/{tree,index,entry.json}`, without a git directory. One is put there, and
 * taken, by one rename, so that it is whole and nobody else's.
 */
export interface PoolEntry {
  readonly commit: string;
  /** What its set-up was run for, if it was. */
  readonly setupKey: string | null;
}

const metaOf = (folder: string): string => join(folder, 'entry.json');

export async function poolIds(repository: Repository): Promise<string[]> {
  return (await orNull(readdir(layoutOf(repository).pool))) ?? [];
}

/** Null for one that is gone or broken. */
export async function readEntry(repository: Repository, id: string): Promise<PoolEntry | null> {
  const value = await readJson(metaOf(join(layoutOf(repository).pool, id))).catch(() => null);
  // Written by us, whole or not at all.
  return value as PoolEntry | null;
}

/** Moves a ready tree into the stage, best one that stands at the commit; null if there is none to be had. */
export async function takeWarm(
  repository: FoundRepository,
  stage: Stage,
  { commit, indexFile }: { commit: string; indexFile: string },
): Promise<PoolEntry | null> {
  for (const id of await bestFirst(repository, commit)) {
    const entry = await takeEntry(repository, stage, id);
    if (!entry) continue;
    await rename(join(warmOf(stage), 'tree'), stage.tree);
    await rename(join(warmOf(stage), 'index'), indexFile);
    return entry;
  }
  return null;
}

async function bestFirst(repository: Repository, commit: string): Promise<string[]> {
  const [same, others]: [string[], string[]] = [[], []];
  for (const id of await poolIds(repository)) {
    const entry = await readEntry(repository, id);
    if (entry) (entry.commit === commit ? same : others).push(id);
  }
  return [...same, ...others];
}

const warmOf = (stage: Stage): string => join(stage.path, 'warm');

/** Takes an entry out of the pool into `<stage>/warm`; null if somebody was faster or it is not fit for use. */
export async function takeEntry(repository: Repository, stage: Stage, id: string): Promise<PoolEntry | null> {
  const warm = warmOf(stage);
  if (!(await moveFolder(join(layoutOf(repository).pool, id), warm))) return null;
  const entry = (await readJson(metaOf(warm)).catch(() => null)) as PoolEntry | null;
  // A set-up command ran in it: where the agent's git directory will be, nothing may be yet.
  if (entry && !existsSync(join(warm, 'tree', '.git')) && existsSync(join(warm, 'index'))) return entry;
  await throwAway(repository, warm);
  return null;
}

/** Puts what is in `<stage>/warm` into the pool. */
export async function putEntry(repository: Repository, stage: Stage, entry: PoolEntry): Promise<void> {
  const { pool } = layoutOf(repository);
  await mkdir(pool, { recursive: true });
  await writeWhole(metaOf(warmOf(stage)), JSON.stringify(entry));
  await rename(warmOf(stage), join(pool, stage.id));
}
