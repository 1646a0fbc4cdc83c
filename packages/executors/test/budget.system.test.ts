import type { ModelStep } from '@reveille/model-server';
import type { BudgetLimits, RunEnd } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { costOf, mostOf, priceOf } from '../src/prices/prices.ts';
import { PRICES } from '../src/prices/table.ts';
import { look, open, report, type Options } from './builtin-rig.ts';
import { OddEndpoint } from './odd-endpoint.ts';

interface Played {
  readonly end: RunEnd;
  readonly calls: number;
}

/** One task of the built-in agent on a scripted model, under a budget, to its end. */
async function play(
  budget: BudgetLimits,
  steps: ModelStep[],
  endpoint: Options['endpoint'] = {},
): Promise<Played> {
  const { stand, server } = await open({ endpoint: { maxOutputTokens: 100, ...endpoint } });
  await using _ = stand;
  const tasks = [{ id: 'one', prompt: stand.backend.prompt({ steps }), budget }];
  const view = await stand.person.savePlan({ name: 'small', tasks }, { start: true });
  const end = await stand.ended(view.tasks[0]!.task.id);
  return { end, calls: server().requests.length };
}

const STEPS: ModelStep[] = [{ ...look, usage: { input: 40_000, output: 1_000 } }, report('done')];
const USED = 41_000;

describe('the built-in agent', () => {
  test('[EXE1.66] sets aside what a call may use, and is refused the very one that would exceed its budget', async () => {
    const first = await play({ tokens: 50_000 }, STEPS);
    expect(first).toMatchObject({
      calls: 1,
      end: { status: 'partial', cause: 'budget', error: { class: 'budget' } },
    });
    const total = Number(/tokens of task_\w+: (\d+) would exceed 50000/.exec(first.end.error!.message)?.[1]);
    // What it was told it sent, what has come since, and the longest answer.
    expect(total).toBeGreaterThan(USED + USED + 100);
    expect(await play({ tokens: total - 1 }, STEPS)).toMatchObject({ calls: 1, end: { cause: 'budget' } });
    expect(await play({ tokens: total }, STEPS)).toMatchObject({ calls: 2, end: { status: 'success' } });
  });

  test('[EXE1.66] so it is with money, where the price is known', async () => {
    const price = { input: 3, output: 15, cached: null };
    // The first call costs 0.135 dollars, and the next at least 0.123 for what it sends.
    const { calls, end } = await play({ usd: 0.25 }, STEPS, { price });
    expect({ calls, message: end.error?.message }).toEqual({
      calls: 1,
      message: expect.stringMatching(/^money of task_\w+: \$0\.2\d+ would exceed \$0\.25$/),
    });
    expect(await play({ usd: 0.3 }, STEPS, { price })).toMatchObject({
      calls: 2,
      end: { status: 'success' },
    });
  });

  test('[EXE1.66] an answer is no longer than what was set aside for it', async () => {
    const { stand, server } = await open({ endpoint: { maxOutputTokens: null } });
    await using _ = stand;
    const prompt = stand.backend.prompt({ steps: [report('done')] });
    const { tasks } = await stand.person.savePlan(
      { name: 'p', tasks: [{ id: 'a', prompt, budget: { tokens: 1_000_000 } }] },
      { start: true },
    );
    await stand.ended(tasks[0]!.task.id);
    expect(server().requests[0]?.body['max_tokens']).toBe(8_192);
  });
});

