import { formatAgentType, type Run, type Task } from '@reveille/protocol';
import { spend } from './budget.ts';
import { newId, type Context } from './context.ts';
import type { Alert } from './health.ts';
import { enqueue } from './mailbox.ts';
import type { Tx } from './tx.ts';

/** Told to the owner and shown; none of it fails the task (HLT2, HLT3). */
export async function tellOwner(
  tx: Tx,
  context: Context,
  task: Task,
  run: Run,
  alerts: readonly Alert[],
): Promise<void> {
  for (const { what, text } of alerts) {
    tx.note({ type: `health.${what}`, task: task.id, run: run.id, data: { text } });
    await enqueue(tx, context, {
      to: task.owner,
      key: `health:${newId(context, 'msg')}`,
      kind: what === 'progress' ? 'progress' : 'health',
      from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
      task: task.id,
      text,
      fresh: true,
    });
  }
}

/** Records what a backend says was used; answers with the limit that is overrun, if one is (LIM1). */
export async function spendUsage(
  tx: Tx,
  task: Task,
  run: Run,
  usage: readonly { readonly id: string; readonly tokens: number; readonly usd: number }[],
): Promise<string | null> {
  let over: string | null = null;
  const used = { ...run.used };
  for (const { id, tokens, usd } of usage) {
    used.tokens += tokens;
    used.usd += usd;
    if (task.budget) over = (await spend(tx, task.budget, `${run.id}/${id}`, { tokens, usd })) ?? over;
  }
  tx.put('run', { ...run, used });
  return over;
}
