import {
  BudgetLimits,
  ReveilleError,
  isId,
  isReveilleError,
  limitAmount,
  limitName,
  limitsIn,
  type Amounts,
  type Budget,
  type Estimated,
  type PlanId,
  type Request,
  type Run,
  type Task,
  type TaskId,
} from '@reveille/protocol';
import { budgetChain, openBudget, overruns, shortWords, taken } from './budget.ts';
import type { Context } from './context.ts';
import { enqueue } from './mailbox.ts';
import { retry } from './task-acts.ts';
import type { Tx } from './tx.ts';

/**
 * Raises the limits that keep a run from going on: to what its request says, or to what the person writes
 * (`tokens=200k usd=5 minutes=30`). A limit that is written holds for each node where that limit is used up.
 */
export async function raiseAsTold(
  tx: Tx,
  context: Context,
  { run: id, task }: Request,
  words: string,
): Promise<void> {
  const run = id === null ? null : await tx.need('run', id);
  const { short, raises = [] } = run ?? {};
  if (!run || !short || raises.length === 0)
    throw new ReveilleError(
      'invalid_input',
      'No limit of this budget can be raised to go on; answer "stop".',
    );
  const written = words.trim() === '' ? null : writtenLimits(words);
  const missing = written ? raises.filter(({ key }) => written[key] === undefined) : [];
  if (missing.length > 0)
    throw new ReveilleError(
      'invalid_input',
      `Nothing was changed: ${missing.map(({ key, node }) => `the ${limitName(key)} of ${node}`).join(' and ')} would still keep it from going on. Raise that as well, in one answer.`,
    );
  const first = { node: short.node, limits: written ?? {} };
  const wanted = raises.map(({ node, key, to }) => ({ node, limits: { [key]: written?.[key] ?? to } }));
  for (const { node, limits } of [first, ...wanted])
    await setLimits(tx, await tx.need('budget', node), limits);
  if (!(await hasRoom(tx, await tx.need('task', task), run)))
    throw new ReveilleError(
      'invalid_input',
      `Nothing was changed: with that it could not go on. It stopped because of this: ${shortWords(short)}.`,
    );
  for (const node of new Set(raises.map((each) => each.node))) await goOn(tx, context, node);
  const { state, name } = await tx.need('task', task);
  if (state === 'failed')
    throw new ReveilleError(
      'wrong_state',
      `Nothing was changed: "${name}" (${task}) cannot go on, because whoever gave it has ended. Answer "stop".`,
    );
}

function writtenLimits(words: string): BudgetLimits {
  const pairs = words.split(/[\s,]+/).flatMap((word) => {
    const [key = '', ...value] = word.split('=');
    return word === '' ? [] : [[key, value.join('=')] as const];
  });
  const found = limitsIn(pairs);
  const parsed = 'limits' in found ? BudgetLimits.safeParse(found.limits) : null;
  if (parsed?.success) return parsed.data;
  throw new ReveilleError(
    'invalid_input',
    `"${words.slice(0, 80)}" is no budget: write nothing, or tokens=200k usd=5 turns=20 spawns=5 minutes=30.`,
  );
}

