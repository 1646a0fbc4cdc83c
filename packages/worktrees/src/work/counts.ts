import type { FileChange } from '@reveille/protocol';
import type { Scratch } from './scratch-place.ts';

/** More are not named. */
const MOST_FILES = 10_000;

/**
 * What differs between two trees, by file, with the lines that came and went. Of a binary file nobody can say, and one
 * of more than 32 MiB counts as binary.
 */
export async function countChanges(scratch: Scratch, from: string, to: string): Promise<FileChange[]> {
  const { stdout } = await scratch.git({
    args: ['diff-tree', '-r', '-z', '--numstat', '-M', ...PLAIN, from, to],
  });
  const parts = stdout.split('\0');
  const files: FileChange[] = [];
  for (let i = 0; i < parts.length && files.length < MOST_FILES; i += 1) {
    const [, insertions, deletions, path = ''] = /^([^\t]*)\t([^\t]*)\t(.*)$/s.exec(parts[i] ?? '') ?? [];
    if (deletions === undefined) break;
    // A rename: `<+> <-> <nothing>`, then the old name and the new one.
    const renamed = path === '';
    if (renamed) i += 2;
    files.push({
      path: renamed ? (parts[i] ?? '') : path,
      insertions: Number(insertions) || 0,
      deletions: Number(deletions) || 0,
    });
  }
  return files;
}

/** No program that a config or an attribute names. */
export const PLAIN: readonly string[] = ['--no-ext-diff', '--no-textconv', '--ignore-submodules=none'];
