import {
  limitAmount,
  limitName,
  type Amounts,
  type Budget,
  type BudgetLimits,
  type Short,
} from '@reveille/protocol';
import type { Settings } from './settings.ts';
import type { Tx } from './tx.ts';
import { grown, type UsageChange, type UsageItem } from './usage.ts';

export const NOTHING: Amounts = { tokens: 0, usd: 0, turns: 0, spawns: 0 };
const KEYS = ['tokens', 'usd', 'turns', 'spawns'] as const;

export function openBudget(
  tx: Tx,
  id: string,
  parent: string | null,
  limits: BudgetLimits | undefined,
): string | null {
  if (!limits || Object.keys(limits).length === 0) return parent;
  tx.put('budget', { id, parent, limits, used: NOTHING, reserved: {} });
  return id;
}

/** From a node up to the root. */
export async function budgetChain(tx: Tx, id: string | null): Promise<Budget[]> {
  const nodes: Budget[] = [];
  for (let next = id; next !== null;) {
    const node = await tx.need('budget', next);
    nodes.push(node);
    next = node.parent;
  }
  return nodes;
}

/** What is used and what is set aside. */
export const taken = (node: Budget, key: keyof Amounts): number => node.used[key] + reservedOf(node, key);

const reservedOf = (node: Budget, key: keyof Amounts): number =>
  Object.values(node.reserved).reduce((sum, amounts) => sum + (amounts[key] ?? 0), 0);

/** The first limit that using `more` would exceed, or null. What is reserved counts as used. */
function exceeded(node: Budget, more: Partial<Amounts>): Short | null {
  for (const key of KEYS) {
    const limit = node.limits[key];
    if (limit === undefined || !more[key]) continue;
    const reserved = reservedOf(node, key);
    const total = node.used[key] + reserved + (more[key] ?? 0);
    if (total > limit) return { node: node.id, key, total, limit, over: false };
  }
  return null;
}

/** The limits of a node that have been overrun. */
export function overruns({ id, limits, used, estimated }: Budget): Short[] {
  return KEYS.flatMap((key) => {
    const limit = limits[key];
    if (limit === undefined || used[key] <= limit) return [];
    const part = key === 'tokens' || key === 'usd' ? (estimated?.[key] ?? 0) : 0;
    const short: Short = { node: id, key, total: used[key], limit, over: true };
    return [part > 0 ? { ...short, estimated: part } : short];
  });
}

/** Draws on a node and everything above it, or on none of them. Who is past a limit begins nothing more. */
export async function draw(tx: Tx, id: string | null, amounts: Partial<Amounts>): Promise<Short | null> {
  const nodes = await budgetChain(tx, id);
  for (const node of nodes) {
    const short = overruns(node)[0] ?? exceeded(node, amounts);
    if (short) return short;
  }
  for (const node of nodes) tx.put('budget', { ...node, used: plus(node.used, amounts) });
  return null;
}

/** Sets an amount aside before it is used, up the whole tree. The same id again changes nothing. */
export async function reserve(
  tx: Tx,
  id: string | null,
  key: string,
  amounts: Partial<Amounts>,
): Promise<Short | null> {
  const nodes = await budgetChain(tx, id);
  if (nodes.some((node) => key in node.reserved)) return null;
  for (const node of nodes) {
    const short = exceeded(node, amounts);
    if (short) return short;
  }
  for (const node of nodes) tx.put('budget', { ...node, reserved: { ...node.reserved, [key]: amounts } });
  return null;
}

/**
 * Records what was used, in place of what was reserved under the same key. It has happened, so it is recorded even past
 * the limit; the answer says which limit is overrun.
 */
