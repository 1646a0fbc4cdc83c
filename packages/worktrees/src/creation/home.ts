import { randomBytes } from 'node:crypto';
import { lstat, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import type { Repository } from '../checkout.ts';
import { readSmall } from '../repository/files.ts';
import { realPathOf } from '../repository/paths.ts';
import { codeOf } from './failures.ts';
import { makeFolder, orNull } from './files.ts';
import { layoutOf } from './layout.ts';

/** Makes the home of the worktrees if it is missing, and checks that nobody else made it or can change it (BND6). */
export async function openHome(repository: Repository): Promise<void> {
  // Before: nothing is made behind a link. After: what others made meanwhile is not taken for ours.
  await checkHome(repository);
  await makeFolder(layoutOf(repository).ours);
  await checkHome(repository);
}

/** A home that is not there yet is made by us. Of one that is there, no part that we use may be a link or somebody else's. */
export async function checkHome(repository: Repository): Promise<void> {
  const { ours } = layoutOf(repository);
  for (const folder of [repository.home, ours]) {
    const why = await whyNotOurs(folder);
    if (why !== null) throw notOurs(folder, why);
  }
  const entries = (await orNull(readdir(ours, { withFileTypes: true }))) ?? [];
  const link = entries.find((entry) => entry.isSymbolicLink());
  if (link) throw notOurs(join(ours, link.name), 'it is a link');
  // Also a folder above the home may have been swapped for a link since its path was resolved.
  if (realPathOf(ours) !== ours) throw notOurs(ours, `it leads through a link, to ${realPathOf(ours)}`);
}

/** Null for a folder of this user that nobody else can write to, and for nothing at all. */
async function whyNotOurs(folder: string): Promise<string | null> {
  const found = await orNull(lstat(folder));
  if (!found) return null;
  if (found.isSymbolicLink()) return 'it is a link';
  if (!found.isDirectory()) return 'it is no folder';
  if (process.getuid && found.uid !== process.getuid()) return `it belongs to user ${found.uid}`;
  return (found.mode & 0o022) === 0 ? null : `others can write to it (chmod 700 ${folder})`;
}

const notOurs = (path: string, why: string): ReveilleError =>
  new ReveilleError(
    'workspace_failed',
    `Worktrees cannot be made in ${path}: ${why}. It must be a folder of your own. Remove it, or set worktrees.home to another place.`,
    { data: { reason: 'home', path } },
  );

const markOf = (repository: Repository): string => join(layoutOf(repository).ours, '.mark');

/**
 * The mark of a home: a random text that is also kept with what the person trusts. A folder that came with a repository
 * cannot have it, and what lies there (unfinished moves, records) is acted upon, so it must be from us.
 */
export async function markIn(repository: Repository): Promise<string | null> {
  await checkHome(repository);
  return await readSmall(markOf(repository));
}

/** Whether there is a home already, with something in it. Folders that we were just making when we died are nothing. */
export async function isHomeUsed(repository: Repository): Promise<boolean> {
  const { ours } = layoutOf(repository);
  const inside = (await orNull(readdir(repository.home))) ?? [];
  if (inside.some((name) => name !== basename(ours))) return true;
  return ((await orNull(readdir(ours))) ?? []).length > 0;
}

export const newMark = (): string => randomBytes(32).toString('hex');

/** Makes the home, with this mark unless it has one. */
export async function markHome(repository: Repository, mark: string): Promise<void> {
  await openHome(repository);
  await writeFile(markOf(repository), mark, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
}
