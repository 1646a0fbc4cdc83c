import { formatAgentType, type Run, type Short, type Task } from '@reveille/protocol';
import { moneyNodes, shortWords, spend, withUnpriced, type Spent } from './budget.ts';
import { newId, type Context } from './context.ts';
import type { AgentLine } from './agent-line.ts';
import type { DecideHeld } from './holding.ts';
import type { Alert } from './health.ts';
import { whoHears } from './hearing.ts';
import { enqueue } from './mailbox.ts';
import type { Tx } from './tx.ts';

/** Told to the owner and shown; none of it fails the task (HLT2, HLT3). */
async function tellOwner(
  tx: Tx,
  context: Context,
  task: Task,
  run: Run,
  alerts: readonly Alert[],
): Promise<void> {
  for (const { what, text } of alerts) {
    tx.note({ type: `health.${what}`, task: task.id, run: run.id, data: { text } });
    await enqueue(tx, context, {
      to: whoHears(task),
      key: `health:${newId(context, 'msg')}`,
      kind: what === 'progress' ? 'progress' : 'health',
      from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
      task: task.id,
      text,
      fresh: true,
    });
  }
}

/** Tells the owner what there is to tell of an agent. */
export async function tellAlerts(context: Context, line: AgentLine, decideHeld: DecideHeld): Promise<void> {
  // A copy: more may come during the commit.
  const alerts = [...line.alerts];
  await decideHeld((tx, run, task) => tellOwner(tx, context, task, run, alerts));
  line.alerts = line.alerts.slice(alerts.length);
}

/** What a backend says was used, and whether the time is. */
interface Told {
  readonly usage: readonly ({ readonly id: string } & Spent)[];
  readonly time?: Short | null | undefined;
}

/**
 * Records what a backend says was used; answers with the limit that is overrun, if one is (LIM1). What nobody knows the
 * price of is counted apart: it is not free, it is unknown (EXE5).
 */
export async function spendUsage(
  tx: Tx,
  context: Context,
  { task, run }: { readonly task: Task; readonly run: Run },
  { usage, time = null }: Told,
): Promise<string | null> {
  let short = time;
  if (usage.length === 0 && !short) return null;
  const used = { ...run.used };
  for (const { id, tokens, usd } of usage) {
    used.tokens += tokens;
    used.usd += usd ?? 0;
    if (usd === null) {
      used.unpriced = withUnpriced(used.unpriced, tokens);
      short ??= await unpriced(tx, context, task, tokens);
    }
    if (task.budget) short = (await spend(tx, task.budget, `${run.id}/${id}`, { tokens, usd })) ?? short;
  }
  tx.put('run', { ...run, used, ...(short ? { short } : {}) });
  return short && shortWords(short);
}

/** Money is limited, and nobody knows how much this was: by setting that ends the run, else its owner is told, once. */
async function unpriced(tx: Tx, context: Context, task: Task, tokens: number): Promise<Short | null> {
  const nodes = task.budget ? await moneyNodes(tx, task.budget) : [];
  const [first] = nodes;
  if (!first || tokens === 0) return null;
  if (context.settings.budgets.unpriced === 'stop')
    return { node: first.id, key: 'unpriced', total: tokens, limit: first.limits.usd ?? 0, over: true };
  for (const node of nodes.filter((each) => each.unpriced === undefined)) {
    tx.note({ type: 'budget.unpriced', task: task.id, data: { node: node.id } });
    await enqueue(tx, context, {
      to: whoHears(task),
      key: `unpriced:${node.id}`,
      kind: 'warning',
      from: { kind: 'harness' },
      task: task.id,
      text: `The money of ${node.id} is limited to $${node.limits.usd}, but nobody knows what "${task.name}" on ${formatAgentType(task.agent)} costs: its tokens are counted, its money is not. Set a price (prices), limit tokens too, or set engine.budgets.unpriced to stop.`,
    });
  }
  return null;
}
