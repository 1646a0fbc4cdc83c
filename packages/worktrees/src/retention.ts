import { isTerminal, type Task } from '@reveille/protocol';
import { listCheckouts } from './creation/record.ts';
import type { SnapshotRetention } from './creation/settings.ts';
import { dropStarts } from './inspection.ts';
import type { Places } from './places.ts';
import { dropSnapshots } from './work/snapshots.ts';

const DAY_MS = 86_400_000;

/**
 * Drops the snapshots that are too old, of tasks that are over. What is not known to be theirs stays: a task that is not
 * over may have nothing else, and another home's tasks may work on the same repository. Answers with how many went.
 */
export async function retainSnapshots(
  places: Places,
  /** All of one repository. */
  tasks: readonly [Task, ...Task[]],
  { days, newest, now }: SnapshotRetention & { readonly now: number },
): Promise<number> {
  if (days === null) return 0;
  const repository = await places.repository(tasks[0]);
  const olderThan = now - days * DAY_MS;
  const open = tasks.filter(({ state }) => !isTerminal(state));
  const needed = new Set(open.flatMap(({ startsFrom }) => startsFrom?.snapshot ?? []));
  await dropStarts(repository, { olderThan, needed });
  const names = await namesOfOver(places, tasks);
  const over = new Set<string>(tasks.filter(({ state }) => isTerminal(state)).map(({ id }) => id));
  // A name may have been given to another task since.
  for (const { name, task } of await listCheckouts(repository)) if (!over.has(task)) names.delete(name);
  if (names.size === 0) return 0;
  const dropped = await dropSnapshots(repository, { names, olderThan, keep: newest });
  return dropped.length;
}

/** The names of worktrees that only tasks had that are over. */
async function namesOfOver(places: Places, tasks: readonly Task[]): Promise<Set<string>> {
  const [over, open]: [Set<string>, Set<string>] = [new Set(), new Set()];
  for (const task of tasks)
    for (const { name } of await places.traces(task)) (isTerminal(task.state) ? over : open).add(name);
  return over.difference(open);
}
