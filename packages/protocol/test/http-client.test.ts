import { expect, test } from 'vitest';
import {
  HTTP_OPERATIONS,
  HTTP_OPERATION_NAMES,
  createClient,
  parseArguments,
  type ClientOptions,
  type TaskId,
} from '@reveille/protocol';

interface Seen {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/** A client whose requests are answered by the functions, one after the other; the last one for all that follow. */
function talking(
  answers: readonly (() => Response | Promise<Response>)[],
  options: Partial<ClientOptions> = {},
) {
  const seen: Seen[] = [];
  const fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { method = 'GET', headers, body } = init;
    const sent = typeof body === 'string' ? (JSON.parse(body) as unknown) : undefined;
    seen.push({
      url: String(input instanceof Request ? input.url : input),
      method,
      headers: headers as Record<string, string>,
      body: sent,
    });
    init.signal?.throwIfAborted();
    const answer = answers[Math.min(seen.length, answers.length) - 1];
    return answer!();
  };
  const client = createClient({ url: 'http://127.0.0.1:1', token: 'rvp_t', fetch, ...options });
  return { client, seen };
}

const value = (given: unknown) => () => Response.json({ value: given });
const error =
  (status: number, code: string, data: object = {}) =>
  () =>
    Response.json({ error: { code, message: 'No.', data } }, { status });
const refused = () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }));
const broken = () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'UND_ERR_SOCKET' } }));

test('[DMN1.30] every operation is in the table, and is sent by its name with its arguments and no more', async () => {
  const { client, seen } = talking([value(null)]);
  for (const name of HTTP_OPERATION_NAMES) expect(typeof client[name]).toBe('function');
  await client.cancelTask('task_1');
  await client.cancelTask('task_1', undefined);
  await client.spawnSubtask({ prompt: 'x' }, { signal: new AbortController().signal, patienceMs: 5 });
  await client.awaitSubtasks({ taskIds: ['task_1'] }, { signal: new AbortController().signal });
  expect(await client.endSession('session_1')).toBeUndefined();
  expect(seen.map(({ url, body }) => [url, body])).toEqual([
    ['http://127.0.0.1:1/v1/op/cancelTask', ['task_1']],
    ['http://127.0.0.1:1/v1/op/cancelTask', ['task_1']],
    ['http://127.0.0.1:1/v1/op/spawnSubtask', [{ prompt: 'x' }, { patienceMs: 5 }]],
    ['http://127.0.0.1:1/v1/op/awaitSubtasks', [{ taskIds: ['task_1'] }]],
    ['http://127.0.0.1:1/v1/op/endSession', ['session_1']],
  ]);
  expect(seen[0]).toMatchObject({
    method: 'POST',
    headers: { authorization: 'Bearer rvp_t', 'content-type': 'application/json', 'reveille-protocol': '1' },
  });
});

test('[DMN1.30] an error comes back as what it was; one that nobody here knows, as a defect that names it', async () => {
  const known = talking([error(429, 'limit_reached', { limit: 3 })]).client;
  await expect(known.listPlans()).rejects.toMatchObject({
    name: 'ReveilleError',
    code: 'limit_reached',
    message: 'No.',
    data: { limit: 3 },
  });
  const late = talking([
    () => Response.json({ error: { code: 'stopping', message: 'No.', data: null } }),
  ]).client;
  await expect(late.listPlans()).rejects.toMatchObject({ code: 'stopping', data: {} });
  const unknown = talking([error(418, 'teapot')]).client;
  await expect(unknown.listPlans()).rejects.toMatchObject({ code: 'internal', data: { code: 'teapot' } });
});

test('[DMN1.8] whatever else answers there is told apart from a daemon', async () => {
  for (const answer of [
    () => new Response('<html>', { status: 200 }),
    () => new Response('', { status: 502 }),
    () => Response.json({ other: 1 }),
    () => Response.json([]),
    () => Response.json({ value: 1 }, { status: 500 }),
  ])
    await expect(talking([answer]).client.listPlans()).rejects.toMatchObject({ code: 'version_mismatch' });
});

test('[DMN1.34] what was not carried out, or may be twice, is made again at the new address; nothing else is', async () => {
  let renewals = 0;
  const renew = async () => ({ url: `http://127.0.0.1:${++renewals + 1}`, token: 'rvp_new' });
  const cases = [
    { answers: [refused, value([])], call: 'listPlans', sent: 2 },
    { answers: [broken, value([])], call: 'listPlans', sent: 2 },
    { answers: [error(401, 'unauthorized'), value([])], call: 'listPlans', sent: 2 },
    { answers: [refused, value('msg_1')], call: 'sendMessage', sent: 2 },
    { answers: [error(401, 'unauthorized'), value('msg_1')], call: 'sendMessage', sent: 2 },
    { answers: [broken, value('msg_1')], call: 'sendMessage', sent: 1, code: 'unreachable' },
    {
      answers: [error(409, 'wrong_state'), value('msg_1')],
      call: 'sendMessage',
      sent: 1,
      code: 'wrong_state',
    },
    { answers: [refused, refused], call: 'listPlans', sent: 2, code: 'unreachable' },
  ] as const;
  for (const { answers, call, sent, ...rest } of cases) {
    renewals = 0;
    const { client, seen } = talking(answers, { renew });
    const made =
      call === 'listPlans' ? client.listPlans() : client.sendMessage({ to: 'task_1', message: 'x' });
    if ('code' in rest) await expect(made).rejects.toMatchObject({ code: rest.code });
    else await made;
    expect(seen).toHaveLength(sent);
    if (sent === 2) expect(seen[1]).toMatchObject({ headers: { authorization: 'Bearer rvp_new' } });
  }
  const { client, seen } = talking([refused, value([])]);
  await expect(client.listPlans()).rejects.toMatchObject({ code: 'unreachable', data: { carriedOut: 'no' } });
  expect(seen).toHaveLength(1);
});

