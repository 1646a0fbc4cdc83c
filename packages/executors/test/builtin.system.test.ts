import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import type { Clock } from '@reveille/core';
import type { ModelServer } from '@reveille/model-server';
import { describe, expect, test } from 'vitest';
import type { BuiltinOptions } from '../src/builtin/index.ts';
import { together } from '../src/builtin/tools.ts';
import { builtinBackend } from './backends.ts';
import { look, open, report, sessions, type Options } from './builtin-rig.ts';
import { Stand, realClock, until } from './stand.ts';

/** Time is what was waited for, and waiting is short: a busy machine makes nothing late. What should never end takes its time. */
function quickClock(): Clock {
  let waited = 0;
  return {
    now: () => Date.now(),
    mono: () => waited,
    after: (ms, fire) =>
      realClock.after(ms >= 100_000 ? ms : ms / 100, () => {
        waited += ms;
        fire();
      }),
  };
}

describe('faults', () => {
  test('[EXE1.60] those that pass are waited out: limits, overload, broken connections and streams', async () => {
    const { stand, server } = await open({ clock: quickClock(), retryWithinMs: 600_000 });
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [
        { fail: 'rate_limit', times: 2, retryAfterS: 1 },
        { fail: 'overload', times: 1 },
        { fail: 'server', times: 1 },
        { fail: 'network', times: 1 },
        { fail: 'broken_stream', times: 1, say: 'half of a sentence '.repeat(20) },
        report('through'),
      ],
    });
    expect((await stand.ended(task)).output).toBe('through');
    expect(stand.livesOf(task)).toHaveLength(1);
    expect(server().requests).toHaveLength(7);
    expect(stand.eventsOf(task).filter(({ type }) => type === 'output')).toEqual([]);
  });

  test('[EXE1.60] a model that says nothing is asked again', async () => {
    const { stand } = await open({ clock: quickClock(), stallMs: 30_000, retryWithinMs: 60_000_000 });
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({ steps: [{ fail: 'hang', times: 1 }, report('through')] });
    expect((await stand.ended(task)).output).toBe('through');
    expect(stand.livesOf(task)).toHaveLength(1);
  });

  test('[EXE1.61] what would take too long is the engine’s to wait for, with when to come back', async () => {
    const { stand } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({ steps: [{ fail: 'rate_limit', retryAfterS: 600 }] });
    await until(async () => (await stand.view(task)).task.waitingOn === 'backoff');
    const failed = stand.eventsOf(task).find(({ type }) => type === 'failed');
    expect(failed).toMatchObject({ class: 'rate_limit', retryAfterMs: 600_000 });
    const { run } = await stand.view(task);
    expect(run!.retryAt! - Date.now()).toBeGreaterThan(500_000);
  });

  const wrong = async (endpoint: Options['endpoint']): Promise<{ message: string; all: string }> => {
    const { stand } = await open({ ...(endpoint ? { endpoint } : {}), clock: quickClock() });
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({ steps: [report('never')] });
    const { status, error } = await stand.ended(task);
    expect(status).toBe('failed');
    await until(() => chat.mail.some((text) => text.includes('ended: failed')));
    return { message: error!.message, all: JSON.stringify([stand.eventsOf(task), chat.mail]) };
  };

  test('[EXE1.62] a missing key, a wrong one, an unknown model and a wrong address each say what to set', async () => {
    const missing = await wrong({ apiKey: () => undefined });
    expect(missing.message).toMatch(/has no MODEL_KEY.*backends\.builtin\.apiKeyEnv/);
    const refused = await wrong({ apiKey: () => 'sk-very-secret-key' });
    expect(refused.message).toMatch(/The key in MODEL_KEY was refused.*401/);
    expect(refused.all).not.toContain('very-secret');
    const unknown = await wrong({ model: 'gpt-nothing' });
    expect(unknown.message).toMatch(/no model "gpt-nothing".*backends\.builtin\.model/);
    const address = await wrong({ baseUrl: `http://127.0.0.1:${await freePort()}/v1` });
    expect(address.message).toMatch(/Nobody answers at .*ECONNREFUSED.*backends\.builtin\.baseUrl/);
    const nonsense = await wrong({ baseUrl: 'nowhere' });
    expect(nonsense.message).toMatch(/no URL.*backends\.builtin\.baseUrl/);
  });

  test.for(['anthropic', 'openai-compatible'] as const)(
    '[EXE1.62] an address where something else answers says so: %s',
    async (provider) => {
      const page = createHttpServer((_, response) => response.end('<html>Welcome</html>'));
      await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
      const { port } = page.address() as AddressInfo;
      const { message } = await wrong({ provider, baseUrl: `http://127.0.0.1:${port}/v1` });
      expect(message).toMatch(/does not speak like .*backends\.builtin\.baseUrl/);
      page.closeAllConnections();
      await new Promise((resolve) => page.close(resolve));
    },
  );

  test('[EXE1.62] an address that answered before and does not now is waited for', async () => {
    const { stand, server } = await open({ clock: quickClock(), retryWithinMs: 1_000 });
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [
        { say: 'hm', ...look },
        { hold: 'gate', say: 'never' },
      ],
    });
    await until(() => server().held('gate') === 1);
    await server().stop();
    await until(async () => (await stand.view(task)).task.waitingOn === 'backoff');
    expect(stand.eventsOf(task).find(({ type }) => type === 'failed')).toMatchObject({ class: 'network' });
  });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