describe('the built-in agent on an endpoint that counts oddly', () => {
  /** A task of 60,000 tokens whose model would go on for ever. */
  async function playOdd(how: Parameters<typeof OddEndpoint.open>[0]) {
    await using odd = await OddEndpoint.open(how);
    const endpoint = { provider: 'openai-compatible', baseUrl: odd.url, maxOutputTokens: 100 } as const;
    const { stand } = await open({ endpoint, chance: () => 0, retryWithinMs: 60_000 });
    await using _ = stand;
    const tasks = [{ id: 'one', prompt: 'x'.repeat(40_000), budget: { tokens: 60_000 } }];
    const view = await stand.person.savePlan({ name: 'odd', tasks }, { start: true });
    const { id } = view.tasks[0]!.task;
    const end = await stand.ended(id);
    const { run } = await stand.person.getTask(id);
    return { end, used: run!.used, calls: odd.calls };
  }

  test.each([
    ['nothing', null],
    ['less than nothing', { prompt_tokens: -50_000, completion_tokens: -50_000 }],
    ['none', { prompt_tokens: 0, completion_tokens: 0 }],
    ['words', { prompt_tokens: 'many', completion_tokens: null }],
  ] as const)(
    '[EXE5.4] that says %s of its tokens, it counts its own estimate, and its budget ends it',
    async (_, usage) => {
      const { end, used, calls } = await playOdd({ usage });
      expect(end).toMatchObject({ status: 'partial', cause: 'budget', error: { class: 'budget' } });
      // Each call sends 10,000 tokens of prompt, and what the tools are.
      expect(calls).toBeLessThanOrEqual(5);
      expect(used.tokens).toBeGreaterThan(10_000 * calls);
      expect(used.estimated?.tokens).toBe(used.tokens);
    },
  );

  test('[EXE5.4] that breaks off in the middle of every answer, it counts what it sent and what arrived', async () => {
    const { end, used, calls } = await playOdd({ usage: null, cutAfter: 4_000 });
    expect(end).toMatchObject({ cause: 'budget' });
    expect(calls).toBeLessThanOrEqual(5);
    expect(used.tokens).toBeGreaterThan((10_000 + 1_000) * calls);
    expect(used.estimated?.tokens).toBe(used.tokens);
  });

  test('[EXE5.4] that breaks off before a word of any answer, it counts what it sent', async () => {
    const { end, used, calls } = await playOdd({ usage: null, cutAfter: 0 });
    expect(end).toMatchObject({ cause: 'budget' });
    expect(calls).toBeLessThanOrEqual(5);
    expect(used.tokens).toBeGreaterThan(10_000 * calls);
    expect(used.estimated?.tokens).toBe(used.tokens);
  });

  test('[EXE5.4] that refuses every call or is not there, it counts nothing', async () => {
    for (const endpoint of [{ refuses: true }, { gone: true }]) {
      const { end, used } = await playOdd({ usage: null, ...endpoint });
      expect(end).toMatchObject({
        status: 'failed',
        error: { class: expect.stringMatching(/invalid|auth/) },
      });
      expect(used).toMatchObject({ tokens: 0, usd: 0 });
    }
  });
});

describe('prices', () => {
  test('[EXE5.41] are found by the name of the model, dated or not; what nobody names has none', () => {
    expect(Date.parse(PRICES.date)).not.toBeNaN();
    expect(priceOf('claude-sonnet-4-5-20250929', {})).toBe(PRICES.models['claude-sonnet-4-5']);
    expect(priceOf('anthropic/claude-opus-4.5', {})).toBe(PRICES.models['claude-opus-4-5']);
    expect(priceOf('gpt-5.1-2025-11-13', {})).toBe(PRICES.models['gpt-5-1']);
    for (const unknown of ['qwen3-coder', 'claude-sonnet', 'gpt-5-extra', ''])
      expect(priceOf(unknown, {}), unknown).toBeNull();
    expect(priceOf('gpt-5', {}, { table: false })).toBeNull();
    const own = { input: 1, output: 2, cached: null };
    expect(priceOf('qwen3-coder', { 'qwen3-coder': own })).toBe(own);
    expect(priceOf('gpt-5', { 'gpt-5': own })).toBe(own);
  });

  test('[EXE5.41] what is cached, written into a cache, or long costs what the vendor asks; unknown is no zero', () => {
    const price = {
      input: 4,
      output: 10,
      cached: 1,
      written: 5,
      above: { tokens: 1_000, input: 8, output: 20 },
    };
    expect(costOf(null, { input: 1, cached: 0, output: 1 })).toBeNull();
    expect(costOf(price, { input: 1_000, cached: 400, written: 100, output: 10 })).toBeCloseTo(
      (500 * 4 + 400 * 1 + 100 * 5 + 10 * 10) / 1e6,
      12,
    );
    expect(costOf(price, { input: 2_000, cached: 0, output: 10 })).toBeCloseTo(
      (2_000 * 8 + 10 * 20) / 1e6,
      12,
    );
    expect(mostOf(price, { input: 1_000, output: 10 })).toBeCloseTo((1_000 * 5 + 10 * 10) / 1e6, 12);
    for (const each of Object.values(PRICES.models)) {
      expect(each.input).toBeGreaterThan(0);
      expect(each.output).toBeGreaterThan(each.input);
    }
  });
});
