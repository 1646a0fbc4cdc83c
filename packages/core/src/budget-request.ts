import {
  formatAgentType,
  limitAmount,
  limitName,
  optionsOf,
  type Budget,
  type Raise,
  type Request,
  type Run,
  type RunId,
  type Short,
  type Task,
} from '@reveille/protocol';
import { budgetChain, overruns, shortWords } from './budget.ts';
import type { Context } from './context.ts';
import { openRequest, openRequests } from './requests.ts';
import type { Tx } from './tx.ts';

const keyOf = (run: RunId): string => `budget:${run}`;

/**
 * A run ended because its budget is used up: the person can raise it, and it goes on where it was (LIM1). The limits that
 * "raise" sets are put on record with the run, so that what is asked and what is done are the same numbers.
 */
export async function askToRaise(tx: Tx, context: Context, task: Task, run: Run): Promise<void> {
  const row = await tx.need('run', run.id);
  const { short, raises, text } = await offerOf(tx, task, row);
  tx.put('run', { ...row, ...(short ? { short } : {}), raises });
  await openRequest(tx, context, task, {
    kind: 'budget',
    run,
    text,
    options: raises.length === 0 ? ['stop'] : optionsOf('budget'),
    toPerson: true,
    key: keyOf(run.id),
  });
}

/** The agent named more usage while it was being stopped: what is asked is asked with the new numbers. */
export async function askAnew(tx: Tx, task: Task, id: RunId): Promise<void> {
  const request = await budgetRequest(tx, task, id);
  const run = await tx.need('run', id);
  if (!request || run.raises === undefined || run.raises.length === 0) return;
  const { raises, text } = await offerOf(tx, task, run);
  tx.put('run', { ...run, raises });
  tx.put('request', { ...request, text });
}

async function budgetRequest(tx: Tx, task: Task, run: RunId): Promise<Request | undefined> {
  return (await openRequests(tx, task)).find(({ key, state }) => key === keyOf(run) && state === 'open');
}

interface Offer {
  /** The limit that stopped the run. An agent that says itself that its budget is used up names none: then one that is overrun. */
  readonly short: Short | undefined;
  readonly raises: Raise[];
  readonly text: string;
}

async function offerOf(tx: Tx, task: Task, run: Run): Promise<Offer> {
  const chain = await budgetChain(tx, task.budget);
  const over = chain.flatMap(overruns);
  const short = run.short ?? over[0];
  const isOver = over.some(({ node, key }) => node === short?.node && key === short.key);
  const shorts = short && !isOver ? [short, ...over] : over;
  const raises =
    short?.key === 'unpriced' ? [] : shorts.map((one) => byTheWall(one, chain, tx.now)).flatMap(raiseOf);
  const why = shorts.length > 0 ? shorts.map(shortWords).join('; ') : 'its budget is used up';
  const places = new Set(raises.map(({ node }) => node));
  const offers = raises.map(({ node, key, to }) => {
    const whose = places.size > 1 ? ` of ${node}` : '';
    return `${limitName(key)}${whose} to ${limitAmount(key, to)}`;
  });
  const raise = offers.length > 0 ? `raise: ${offers.join(', ')}, and it goes on. ` : '';
  const text = `${formatAgentType(task.agent)} stopped at "${task.name}" (${task.id}): ${why}. What it had done is kept. ${raise}Any other limit: reveille budget ${short?.node ?? task.id}.`;
  return { short, raises, text };
}

/**
 * A run counts its time on the monotonic clock. What its node has used is counted by the wall clock, which also goes on while the
 * machine sleeps; a limit below that would be refused.
 */
function byTheWall(short: Short, chain: readonly Budget[], now: number): Short {
  const since = chain.find(({ id }) => id === short.node)?.since;
  if (short.key !== 'wallMs' || since === undefined) return short;
  return { ...short, total: Math.max(short.total, now - since) };
}

/** Twice the limit; if that is used already, as much again as the limit was. */
function raiseOf({ node, key, limit, total }: Short): Raise[] {
  if (key === 'unpriced') return [];
  const enough = 2 * limit > total ? 2 * limit : total + (limit || total || 1);
  return [{ node, key, to: shownAs(key, enough) }];
}

/** The number that `limitAmount` shows, never a smaller one. */
function shownAs(key: Raise['key'], amount: number): number {
  const unit = key === 'usd' ? 1e-4 : key === 'wallMs' ? (amount < 60_000 ? 100 : 6_000) : 1;
  return Number((Math.ceil(Number((amount / unit).toFixed(3))) * unit).toFixed(4));
}