test('[DMN1.34] all that miss the daemon at once search for it once', async () => {
  let renewals = 0;
  const renew = async () => {
    renewals++;
    await Promise.resolve();
    return { url: 'http://127.0.0.1:2', token: 't' };
  };
  const fetch = async (input: string | URL | Request): Promise<Response> =>
    String(input instanceof Request ? input.url : input).includes(':1/') ? refused() : value([])();
  const client = createClient({ url: 'http://127.0.0.1:1', token: 't', fetch, renew });
  await Promise.all(Array.from({ length: 20 }, () => client.listPlans()));
  expect(renewals).toBe(1);
});

test('[DMN1.34] a call that may not be made twice is not sent to a daemon that is known to be gone', async () => {
  const renew = async () => ({ url: 'http://127.0.0.1:2', token: 't' });
  let gone = true;
  const { client, seen } = talking([value('msg_1')], { renew, isGone: () => gone });
  await client.sendMessage({ to: 'task_1', message: 'x' });
  gone = false;
  await client.sendMessage({ to: 'task_1', message: 'y' });
  expect(seen.map(({ url }) => new URL(url).port)).toEqual(['2', '2']);
});

test('[DMN1.32] a call that was given up says so, and is not made again', async () => {
  const { client, seen } = talking([value([])], {
    renew: async () => ({ url: 'http://127.0.0.1:2', token: 't' }),
  });
  const signal = AbortSignal.abort();
  await expect(client.awaitSubtasks({ taskIds: ['task_1'] }, { signal })).rejects.toMatchObject({
    code: 'aborted',
  });
  expect(seen).toHaveLength(1);
});

test('[DMN1.34] so many calls at once and no more; one that waits stands in nobody’s way', async () => {
  let open = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  const fetch = async (input: string | URL | Request): Promise<Response> => {
    if (String(input instanceof Request ? input.url : input).includes('awaitSubtasks'))
      return new Promise(() => undefined);
    most = Math.max(most, ++open);
    await new Promise<void>((resolve) => waiting.push(resolve));
    open--;
    return value([])();
  };
  const client = createClient({ url: 'http://127.0.0.1:1', token: 't', fetch });
  for (let i = 0; i < 100; i++) void client.awaitSubtasks({ taskIds: ['task_1'] });
  const calls = Array.from({ length: 200 }, () => client.listPlans());
  let done = false;
  const all = Promise.all(calls).then(() => (done = true));
  while (!done) {
    waiting.shift()?.();
    await Promise.resolve();
  }
  await all;
  expect(most).toBe(64);
});

const batch = (...numbers: number[]): string =>
  `id: ${numbers.at(-1)}\ndata: ${JSON.stringify(numbers.map((number) => ({ number, at: 1, type: 'x' })))}\n\n`;
const stream =
  (...chunks: string[]) =>
  () =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
          controller.close();
        },
      }),
    );

test('[DMN2.1] a follower asks from where it was, takes nothing twice and bears no gap', async () => {
  const text = batch(3, 4);
  const { client, seen } = talking([
    stream(': \n\n', batch(1, 2), text.slice(0, 9)),
    broken,
    stream(batch(2, 3), text.slice(0, 20), text.slice(20), batch(6)),
    stream(batch(5, 6)),
    stream('event: stopping\ndata: null\n\n'),
  ]);
  const got: number[] = [];
  const following = async (): Promise<void> => {
    for await (const events of client.follow()) got.push(...events.map(({ number }) => number));
  };
  await expect(following()).rejects.toMatchObject({ code: 'stopping' });
  expect(got).toEqual([1, 2, 3, 4, 5, 6]);
  expect(seen.map(({ url }) => new URL(url).search)).toEqual([
    '?after=0',
    '?after=2',
    '?after=2',
    '?after=4',
    '?after=6',
  ]);
});

test('[DMN2.1] a follower that leaves lets go of the connection', async () => {
  let cancelled = 0;
  const body = () =>
    new ReadableStream({
      start: (c) => c.enqueue(new TextEncoder().encode(batch(1))),
      cancel: () => void cancelled++,
    });
  const { client } = talking([() => new Response(body())]);
  for await (const events of client.follow({ after: 0 })) if (events.length > 0) break;
  expect(cancelled).toBe(1);
  const over = new AbortController();
  over.abort();
  for await (const _ of client.follow({ signal: over.signal })) throw new Error('it was over');
});

test('[DMN1.31] arguments are parsed by the table, which takes what the operations take', () => {
  expect(parseArguments('spawnSubtask', [{ prompt: 'x' }])).toMatchObject([
    { prompt: 'x', isolation: 'own' },
    undefined,
  ]);
  expect(() => parseArguments('getTask', ['plan_1' as unknown as TaskId])).toThrow('task_…');
  expect(() => parseArguments('cancelTask', ['task_1', 'x'.repeat(3_000)])).toThrow('argument 2');
  for (const name of HTTP_OPERATION_NAMES) {
    const { args } = HTTP_OPERATIONS[name];
    expect(() => parseArguments(name, Array(args.length + 1).fill(null))).toThrow('at most');
    expect(() => parseArguments(name, 'x')).toThrow('JSON array');
  }
});
