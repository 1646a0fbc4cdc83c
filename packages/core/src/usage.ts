import type { Estimated, OpenUse, Unpriced, Used } from '@reveille/protocol';
import type { Usage } from './ports/executor.ts';

/** No single report is larger: one that is, is a slip of its backend. */
const MOST = { tokens: 1e8, usd: 1e4 } as const;
const NONE: Estimated = { tokens: 0, usd: 0 };

/** A number that can have been used: neither negative nor infinite nor no number at all. Null: it is none. */
export const knownAmount = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;

/**
 * A report as it may count, whatever its backend says (EXE5). A number that cannot be is replaced by an estimate, one that
 * is absurdly large is cut, and both are marked.
 */
export function checkedUsage(usage: Usage, callTokens: number): Usage {
  const tokens = knownAmount(usage.tokens);
  const usd = usage.usd === null ? null : knownAmount(usage.usd);
  const isRight =
    tokens !== null && tokens <= MOST.tokens && (usage.usd === null || (usd !== null && usd <= MOST.usd));
  if (isRight) return usage;
  return {
    ...usage,
    tokens: Math.min(tokens ?? callTokens, MOST.tokens),
    usd: usd === null ? null : Math.min(usd, MOST.usd),
    estimated: true,
  };
}

/** What is to be counted, in order: reports, guesses for calls that nobody reported, and the end of a turn. */
export type UsageItem =
  | (Pick<Usage, 'id' | 'tokens' | 'usd' | 'estimated'> & { readonly kind: 'call' | 'interim' | 'final' })
  | { readonly kind: 'guess'; readonly tokens: number }
  | { readonly kind: 'turn over' };

/** How a sum changes. The parts may be negative: a report takes the place of a larger estimate. */
export interface UsageChange {
  readonly used: Used;
  readonly more: Estimated;
  readonly estimated: Estimated;
  /** What is known from now on to have no price. */
  readonly unpriced: Unpriced | null;
}

/**
 * Counts one item. `rate`: dollars that a token of unknown price counts as; null: it counts as none. An estimate is part
 * of the sums until a report of the same turn replaces it, so nothing counts twice.
 */
export function account(used: Used, item: UsageItem, rate: number | null): UsageChange {
  const open = used.open ?? { told: NONE, guessed: NONE, unknown: 0 };
  const worth = (tokens: number): number => tokens * (rate ?? 0);
  switch (item.kind) {
    case 'guess': {
      const more = { tokens: item.tokens, usd: worth(item.tokens) };
      return changed(used, { ...open, guessed: sum(open.guessed, more) }, { more, estimated: more });
    }
    case 'interim': {
      const told = { tokens: item.tokens, usd: item.usd ?? worth(item.tokens) };
      // A report of money alone says nothing of the tokens that were guessed.
      const guessed = item.tokens === 0 ? { tokens: open.guessed.tokens, usd: 0 } : NONE;
      const more = sum(told, minus(guessed, open.guessed));
      const unknown = open.unknown + (item.usd === null ? item.tokens : 0);
      return changed(used, { told: sum(open.told, told), guessed, unknown }, { more, estimated: more });
    }
    case 'call':
    case 'final': {
      const replaced = item.kind === 'final' ? sum(open.told, open.guessed) : NONE;
      // Nothing at all, after calls that were seen: it was not reported.
      const missing = item.kind === 'final' && item.tokens === 0 && replaced.tokens > 0;
      const tokens = missing ? replaced.tokens : item.tokens;
      const usd = item.usd ?? worth(tokens);
      const isEstimate = missing || item.estimated === true;
      const estimate = { tokens: isEstimate ? tokens : 0, usd: isEstimate || item.usd === null ? usd : 0 };
      return changed(used, item.kind === 'final' ? null : (used.open ?? null), {
        more: minus({ tokens, usd }, replaced),
        estimated: minus(estimate, replaced),
        unpriced: item.usd === null && tokens > 0 ? { tokens, calls: 1 } : null,
      });
    }
    case 'turn over': {
      const tokens = open.unknown + open.guessed.tokens;
      const unpriced = tokens > 0 ? { tokens, calls: 1 } : null;
      return changed(used, null, { more: NONE, estimated: NONE, unpriced });
    }
    default:
      return item satisfies never;
  }
}

/** The sums of a run whose agent was ended in the middle of a turn: no report of a later one replaces what it estimated. */
export function withoutOpen({ open: _open, ...used }: Used): Used {
  return used;
}

type Parts = Pick<UsageChange, 'more' | 'estimated'> & { readonly unpriced?: Unpriced | null };

function changed({ open: _before, ...before }: Used, open: OpenUse | null, parts: Parts): UsageChange {
  const change = { unpriced: null, ...parts };
  return { ...change, used: { ...grown(before, change), ...(open ? { open } : {}) } };
}

type Sums = Omit<Used, 'open'>;

/** A sum after a change: of a run, or of a node of the budget tree. */
export function grown(before: Sums, { more, estimated, unpriced }: Omit<UsageChange, 'used'>): Sums {
  const parts = atLeastNothing(sum(before.estimated ?? NONE, estimated));
  const known = unpriced ? withUnpriced(before.unpriced, unpriced) : before.unpriced;
  return {
    ...atLeastNothing(sum(before, more)),
    ...(known ? { unpriced: known } : {}),
    ...(parts.tokens > 0 || parts.usd > 0 ? { estimated: parts } : {}),
  };
}

const withUnpriced = (before: Unpriced | undefined, more: Unpriced): Unpriced => ({
  tokens: (before?.tokens ?? 0) + more.tokens,
  calls: (before?.calls ?? 0) + more.calls,
});

const sum = (a: Estimated, b: Estimated): Estimated => ({
  tokens: tidy(a.tokens + b.tokens),
  usd: tidy(a.usd + b.usd),
});
const minus = (a: Estimated, b: Estimated): Estimated => ({
  tokens: a.tokens - b.tokens,
  usd: a.usd - b.usd,
});

const atLeastNothing = ({ tokens, usd }: Estimated): Estimated => ({
  tokens: Math.max(0, tokens),
  usd: Math.max(0, usd),
});

/** Without what sums of fractions leave behind: a remainder of 1e-17 is nothing. */
const tidy = (value: number): number => Math.round(value * 1e9) / 1e9;
