import {
  BudgetLimits,
  ReveilleError,
  isId,
  isReveilleError,
  type Amounts,
  type Budget,
  type Caller,
  type PlanId,
  type Request,
  type Session,
  type SessionId,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { checkCaller, sessionOf } from './authority.ts';
import { moneyNodes, openBudget, reserve, shortWords, taken } from './budget.ts';
import type { Context } from './context.ts';
import { enqueue } from './mailbox.ts';
import { retry } from './task-acts.ts';
import type { Tx } from './tx.ts';

type WorkerCaller = Extract<Caller, { kind: 'worker' }>;

/** Sets aside what a call of a model may use. Which budget has no room is written down with the run: it will end of it. */
export async function reserveFor(
  tx: Tx,
  { settings }: Context,
  caller: WorkerCaller,
  { id, wanted }: { readonly id: string; readonly wanted: Partial<Amounts> },
): Promise<string | null> {
  await checkCaller(tx, caller);
  const run = await tx.need('run', caller.run);
  const { budget } = await tx.need('task', run.task);
  if (!budget) return null;
  const unknown = wanted.tokens && wanted.usd === undefined && settings.budgets.unpriced === 'stop';
  const [money] = unknown ? await moneyNodes(tx, budget) : [];
  const short = money
    ? ({
        node: money.id,
        key: 'unpriced',
        total: wanted.tokens ?? 0,
        limit: money.limits.usd ?? 0,
        over: false,
      } as const)
    : await reserve(tx, budget, `${caller.run}/${id}`, wanted);
  if (!short) return null;
  tx.put('run', { ...run, short });
  return shortWords(short);
}

/** Raises the limit that was reached: to what is said (`tokens=200000 usd=5`), or to twice as much. */
export async function raiseAsTold(
  tx: Tx,
  context: Context,
  { run: id }: Request,
  words: string,
): Promise<void> {
  const { short } = id === null ? {} : await tx.need('run', id);
  if (!short || short.key === 'unpriced')
    throw new ReveilleError(
      'invalid_input',
      'No limit of this budget can be raised to go on; answer "stop".',
    );
  const node = await tx.need('budget', short.node);
  const twice = 2 * Math.max(node.limits[short.key] ?? 0, short.limit);
  const used = short.key === 'wallMs' ? 0 : taken(node, short.key);
  // Whoever overran it by far needs more than twice as much to go on.
  const more = { [short.key]: twice > used ? twice : 2 * used };
  await setLimits(tx, context, node, words.trim() === '' ? more : limitsIn(words));
}

function limitsIn(words: string): BudgetLimits {
  const pairs = words.split(/[\s,]+/).flatMap((word) => {
    const [key = '', value = ''] = word.split('=');
    return word === '' ? [] : [[key, Number(value)] as const];
  });
  const parsed = BudgetLimits.strict().safeParse(Object.fromEntries(pairs));
  if (parsed.success) return parsed.data;
  throw new ReveilleError(
    'invalid_input',
    `"${words.slice(0, 80)}" is no budget: write nothing, or tokens=200000 usd=5.`,
  );
}

/** Raises, or lowers, what a plan or a task may use. What had stopped because of it goes on. */
export async function raise(
  tx: Tx,
  context: Context,
  caller: Caller,
  { node, limits }: { readonly node: PlanId | TaskId; readonly limits: BudgetLimits },
): Promise<void> {
  const task = isId('plan', node) ? null : await tx.need('task', node);
  const owner = task ? task.owner : (await tx.need('plan', node)).owner;
  await checkMayRaise(tx, caller, owner);
  if (Object.keys(limits).length === 0)
    throw new ReveilleError('invalid_input', 'Say what is limited: tokens, usd, turns, spawns or wallMs.');
  const budget = await tx.get('budget', node);
  if (budget) return setLimits(tx, context, budget, limits);
  const tasks = task ? [task] : await tx.list('task', { list: 'byPlan', equal: [node] });
  const parent = tasks[0] ? await above(tx, tasks[0]) : null;
  openBudget(tx, node, parent, limits);
  const opened = await tx.need('budget', node);
  const used = { ...opened.used };
  const reserved = { ...opened.reserved };
  for (const each of tasks) await putBelow(tx, each, { parent, node, used, reserved });
  await setLimits(tx, context, { ...opened, used, reserved }, limits);
}

interface Below {
  readonly parent: string | null;
  readonly node: string;
  /** What was used before anybody counted, and what is set aside. */
  readonly used: Amounts;
  readonly reserved: Budget['reserved'];
}

/** Where a new node belongs: below what limits its tasks from outside. */
async function above(tx: Tx, task: Task): Promise<string | null> {
  const own = task.budget === task.id ? await tx.need('budget', task.id) : null;
  return own ? own.parent : task.budget;
}

/** What is below it, and was below what is above it, comes out of the new node from now on. */
async function putBelow(tx: Tx, task: Task, below: Below): Promise<void> {
  const { parent, node, used } = below;
  if (task.budget === parent) {
    for (const id of new Set([task.run, task.lastRun].filter((each) => each !== null))) {
      const run = await tx.need('run', id);
      used.tokens += run.used.tokens;
      used.usd += run.used.usd;
      used.turns += run.turns;
    }
    tx.put('task', { ...task, budget: node });
  } else if (task.budget !== node && task.budget !== null) await hang(tx, task.budget, below);
  for (const child of await tx.list('task', { list: 'openByOwner', equal: [task.session, 1] }))
    await putBelow(tx, child, below);
}

/** A budget of its own comes below the new one, and what it has counted comes with it. */
async function hang(tx: Tx, id: string, { parent, node, used, reserved }: Below): Promise<void> {
  const budget = await tx.need('budget', id);
  if (budget.parent !== parent || id === node) return;
  for (const key of ['tokens', 'usd', 'turns', 'spawns'] as const) used[key] += budget.used[key];
  Object.assign(reserved, budget.reserved);
  tx.put('budget', { ...budget, parent: node });
}

/** Whoever spends cannot allow itself more: a person can, and whoever the work was made by, out of its own. */
async function checkMayRaise(tx: Tx, caller: Caller, owner: SessionId): Promise<void> {
  await checkCaller(tx, caller);
  const session = sessionOf(caller);
  if (session === null) return;
  for (let id: SessionId | null = owner; id !== null;) {
    if (id === session) return;
    const next: Session = await tx.need('session', id);
    id = next.parent;
  }
  throw new ReveilleError('not_allowed', 'Only whoever made this task, or a person, may change its budget.');
}

async function setLimits(tx: Tx, context: Context, node: Budget, limits: BudgetLimits): Promise<void> {
  const problems = (['tokens', 'usd', 'turns', 'spawns'] as const).flatMap((key) => {
    const limit = limits[key];
    const used = taken(node, key);
    if (limit === undefined || limit >= used) return [];
    return [{ at: key, problem: `${limit} is below the ${used} that are used already` }];
  });
  if (problems.length > 0)
    throw new ReveilleError(
      'invalid_input',
      `Nothing was changed: ${problems.map(({ at, problem }) => `${at}: ${problem}`).join('; ')}.`,
      { data: { problems } },
    );
  tx.put('budget', { ...node, limits: { ...node.limits, ...limits } });
  await goOn(tx, context, node.id, limits);
}

/** Those that ended because of this limit go on where they were: the same session, the same worktree. */
async function goOn(tx: Tx, context: Context, node: string, limits: BudgetLimits): Promise<void> {
  for (const request of await tx.list('request', { list: 'open', equal: [1] })) {
    if (request.kind !== 'budget' || request.run === null) continue;
    const { short } = await tx.need('run', request.run);
    if (!short || short.node !== node || short.key === 'unpriced' || limits[short.key] === undefined)
      continue;
    const task = await tx.need('task', request.task);
    if (task.state !== 'failed' || task.lastRun !== request.run) continue;
    try {
      await retry(tx, task);
    } catch (error) {
      // Whoever owned it has ended: there is nobody left to work for.
      if (!isReveilleError(error, 'wrong_state')) throw error;
      continue;
    }
    const current = await tx.need('request', request.id);
    if (current.state === 'open') tx.put('request', { ...current, state: 'closed' });
    await enqueue(tx, context, {
      to: task.session,
      key: `budget:${request.run}`,
      kind: 'resume',
      from: { kind: 'harness' },
      task: task.id,
      text: 'You were stopped because your budget was used up. It has been raised: look at what is there, and go on.',
    });
  }
}
