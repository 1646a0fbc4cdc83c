import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { codeOf } from '../creation/failures.ts';
import type { Directory } from '../door/directory.ts';
import { isGitName, temporaryName } from '../door/names.ts';
import { copyPlain, openFolder } from './agent-files.ts';

/** One entry of a tree, its folder held open: what is done by name there is done there, whatever is swapped above it. */
export interface Spot extends Disposable {
  readonly folder: Directory;
  readonly name: string;
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const PIECE = 1024 * 1024;

/** Null: a folder on the way is not there (and not to be made). A file or a link in its place is ENOTDIR or ELOOP. */
export function spotAt(root: Directory, path: string, make = false): Spot | null {
  const names = path.split('/');
  const name = names.pop() ?? '';
  if ([...names, name].some((part) => part === '' || part === '.' || part === '..' || isGitName(part)))
    throw new Error(`Git gave a path that no tree may have: ${path}`);
  let folder = root.again();
  for (const part of names) {
    using above = folder;
    const next = stepInto(above, part, make);
    if (!next) return null;
    folder = next;
  }
  return { folder, name, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

function stepInto(above: Directory, name: string, make: boolean): Directory | null {
  try {
    return above.step(name);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    if (!make) return null;
    mkdirSync(above.at(name));
    return above.step(name);
  }
}

/** What lies there, as a text that is the same for the same: kind, content, whether it may be run. Null: nothing. */
export function printOf({ folder, name }: Pick<Spot, 'folder' | 'name'>): string | null {
  const stats = lstatSync(folder.at(name), { throwIfNoEntry: false });
  if (!stats) return null;
  if (stats.isSymbolicLink()) return `link ${hash(readlinkSync(folder.at(name), { encoding: 'buffer' }))}`;
  if (stats.isDirectory()) return 'folder';
  if (!stats.isFile()) return 'special';
  const fd = openSync(folder.at(name), READ);
  try {
    return `file ${(fstatSync(fd).mode & 0o100) === 0 ? '-' : 'x'} ${hashOf(fd)}`;
  } finally {
    closeSync(fd);
  }
}

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function hashOf(fd: number): string {
  const sum = createHash('sha256');
  const bytes = Buffer.allocUnsafe(PIECE);
  for (let at = 0; ;) {
    const count = readSync(fd, bytes, 0, PIECE, at);
    if (count === 0) return sum.digest('hex');
    sum.update(bytes.subarray(0, count));
    at += count;
  }
}

/** Keeps what lies there under a name of ours; it stays where it is. */
export async function keepAt({ folder, name }: Spot, to: string): Promise<void> {
  try {
    folder.confirm();
    linkSync(folder.at(name), to);
  } catch (error) {
    if (!['EXDEV', 'EPERM', 'EMLINK'].includes(codeOf(error))) throw error;
    if (lstatSync(folder.at(name)).isSymbolicLink())
      symlinkSync(readlinkSync(folder.at(name), { encoding: 'buffer' }), to);
    else await copyPlain(folder, name, { to, most: Infinity });
  }
}

/** Moves a file of ours to the spot, over what is there: whoever looks sees the old or the new, whole. */
export async function putAt({ folder, name }: Spot, from: string): Promise<void> {
  folder.confirm();
  try {
    renameSync(from, folder.at(name));
  } catch (error) {
    if (codeOf(error) !== 'EXDEV') throw error;
    await putCopy({ folder, name }, from);
  }
}

async function putCopy({ folder, name }: Pick<Spot, 'folder' | 'name'>, from: string): Promise<void> {
  const aside = folder.at(temporaryName());
  const slash = from.lastIndexOf('/');
  try {
    if (lstatSync(from).isSymbolicLink()) symlinkSync(readlinkSync(from, { encoding: 'buffer' }), aside);
    else {
      using home = openFolder(from.slice(0, slash));
      await copyPlain(home, from.slice(slash + 1), { to: aside, most: Infinity });
    }
    folder.confirm();
    renameSync(aside, folder.at(name));
    unlinkSync(from);
  } catch (error) {
    removeQuietly(aside);
    throw error;
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It was never made: the error that led here says why.
  }
}

export function removeAt({ folder, name }: Spot): void {
  folder.confirm();
  unlinkSync(folder.at(name));
}

export function makeFolderAt({ folder, name }: Spot): void {
  folder.confirm();
  mkdirSync(folder.at(name));
}

/** Removes the folders above a path that have become empty. */
export function pruneAbove(root: Directory, path: string): void {
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    using spot = spotAt(root, path.slice(0, at));
    if (!spot || !removeEmpty(spot)) return;
  }
}

/** False: there is something in it, or it is no folder. */
export function removeEmpty({ folder, name }: Spot): boolean {
  try {
    folder.confirm();
    rmdirSync(folder.at(name));
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EBUSY'].includes(codeOf(error))) return false;
    if (codeOf(error) === 'ENOENT') return true;
    throw error;
  }
}
