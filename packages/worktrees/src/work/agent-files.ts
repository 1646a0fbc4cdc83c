import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Checkout } from '../checkout.ts';
import { codeOf } from '../creation/failures.ts';
import { bestWay, openRoot, type Directory } from '../door/directory.ts';

/** NONBLOCK: an agent may have put a pipe there. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Not there, or not what it should be: for whoever reads what an agent wrote, both mean that there is nothing. */
const ABSENT: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EACCES', 'ENAMETOOLONG', 'EINVAL'];

export const isAbsent = (error: unknown): boolean => ABSENT.includes(codeOf(error));

/** A folder, held open; its last name is not followed if it is a link. */
export const openFolder = (path: string): Directory => openRoot(path, bestWay());

/** The agent's git directory, held open. Null if there is none. No link is followed on the way. */
export function openAgentGitDir(checkout: Checkout): Directory | null {
  return orAbsent(() => {
    if (checkout.kind === 'linked') return openFolder(checkout.agentGitDir);
    using tree = openFolder(checkout.path);
    return tree.step('.git');
  });
}

/** A folder beneath, by names; null if one of them is no folder. Belongs to the caller. */
export function descend(from: Directory, names: readonly string[]): Directory | null {
  return orAbsent(() => {
    let folder = from.again();
    for (const name of names) {
      using above = folder;
      folder = above.step(name);
    }
    return folder;
  });
}

/** The text of a plain file, if it has at most `most` bytes. */
export const readSmall = (folder: Directory, name: string, most: number): string | null =>
  readBytes(folder, name, most)?.toString('utf8') ?? null;

/** The bytes of a plain file, if it has at most `most`. */
export function readBytes(folder: Directory, name: string, most: number): Buffer | null {
  return orAbsent(() => {
    const fd = openSync(folder.at(name), READ);
    try {
      const stats = fstatSync(fd);
      if (!stats.isFile() || stats.size > most) return null;
      const bytes = Buffer.alloc(stats.size);
      const length = readSync(fd, bytes, 0, stats.size, 0);
      folder.confirm();
      return bytes.subarray(0, length);
    } finally {
      closeSync(fd);
    }
  });
}

/** What became of a file that was to be copied. */
export type Copied = 'copied' | 'absent' | 'special' | 'too large' | 'unreadable';

/** Copies a plain file to a new one of ours. What is no plain file is never opened in a way that could wait. */
export async function copyPlain(
  from: Directory,
  name: string,
  { to, most }: { readonly to: string; readonly most: number },
): Promise<Copied> {
  let fd: number;
  try {
    fd = openSync(from.at(name), READ);
  } catch (error) {
    if (codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM') return 'unreadable';
    if (codeOf(error) === 'ENXIO' || codeOf(error) === 'ELOOP') return 'special';
    if (isAbsent(error)) return 'absent';
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    from.confirm();
    if (!stats.isFile()) return 'special';
    if (stats.size > most) return 'too large';
    return await copyBytes(fd, { to, most, mode: stats.mode & 0o100 ? 0o755 : 0o644 });
  } finally {
    closeSync(fd);
  }
}

const PIECE = 1024 * 1024;

async function copyBytes(
  fd: number,
  { to, most, mode }: { readonly to: string; readonly most: number; readonly mode: number },
): Promise<Copied> {
  await using file = await open(to, 'wx', mode);
  const bytes = Buffer.allocUnsafe(PIECE);
  // It may grow while it is read.
  for (let done = 0; done <= most;) {
    const count = readSync(fd, bytes, 0, PIECE, done);
    if (count === 0) return 'copied';
    await file.write(bytes, 0, count, done);
    done += count;
  }
  return 'too large';
}

export function isThere(folder: Directory, name: string): boolean {
  return orAbsent(() => lstatSync(folder.at(name), { throwIfNoEntry: false }) !== undefined) ?? false;
}

export const namesIn = (folder: Directory): string[] => orAbsent(() => readdirSync(folder.at('.'))) ?? [];

function orAbsent<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}
