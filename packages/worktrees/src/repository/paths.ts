import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Compares name by name: `/a-b` is not within `/a`. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** The real path. Of a path that does not exist, the part that exists is resolved and the rest is kept. */
export function realPathOf(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch {
    // `/` always exists, so this ends.
    return join(realPathOf(dirname(whole)), basename(whole));
  }
}

/** The first of `folders` that `path` is, lies in, or contains; null if there is none. Both sides are real paths. */
export const overlapping = (path: string, folders: Iterable<string>): string | null =>
  [...folders].find((folder) => isWithin(path, folder) || isWithin(folder, path)) ?? null;
