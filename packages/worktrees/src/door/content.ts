import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  linkSync,
  openSync,
  read,
  readSync,
  renameSync,
  type Stats,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import type { Directory } from './directory.ts';
import { temporaryName } from './names.ts';
import { refuse, wrongState } from './refusal.ts';
import type { Found } from './resolve.ts';

/** Less than this is read or written at once: the way to another thread and back would cost more. */
const AT_ONCE = 64 * 1024;
/** Otherwise in pieces, so that nobody waits for a large file. */
const PIECE = 1024 * 1024;

/** NONBLOCK: a pipe would wait for its other end. NOCTTY: a terminal would become ours. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const readSome = promisify(read);
const writeSome = promisify(write);

/** Only plain files have content here: a pipe, a socket or a device would be a way out, or never end. */
export function checkPlain(given: string, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw wrongState(given, 'is a folder.');
  throw refuse(
    given,
    'kind',
    'is a pipe, a socket, a device or a link. File tools work with plain files only.',
  );
}

/** Opens a plain file and hands the descriptor to `use`. What was looked at by name is looked at again once it is open. */
export async function withFile<T>(
  given: string,
  found: Found,
  use: (fd: number, stats: Stats) => Promise<T>,
): Promise<T> {
  const fd = openSync(found.parent.at(found.name), READ);
  try {
    const stats = fstatSync(fd);
    checkPlain(given, stats);
    found.parent.confirm();
    return await use(fd, stats);
  } finally {
    closeSync(fd);
  }
}

/** May be shorter than asked for: the file may have been cut meanwhile. */
export async function readPart(fd: number, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const count = await readNext(fd, { bytes, done, position: position + done });
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
}

async function readNext(
  fd: number,
  part: { bytes: Buffer; done: number; position: number },
): Promise<number> {
  const left = part.bytes.length - part.done;
  if (part.bytes.length <= AT_ONCE) return readSync(fd, part.bytes, part.done, left, part.position);
  const { bytesRead } = await readSome(fd, part.bytes, part.done, Math.min(left, PIECE), part.position);
  return bytesRead;
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    if (bytes.length <= AT_ONCE) done += writeSync(fd, bytes, done);
    else done += (await writeSome(fd, bytes, done, Math.min(bytes.length - done, PIECE))).bytesWritten;
  }
}

export interface Replacement {
  readonly bytes: Uint8Array;
  /** Nothing may be there. */
  readonly exclusive: boolean;
}

/**
 * Writes a new file beside the old one and puts it in its place: whoever reads sees the old content or the new, and
 * nothing is ever written into a file that was there, so a link or a hard link that appears meanwhile is replaced and
 * not written through. Not synced: a worktree can be made again.
 */
export async function replaceFile(found: Found, { bytes, exclusive }: Replacement): Promise<void> {
  const { parent, name, stats } = found;
  const temporary = temporaryName();
  parent.confirm();
  const fd = openSync(parent.at(temporary), NEW, 0o666);
  try {
    try {
      parent.confirm();
      if (stats) fchmodSync(fd, stats.mode & 0o777);
      await writeAll(fd, bytes);
    } finally {
      closeSync(fd);
    }
    parent.confirm();
    if (!exclusive) renameSync(parent.at(temporary), parent.at(name));
    // Unlike a rename, a link never replaces what somebody else has just put there.
    else linkSync(parent.at(temporary), parent.at(name));
  } catch (error) {
    removeQuietly(parent, temporary);
    throw error;
  }
  if (exclusive) unlinkSync(parent.at(temporary));
}

/** After a failure, whose own error matters more. */
function removeQuietly(parent: Directory, name: string): void {
  try {
    unlinkSync(parent.at(name));
  } catch {
    // Gone already, or the folder is.
  }
}
