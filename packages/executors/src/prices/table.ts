import type { Price } from './price.ts';

/**
 * What vendors charge for a million tokens on their own endpoints, in dollars: the public list prices of ordinary calls,
 * as they stood on `date`. What is not here is unknown, and stays so until somebody says it in the settings (`prices`):
 * a guess would be worse than none. Batches, fast lanes, regions, agreements and taxes are not in it.
 */
export const PRICES: {
  readonly date: string;
  readonly sources: readonly string[];
  readonly models: Readonly<Record<string, Price>>;
} = {
  date: '2026-11-16',
  sources: [
    'https://platform.claude.com/docs/en/about-claude/pricing',
    'https://developers.openai.com/api/docs/pricing',
    'https://ai.google.dev/gemini-api/docs/pricing',
  ],
  models: {
    'claude-fable-5-1': { input: 10, output: 50, cached: 0.25, written: 12.5 },
    'claude-fable-5': { input: 10, output: 50, cached: 1, written: 12.5 },
    'claude-opus-5': { input: 5, output: 25, cached: 0.5, written: 6.25 },
    'claude-opus-4-8': { input: 5, output: 25, cached: 0.5, written: 6.25 },
    'claude-opus-4-7': { input: 5, output: 25, cached: 0.5, written: 6.25 },
    'claude-opus-4-6': { input: 5, output: 25, cached: 0.5, written: 6.25 },
    'claude-opus-4-5': { input: 5, output: 25, cached: 0.5, written: 6.25 },
    'claude-opus-4-1': { input: 15, output: 75, cached: 1.5, written: 18.75 },
    'claude-opus-4': { input: 15, output: 75, cached: 1.5, written: 18.75 },
    'claude-sonnet-5-5': { input: 2, output: 10, cached: 0.2, written: 2.5 },
    'claude-sonnet-4-6': { input: 3, output: 15, cached: 0.3, written: 3.75 },
    'claude-sonnet-4-5': { input: 3, output: 15, cached: 0.3, written: 3.75 },
    'claude-sonnet-4': { input: 3, output: 15, cached: 0.3, written: 3.75 },
    'claude-haiku-4-5': { input: 1, output: 5, cached: 0.1, written: 1.25 },
    'gpt-5': { input: 1.25, output: 10, cached: 0.125 },
    'gpt-5-codex': { input: 1.25, output: 10, cached: 0.125 },
    'gpt-5-mini': { input: 0.25, output: 2, cached: 0.025 },
    'gpt-5-nano': { input: 0.05, output: 0.4, cached: 0.005 },
    'gpt-5-1': { input: 1.25, output: 10, cached: 0.125 },
    'gpt-5-4': { input: 2.5, output: 15, cached: 0.25 },
    'gpt-5-4-mini': { input: 0.75, output: 4.5, cached: 0.075 },
    'gemini-2-5-pro': {
      input: 1.25,
      output: 10,
      cached: null,
      above: { tokens: 200_000, input: 2.5, output: 15 },
    },
  },
};
