import { writerOf } from '../door/names.ts';
import { openFolder } from './agent-files.ts';
import { removeAt, spotAt } from './tree-hands.ts';

export const isUnfinished = (path: string): boolean => writerOf(nameOf(path)) !== null;

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Takes away files that a process of ours was writing in a tree when it was killed. Who still lives ends its own. */
export function removeUnfinished(root: string, paths: readonly string[]): void {
  const dead = paths.filter((path) => !isAlive(writerOf(nameOf(path)) ?? process.pid));
  if (dead.length === 0) return;
  using tree = openFolder(root);
  for (const path of dead) removeQuietly(tree, path);
}

function removeQuietly(tree: ReturnType<typeof openFolder>, path: string): void {
  try {
    using spot = spotAt(tree, path);
    if (spot) removeAt(spot);
  } catch {
    // It is not worth failing for: it is in nobody's way, and the next look finds it again.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
