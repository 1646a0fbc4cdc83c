import { describe, expect, test } from 'vitest';
import { builtinBackend } from './backends.ts';
import { ENDLESS, endlessModel } from '../../../test/endless-model.ts';
import { Stand } from './stand.ts';

const open = (url: string): Promise<Stand> =>
  Stand.open(builtinBackend('openai-compatible', { endpoint: { baseUrl: url, maxOutputTokens: null } }));

const SCRIPT = { steps: [] };

describe('an answer without end', () => {
  test.for(ENDLESS.filter((kind) => kind !== 'error'))(
    '[BND7.30] %s: it is dropped, the model is told what to do, and the run goes on',
    async (kind) => {
      await using model = await endlessModel(kind, 2);
      await using stand = await open(model.url);
      const chat = await stand.chat();
      const task = await chat.spawn(SCRIPT);
      expect(await stand.ended(task)).toMatchObject({ status: 'success', output: 'in the end' });
      expect(model.asked).toHaveLength(3);
      const told = model.asked[2]!.messages.filter(({ content }) => String(content).includes('was dropped'));
      expect(told).toHaveLength(2);
      expect(String(told[0]!.content)).toMatch(/more than .*None of its calls was made. Make fewer calls/);
      // Its end was not waited for, and no call of it was made.
      for (const bytes of model.sent.slice(0, 2)) expect(bytes).toBeLessThan(200 * 2 ** 20);
      const events = stand.eventsOf(task);
      const failed = events.filter((event) => event.type === 'tool_end' && event.failed);
      expect(failed).toHaveLength(2);
      expect(events.filter(({ type }) => type === 'tool_call')).toHaveLength(3);
    },
  );

  test('[BND7.30] a model that does nothing else fails the run in words, and is not asked for ever', async () => {
    await using model = await endlessModel('arguments', 1_000);
    await using stand = await open(model.url);
    const chat = await stand.chat();
    const task = await chat.spawn(SCRIPT);
    const { status, error } = await stand.ended(task);
    expect(status).toBe('failed');
    expect(error).toMatchObject({
      class: 'invalid',
      message: expect.stringMatching(/more than 2000000 characters/),
    });
    expect(model.asked.length).toBeLessThanOrEqual(4);
  });

  test('[BND7.30] an error that is told without end is an error, and is not kept', async () => {
    await using model = await endlessModel('error', 1);
    await using stand = await open(model.url);
    const chat = await stand.chat();
    const task = await chat.spawn(SCRIPT);
    expect(await stand.ended(task)).toMatchObject({ status: 'success' });
    expect(model.sent[0]).toBeLessThan(200 * 2 ** 20);
  });
});
