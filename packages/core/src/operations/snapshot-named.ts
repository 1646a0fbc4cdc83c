import { ReveilleError, isTerminal, type Caller, type Snapshot, type TaskId } from '@reveille/protocol';
import { authorize } from '../authority.ts';
import { decide } from '../decide.ts';
import { titleOf } from '../envelope.ts';
import type { Host } from '../host.ts';

/** What the last attempt left, as it is. */
const LAST = 'last';

/**
 * The snapshot that the next attempt is to begin from, found by what somebody calls it: its ref, the end of that, or the
 * beginning of its commit. Null: what the last attempt left. It is looked for before anything is decided: git is slow, and
 * a name that means nothing must not cost the task its worktree.
 */
export async function snapshotFor(
  host: Host,
  caller: Caller,
  id: TaskId,
  named: string,
): Promise<string | null> {
  const { context } = host;
  const task = await decide(context, async (tx) => {
    const row = await tx.need('task', id);
    await authorize({ rows: tx, agents: context.agents }, caller, 'snapshots', [{ task: id }]);
    return row;
  });
  if (!context.workspaces || task.repository === null)
    throw new ReveilleError(
      'wrong_state',
      `Task ${titleOf(task)} has no snapshots: it works on no repository.`,
    );
  // Whoever is at work is in the worktree; the refusal is the retry's own.
  if (!isTerminal(task.state) || named === LAST) return null;
  const all = await context.workspaces.snapshots(task);
  const found = all.filter((snapshot) => isCalled(snapshot, named));
  const [only] = found;
  if (only && found.length === 1) return only.ref;
  const refs = (found.length > 0 ? found : all).map(({ ref }) => ref);
  throw new ReveilleError(
    'not_found',
    found.length > 0
      ? `"${named}" could be any of: ${refs.join(', ')}.`
      : `Task ${titleOf(task)} has no snapshot "${named}". There ${refs.length > 0 ? `are: ${refs.join(', ')}` : 'are none'}; "${LAST}" is what its last attempt left.`,
    { data: { snapshots: refs } },
  );
}

const isCalled = ({ ref, commit }: Snapshot, name: string): boolean =>
  ref === name || ref.endsWith(`/${name}`) || (name.length >= 7 && commit.startsWith(name));
