import { constants } from 'node:fs';
import { copyFile, rename, stat, utimes } from 'node:fs/promises';

/**
 * Copies an index. Its time is part of what it says: a file that was changed in the second in which the index was
 * written looks unchanged, and git reads it only because the index is no younger than the file.
 */
export async function copyIndex(from: string, to: string): Promise<void> {
  // Looked at first: if it is replaced meanwhile, the copy is taken for older than it is, which only costs time.
  const { mtimeMs } = await stat(from);
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  const seconds = Math.floor(mtimeMs) / 1000;
  await utimes(to, seconds, seconds);
}

/** The same over another index, which is replaced at once. `aside`: a free name beside it. */
export async function replaceIndex(from: string, to: string, aside: string): Promise<void> {
  await copyIndex(from, aside);
  await rename(aside, to);
}
