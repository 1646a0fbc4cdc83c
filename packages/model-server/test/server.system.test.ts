import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { startModelServer, withModelScript } from '../src/index.ts';
import { ask, blocksOf } from './clients.ts';

const user = (content: unknown) => ({ role: 'user', content });

test('[EXE9.5] what agents ask beside their work is answered harmlessly', async () => {
  await using server = await startModelServer();
  const task = withModelScript('Do it.', { steps: [{ fail: 'hang' }] });
  const title = await ask(server.url, [user(task)], { tools: [] });
  expect(blocksOf(title)[0]?.text).toBe('A scripted conversation');
  const json = await ask(server.url, [user(task)], {
    tools: [],
    output_config: { format: { type: 'json_schema' } },
  });
  expect(JSON.parse(blocksOf(json)[0]?.text ?? '')).toMatchObject({ title: 'A scripted conversation' });
  const scriptless = await ask(server.url, [user('hello')]);
  expect(blocksOf(scriptless)[0]?.text).toBe('There is no script in this conversation.');
  expect(server.requests.map(({ answered }) => answered)).toEqual(['side', 'side', 'side']);
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${server.url}${path}`, init);
    return [response.status, await response.json()] as const;
  };
  expect(await get('/v1/models')).toMatchObject([200, { data: [{ id: 'scripted' }] }]);
  const count = { method: 'POST', body: 'x'.repeat(40) };
  expect(await get('/v1/messages/count_tokens', count)).toEqual([200, { input_tokens: 10 }]);
  expect(await get('/v1beta/models/m:countTokens', count)).toEqual([200, { totalTokens: 10 }]);
  expect((await get('/elsewhere'))[0]).toBe(404);
});

test('[EXE9.6] a body that is too large or no JSON is refused, and the next request is served', async () => {
  await using server = await startModelServer({ maxBodyBytes: 10_000, keep: 2 });
  const send = (body: string) => fetch(`${server.url}/v1/messages`, { method: 'POST', body });
  expect((await send('x'.repeat(10_001))).status).toBe(413);
  expect((await send('{')).status).toBe(400);
  for (const n of [1, 2, 3]) await ask(server.url, [user(`hello ${n}`)]);
  expect(server.requests.map(({ messages }) => messages[0]?.text)).toEqual(['hello 2', 'hello 3']);
});

test('[EXE9.6] with a key, whoever lacks it is refused; with models, others are unknown', async () => {
  await using locked = await startModelServer({ key: 'secret' });
  expect((await ask(locked.url, [user('hi')])).status).toBe(401);
  await using open = await startModelServer({ key: 'k', models: ['other'] });
  expect((await ask(open.url, [user('hi')])).status).toBe(404);
  expect((await ask(open.url, [user('hi')], { model: 'other' })).status).toBe(200);
});

test('[EXE9.6] nothing but loopback reaches it, and a stop ends what waits', async () => {
  const server = await startModelServer();
  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  if (outside) await expect(fetch(`http://${outside.address}:${server.port}/v1/models`)).rejects.toThrow();
  const waiting = (step: object) =>
    ask(server.url, [user(withModelScript(JSON.stringify(step), { steps: [step] }))]);
  const all = Promise.allSettled(
    [{ hold: 'gate', say: 'x' }, { waitMs: 3_600_000, say: 'x' }, { fail: 'hang' }].map(waiting),
  );
  while (server.requests.length < 3) await new Promise((resolve) => setImmediate(resolve));
  await server.stop();
  expect((await all).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await expect(fetch(server.url)).rejects.toThrow();
});

test('[EXE9.8] like the vendors it refuses a conversation in which the result of a call is missing', async () => {
  await using server = await startModelServer();
  const call = { type: 'tool_use', id: 'call_1', name: 'read_file', input: {} };
  const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'x' };
  const said = [user('go'), { role: 'assistant', content: [call] }];
  expect((await ask(server.url, [...said, user('and now?')])).status).toBe(400);
  expect((await ask(server.url, [...said, user([result, { type: 'text', text: 'and now?' }])])).status).toBe(
    200,
  );
  expect((await ask(server.url, [...said, user([{ type: 'text', text: 'and now?' }, result])])).status).toBe(
    400,
  );
  const chat = (messages: unknown[]) =>
    fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify({ messages }) });
  const calls = [{ id: 'a', function: { name: 'f' } }];
  const missing = [user('go'), { role: 'assistant', tool_calls: calls }];
  expect((await chat(missing)).status).toBe(400);
  expect((await chat([...missing, { role: 'tool', tool_call_id: 'a', content: 'x' }])).status).toBe(200);
});

test('[EXE9.2] a tool of a namespace is called with it, one that takes plain text gets plain text', async () => {
  await using server = await startModelServer();
  const steps = [
    { calls: [{ call: 'spawn_subtask' }, { call: 'apply_patch', input: { input: '*** Begin' } }] },
  ];
  const response = await fetch(`${server.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({
      model: 'm',
      input: withModelScript('go', { steps }),
      tools: [
        {
          type: 'namespace',
          name: 'mcp__reveille',
          tools: [{ type: 'function', name: 'a2a_spawn_subtask' }],
        },
        { type: 'custom', name: 'apply_patch' },
      ],
    }),
  });
  const { output } = (await response.json()) as { output: unknown[] };
  expect(output).toMatchObject([
    { type: 'function_call', namespace: 'mcp__reveille', name: 'a2a_spawn_subtask' },
    { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin' },
  ]);
});
