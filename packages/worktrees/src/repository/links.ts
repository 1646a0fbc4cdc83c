import { readdir, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { refused } from './discover.ts';
import { isWithin } from './paths.ts';

/** The entries of a git directory that git or Reveille reads or writes. Hooks are not among them: none is ever run. */
const FOLLOWED =
  /^(?:[A-Z_]*HEAD|config|config\.worktree|commondir|gitdir|packed-refs|shallow|index|sharedindex\..*|refs|reftable|logs|info|objects|worktrees|reveille-.*)$/;

/**
 * Folders in which every entry counts, and how many levels below them. `objects` holds folders of objects and packs. Git
 * adds a line to a file in `logs` for each change of a ref, with text that the config decides.
 */
const SEARCHED: readonly (readonly [name: string, levels: number])[] = [
  ['refs', 20],
  ['info', 2],
  ['objects', 2],
  ['worktrees', 1],
  ['logs', 20],
  ['reftable', 1],
];

/**
 * Refuses a git directory with a link in it. Git would follow one: to read the objects of another
 * repository, or to write refs, packs and logs to any place; and a sandbox would show what it leads to (BND6). A pipe is
 * refused because git would wait for it. `dir` is the common git directory or, of a linked worktree, the one in it.
 */
export async function refuseLinks(dir: string, gitDir: string): Promise<void> {
  await searchLinks({ gitDir, folder: dir, levels: 1, counts: (name) => FOLLOWED.test(name) });
  for (const [name, levels] of SEARCHED)
    await searchLinks({ gitDir, folder: join(dir, name), levels, counts: () => true });
}

interface LinkSearch {
  readonly gitDir: string;
  readonly folder: string;
  readonly levels: number;
  readonly counts: (name: string) => boolean;
}

async function searchLinks({ gitDir, folder, levels, counts }: LinkSearch): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter(({ name }) => counts(name))) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) await refuseLink(gitDir, path);
    else if (!entry.isDirectory() && !entry.isFile())
      throw refused(`${path} is no file or folder. Remove it, or clone the repository again.`, path);
    else if (entry.isDirectory() && levels > 1)
      await searchLinks({ gitDir, folder: path, levels: levels - 1, counts });
  }
}

async function refuseLink(gitDir: string, path: string): Promise<void> {
  const target = await realpath(path).catch(() => null);
  // Old versions of git wrote a symbolic ref, HEAD above all, as a link to the ref.
  const refs = join(gitDir, 'refs');
  const isRef = basename(path) === 'HEAD' || isWithin(path, refs);
  if (target !== null && isRef && isWithin(target, refs)) return;
  throw refused(
    `${path} is a link${target === null ? '' : ` to ${target}`}. Reveille follows no link in a git directory. Replace it by what it leads to, or clone the repository again.`,
    path,
  );
}
