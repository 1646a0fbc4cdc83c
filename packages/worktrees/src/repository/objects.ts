import { lstat, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import { isAmongWorktrees, type ReservedFolders } from './discover.ts';
import { readSmall } from './files.ts';
import { overlapping, realPathOf } from './paths.ts';
import { secretPlaceIn } from './secrets.ts';

const MOST_STORES = 100;

/**
 * The object folder of a repository, and those it borrows from by `info/alternates`, in turn. All are real paths. Each
 * will be shown to agents, so a line that names anything but the objects of a repository of the person is an error.
 */
export async function objectStoresOf(gitDir: string, reserved: ReservedFolders = {}): Promise<string[]> {
  const found = new Set([join(gitDir, 'objects')]);
  for (const store of found) {
    for (const line of await alternatesOf(store)) found.add(await checkedStore(store, line, reserved));
    if (found.size > MOST_STORES)
      throw notBorrowed(store, 'more than a hundred folders', 'no repository needs that many');
  }
  return [...found];
}

async function alternatesOf(store: string): Promise<string[]> {
  const file = join(store, 'info', 'alternates');
  const text = await readSmall(file);
  if (text === null && (await lstat(file).catch(() => null)))
    throw notBorrowed(store, 'something', 'that file is a link, too large, or cannot be read');
  return (text ?? '').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

async function checkedStore(store: string, line: string, reserved: ReservedFolders): Promise<string> {
  // Git reads such a line as quoted, which nobody needs: git itself writes none.
  if (line.startsWith('"')) throw notBorrowed(store, line, 'the line is quoted');
  const folder = await realpath(resolve(store, line)).catch(() => null);
  if (folder === null) throw notBorrowed(store, line, 'it is not there');
  const why = (await whyNoStore(folder)) ?? whyPrivate(folder, reserved);
  if (why !== null) throw notBorrowed(store, line, why);
  return folder;
}

/** `pack`, `info`, the folders of loose objects, and files that git leaves there for a moment. */
const OBJECT_ENTRY = /^(?:pack|info|[0-9a-f]{2}|tmp_\w+|incoming-\w+|maintenance\.lock|bulk-fsync-\w+)$/;

/** Null for the object folder of a git repository that belongs to this user, or to the system. */
async function whyNoStore(folder: string): Promise<string | null> {
  const stats = await lstat(folder);
  if (!stats.isDirectory()) return 'it is no folder';
  if (process.getuid && ![process.getuid(), 0].includes(stats.uid)) return `it belongs to user ${stats.uid}`;
  const entries = await readdir(folder, { withFileTypes: true });
  const strange = entries.find((entry) => !OBJECT_ENTRY.test(entry.name) || entry.isSymbolicLink());
  if (strange) return `it holds ${strange.name}, which git does not put into a folder of objects`;
  const head = await readSmall(join(dirname(folder), 'HEAD'));
  const refs = await lstat(join(dirname(folder), 'refs')).catch(() => null);
  if (
    basename(folder) !== 'objects' ||
    !refs?.isDirectory() ||
    !/^(?:ref: refs\/|[0-9a-f]{40})/.test(head ?? '')
  )
    return 'it is not the objects folder of a git repository';
  return null;
}

function whyPrivate(folder: string, { own = [], homes = [] }: ReservedFolders): string | null {
  const secret = secretPlaceIn(folder);
  if (secret !== null) return `${secret} holds credentials or is private`;
  const ours = overlapping(folder, own.map(realPathOf));
  if (ours !== null) return `${ours} holds Reveille's own files`;
  const inHome = isAmongWorktrees(folder) || overlapping(folder, homes.map(realPathOf)) !== null;
  return inHome ? 'agents work there' : null;
}

const notBorrowed = (store: string, line: string, why: string): ReveilleError =>
  new ReveilleError(
    'not_allowed',
    `${join(store, 'info', 'alternates')} names ${line.slice(0, 300)} to borrow objects from, which is refused: ${why}. Agents could read all of it. If the repository needs objects from there, copy them (git repack -a -d) and delete the line.`,
    { data: { file: join(store, 'info', 'alternates'), line } },
  );