/** Raises, or lowers, what a plan or a task may use. What had stopped because of it goes on. */
export async function raise(
  tx: Tx,
  context: Context,
  { node, limits }: { readonly node: PlanId | TaskId; readonly limits: BudgetLimits },
): Promise<void> {
  const task = isId('plan', node) ? null : await tx.need('task', node);
  if (!task) await tx.need('plan', node);
  if (Object.keys(limits).length === 0)
    throw new ReveilleError(
      'invalid_input',
      'Say what is limited: tokens, usd, turns, spawns or wallMs (minutes on a command line).',
    );
  const budget = await tx.get('budget', node);
  const tasks = task ? [task] : await tx.list('task', { list: 'byPlan', equal: [node] });
  if (limits.wallMs !== undefined) for (const each of tasks) await wakeTree(tx, each);
  if (budget) {
    await setLimits(tx, budget, limits);
    return goOn(tx, context, node);
  }
  const parent = tasks[0] ? await above(tx, tasks[0]) : null;
  openBudget(tx, node, parent, limits);
  const opened = await tx.need('budget', node);
  const used = { ...opened.used };
  const reserved = { ...opened.reserved };
  const estimated = { tokens: 0, usd: 0 };
  const starts: number[] = [];
  for (const each of tasks) await putBelow(tx, each, { parent, node, used, estimated, reserved, starts });
  const since = starts.length > 0 ? { since: Math.min(...starts) } : {};
  const estimates = estimated.tokens > 0 || estimated.usd > 0 ? { estimated } : {};
  await setLimits(tx, { ...opened, ...estimates, ...since, used, reserved }, limits);
  await goOn(tx, context, node);
}

/** Whoever is at work there looks at its time limit again. */
async function wakeTree(tx: Tx, { session }: Task): Promise<void> {
  tx.wake(session);
  for (const child of await tx.list('task', { list: 'openByOwner', equal: [session, 1] }))
    await wakeTree(tx, child);
}

interface Below {
  readonly parent: string | null;
  readonly node: string;
  /** What was used before anybody counted, and what is set aside. */
  readonly used: Amounts;
  /** The part of it that nobody reported. */
  readonly estimated: Estimated;
  readonly reserved: Budget['reserved'];
  /** When runs below it began. */
  readonly starts: number[];
}

/** Where a new node belongs: below what limits its tasks from outside. */
async function above(tx: Tx, task: Task): Promise<string | null> {
  const own = task.budget === task.id ? await tx.need('budget', task.id) : null;
  return own ? own.parent : task.budget;
}

/** What is below it, and was below what is above it, comes out of the new node from now on. */
async function putBelow(tx: Tx, task: Task, below: Below): Promise<void> {
  const { parent, node, used, estimated, starts } = below;
  if (task.budget === parent) {
    for (const id of new Set([task.run, task.lastRun].filter((each) => each !== null))) {
      const run = await tx.need('run', id);
      used.tokens += run.used.tokens;
      used.usd += run.used.usd;
      used.turns += run.turns;
      starts.push(run.startedAt);
      addTo(estimated, run.used.estimated);
    }
    tx.put('task', { ...task, budget: node });
  } else if (task.budget !== node && task.budget !== null) await hang(tx, task.budget, below);
  for (const child of await tx.list('task', { list: 'openByOwner', equal: [task.session, 1] }))
    await putBelow(tx, child, below);
}

/** A budget of its own comes below the new one, and what it has counted comes with it. */
async function hang(tx: Tx, id: string, below: Below): Promise<void> {
  const { parent, node, used, estimated, reserved, starts } = below;
  const budget = await tx.need('budget', id);
  if (budget.parent !== parent || id === node) return;
  for (const key of ['tokens', 'usd', 'turns', 'spawns'] as const) used[key] += budget.used[key];
  addTo(estimated, budget.estimated);
  if (budget.since !== undefined) starts.push(budget.since);
  Object.assign(reserved, budget.reserved);
  tx.put('budget', { ...budget, parent: node });
}

function addTo(sum: Estimated, more: Estimated | undefined): void {
  sum.tokens += more?.tokens ?? 0;
  sum.usd += more?.usd ?? 0;
}

async function setLimits(tx: Tx, node: Budget, limits: BudgetLimits): Promise<void> {
  const elapsed = limits.wallMs === undefined ? 0 : await elapsedOf(tx, node);
  const problems = (['tokens', 'usd', 'turns', 'spawns', 'wallMs'] as const).flatMap((key) => {
    const limit = limits[key];
    const used = key === 'wallMs' ? elapsed : taken(node, key);
    if (limit === undefined || limit >= used) return [];
    const [shown, least] = [limitAmount(key, limit), limitAmount(key, used)];
    return [
      { at: limitName(key), problem: `${shown} is below the ${least} that are used or set aside already` },
    ];
  });
  if (problems.length > 0)
    throw new ReveilleError(
      'invalid_input',
      `Nothing was changed: ${problems.map(({ at, problem }) => `${at}: ${problem}`).join('; ')}.`,
      { data: { problems } },
    );
  tx.put('budget', { ...node, limits: { ...node.limits, ...limits } });
}

