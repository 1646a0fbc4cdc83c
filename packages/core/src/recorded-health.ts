import type { Request, Run, Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import type { Vitals } from './health.ts';
import { openRequest, openRequests } from './requests.ts';
import type { Tx } from './tx.ts';

/** Whether an agent decides what becomes of the task: it is the child of one, and not the task of a plan. */
export async function isAgents(tx: Tx, task: Task): Promise<boolean> {
  if (task.plan !== null) return false;
  const { kind } = await tx.need('session', task.owner);
  return kind === 'worker' || kind === 'orchestrator';
}

const CHOICES = ['keep waiting', 'remind', 'mark complete', 'cancel'];

/** Asks the person what to do about a worker that is silent: one item, however often and by what it is noticed (INB1). */
export async function askPerson(
  tx: Tx,
  context: Context,
  task: Task,
  { run, text }: { readonly run: Run; readonly text: string },
): Promise<void> {
  if ((await openIdle(tx, task)).length > 0) return;
  await openRequest(tx, context, task, { kind: 'idle', run, text, options: CHOICES, toPerson: true });
}

const openIdle = async (tx: Tx, task: Task): Promise<Request[]> =>
  (await openRequests(tx, task)).filter(({ kind, state }) => kind === 'idle' && state === 'open');

/** Records what is wrong with the agent now, for every interface to show. */
export async function recordHealth(
  tx: Tx,
  context: Context,
  task: Task,
  { run: { id }, vitals }: { readonly run: Run; readonly vitals: Vitals },
): Promise<void> {
  const run = await tx.need('run', id);
  const { condition, lastSign, lastWords } = vitals;
  if (!condition || !run.turn) {
    if (run.health) tx.put('run', await recovered(tx, task, run));
    return;
  }
  const { at = tx.now } = run.health?.what === condition.what ? run.health : {};
  const health = {
    ...condition,
    at,
    lastSign: tx.now - (context.awake.ms - lastSign),
    lastWords: (lastWords || run.lastWords).slice(-1_000),
  };
  tx.put('run', { ...run, health });
  if (condition.what !== 'stuck' && condition.what !== 'silent') await closeIdle(tx, task);
}

/** The run without a condition: nothing is wrong with its agent any more, so a question about its silence is closed. */
export async function recovered(tx: Tx, task: Task, run: Run): Promise<Run> {
  const { health, ...well } = run;
  if (health) await closeIdle(tx, task);
  return well;
}

async function closeIdle(tx: Tx, task: Task): Promise<void> {
  for (const request of await openIdle(tx, task)) tx.put('request', { ...request, state: 'closed' });
}
