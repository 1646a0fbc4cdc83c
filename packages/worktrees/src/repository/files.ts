import { lstat, readFile } from 'node:fs/promises';

const LARGEST = 1024 * 1024;

/** The text of a small plain file; null for anything else. A link is not followed, and a pipe is not waited for. */
export async function readSmall(path: string): Promise<string | null> {
  const found = await lstat(path).catch(() => null);
  if (!found?.isFile() || found.size > LARGEST) return null;
  return await readFile(path, 'utf8').catch(() => null);
}
