import { ReveilleError, type Caller, type Task, type TaskId, type TaskView } from '@reveille/protocol';
import { checkMayAct } from '../authority.ts';
import { decide } from '../decide.ts';
import type { Host } from '../host.ts';
import type { Tx } from '../tx.ts';
import { viewTask } from '../views.ts';

interface Acting {
  readonly getTask: (id: TaskId) => Promise<TaskView>;
  /** Acts on a task the caller may act on, and answers with what became of it. */
  readonly act: (id: TaskId, change: (tx: Tx, task: Task) => Promise<unknown>) => Promise<TaskView>;
}

export function acting(host: Host, caller: Caller): Acting {
  const { context } = host;
  const { store } = context;
  async function getTask(id: TaskId): Promise<TaskView> {
    const row = await store.get('task', id);
    if (!row) throw new ReveilleError('not_found', `There is no task ${id}.`);
    const view = await viewTask(context, row.doc);
    await store.barrier();
    return view;
  }

  async function act(id: TaskId, change: (tx: Tx, task: Task) => Promise<unknown>): Promise<TaskView> {
    await host.alive(caller);
    await decide(context, async (tx) => {
      const task = await tx.need('task', id);
      await checkMayAct(tx, caller, task);
      await change(tx, task);
    });
    return getTask(id);
  }

  return { getTask, act };
}