describe('answers', () => {
  test('[EXE1.63] after its report was accepted the model is not asked any more', async () => {
    const { stand, server } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({ steps: [report('done')] });
    await stand.ended(task);
    await until(() => stand.eventsOf(task).at(-1)?.type === 'exited');
    expect(server().requests).toHaveLength(1);
  });

  test('[EXE1.63] mail that comes with the last words of a turn is read in it', async () => {
    const { stand, server } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const child = stand.backend.prompt({ steps: [{ hold: 'child', ...report('the child says 42') }] });
    const task = await chat.spawn({
      steps: [
        { call: 'a2a_spawn_subtask', input: { prompt: child, blocking: false } },
        { hold: 'gate', say: 'I rest.' },
        { say: 'Nothing was heard.', until: 'the child says 42' },
        report('heard it in the same turn'),
      ],
    });
    await until(() => server().held('gate') === 1);
    server().release('child');
    const [session] = sessions(stand);
    await until(() => readFileSync(session!, 'utf8').includes('"kind":"steered"'));
    server().release('gate');
    expect((await stand.ended(task)).output).toBe('heard it in the same turn');
    expect((await stand.view(task)).run?.turns).toBe(1);
  });

  test('[EXE1.75] an end that comes while the model writes its report is read before it counts', async () => {
    const { stand, server } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const child = stand.backend.prompt({ steps: [{ hold: 'child', ...report('the child says 42') }] });
    const task = await chat.spawn({
      steps: [
        { call: 'a2a_spawn_subtask', input: { prompt: child, blocking: false } },
        { hold: 'gate', ...report('too early') },
        report('heard it'),
      ],
    });
    await until(() => server().held('gate') === 1);
    server().release('child');
    const [session] = sessions(stand);
    await until(() => readFileSync(session!, 'utf8').includes('"kind":"steered"'));
    server().release('gate');
    expect((await stand.ended(task)).output).toBe('heard it');
    const words = server()
      .requests.findLast(({ messages }) =>
        messages.some(({ text }) => text.includes('Read it, then report')),
      )!
      .messages.map(({ text }) => text);
    expect(words.filter((text) => /it ended: .*the child says 42/s.test(text))).toHaveLength(1);
  });

  test('[EXE1.63] one that was cut goes on; thoughts are told; an empty one ends the turn', async () => {
    const { stand, server } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [{ think: 'Hm.', say: 'The first half', cut: true }, { empty: true }],
      onMail: [{ when: 'appear to be idle', steps: [report('done')] }],
    });
    expect((await stand.ended(task)).output).toBe('done');
    expect(stand.eventsOf(task)).toContainEqual({ type: 'thought', text: 'Hm.' });
    const words = server().requests[1]!.messages.map(({ text }) => text);
    expect(words.slice(-2)).toEqual(['The first half', expect.stringContaining('was cut')]);
  });

  test('[EXE1.63] a tool that is not there and an input that is wrong are answered with what to do', async () => {
    const { stand, server } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [
        { calls: [{ call: 'dance' }, { call: 'read_file', input: { file: 1 } }, { call: 'list_directory' }] },
        report('done'),
      ],
    });
    await stand.ended(task);
    const results = server().requests[1]!.messages.filter(({ role }) => role === 'tool');
    expect(results.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^You may not use "dance"\. What you have: \w+/),
      expect.stringContaining('path'),
      expect.any(String),
    ]);
    const ends = stand.eventsOf(task).filter((event) => event.type === 'tool_end');
    expect(ends.slice(0, 3).map(({ failed }) => failed)).toContain(true);
  });

  test.for(['anthropic', 'openai-compatible'] as const)(
    '[EXE1.63] a call that was cut in the middle of its input is refused, and the conversation goes on: %s',
    async (provider) => {
      let server: ModelServer | null = null;
      const backend = builtinBackend(provider, { serving: (made) => (server = made) });
      await using stand = await Stand.open(backend);
      const chat = await stand.chat();
      const input = { path: 'long.txt', content: 'a line that is long\n'.repeat(20) };
      const task = await chat.spawn({
        steps: [{ call: 'create_file', input, cut: true }, report('gave up')],
      });
      expect((await stand.ended(task)).output).toBe('gave up');
      expect(stand.written).toEqual([]);
      const second = server!.requests[1]!;
      const said = second.messages.slice(-2).map(({ role, text }) => [role, text]);
      expect(said).toEqual([
        ['tool', expect.stringContaining('create_file({')],
        ['user', expect.stringContaining('was cut')],
      ]);
    },
  );

  test('[EXE1.64] what only reads and what spawns goes together, what writes alone and in its order', () => {
    const tool = (name: string, readOnly: boolean) =>
      [name, { name, readOnly, description: '', inputSchema: {}, execute: () => Promise.reject() }] as const;
    const tools = new Map([tool('read', true), tool('write', false), tool('a2a_spawn_subtask', false)]);
    const calls = ['read', 'read', 'write', 'write', 'read', 'a2a_spawn_subtask', 'nobody'].map(
      (name, i) => ({
        id: String(i),
        name,
        input: {},
      }),
    );
    const groups = together(calls, tools).map((group) => group.map(({ id }) => id).join(''));
    expect(groups).toEqual(['01', '2', '3', '456']);
  });

  test('[EXE1.64] calls and files are told; the same look again is no news', async () => {
    const { stand } = await open();
    await using _ = stand;
    const chat = await stand.chat();
    const task = await chat.spawn({
      steps: [
        { ...look, repeat: 2 },
        { call: 'create_file', input: { path: 'x.txt', content: 'x' } },
        look,
        report('done'),
      ],
    });
    await stand.ended(task);
    const events = stand.eventsOf(task);
    expect(events).toContainEqual({ type: 'file_touched', path: 'x.txt' });
    const news = events.flatMap((event) => (event.type === 'tool_end' ? [event.news] : []));
    expect(news.slice(0, 4)).toEqual([true, false, true, true]);
    const digests = events.flatMap((event) => (event.type === 'tool_call' ? [event.digest] : []));
    expect(digests[0]).toBe(digests[1]);
  });

  test('[EXE1.65] what it costs is told where the price is known, and unknown where not', async () => {
    const cost = async (price: BuiltinOptions['endpoint']['price']): Promise<number | null> => {
      const { stand } = await open({ endpoint: { price } });
      await using _ = stand;
      const chat = await stand.chat();
      const usage = { input: 1_000, output: 100, cached: 400 };
      const task = await chat.spawn({ steps: [{ ...report('done'), usage }] });
      await stand.ended(task);
      const told = stand.eventsOf(task).find((event) => event.type === 'usage');
      expect(told).toMatchObject({ tokens: 1_100, input: 1_000, cached: 400, output: 100 });
      expect(stand.backend.executor.capabilities?.cost).toBe(price !== null);
      return told!.usd;
    };
    expect(await cost(null)).toBeNull();
    expect(await cost({ input: 3, output: 15, cached: 0.3 })).toBeCloseTo(
      (600 * 3 + 400 * 0.3 + 1500) / 1e6,
      12,
    );
  });
});
