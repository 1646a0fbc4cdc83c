import type { Run, RunId, Task, TaskId } from '@reveille/protocol';
import type { Mailroom } from './mailroom.ts';
import type { Tx } from './tx.ts';

/** Which run a host holds, and no more of it: ten thousand may rest here, and the rows are in the store. */
export type Held = Pick<Run, 'id' | 'session' | 'epoch' | 'identity'>;

/** What whoever holds a run has of its host. */
export interface HolderHooks<Holder> {
  readonly mailroom: Mailroom;
  /** It began or stopped executing, so a slot was taken or given. */
  readonly slotChanged: () => void;
  readonly done: (holder: Holder) => void;
  /** Whether the lease is no longer this host's. */
  readonly isLost: (task: TaskId) => Promise<boolean>;
}

/** A write about a run, made only while its holder holds it; null: it no longer does. */
export type DecideHeld = <T>(act: (tx: Tx, run: Run, task: Task) => Promise<T>) => Promise<T | null>;

/** The run, if it is still this host's to advance. Everything a worker run writes begins with this. */
export async function held(tx: Tx, id: RunId, epoch: number): Promise<{ run: Run; task: Task } | null> {
  const run = tx.known('run', id) ?? (await tx.get('run', id));
  if (!run || run.state === 'ended' || run.epoch !== epoch) return null;
  return { run, task: tx.known('task', run.task) ?? (await tx.need('task', run.task)) };
}
