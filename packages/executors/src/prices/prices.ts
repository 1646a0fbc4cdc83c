import type { Price } from './price.ts';
import { PRICES } from './table.ts';

/** What one call took. What was cached or written is part of the input. */
export interface Consumed {
  readonly input: number;
  readonly cached: number;
  readonly written?: number;
  readonly output: number;
}

/** What is configured comes before the table. A model that neither names has no price: nobody guesses. */
export function priceOf(
  model: string,
  configured: Readonly<Record<string, Price>>,
  options: { readonly table: boolean } = { table: true },
): Price | null {
  const name = plain(model);
  const own = Object.entries(configured).find(([key]) => key === model || plain(key) === name)?.[1];
  return own ?? (options.table ? (PRICES.models[name] ?? null) : null);
}

/** Without who has it, without its date, and with one way to write its version. */
const plain = (model: string): string =>
  model
    .toLowerCase()
    .replace(/^.*\//, '')
    .replace(/[-@](?:20\d{6}|20\d\d-\d\d-\d\d|latest)$/, '')
    .replaceAll('.', '-');

/** Null: nobody knows. */
export function costOf(price: Price | null, { input, cached, written = 0, output }: Consumed): number | null {
  if (!price) return null;
  const long = price.above && input > price.above.tokens ? price.above : price;
  const fresh = Math.max(0, input - cached - written) * long.input;
  const fromCache = cached * (price.cached ?? long.input);
  const intoCache = written * (price.written ?? long.input);
  return (fresh + fromCache + intoCache + output * long.output) / 1_000_000;
}

/** What it may cost at most, before anybody knows what a cache will hold. */
export function mostOf(
  price: Price | null,
  tokens: { readonly input: number; readonly output: number },
): number | null {
  if (!price) return null;
  const long = price.above && tokens.input > price.above.tokens ? price.above : price;
  return (tokens.input * Math.max(long.input, price.written ?? 0) + tokens.output * long.output) / 1_000_000;
}
