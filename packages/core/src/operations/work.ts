import {
  ReveilleError,
  isId,
  isTerminal,
  type Caller,
  type Orchestrator,
  type PlanId,
  type TakenOver,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { authorize, nameOf } from '../authority.ts';
import type { Context } from '../context.ts';
import { decide } from '../decide.ts';
import { titleOf } from '../envelope.ts';
import type { Host } from '../host.ts';
import { markTakenOver, openRun, pause, stateOf } from '../pausing.ts';
import { checkGuards } from '../plan-approval.ts';
import type { Workspaces } from '../ports/workspaces.ts';
import type { Tx } from '../tx.ts';

export const WORK_OPERATIONS = [
  'diffTask',
  'pullSubtask',
  'discardTask',
  'snapshots',
  'restoreTask',
  'bringHome',
  'takeOver',
] as const;

/** What is done with what was made. Git does it; what is decided here is who may, and when; what was done is noted. */
export function workOperations(
  host: Host,
  caller: Caller,
): Pick<Orchestrator, (typeof WORK_OPERATIONS)[number]> {
  const { context } = host;

  const allowed = (operation: keyof Orchestrator, id: TaskId, ended = false) =>
    mayUse(host, caller, { operation, id, ended });
  const note = (type: string, task: Task, data: Record<string, unknown>): Promise<void> =>
    decide(context, async (tx) => tx.note({ type, task: task.id, data }));

  return {
    async diffTask(id) {
      const { task, at } = await allowed('diffTask', id);
      return at.diff(task);
    },
    async pullSubtask(id) {
      const { task, at } = await allowed('pullSubtask', id);
      const into = await decide(context, (tx) => ownTask(tx, caller));
      const pulled = await at.pull(task, into);
      await note('work.pulled', task, { into: into.id, merged: pulled.merged });
      return pulled;
    },
    async discardTask(id) {
      const { task, at } = await allowed('discardTask', id, true);
      const snapshot = await at.discard(task);
      await note('work.discarded', task, { snapshot: snapshot.ref });
      return snapshot;
    },
    async snapshots(id) {
      const { task, at } = await allowed('snapshots', id);
      return at.snapshots(task);
    },
    async restoreTask(id, snapshot) {
      const { task, at } = await allowed('restoreTask', id, true);
      const restored = await at.restore(task, snapshot ?? null);
      await note('work.restored', task, { snapshot: snapshot ?? null, worktree: restored.worktree });
      return restored;
    },
    async bringHome(source) {
      const id = isId('plan', source) ? await integrationOf(host, source) : source;
      const { task, at } = await allowed('bringHome', id, true);
      const home = await at.bringHome(task);
      await note('work.brought_home', task, { merged: home.merged });
      return home;
    },
    async takeOver(id) {
      return takeOver(context, await allowed('takeOver', id), nameOf(caller));
    },
  };
}

/** In two steps: its turn is stopped, and when that has happened the state is marked. */
async function takeOver(
  context: Context,
  { task, at }: { task: Task; at: Workspaces },
  by: string,
): Promise<TakenOver> {
  const resting = await decide(context, async (tx) => {
    const { run } = await openRun(tx, task.id);
    if (!run.paused) await pause(tx, task.id);
    return run.turn === null;
  });
  if (!resting) return { ready: false };
  const commit = await stateOf(at, task);
  const ready = await decide(context, (tx) => markTakenOver(tx, task.id, { by, commit }));
  if (!ready) return { ready };
  const { worktree, branch } = await at.diff(task);
  return { ready, worktree, branch };
}

/** The task, if the caller may use the operation on it and it has files. */
async function mayUse(
  host: Host,
  caller: Caller,
  use: { readonly operation: keyof Orchestrator; readonly id: TaskId; readonly ended: boolean },
): Promise<{ task: Task; at: Workspaces }> {
  const { operation, id, ended } = use;
  const { context } = host;
  const task = await decide(context, async (tx) => {
    const row = await tx.need('task', id);
    await authorize({ rows: tx, agents: context.agents }, caller, operation, [{ task: id }]);
    await checkGuards(tx, context, { caller, operation, task: row });
    if (!ended || isTerminal(row.state)) return row;
    const plan = row.plan === null ? undefined : await tx.get('plan', row.plan);
    // The integration of a plan is what the person knows as the plan.
    const why =
      plan?.integration === id
        ? `Plan ${titleOf(plan)} is ${plan.state}, and its branches are not merged yet: wait for its end, or cancel it.`
        : `Task ${titleOf(row)} is ${row.state}: cancel it, or wait for its end.`;
    throw new ReveilleError('wrong_state', why, { data: { state: row.state } });
  });
  if (context.workspaces && task.repository !== null) return { task, at: context.workspaces };
  throw new ReveilleError('wrong_state', `Task ${titleOf(task)} has no worktree: it works on no repository.`);
}

/** A pull goes into the checkout of whoever pulls. */
async function ownTask(tx: Tx, caller: Caller): Promise<Task> {
  const session = caller.kind === 'worker' ? await tx.need('session', caller.session) : null;
  if (session?.task) return tx.need('task', session.task);
  throw new ReveilleError(
    'not_allowed',
    'Only a worker has a checkout to pull into; to get it into your own, bring it home.',
  );
}

async function integrationOf(host: Host, id: PlanId): Promise<TaskId> {
  const plan = (await host.context.store.get('plan', id))?.doc;
  if (!plan) throw new ReveilleError('not_found', `There is no plan ${id}.`);
  if (plan.integration) return plan.integration;
  throw new ReveilleError(
    'wrong_state',
    `Plan ${id} has no integration: there is no one branch to bring home.`,
  );
}
