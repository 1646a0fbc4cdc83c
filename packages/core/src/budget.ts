import type { Amounts, Budget, BudgetLimits, Short, Unpriced } from '@reveille/protocol';
import type { Tx } from './tx.ts';

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

/** The first limit that has been overrun, or null. */
function overrun(node: Budget): Short | null {
  for (const key of KEYS) {
    const limit = node.limits[key];
    const used = node.used[key];
    if (limit !== undefined && used > limit) return { node: node.id, key, total: used, limit, over: true };
  }
  return null;
}

/** Draws on a node and everything above it, or on none of them. Who is past a limit begins nothing more. */
export async function draw(tx: Tx, id: string | null, amounts: Partial<Amounts>): Promise<Short | null> {
  const nodes = await budgetChain(tx, id);
  for (const node of nodes) {
    const short = overrun(node) ?? exceeded(node, amounts);
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

/** What was really used; `usd` null: nobody knows what it cost. */
export interface Spent {
  readonly tokens: number;
  readonly usd: number | null;
}

/**
 * Records what was really used, in place of what was reserved under the same key. It has happened, so it is
 * recorded even past the limit; the answer says which limit is overrun.
 */
export async function spend(
  tx: Tx,
  id: string | null,
  key: string,
  { tokens, usd }: Spent,
): Promise<Short | null> {
  let short: Short | null = null;
  for (const node of await budgetChain(tx, id)) {
    const { [key]: _released, ...reserved } = node.reserved;
    const used = plus(node.used, { tokens, usd: usd ?? 0 });
    const unpriced = usd === null ? { unpriced: withUnpriced(node.unpriced, tokens) } : {};
    const next = { ...node, used, reserved, ...unpriced };
    tx.put('budget', next);
    short ??= overrun(next);
  }
  return short;
}

export const withUnpriced = (before: Unpriced | undefined, tokens: number): Unpriced => ({
  tokens: (before?.tokens ?? 0) + tokens,
  calls: (before?.calls ?? 0) + 1,
});

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

/** A run begins: the wall time of what limits it counts from the first one. */
export async function startClocks(tx: Tx, id: string | null): Promise<void> {
  for (const node of await budgetChain(tx, id)) {
    if (node.limits.wallMs !== undefined && node.since === undefined)
      tx.put('budget', { ...node, since: tx.now });
  }
}

const WORDS = {
  tokens: 'tokens',
  usd: 'money',
  turns: 'turns',
  spawns: 'spawns',
  wallMs: 'wall time',
} as const;

/** Which limit, and how far, in numbers that can be set. */
export function shortWords({ node, key, total, limit, over }: Short): string {
  if (key === 'unpriced')
    return `money of ${node}: nobody knows what ${total} tokens cost, and by your settings that ends it; set their price, or engine.budgets.unpriced to allow`;
  const shown = (amount: number): string =>
    key === 'usd' ? `$${Number(amount.toFixed(4))}` : `${amount}${key === 'wallMs' ? ' ms' : ''}`;
  const how = over
    ? `${shown(total)} of ${shown(limit)} used, ${shown(total - limit)} over`
    : `${shown(total)} would exceed ${shown(limit)}`;
  return `${WORDS[key]} of ${node}: ${how}`;
}

const plus = (a: Amounts, b: Partial<Amounts>): Amounts => ({
  tokens: a.tokens + (b.tokens ?? 0),
  usd: a.usd + (b.usd ?? 0),
  turns: a.turns + (b.turns ?? 0),
  spawns: a.spawns + (b.spawns ?? 0),
});
