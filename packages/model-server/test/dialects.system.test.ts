import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { describe, expect, test } from 'vitest';
import { startModelServer, withModelScript } from '../src/index.ts';
import { CLIENTS } from './clients.ts';

const LONG =
  'A sentence that is longer than one piece of a stream, with “quotes”, 日本語 and a \\ in it. '.repeat(3);

const SCRIPT = {
  steps: [
    {
      think: 'Let me see.',
      say: LONG,
      call: 'add',
      input: { a: 1, b: 'zwei' },
      usage: { input: 70, output: 9 },
    },
    {
      say: 'Two at once.',
      calls: [
        { call: 'ADD', input: { a: 2 } },
        { call: 'look', input: {} },
      ],
    },
    { say: 'It is ${result}', usage: { input: 100, output: 5, cached: 40 } },
  ],
};

const inputSchema = jsonSchema<Record<string, unknown>>({ type: 'object', additionalProperties: true });

describe.for(Object.keys(CLIENTS))('%s', (name) => {
  const client = CLIENTS[name]!;

  test.for(['stream', 'whole'])('[EXE9] the vendor’s client understands it: %s', async (how) => {
    await using server = await startModelServer();
    const called: unknown[] = [];
    const tools = {
      mcp__reveille__add: tool({
        inputSchema,
        execute: async (input) => {
          called.push(input);
          return `sum ${called.length}`;
        },
      }),
      look: tool({ inputSchema, execute: async () => 'nothing' }),
    };
    const options = {
      model: client(server.url),
      tools,
      prompt: withModelScript('Add something.', SCRIPT),
      stopWhen: stepCountIs(10),
      maxRetries: 0,
    } as const;
    const result = how === 'stream' ? streamText(options) : await generateText(options);
    const steps = await result.steps;
    expect(steps.map(({ text }) => text)).toEqual([LONG, 'Two at once.', 'It is nothing']);
    expect(steps[0]?.reasoningText).toBe('Let me see.');
    expect(called).toEqual([{ a: 1, b: 'zwei' }, { a: 2 }]);
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'tool-calls', 'stop']);
    expect(steps[0]?.usage).toMatchObject({ inputTokens: 70, outputTokens: 9 });
    expect(steps[2]?.usage).toMatchObject({ inputTokens: 100, inputTokenDetails: { cacheReadTokens: 40 } });
    expect(server.requests.map(({ dialect, answered }) => [dialect, answered])).toEqual(
      Array(3).fill([name, 'answer']),
    );
  });

  test.for([
    ['rate_limit', 429],
    ['server', 500],
    ['auth', 401],
    ['unknown_model', 404],
    ['context_too_long', 400],
  ] as const)('[EXE9.3] a failure is told in its words: %s', async ([fail, status]) => {
    await using server = await startModelServer();
    const prompt = withModelScript('Go.', { toolless: true, steps: [{ fail, retryAfterS: 7 }] });
    const error = await generateText({ model: client(server.url), prompt, maxRetries: 0 }).catch(
      (thrown: unknown) => thrown,
    );
    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ statusCode: status, responseHeaders: { 'retry-after': '7' } });
    // The client read the vendor's own words out of the body.
    expect((error as APICallError).message.length).toBeGreaterThan(5);
    expect((error as APICallError).message).not.toContain('{');
  });

  test('[EXE9.3] a refusal, an answer that was cut and one that breaks off look like the vendor’s', async () => {
    await using server = await startModelServer();
    const model = client(server.url);
    const once = async (step: Record<string, unknown>) => {
      const prompt = withModelScript('Go.', { toolless: true, steps: [step] });
      const result = streamText({ model, prompt, maxRetries: 0, onError: () => undefined });
      return Promise.resolve(result.finishReason).catch(() => 'failed');
    };
    expect(await once({ say: 'a', cut: true })).toBe('length');
    expect(['content-filter', 'stop']).toContain(await once({ fail: 'refusal' }));
    const broken = await once({ fail: 'broken_stream', say: LONG });
    expect(['failed', 'error', 'other', 'unknown']).toContain(broken);
    expect(server.requests.at(-1)?.answered).toBe('broken');
  });
});