/** A run that ended because its budget was used up, and the open request to raise that. */
interface StoppedRun {
  readonly request: Request;
  readonly run: Run;
  readonly task: Task;
}

async function stoppedBy(tx: Tx, node: string): Promise<StoppedRun[]> {
  const stopped: StoppedRun[] = [];
  for (const request of await tx.list('request', { list: 'open', equal: [1] })) {
    if (request.kind !== 'budget' || request.run === null) continue;
    const run = await tx.need('run', request.run);
    const task = await tx.need('task', request.task);
    if (!run.raises?.some((each) => each.node === node)) continue;
    if (task.state === 'failed' && task.lastRun === run.id) stopped.push({ request, run, task });
  }
  return stopped;
}

/** When the last of the runs ended that its time limit has stopped; null: it has stopped none. */
function standstillOf(stopped: readonly StoppedRun[]): number | null {
  const ends = stopped.flatMap(({ run: { short, end } }) => (short?.key === 'wallMs' && end ? [end.at] : []));
  return ends.length === 0 ? null : Math.max(...ends);
}

/** Wall time that a node has used; that of a standstill does not count. */
async function elapsedOf(tx: Tx, { id, since }: Budget): Promise<number> {
  return since === undefined ? 0 : (standstillOf(await stoppedBy(tx, id)) ?? tx.now) - since;
}

/**
 * Runs that ended because of this node go on where they were, in the same session and worktree, unless another limit still
 * keeps them from it. The time they stood still does not count.
 */
async function goOn(tx: Tx, context: Context, node: string): Promise<void> {
  const freed: StoppedRun[] = [];
  for (const each of await stoppedBy(tx, node)) if (await hasRoom(tx, each.task, each.run)) freed.push(each);
  await skipStandstill(tx, node, freed);
  for (const each of freed) await goOnWith(tx, context, each);
}

/** Whether every limit that stopped the run has been raised. */
async function hasRoom(tx: Tx, task: Task, { raises = [], short }: Run): Promise<boolean> {
  const chain = await budgetChain(tx, task.budget);
  if (chain.some((node) => overruns(node).length > 0)) return false;
  return raises.every(({ node, key }) => {
    const limit = chain.find(({ id }) => id === node)?.limits[key];
    return limit === undefined || key !== short?.key || node !== short.node || limit > short.limit;
  });
}

/** The wall time of a node counts from its first run: what nobody could work of it is not counted. */
async function skipStandstill(tx: Tx, id: string, freed: readonly StoppedRun[]): Promise<void> {
  const since = standstillOf(freed);
  const node = await tx.need('budget', id);
  if (since === null || node.since === undefined) return;
  tx.put('budget', { ...node, since: node.since + Math.max(0, tx.now - since) });
}

async function goOnWith(tx: Tx, context: Context, { request, run, task }: StoppedRun): Promise<void> {
  try {
    await retry(tx, task);
  } catch (error) {
    // Its owner has ended: there is nobody left to work for.
    if (!isReveilleError(error, 'wrong_state')) throw error;
    return;
  }
  const current = await tx.need('request', request.id);
  if (current.state === 'open') tx.put('request', { ...current, state: 'closed' });
  await enqueue(tx, context, {
    to: task.session,
    key: `budget:${run.id}`,
    kind: 'resume',
    from: { kind: 'harness' },
    task: task.id,
    text: 'You were stopped because your budget was used up. It has been raised: look at what is there, and go on.',
  });
}
