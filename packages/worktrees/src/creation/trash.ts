import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Repository } from '../checkout.ts';
import { succeeds } from '../git/processes.ts';
import { makeFolder, moveFolder, orNull } from './files.ts';
import { layoutOf } from './layout.ts';
import { newId } from './stage.ts';

/** Puts a folder where it will be deleted from. A link is moved, never followed. */
export async function throwAway(repository: Repository, path: string): Promise<void> {
  await moveFolder(path, await newBin(repository));
}

/** A place in the trash, for one folder to be moved to. */
export async function newBin(repository: Repository): Promise<string> {
  const { trash } = layoutOf(repository);
  await makeFolder(trash);
  return join(trash, newId());
}

export const binsOf = async (repository: Repository): Promise<string[]> => {
  const { trash } = layoutOf(repository);
  return ((await orNull(readdir(trash))) ?? []).map((bin) => join(trash, bin));
};

// Three seconds in all.
const [FIRST_WAIT_MS, TRIES] = [50, 6];

/**
 * Deletes a folder of ours with all that is in it, behind everything else that runs. It is a program of its own: tens
 * of thousands of files would keep this one busy for seconds. `rm` follows no link, nor does `chmod -R`, which gives
 * back the permissions that an agent took. What resists (the git of a process that was killed may still be writing
 * there) is left for the next sweep: then false.
 */
export async function deleteFolder(path: string): Promise<boolean> {
  for (let round = 0; round < TRIES; round += 1) {
    if (await succeeds('rm', ['-rf', '--', path], { background: true })) return true;
    await succeeds('chmod', ['-R', 'u+rwx', '--', path], { background: true });
    if (await succeeds('rm', ['-rf', '--', path], { background: true })) return true;
    await sleep(FIRST_WAIT_MS * 2 ** round);
  }
  return false;
}
