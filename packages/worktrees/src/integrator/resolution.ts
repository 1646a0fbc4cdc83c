import type { Repository } from '../checkout.ts';
import { isAncestor } from '../work/refs.ts';
import type { Scratch } from '../work/scratch-place.ts';
import { withRepository } from '../work/scratch.ts';
import { mergeCommits, type MergedTree } from '../work/three-way.ts';
import { changesBetween, NONE, type RawChange } from '../work/trees.ts';

/** A merge that a resolver made. */
export interface Resolution {
  /** What was merged before. */
  readonly ours: string;
  /** What was to be merged into it. */
  readonly theirs: string;
  readonly made: string;
}

const MOST_NAMED = 20;

/**
 * Why a resolution does not count, in words for whoever is asked next; null: it does. Its commit must have both sides in
 * its history, and everything that git merges by itself must be as git merged it: nobody else looks whether a file that
 * did not conflict is still there.
 */
export async function refusalOf(repository: Repository, resolution: Resolution): Promise<string | null> {
  const { ours, theirs, made } = resolution;
  for (const [side, what] of [
    [ours, 'what was merged before'],
    [theirs, 'what was to be merged'],
  ] as const)
    if (!(await isAncestor(repository, side, made)))
      return `its commit ${made.slice(0, 12)} does not have ${what} (${side.slice(0, 12)}) in its history`;
  return await withRepository(repository, 'merge', async (scratch) => {
    const merged = await mergeCommits(scratch, ours, theirs);
    return merged.tree === undefined
      ? await besidesConflict(scratch, resolution, merged)
      : await undone(scratch, resolution, merged.tree);
  });
}

/** Files that do not conflict are not the resolver's to change. It may add some. */
async function besidesConflict(
  scratch: Scratch,
  { made, ours, theirs }: Resolution,
  { unresolved }: Extract<MergedTree, { conflicts: unknown }>,
): Promise<string | null> {
  // With nothing in common there is nothing that git would merge by itself.
  if (!unresolved) return null;
  const changes = await changesBetween(scratch, unresolved.tree, made);
  // A file that is new to both sides is the resolver's own; one that the merge deletes is not.
  const deleted = new Set<string>();
  for (const side of [ours, theirs])
    for (const { path, oldMode } of await changesBetween(scratch, unresolved.tree, side))
      if (oldMode === NONE) deleted.add(path);
  const others = changes.filter(
    ({ path, oldMode }) => !unresolved.paths.has(asText(path)) && (oldMode !== NONE || deleted.has(path)),
  );
  if (others.length > 0)
    return `these files do not conflict, and are not as git merges them: ${named(others)}`;
  const marked = await markedIn(scratch, made, [...unresolved.paths]);
  const before = new Set([
    ...(await markedIn(scratch, ours, marked)),
    ...(await markedIn(scratch, theirs, marked)),
  ]);
  const left = marked.filter((path) => !before.has(path));
  return left.length === 0
    ? null
    : `these files still have conflict markers: ${left.slice(0, MOST_NAMED).join(', ')}`;
}

/** What merges by itself and does not pass the check may be mended, but not by taking back what one side did. */
async function undone(
  scratch: Scratch,
  { made, ours, theirs }: Resolution,
  merged: string,
): Promise<string | null> {
  const removed = (await changesBetween(scratch, merged, made)).filter(({ newMode }) => newMode === NONE);
  const gone = [...removed];
  for (const side of [ours, theirs]) {
    const stillOther = new Set((await changesBetween(scratch, side, made)).map(({ path }) => path));
    gone.push(...(await changesBetween(scratch, side, merged)).filter(({ path }) => !stillOther.has(path)));
  }
  return gone.length === 0 ? null : `this was taken back or removed: ${named(gone)}`;
}

/** Which of these files have a line with which git begins or ends a conflict. */
async function markedIn(scratch: Scratch, commit: string, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const args = ['grep', '-l', '-z', '-I', '-E', '^(<{7}|>{7}) ', commit, '--', ...paths];
  const { stdout } = await scratch.git({ args, accept: [1], env: { GIT_LITERAL_PATHSPECS: '1' } });
  return stdout
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => line.slice(commit.length + 1));
}

const asText = (path: string): string => Buffer.from(path, 'latin1').toString('utf8');

function named(changes: readonly RawChange[]): string {
  const paths = [...new Set(changes.map(({ path }) => asText(path)))];
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : '';
  return `${paths.slice(0, MOST_NAMED).join(', ')}${more}`;
}
