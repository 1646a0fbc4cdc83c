import { formatAgentType, optionsOf, type Run, type Task } from '@reveille/protocol';
import { shortWords } from './budget.ts';
import type { Context } from './context.ts';
import { openRequest } from './requests.ts';
import type { Tx } from './tx.ts';

/** A run ended because its budget is used up: the person can raise it, and it goes on where it was (LIM1). */
export async function askToRaise(tx: Tx, context: Context, task: Task, run: Run): Promise<void> {
  const { short } = run;
  const why = short ? shortWords(short) : 'its budget is used up';
  const raise = short && short.key !== 'unpriced' ? `raise: to ${short.limit * 2}, and it goes on. ` : '';
  await openRequest(tx, context, task, {
    kind: 'budget',
    run,
    text: `${formatAgentType(task.agent)} stopped at "${task.name}" (${task.id}): ${why}. What it had done is kept. ${raise}Any other limit: reveille budget ${short?.node ?? task.id}.`,
    options: raise === '' ? ['stop'] : optionsOf('budget'),
    toPerson: true,
    key: `budget:${run.id}`,
  });
}
