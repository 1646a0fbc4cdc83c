import {
  BudgetLimits,
  RetryInput,
  ReviewInput,
  isTerminal,
  parseInput,
  type Caller,
  type Orchestrator,
  type StopScope,
  type Task,
  type TaskView,
} from '@reveille/protocol';
import { isVisible, knownCaller, nameOf, senderOf, storedRows, type KnownCaller } from '../authority.ts';
import { raise } from '../budget-acts.ts';
import { viewBudget } from '../budget-view.ts';
import { decide } from '../decide.ts';
import type { Host } from '../host.ts';
import { checkMailRoom } from '../mail-quota.ts';
import { say } from '../mailbox.ts';
import { askAgain } from '../plan-approval.ts';
import { cancelPlan, deployTask } from '../plans.ts';
import type { Find, Store } from '../ports/store.ts';
import { cancelTree } from '../settle.ts';
import { knownFor } from '../repository-agents.ts';
import { retryBy } from '../retry-by.ts';
import { cancel, complete, review } from '../task-acts.ts';
import { everyTask, tasksBelow, viewTask } from '../views.ts';
import { acting } from './acting.ts';
import { snapshotFor } from './snapshot-named.ts';

export const TASK_OPERATIONS = [
  'getTask',
  'listTasks',
  'deployTask',
  'completeTask',
  'cancelTask',
  'retryTask',
  'reviewTask',
  'raiseBudget',
  'getBudget',
  'stop',
] as const;

export function taskOperations(
  host: Host,
  caller: Caller,
): Pick<Orchestrator, (typeof TASK_OPERATIONS)[number]> {
  const { context } = host;
  const { store } = context;
  const by = nameOf(caller);

  const { getTask, act } = acting(host, caller);

  return {
    getTask,
    listTasks: (filter) => listTasks(context, caller, filter),
    deployTask: (id) => act('deployTask', id, (tx, task) => deployTask(tx, task)),
    completeTask: (id, output) =>
      act('completeTask', id, (tx, task) => complete(tx, context, task, output ?? '')),
    cancelTask: (id, why) =>
      act('cancelTask', id, async (tx, task) => {
        await cancel(tx, context, task, { by, why: why ?? 'cancelled by request' });
        if (task.plan === null) return;
        await askAgain(tx, context, await tx.need('plan', task.plan), await tx.need('task', id));
      }),
    async retryTask(id, input) {
      const { from: named, message, ...by } = parseInput(RetryInput, input ?? {});
      if (by.agent !== undefined) await knownFor(host, id);
      const from = named === undefined ? undefined : await snapshotFor(host, caller, id, named);
      return act('retryTask', id, async (tx, task) => {
        await retryBy(tx, context, task, { caller, by, from });
        // In one change: the attempt cannot begin without it.
        if (message === undefined) return;
        await checkMailRoom(tx, caller, task.session, message);
        const words = { from: senderOf(caller), text: message };
        await say(tx, context, { id: task.session, task: task.id }, words);
      });
    },
    async reviewTask(input) {
      const parsed = parseInput(ReviewInput, input);
      return act('reviewTask', parsed.task, (tx) => review(tx, context, parsed, senderOf(caller)));
    },
    async raiseBudget(node, limits) {
      const parsed = parseInput(BudgetLimits, limits);
      await decide(context, (tx) => raise(tx, context, { node, limits: parsed }));
    },
    getBudget: (node) => viewBudget(store, node),
    async stop(scope, why) {
      return stopAll(host, scope, { by, why });
    },
  };
}

type Filter = Parameters<Orchestrator['listTasks']>[0];

async function listTasks(context: Host['context'], caller: Caller, filter: Filter): Promise<TaskView[]> {
  const { store } = context;
  const rows = storedRows(store);
  const known = await knownCaller(rows, caller);
  const found = (await tasksOf(store, known, filter)).filter(
    (task) => filter.open === undefined || filter.open === !isTerminal(task.state),
  );
  const tasks: Task[] = [];
  for (const task of found)
    if (await isVisible(rows, known, 'listTasks', { task: task.id })) tasks.push(task);
  const views = await Promise.all(tasks.map((task) => viewTask(context, task)));
  await store.barrier();
  return views;
}

async function tasksOf(store: Store, { session, task }: KnownCaller, filter: Filter): Promise<Task[]> {
  const list = async (find: Find): Promise<Task[]> => (await store.find('task', find)).map((row) => row.doc);
  if (filter.plan !== undefined) return list({ list: 'byPlan', equal: [filter.plan] });
  if (filter.owner !== undefined) return list({ list: 'byOwner', equal: [filter.owner] });
  // A run sees its own tree only, which is small however much there is beside it.
  if (session && task) return [task, ...(await tasksBelow(store, session.id))];
  return filter.open ? list({ list: 'open', equal: [1] }) : everyTask(store);
}

/** Everything in scope is cancelled, in as few changes as there are trees (LIM3). */
async function stopAll(
  host: Host,
  scope: StopScope,
  wish: { by: string; why: string },
): Promise<{ stopped: number }> {
  const { context } = host;
  const { store } = context;
  let stopped = 0;
  const stopTask = async (id: string): Promise<void> => {
    stopped += await decide(context, async (tx) => cancelTree(tx, context, await tx.need('task', id), wish));
  };
  const stopPlan = async (id: string): Promise<void> => {
    stopped += await decide(context, async (tx) => {
      const plan = await tx.need('plan', id);
      return ['completed', 'failed', 'cancelled'].includes(plan.state)
        ? 0
        : cancelPlan(tx, context, plan, wish);
    });
  };
  if (scope.scope === 'tree') await stopTask(scope.task);
  if (scope.scope === 'plan') await stopPlan(scope.plan);
  if (scope.scope === 'all') {
    for (const state of ['active', 'paused']) {
      for (const { doc } of await store.find('plan', { list: 'byState', equal: [state] }))
        await stopPlan(doc.id);
    }
    for (const { doc } of await store.find('task', { list: 'open', equal: [1] })) {
      // Also what was started by hand in a draft.
      if (doc.plan === null || doc.run !== null) await stopTask(doc.id);
    }
  }
  return { stopped };
}
