import type { TaskId } from '@reveille/protocol';
import type { Checkout } from '../checkout.ts';
import { listCheckouts } from '../creation/record.ts';
import { SNAPSHOT } from '../creation/start.ts';
import { atHome, isAncestor } from '../work/refs.ts';

const MOST_NAMED = 5;

/**
 * Whether tasks began from a commit that is not part of what the integration begins from: the base was rewritten since,
 * or another branch is checked out. Merging then brings back what was dropped, as in git; the person is told. Null: no.
 */
export async function droppedBase(
  { repository, start }: Checkout,
  tasks: readonly TaskId[],
): Promise<string | null> {
  const wanted = new Set<string>(tasks);
  const known = (await listCheckouts(repository)).filter(({ task }) => wanted.has(task));
  const said: string[] = [];
  for (const began of new Set(known.map((checkout) => checkout.start))) {
    if (await isAncestor(repository, began, start)) continue;
    // A snapshot of the person's uncommitted changes is on no branch.
    const args = ['log', '--format=%h %s', `--max-count=${MOST_NAMED}`, began, `^${start}`];
    const commits = (await atHome(repository, { args })).stdout.split('\n');
    const dropped = commits.filter((line) => line !== '' && !line.endsWith(` ${SNAPSHOT}`));
    if (dropped.length > 0) said.push(`${began.slice(0, 12)} (${dropped.join('; ')})`);
  }
  if (said.length === 0) return null;
  return `The base is another one than when the tasks began: it does not have ${said.join(', nor ')}. The merged branch brings that back.`;
}
