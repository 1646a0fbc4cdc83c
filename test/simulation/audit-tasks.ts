import type { Plan, Run, Task, TaskState } from '@reveille/protocol';
import type { Auditor } from './auditor.ts';
import { is, type Delta, type Durable } from './ledger.ts';

/** PLN2, written down a second time: the engine's own table is what is checked. */
const MOVES: { readonly [S in TaskState]: readonly TaskState[] } = {
  pending: ['ready', 'blocked', 'cancelled'],
  blocked: ['pending', 'cancelled'],
  ready: ['running', 'cancelled'],
  running: ['waiting', 'review', 'completed', 'failed', 'cancelled'],
  waiting: ['running', 'review', 'completed', 'failed', 'cancelled'],
  review: ['ready', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: ['pending'],
  cancelled: ['pending'],
};
/** Steps a single change may take one after the other: created and started, retried and ready. */
const TWO_STEPS: readonly (readonly [TaskState, TaskState])[] = [
  ['failed', 'ready'],
  ['failed', 'blocked'],
  ['cancelled', 'ready'],
  ['cancelled', 'blocked'],
  ['blocked', 'ready'],
  // A turn that could not be opened because the budget is used up ends the run in the change that began it.
  ['ready', 'failed'],
];

const over = (state: TaskState): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled';

export function auditTasks(auditor: Auditor, change: Durable): void {
  const plans = new Set<string>();
  for (const delta of change.deltas) {
    if (is(delta, 'task')) {
      auditTask(auditor, change, delta);
      if (delta.after.plan) plans.add(delta.after.plan);
    }
    if (is(delta, 'run')) auditRun(auditor, delta);
    if (is(delta, 'plan')) plans.add(delta.after.id);
    if (is(delta, 'session')) auditCounters(auditor, delta);
  }
  for (const id of plans) auditPlan(auditor, id);
}

function auditTask(auditor: Auditor, change: Durable, { before, after }: Delta<'task'>): void {
  if (!before) return auditCreated(auditor, after);
  if (before.state !== after.state) {
    const allowed =
      MOVES[before.state].includes(after.state) ||
      TWO_STEPS.some(([from, to]) => from === before.state && to === after.state);
    auditor.check(allowed, 'transitions', `task ${after.id} went from ${before.state} to ${after.state}`);
    if (over(after.state)) {
      auditEnd(auditor, change, after);
      auditOrphans(auditor, after);
    }
  }
  const starts = before.state !== after.state && (after.state === 'ready' || after.state === 'running');
  if (starts) auditDependencies(auditor, after, `became ${after.state}`);
  auditor.check(
    after.state !== 'waiting' || after.waitingOn !== null,
    'transitions',
    `task ${after.id} waits and does not say on what`,
  );
  const open = after.run ? auditor.ledger.rows.run.get(after.run) : undefined;
  auditor.check(
    !after.run || open?.state === 'open',
    'fold',
    `task ${after.id} points to run ${after.run}, which is not open`,
  );
  const working = after.state === 'running' || after.state === 'waiting';
  auditor.check(
    working === (after.run !== null),
    'transitions',
    `task ${after.id} is ${after.state} with ${after.run ? 'an open run' : 'no run'}`,
  );
}

export function auditDependencies(auditor: Auditor, task: Task, what: string): void {
  for (const id of task.dependencies) {
    const state = auditor.ledger.rows.task.get(id)?.state;
    auditor.check(
      state === 'completed',
      'dependencies',
      `task ${task.id} ${what} while its dependency ${id} is ${state ?? 'unknown'}`,
    );
  }
}

/** The owner is told in the very change that ends the task, once, by a message that names the run (MBX2). */
function auditEnd(auditor: Auditor, change: Durable, task: Task): void {
  // The end of a reviewer is its verdict.
  if (task.reviews) return;
  const told = change.deltas.filter(
    (delta): delta is Delta<'message'> =>
      is(delta, 'message') && !delta.before && delta.after.kind === 'end' && delta.after.task === task.id,
  );
  auditor.check(
    told.length === 1,
    'ends',
    `task ${task.id} is ${task.state} and its owner was told ${told.length} times in that change`,
  );
  const message = told[0]?.after;
  auditor.check(
    message?.to === task.owner,
    'ends',
    `the end of task ${task.id} went to ${message?.to}, its owner is ${task.owner}`,
  );
  auditor.check(
    !message?.run || message.run === task.lastRun,
    'ends',
    `the end of task ${task.id} names run ${message?.run}, its last is ${task.lastRun}`,
  );
}

/** MBX6: by the change that ends a task for good, none of its children is left without an owner. */
function auditOrphans(auditor: Auditor, task: Task): void {
  for (const child of auditor.ledger.tasksOf(task.session)) {
    // A plan outlives whoever saved it, unless that one was cancelled.
    const outlives = child.plan !== null && task.state !== 'cancelled';
    const cared = over(child.state) || child.cancelling !== null || outlives;
    auditor.check(cared, 'cancelled trees', `${task.id} is ${task.state} and its child ${child.id} runs on`);
  }
}

/** A reviewer of its own work is no child of a worker, nor is a task of its plan. */
const isChild = ({ plan, reviews }: Task): boolean => plan === null && !reviews;

/** Depth, children, and nothing born under a task that is being cancelled or has ended. */
function auditCreated(auditor: Auditor, task: Task): void {
  const { ledger, settings } = auditor;
  if (task.plan) return;
  const owner = ledger.rows.session.get(task.owner);
  auditor.check(
    owner?.state === 'open',
    'cancelled trees',
    `task ${task.id} was spawned by ${task.owner}, which has ended`,
  );
  for (const parent of ledger.ofOneLife(task)) {
    if (parent === task) continue;
    const dying = parent.cancelling !== null || over(parent.state);
    auditor.check(
      !dying,
      'cancelled trees',
      `task ${task.id} was spawned under ${parent.id}, which is ${parent.cancelling ? 'being cancelled' : parent.state}`,
    );
  }
  const limit = owner?.rootKind === 'orchestrator' ? settings.depth.orchestrator : settings.depth.standalone;
  auditor.check(
    task.depth <= limit,
    'limits',
    `task ${task.id} is ${task.depth} deep, the limit is ${limit}`,
  );
  const children = ledger.tasksOf(task.owner).filter(isChild);
  const open = children.filter((child) => !over(child.state)).length;
  // Children handed up by one that ended do not count against the limit for spawning.
  const handed = auditor.handedTo.get(task.owner) ?? 0;
  auditor.check(
    open - handed <= settings.children.open,
    'limits',
    `${task.owner} has ${open} open children, the limit is ${settings.children.open}`,
  );
  auditor.check(
    children.length - handed <= settings.children.total,
    'limits',
    `${task.owner} has ${children.length} children, the limit is ${settings.children.total}`,
  );
}

function auditCounters(auditor: Auditor, { after }: Delta<'session'>): void {
  if (after.state === 'ended') return;
  const children = auditor.ledger.tasksOf(after.id).filter(isChild);
  const open = children.filter((child) => !over(child.state)).length;
  auditor.check(
    after.childrenOpen === open,
    'limits',
    `${after.id} counts ${after.childrenOpen} open children and has ${open}`,
  );
}

function auditRun(auditor: Auditor, { before, after }: Delta<'run'>): void {
  if (before?.state === 'ended') {
    auditor.check(
      after.state === 'ended' && after.end === before.end,
      'transitions',
      `the end of run ${after.id} was changed`,
    );
    auditor.check(
      after.epoch === before.epoch,
      'one agent',
      `run ${after.id} has ended and got epoch ${after.epoch}`,
    );
    return;
  }
  if (!before) auditNewRun(auditor, after);
  else
    auditor.check(
      after.epoch >= before.epoch,
      'one agent',
      `the epoch of run ${after.id} went from ${before.epoch} to ${after.epoch}`,
    );
  if (after.state !== 'ended') return;
  auditor.check(after.end !== null, 'transitions', `run ${after.id} ended without an end`);
  const { turn, inquiry, retryAt } = after;
  auditor.check(
    turn === null && inquiry === null && retryAt === null,
    'transitions',
    `run ${after.id} ended with a turn, an inquiry or a time to go on`,
  );
  for (const budget of auditor.ledger.rows.budget.values()) {
    const left = Object.keys(budget.reserved).filter((key) => key.startsWith(`${after.id}/`));
    auditor.check(
      left.length === 0,
      'budgets',
      `run ${after.id} has ended and still reserves ${left.join(', ')} of ${budget.id}`,
    );
  }
}

function auditNewRun(auditor: Auditor, run: Run): void {
  for (const other of auditor.ledger.rows.run.values()) {
    if (other.task !== run.task || other.id === run.id) continue;
    auditor.check(
      other.state === 'ended',
      'one agent',
      `task ${run.task} has two open runs, ${other.id} and ${run.id}`,
    );
    auditor.check(
      other.attempt < run.attempt,
      'transitions',
      `run ${run.id} is attempt ${run.attempt}, run ${other.id} was ${other.attempt}`,
    );
  }
}

/** PLN4: from the plan's own tasks, and from nothing else. */
function auditPlan(auditor: Auditor, id: string): void {
  const plan = auditor.ledger.rows.plan.get(id);
  if (!plan) return auditor.check(false, 'plan status', `tasks of the unknown plan ${id}`);
  const tasks = auditor.ledger.tasksIn(id);
  const counts = new Map<TaskState, number>();
  for (const task of tasks) counts.set(task.state, (counts.get(task.state) ?? 0) + 1);
  for (const state of Object.keys(MOVES) as TaskState[]) {
    auditor.check(
      (plan.counts[state] ?? 0) === (counts.get(state) ?? 0),
      'plan status',
      `plan ${id} counts ${plan.counts[state]} ${state} tasks and has ${counts.get(state)}`,
    );
  }
  const wanted = planStates(plan, tasks);
  auditor.check(
    wanted.includes(plan.state),
    'plan status',
    `plan ${id} is ${plan.state}, its tasks make it ${wanted.join(' or ')}`,
  );
  auditBlocked(auditor, tasks);
}

function planStates(plan: Plan, tasks: readonly Task[]): Plan['state'][] {
  if (plan.state === 'draft') return ['draft'];
  const canRun = tasks.some((task) => !over(task.state) && task.state !== 'blocked');
  if (canRun) return ['active', 'paused'];
  if (tasks.every((task) => task.state === 'completed')) return ['completed'];
  return ['failed', 'cancelled'];
}

/** Blocked is exactly what has something failed, cancelled or blocked before it. */
function auditBlocked(auditor: Auditor, tasks: readonly Task[]): void {
  const rows = auditor.ledger.rows.task;
  for (const task of tasks) {
    if (task.state !== 'pending' && task.state !== 'blocked') continue;
    const bad = task.dependencies.some((id) =>
      ['failed', 'cancelled', 'blocked'].includes(rows.get(id)?.state ?? ''),
    );
    auditor.check(
      bad === (task.state === 'blocked'),
      'plan status',
      `task ${task.id} is ${task.state} and ${bad ? 'a' : 'no'} dependency of it is bad`,
    );
  }
}
