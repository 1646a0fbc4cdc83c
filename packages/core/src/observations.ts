import { formatAgentType, type Budget, type Run, type Short, type Task } from '@reveille/protocol';
import { estimatedPrice, moneyNodes, shortWords, spend } from './budget.ts';
import { newId, type Context } from './context.ts';
import type { AgentLine } from './agent-line.ts';
import type { DecideHeld } from './holding.ts';
import type { Checkout } from './checkout.ts';
import type { Alert, Vitals } from './health.ts';
import { whoHears } from './hearing.ts';
import { enqueue } from './mailbox.ts';
import { askPerson, isAgents, recordHealth } from './recorded-health.ts';
import type { Tx } from './tx.ts';
import { account, type UsageItem } from './usage.ts';

/** Told to the owner and shown; none of it fails the task (HLT2, HLT3). */
async function tellOwner(
  tx: Tx,
  context: Context,
  task: Task,
  { run, alerts, vitals }: Observed,
): Promise<void> {
  for (const { what, text } of alerts) {
    if (what === 'changed') continue;
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
    // It may have given a sign since, while the store was held up.
    const isStuck = what === 'stuck' && vitals.condition?.what === 'stuck';
    if (isStuck && !(await isAgents(tx, task))) await askPerson(tx, context, task, { run, text });
  }
}

interface Observed {
  readonly run: Run;
  readonly alerts: readonly Alert[];
  readonly vitals: Vitals;
}

/** Tells the owner what there is to tell of an agent, and records what is wrong with it now. */
export async function tellAlerts(context: Context, line: AgentLine, decideHeld: DecideHeld): Promise<void> {
  // A copy: more may come during the commit.
  const alerts = [...line.alerts];
  await decideHeld(async (tx, run, task) => {
    const { vitals } = line;
    await tellOwner(tx, context, task, { run, alerts, vitals });
    await recordHealth(tx, context, task, { run, vitals });
  });
  line.alerts = line.alerts.slice(alerts.length);
}

/**
 * Marks the files of an agent whose calls bring nothing new, or compares them with the mark: quiet commands that change
 * files are no loop (HLT2).
 */
export async function checkFiles(context: Context, line: AgentLine, checkout: Checkout): Promise<void> {
  const { vitals } = line;
  const check = vitals.patterns.fileCheck;
  if (check?.kind === 'mark') {
    line.alerts.push(...vitals.filesMarked(await checkout.mark(), context.settings));
  } else if (check?.kind === 'compare') {
    const changed = await checkout.hasChanged(check.mark);
    line.alerts.push(...vitals.filesCompared(changed, context.settings));
  }
}

/**
 * What is to be counted, the token that the agent is resumed by, and whether the time is up. A token says how much of the
 * usage is counted, so both are recorded in one change: a crash between the two would lose usage or count it twice.
 */
export interface Told {
  readonly usage: readonly UsageItem[];
  readonly started?: { readonly resume: string | null } | null;
  readonly time?: Short | null | undefined;
}

/**
 * Counts what a backend says was used, and estimates where it says nothing; answers with the limit that is overrun, if one
 * is (LIM1). What nobody knows the price of is marked as such: it is not free (EXE5).
 */
export async function spendUsage(
  tx: Tx,
  context: Context,
  { task, run }: { readonly task: Task; readonly run: Run },
  { usage, started, time = null }: Told,
): Promise<string | null> {
  let short = time;
  const resume = started?.resume ?? run.resume;
  if (usage.length === 0 && !short && resume === run.resume) return null;
  const { budget } = task;
  let money = budget ? await moneyNodes(tx, budget) : [];
  const rate = money.length > 0 ? estimatedPrice(context.settings) : null;
  let { used } = run;
  for (const item of usage) {
    const change = account(used, item, rate);
    ({ used } = change);
    if (change.unpriced && money.length > 0)
      short ??= await unpriced(tx, context, { task, money, tokens: change.unpriced.tokens });
    const key = item.kind === 'call' ? `${run.id}/${item.id}` : null;
    if (budget) short = (await spend(tx, budget, key, change)) ?? short;
    // With what is marked on it by now: its owner is told once.
    if (budget && change.unpriced) money = await moneyNodes(tx, budget);
  }
  tx.put('run', { ...run, used, resume, ...(short ? { short } : {}) });
  return short && shortWords(short);
}

/** Money is limited, and nobody knows how much this was: by setting that ends the run, else its owner is told, once. */
async function unpriced(
  tx: Tx,
  context: Context,
  {
    task,
    money,
    tokens,
  }: { readonly task: Task; readonly money: readonly Budget[]; readonly tokens: number },
): Promise<Short | null> {
  const { unpriced: policy, usdPerMillion } = context.settings.budgets;
  const [first] = money;
  if (first && policy === 'stop')
    return { node: first.id, key: 'unpriced', total: tokens, limit: first.limits.usd ?? 0, over: true };
  const counts =
    policy === 'estimate'
      ? `its money is an estimate, $${usdPerMillion} for a million tokens (engine.budgets.usdPerMillion)`
      : 'its tokens are counted, its money is not';
  for (const node of money.filter((each) => each.unpriced === undefined)) {
    tx.note({ type: 'budget.unpriced', task: task.id, data: { node: node.id } });
    await enqueue(tx, context, {
      to: whoHears(task),
      key: `unpriced:${node.id}`,
      kind: 'warning',
      from: { kind: 'harness' },
      task: task.id,
      text: `The money of ${node.id} is limited to $${node.limits.usd}, but nobody knows what "${task.name}" on ${formatAgentType(task.agent)} costs: ${counts}. Set a price (prices), limit tokens too, or set engine.budgets.unpriced to stop.`,
    });
  }
  return null;
}
