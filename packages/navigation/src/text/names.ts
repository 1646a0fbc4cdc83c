import { readdir } from 'node:fs/promises';
import { isLookedInto } from './tree.ts';
import { isTelling } from './watch.ts';

/** What files there were at a time. Whoever reads them after it is told what has changed since, once that is known. */
export interface Before {
  /** By the clock of the system, which files are stamped by too. */
  readonly at: number;
  readonly paths: readonly string[];
}

/** More are not listed twice. */
const MOST = 20_000;

/**
 * The names of all plain files of a tree, and nothing else of them: a server can begin to read before all of them have been looked
 * at. Null: there are too many, or their times are those of another machine.
 */
export async function namesBefore(root: string): Promise<Before | null> {
  if (!isTelling(root)) return null;
  const at = Date.now();
  const paths: string[] = [];
  for (let folders = ['']; folders.length > 0;) {
    const inner = await Promise.all(folders.map((folder) => listed(root, folder, paths)));
    if (paths.length > MOST) return null;
    folders = inner.flat();
  }
  return { at, paths };
}

async function listed(root: string, folder: string, paths: string[]): Promise<string[]> {
  const above = folder === '' ? '' : `${folder}/`;
  // What went away since it was listed is not there.
  const entries = await readdir(`${root}/${folder}`, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isFile()) paths.push(`${above}${entry.name}`);
  return entries
    .filter((entry) => entry.isDirectory() && isLookedInto(entry.name))
    .map(({ name }) => `${above}${name}`);
}
