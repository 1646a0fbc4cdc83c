import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './failures.ts';

/** Written whole or not at all: what is read is never half of it. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const fresh = `${path}.${randomBytes(4).toString('hex')}`;
  await writeFile(fresh, text);
  await rename(fresh, path);
}

/** With all it lies in, closed to others. Step by step: a recursive `mkdir` says of a read-only disk that there is no such folder. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT' || path === dirname(path)) throw error;
    await makeFolder(dirname(path));
    // Not this function again: behind a link that leads nowhere it would never end.
    await mkdir(path, { mode: 0o700 }).catch((again: unknown) => {
      if (codeOf(again) !== 'EEXIST') throw again;
    });
  }
}

/** Null if there is none. */
export async function readJson(path: string): Promise<unknown> {
  const text = await orNull(readFile(path, 'utf8'));
  return text === null ? null : JSON.parse(text);
}

/** Null for a file that is not there. Every other error stays one. */
export async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  return await asked.catch((error: unknown) => {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  });
}

/**
 * Moves a folder, also one whose permissions an agent took away: to give a folder another parent, it must be writable
 * itself. False if it was not there. A link is moved, never followed.
 */
export async function moveFolder(from: string, to: string): Promise<boolean> {
  const moved = await moveIfThere(from, to).catch(async (error: unknown) => {
    if (codeOf(error) !== 'EACCES' && codeOf(error) !== 'EPERM') throw error;
    await makeWritable(from);
    return await moveIfThere(from, to);
  });
  return moved;
}

const moveIfThere = async (from: string, to: string): Promise<boolean> =>
  (await orNull(rename(from, to).then(() => true))) ?? false;

async function makeWritable(folder: string): Promise<void> {
  // By descriptor: what is a folder now may be a link the next moment.
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await handle.chmod(0o700);
  } finally {
    await handle.close();
  }
}
