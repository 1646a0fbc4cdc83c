import {
  ReveilleError,
  isReveilleError,
  type FileChange,
  type Run,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { newId, type Context } from './context.ts';
import { titleOf } from './envelope.ts';
import { enqueue } from './mailbox.ts';
import type { Workspaces } from './ports/workspaces.ts';
import { moveTask } from './task-table.ts';
import type { Tx } from './tx.ts';

/** So many are named to the worker; it can see the rest itself. */
const NAMED = 50;

/** The task and its open run, read in this decision: a task that was read for an earlier one may have ended since. */
export async function openRun(tx: Tx, id: TaskId): Promise<{ readonly task: Task; readonly run: Run }> {
  const task = await tx.need('task', id);
  if (!task.run)
    throw new ReveilleError('wrong_state', `Task ${titleOf(task)} is ${task.state}: no worker is at it.`);
  return { task, run: await tx.need('run', task.run) };
}

/** No turn begins until it is resumed; one that is open is stopped. Its mail waits. */
export async function pause(tx: Tx, id: TaskId): Promise<void> {
  const { task, run } = await openRun(tx, id);
  tx.put('run', { ...run, paused: true });
  tx.wake(task.session);
  if (!run.turn && task.state === 'running') moveTask(tx, task, 'waiting', { why: 'paused', on: 'paused' });
}

/** `changed`: what a person who worked in its checkout meanwhile changed there; null: nobody did, or nobody can say. */
export async function resume(
  tx: Tx,
  context: Context,
  task: Task,
  changed: readonly FileChange[] | null,
): Promise<void> {
  const run = task.run ? await tx.need('run', task.run) : null;
  if (!run?.paused) throw new ReveilleError('wrong_state', `Task ${titleOf(task)} is not paused.`);
  const { takenOver, ...rest } = run;
  tx.put('run', { ...rest, paused: false });
  await enqueue(tx, context, {
    to: task.session,
    // That somebody was there is told whatever has been told before; it is paused only once.
    key: `resume:${run.id}:${takenOver ? newId(context, 'msg') : run.turns}`,
    kind: 'resume',
    from: { kind: 'harness' },
    task: task.id,
    text: takenOver
      ? `You were paused and go on now. ${inWords(takenOver, changed)}`
      : 'You were paused and go on now.',
  });
}

function inWords({ by }: NonNullable<Run['takenOver']>, changed: readonly FileChange[] | null): string {
  if (!changed)
    return `Meanwhile ${by} worked in your worktree. Look at what is there now before you change anything.`;
  if (changed.length === 0) return `Meanwhile ${by} looked into your worktree and changed nothing.`;
  const names = changed
    .slice(0, NAMED)
    .map(({ path, insertions, deletions }) => `${JSON.stringify(path)} (+${insertions} −${deletions})`);
  const more = changed.length > NAMED ? ` and ${changed.length - NAMED} more` : '';
  return `Meanwhile ${by} worked in your worktree and changed ${names.join(', ')}${more}. Look at it and build on it.`;
}

/** Marks the worker as taken over; false: its turn is still being stopped. */
export async function markTakenOver(
  tx: Tx,
  id: TaskId,
  mark: { readonly by: string; readonly commit: string | null },
): Promise<boolean> {
  const { run } = await openRun(tx, id);
  if (run.takenOver) return true;
  if (run.turn || !run.paused) return false;
  tx.put('run', { ...run, takenOver: { ...mark, at: tx.now } });
  tx.note({ type: 'work.taken_over', task: id, run: run.id, data: { by: mark.by } });
  return true;
}

/** The state as it is when a person takes over; null where it cannot be told, as in the middle of a merge. */
export async function stateOf(at: Workspaces, task: Task): Promise<string | null> {
  try {
    return await at.checkpoint(task);
  } catch (error) {
    if (isReveilleError(error) && error.code === 'wrong_state') return null;
    throw error;
  }
}

/** What was changed in its checkout since a person took it over. */
export async function changedMeanwhile(context: Context, id: TaskId): Promise<readonly FileChange[] | null> {
  const { store, workspaces } = context;
  const task = (await store.get('task', id))?.doc;
  const run = task?.run ? (await store.get('run', task.run))?.doc : undefined;
  const commit = run?.takenOver?.commit;
  if (!task || !commit || !workspaces) return null;
  try {
    return await workspaces.changedSince(task, commit);
  } catch (error) {
    // Whatever is the matter with the checkout, its worker is not kept from going on.
    context.log?.('warn', 'what was changed in a worktree that was taken over could not be told', {
      task: id,
      error: String(error),
    });
    return null;
  }
}