export async function spend(
  tx: Tx,
  id: string | null,
  key: string | null,
  change: Omit<UsageChange, 'used'>,
): Promise<Short | null> {
  let short: Short | null = null;
  for (const { estimated, unpriced, ...node } of await budgetChain(tx, id)) {
    const reserved = Object.fromEntries(Object.entries(node.reserved).filter(([name]) => name !== key));
    const { tokens, usd } = node.used;
    const { tokens: allTokens, usd: allUsd, ...marks } = grown({ tokens, usd, unpriced, estimated }, change);
    const next: Budget = {
      ...node,
      used: { ...node.used, tokens: allTokens, usd: allUsd },
      reserved,
      ...marks,
    };
    tx.put('budget', next);
    short ??= overruns(next)[0] ?? null;
  }
  return short;
}

/**
 * Dollars that a token of unknown price counts as where money is limited; null: it counts as none, by setting. Where unknown
 * prices end a run, the estimate limits a turn until its end, which may still name the price.
 */
export const estimatedPrice = ({ budgets }: Settings): number | null =>
  budgets.unpriced === 'allow' ? null : budgets.usdPerMillion / 1_000_000;

/** The nodes that limit money. */
export const moneyNodes = async (tx: Tx, id: string | null): Promise<Budget[]> =>
  (await budgetChain(tx, id)).filter(({ limits }) => limits.usd !== undefined);

/** What a run had set aside and will not use any more, given back once: a key that is gone gives nothing. */
export async function release(tx: Tx, id: string | null, prefix: string): Promise<void> {
  for (const node of await budgetChain(tx, id)) {
    const left = Object.entries(node.reserved).filter(([key]) => !key.startsWith(prefix));
    if (left.length === Object.keys(node.reserved).length) continue;
    tx.put('budget', { ...node, reserved: Object.fromEntries(left) });
  }
}

/**
 * Calls that set something aside for themselves and died with their process before they said what they used: each counts as what
 * it had set aside.
 */
export async function lostCalls(tx: Tx, id: string | null, run: string): Promise<UsageItem[]> {
  const [node] = await budgetChain(tx, id);
  return Object.entries(node?.reserved ?? {}).flatMap(([key, { tokens = 0, usd = null }]) => {
    const call = key.startsWith(`${run}/`) ? key.slice(run.length + 1) : null;
    return call === null ? [] : [{ kind: 'call', id: call, tokens, usd, estimated: true }];
  });
}

/** A run begins: the wall time of what limits it, now or later, counts from the first one. */
export async function startClocks(tx: Tx, id: string | null): Promise<void> {
  for (const node of await budgetChain(tx, id))
    if (node.since === undefined) tx.put('budget', { ...node, since: tx.now });
}

/** Which limit, and how far, in numbers that can be set. */
export function shortWords({ node, key, total, limit, over, estimated }: Short): string {
  if (key === 'unpriced')
    return `money of ${node}: nobody knows what ${total} tokens cost, and by your settings that ends it; set their price, or engine.budgets.unpriced to estimate or allow`;
  const shown = (amount: number): string => limitAmount(key, amount);
  const how = over
    ? `${shown(total)} of ${shown(limit)} used, ${shown(total - limit)} over`
    : `${shown(total)} would exceed ${shown(limit)}`;
  return `${limitName(key)} of ${node}: ${how}${estimated ? ` (${shown(estimated)} of it estimated)` : ''}`;
}

/** Every limit on the way up that is overrun: "used $0.13 of $0.01". Null: none is. */
export function overrunWords(chain: readonly Budget[], task: string): string | null {
  const words = chain.flatMap(overruns).flatMap(({ node, key, total, limit, estimated }) => {
    if (key === 'unpriced') return [];
    const about = estimated ? 'an estimated ' : '';
    const unit = key === 'usd' || key === 'wallMs' ? '' : ` ${limitName(key)}`;
    const whose = node === task ? '' : ` of ${node}`;
    return [`used ${about}${limitAmount(key, total)} of ${limitAmount(key, limit)}${unit}${whose}`];
  });
  return words.length === 0 ? null : words.join(', ');
}

const plus = (a: Amounts, b: Partial<Amounts>): Amounts => ({
  tokens: a.tokens + (b.tokens ?? 0),
  usd: a.usd + (b.usd ?? 0),
  turns: a.turns + (b.turns ?? 0),
  spawns: a.spawns + (b.spawns ?? 0),
});
