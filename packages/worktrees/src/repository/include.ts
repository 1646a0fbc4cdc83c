import { join } from 'node:path';
import { readSmall } from './files.ts';

/** The file by which a repository names ignored files that its worktrees should have, in the syntax of .gitignore. */
export const INCLUDE_FILE = '.worktreeinclude';

/** Its text; null if there is none that says anything. A link is not followed. */
export async function readInclude(root: string): Promise<string | null> {
  const text = await readSmall(join(root, INCLUDE_FILE));
  return text !== null && /^[^#\s]/m.test(text) ? text : null;
}
