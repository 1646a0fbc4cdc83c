import type { Consumed } from '../prices/prices.ts';
import type { Quirks } from './presets.ts';
import { at, fieldsOf, numberOf } from './shapes.ts';

export interface Amounts {
  readonly tokens: number;
  /** Null: it says nothing of money. */
  readonly usd: number | null;
  /** What of it was sent and came back, if it says so. */
  readonly parts: Consumed | null;
}

/**
 * What an agent says it used, made comparable. Each counts in its own way: what is cumulative is compared with the
 * last, and what nobody says is not reported at all (unknown, not nothing).
 */
export class UsageCounter {
  readonly #counts: Quirks['usage'];
  #tokensBefore = 0;
  #usdBefore = 0;
  #usd: number | null = null;

  constructor(counts: Quirks['usage']) {
    this.#counts = counts;
  }

  /** A word about the cost so far, in the middle of a turn. Always of the whole session. */
  hear(update: unknown): void {
    const { amount, currency } = fieldsOf(at(update, 'cost'));
    const usd = numberOf(amount);
    if (usd !== null && currency === 'USD') this.#usd = usd;
  }

  /** What it has cost since this was last asked, as far as it said so. */
  spent(): number {
    const usd = Math.max(0, (this.#usd ?? 0) - this.#usdBefore);
    this.#usdBefore += usd;
    return usd;
  }

  /** What the answer to a prompt adds; null if it says nothing. */
  turnEnded(response: unknown): Amounts | null {
    const tokens = this.#tokensOf(response);
    const usd = this.#usd === null ? null : this.spent();
    if (tokens === null && !usd) return null;
    return { tokens: tokens ?? 0, usd, parts: this.#partsOf(response) };
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
    if (total === null || this.#counts !== 'cumulative') return total;
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
