import {
  ReveilleError,
  type Caller,
  type Orchestrator,
  type Task,
  type TaskId,
  type TaskView,
} from '@reveille/protocol';
import { authorize } from '../authority.ts';
import { decide } from '../decide.ts';
import type { Host } from '../host.ts';
import { checkGuards } from '../plan-approval.ts';
import type { Tx } from '../tx.ts';
import { viewTask } from '../views.ts';

interface Acting {
  readonly getTask: (id: TaskId) => Promise<TaskView>;
  /** Changes a task, if the authority table lets the caller use `operation` on it, and answers with what became of it. */
  readonly act: (
    operation: keyof Orchestrator,
    id: TaskId,
    change: (tx: Tx, task: Task) => Promise<unknown>,
  ) => Promise<TaskView>;
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

  const act: Acting['act'] = async (operation, id, change) => {
    await decide(context, async (tx) => {
      const task = await tx.need('task', id);
      await authorize({ rows: tx, agents: context.agents }, caller, operation, [{ task: id }]);
      await checkGuards(tx, context, { caller, operation, task });
      await change(tx, task);
    });
    return getTask(id);
  };

  return { getTask, act };
}
