import type { Consumed } from '../prices/prices.ts';
import type { Quirks } from './presets.ts';
import { at, fieldsOf, numberOf } from './shapes.ts';

export interface Amounts {
  readonly tokens: number;
  /** Null: it says nothing of money. */
  readonly usd: number | null;
  /** What of it was sent and came back, if it says so. */
  readonly parts: Consumed | null;
  /** It did not report this number: it is reckoned from what it did. */
  readonly estimated?: boolean;
}

/**
 * What an agent says it used, made comparable. Each counts in its own way: what is cumulative is compared with the
 * last, and what nobody says is not reported at all (unknown, not nothing).
 */
export class UsageCounter {
  readonly #counts: Quirks['usage'];
  #tokensBefore = 0;
  /** Named in the middle of turns since the last answer that counted them. */
  #tokensWithin = 0;
  /** What the session has cost so far; null: it never said. */
  #usd: number | null = null;
  #usdWithin = 0;
  #usdBefore = 0;
  /** It did something since it last named its usage: the same said again is not more. */
  #acted = true;

  constructor(counts: Quirks['usage']) {
    this.#counts = counts;
  }

  /** Dollars of the session that have been told: what a later life must not count again. */
  get usd(): number {
    return this.#usdBefore + this.#usdWithin;
  }

  /**
   * A process begins, with a session that had cost `usd` before. `restates`: what it says first is about the life before.
   */
  processBegins({ usd, restates }: { readonly usd: number; readonly restates: boolean }): void {
    this.#tokensBefore = 0;
    this.#usd = null;
    this.#usdBefore = usd;
    this.#acted = !restates;
  }

  /** What was named in a turn whose answer counted nothing is counted, and is in every later sum. */
  turnBegins(): void {
    this.#tokensBefore += this.#tokensWithin;
    this.#usdBefore += this.#usdWithin;
    this.#tokensWithin = this.#usdWithin = 0;
  }

  /**
   * An update in the middle of a turn; null: it names no new usage. `used` is the size of the conversation, which is about what
   * the request before this word took; cost is always that of the whole session.
   */
  hear(update: unknown): Amounts | null {
    const acted = this.#acted;
    this.#acted = at(update, 'sessionUpdate') !== 'usage_update';
    if (this.#acted || !acted) return null;
    const { amount, currency } = fieldsOf(at(update, 'cost'));
    const usd = numberOf(amount);
    // Some say that it was free when they do not know the price.
    if (usd !== null && usd > 0 && currency === 'USD') this.#usd = usd;
    // A session that was lost counts from nothing.
    if (this.#usd !== null && this.#usd < this.#usdBefore) this.#usdBefore = 0;
    const tokens = this.#counts === 'last' ? 0 : (numberOf(at(update, 'used')) ?? 0);
    const spent = Math.max(0, (this.#usd ?? 0) - this.#usdBefore - this.#usdWithin);
    if (tokens === 0 && spent === 0) return null;
    this.#tokensWithin += tokens;
    this.#usdWithin += spent;
    const parts = tokens > 0 ? { input: tokens, cached: 0, output: 0 } : null;
    return { tokens, usd: this.#usd === null ? null : spent, parts };
  }

  /** What the answer to a prompt says of the whole turn, in which `calls` were made; null if it says nothing. */
  turnEnded(response: unknown, calls = 0): Amounts | null {
    const tokens = this.#tokensOf(response);
    const usd = this.#usd === null ? null : Math.max(0, this.#usd - this.#usdBefore);
    if (tokens === null && !usd) return null;
    this.#usdBefore += usd ?? 0;
    this.#usdWithin = 0;
    if (this.#counts !== 'last') return { tokens: tokens ?? 0, usd, parts: this.#partsOf(response) };
    // Of the last request only: those before it were hardly larger.
    return { tokens: (tokens ?? 0) * (calls + 1), usd, parts: null, estimated: true };
  }

  /** Only of what counts this turn: of a sum nobody knows which part is new. */
  #partsOf(response: unknown): Consumed | null {
    const fields = fieldsOf(this.#counts === 'turn' ? at(response, 'usage') : null);
    const [input, output] = [numberOf(fields['inputTokens']), numberOf(fields['outputTokens'])];
    if (input === null || output === null) return null;
    return { input, output, cached: numberOf(fields['cachedReadTokens']) ?? 0 };
  }

  #tokensOf(response: unknown): number | null {
    const counted =
      this.#counts === 'meta' ? at(response, '_meta', 'quota', 'token_count') : at(response, 'usage');
    const total = totalOf(counted);
    if (this.#counts !== 'cumulative' || total === null) return total;
    this.#tokensWithin = 0;
    // A process that was started again counts from nothing.
    const more = total >= this.#tokensBefore ? total - this.#tokensBefore : total;
    this.#tokensBefore = total;
    return more;
  }
}

/** The total, or the sum of its parts: what was read from a cache is part of what was sent. */
function totalOf(value: unknown): number | null {
  const fields = fieldsOf(value);
  const total = numberOf(fields['totalTokens']) ?? numberOf(fields['total_tokens']);
  if (total !== null) return total;
  const parts = ['inputTokens', 'outputTokens', 'input_tokens', 'output_tokens']
    .map((name) => numberOf(fields[name]))
    .filter((part) => part !== null);
  return parts.length === 0 ? null : parts.reduce((sum, part) => sum + part, 0);
}
