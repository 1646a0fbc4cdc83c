import { knownAmount, type Usage } from '@reveille/core';
import { costOf } from '../prices/prices.ts';
import type { Price } from '../prices/price.ts';
import type { ClaudeMessage, ModelUsage } from './sdk.ts';

/** What a session had used: by its last result, and how many tokens its messages have named since. */
export interface MeterState {
  readonly tokens: number;
  readonly usd: number;
  readonly told: number;
}

export const UNUSED: MeterState = { tokens: 0, usd: 0, told: 0 };
const CHARS_PER_TOKEN = 4;

/** A way to read a sum: what was added to it, and the sum that it was added to. */
interface Reading {
  readonly more: number;
  readonly before: Pick<MeterState, 'tokens' | 'usd'>;
}

/**
 * What Claude Code used. A result holds a sum that grows, over resumed lives too unless the last one was killed: what was
 * added since the last result is what a turn took. Until then each message names what its request took, so that a limit can
 * stop the turn; what a session that is resumed had named before is not counted again.
 */
export class Meter {
  readonly #priceOf: (model: string) => Price | null;
  /** As of the last result; `told` are tokens that messages of an earlier life have named since. */
  #last: MeterState;
  #told = 0;
  /** Messages of the turn that have named their request. */
  readonly #messages = new Set<string>();
  /** No result of this life has come: nobody knows whether the sum goes on where the last life ended. */
  #isFirst = true;

  constructor({ tokens, usd, told }: MeterState, priceOf: (model: string) => Price | null = () => null) {
    this.#last = { tokens, usd, told };
    this.#priceOf = priceOf;
  }

  get state(): MeterState {
    return { ...this.#last, told: this.#last.told + this.#told };
  }

  /** What a message of the turn adds; null: nothing. A message comes in several pieces, which share one request. */
  within(id: string, { message }: ClaudeMessage): Usage | null {
    if (!message?.usage) return null;
    const isFirst = message.id === undefined || !this.#messages.has(message.id);
    if (message.id !== undefined) this.#messages.add(message.id);
    const { usage } = message;
    const amount = (value: number | undefined): number => (isFirst ? (knownAmount(value) ?? 0) : 0);
    const cached = amount(usage.cache_read_input_tokens);
    const written = amount(usage.cache_creation_input_tokens);
    const input = amount(usage.input_tokens) + cached + written;
    // It is not counted yet when the message begins.
    const said = Math.ceil(JSON.stringify(message.content ?? '').length / CHARS_PER_TOKEN);
    const output = Math.max(amount(usage.output_tokens), said);
    // What the program itself puts in the place of an answer names no tokens.
    if (isFirst && input === 0) return null;
    const usd = costOf(this.#priceOf(message.model ?? ''), { input, cached, written, output });
    const tokens = input + output;
    this.#told += tokens;
    return { type: 'usage', id, kind: 'interim', tokens, usd };
  }

  /** What the turn took in all; null: its result says nothing of it. */
  read(id: string, { modelUsage = {}, total_cost_usd }: ClaudeMessage): Usage | null {
    const tokens = Object.values(modelUsage).reduce((sum, usage) => sum + tokensIn(usage), 0);
    // An agent that failed at its start says that it used nothing.
    if (tokens === 0) return null;
    const { more, before } = this.#reading(tokens);
    const usd = total_cost_usd ?? before.usd;
    this.#last = { tokens, usd, told: 0 };
    this.#told = 0;
    this.#isFirst = false;
    this.#messages.clear();
    if (more === 0) return null;
    // What an earlier life has named is counted, with its part of the money.
    const part = more / (tokens - before.tokens);
    const cost = total_cost_usd === undefined ? null : Math.max(0, usd - before.usd) * part;
    return { type: 'usage', id, kind: 'final', tokens: more, usd: cost };
  }

  /**
   * After a life that was killed, Claude Code begins to count again, or goes on without what the last turn took. It does not
   * say which, so the reading is chosen that is nearest to what the messages of this life have named.
   */
  #reading(tokens: number): Reading {
    const { told, ...last } = this.#last;
    const anew: Reading = { more: tokens, before: UNUSED };
    const more = tokens - last.tokens;
    if (more < 0) return anew;
    const whole: Reading = { more: Math.max(0, more - told), before: last };
    if (!this.#isFirst || this.#told === 0) return whole;
    const distance = (reading: Reading): number => Math.abs(reading.more - this.#told);
    const others: readonly Reading[] = [{ more, before: last }, anew];
    return others.reduce((best, next) => (distance(next) < distance(best) ? next : best), whole);
  }
}

const tokensIn = (usage: ModelUsage): number =>
  [usage.inputTokens, usage.outputTokens, usage.cacheReadInputTokens, usage.cacheCreationInputTokens].reduce(
    (sum, part) => sum + (knownAmount(part) ?? 0),
    0,
  );
