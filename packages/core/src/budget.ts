import type { Amounts, Budget, BudgetLimits } from '@reveille/protocol';
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
async function chain(tx: Tx, id: string | null): Promise<Budget[]> {
  const nodes: Budget[] = [];
  for (let next = id; next !== null;) {
    const node = await tx.need('budget', next);
    nodes.push(node);
    next = node.parent;
  }
  return nodes;
}

/** The first limit that using `more` would exceed, or null. What is reserved counts as used. */
function exceeded(node: Budget, more: Partial<Amounts>): string | null {
  for (const key of KEYS) {
    const limit = node.limits[key];
    if (limit === undefined || !more[key]) continue;
    const reserved = Object.values(node.reserved).reduce((sum, amounts) => sum + (amounts[key] ?? 0), 0);
    const total = node.used[key] + reserved + (more[key] ?? 0);
    if (total > limit) return `${key} of ${node.id}: ${total} would exceed ${limit}`;
  }
  return null;
}

/** The first limit that has been overrun, or null. */
function overrun(node: Budget): string | null {
  for (const key of KEYS) {
    const limit = node.limits[key];
    if (limit !== undefined && node.used[key] > limit)
      return `${key} of ${node.id}: ${node.used[key]} of ${limit} used`;
  }
  return null;
}

/** Draws on a node and everything above it, or on none of them. Who is past a limit begins nothing more. */
export async function draw(tx: Tx, id: string | null, amounts: Partial<Amounts>): Promise<string | null> {
  const nodes = await chain(tx, id);
  for (const node of nodes) {
    const why = overrun(node) ?? exceeded(node, amounts);
    if (why) return why;
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
): Promise<string | null> {
  const nodes = await chain(tx, id);
  if (nodes.some((node) => key in node.reserved)) return null;
  for (const node of nodes) {
    const why = exceeded(node, amounts);
    if (why) return why;
  }
  for (const node of nodes) tx.put('budget', { ...node, reserved: { ...node.reserved, [key]: amounts } });
  return null;
}

/**
 * Records what was really used, in place of what was reserved under the same key. It has happened, so it is
 * recorded even past the limit; the answer says which limit is overrun.
 */
export async function spend(
  tx: Tx,
  id: string | null,
  key: string,
  amounts: Partial<Amounts>,
): Promise<string | null> {
  let over: string | null = null;
  for (const node of await chain(tx, id)) {
    const { [key]: _released, ...reserved } = node.reserved;
    const next = { ...node, used: plus(node.used, amounts), reserved };
    tx.put('budget', next);
    over ??= overrun(next);
  }
  return over;
}

/** What a run had set aside and will not use any more, given back once: a key that is gone gives nothing. */
export async function release(tx: Tx, id: string | null, prefix: string): Promise<void> {
  for (const node of await chain(tx, id)) {
    const left = Object.entries(node.reserved).filter(([key]) => !key.startsWith(prefix));
    if (left.length === Object.keys(node.reserved).length) continue;
    tx.put('budget', { ...node, reserved: Object.fromEntries(left) });
  }
}

/** The shortest wall time any node allows, for the sweep. */
export async function wallLimit(tx: Tx, id: string | null): Promise<number | null> {
  const limits = (await chain(tx, id)).flatMap((node) => node.limits.wallMs ?? []);
  return limits.length > 0 ? Math.min(...limits) : null;
}

const plus = (a: Amounts, b: Partial<Amounts>): Amounts => ({
  tokens: a.tokens + (b.tokens ?? 0),
  usd: a.usd + (b.usd ?? 0),
  turns: a.turns + (b.turns ?? 0),
  spawns: a.spawns + (b.spawns ?? 0),
});
