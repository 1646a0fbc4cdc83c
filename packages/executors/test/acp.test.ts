import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  PRESETS,
  custom,
  endpointsIn,
  environmentFor,
  findProgram,
  installedWith,
  makeHome,
} from '@reveille/executors/acp';
import type { ExecutorEvent } from '@reveille/core';
import { expect, test } from 'vitest';
import { Listener } from '../src/acp/events.ts';
import { Pace } from '../src/acp/pace.ts';
import { classOf, failureInWords, requestFailed } from '../src/acp/failures.ts';
import { History } from '../src/acp/history.ts';
import { Tail, messagesOf } from '../src/acp/lines.ts';
import { allows, judge, optionFor } from '../src/acp/permission.ts';
import { readToken, writeToken } from '../src/acp/token.ts';
import { UsageCounter } from '../src/acp/usage.ts';

const preset = (name: string) => PRESETS.find((each) => each.name === name)!;
const held = { confined: true, asks: false };

async function* chunks(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

test('[EXE1.23] messages are found however they are cut, and a line that is too long costs no memory', async () => {
  const told: string[] = [];
  const message = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":"é"}\n`;
  const [first, second] = [message(1), message(2)];
  const output = chunks(
    first.slice(0, 9),
    first.slice(9),
    'noise\n',
    'x'.repeat(60),
    'y'.repeat(60),
    `\n${second}[1]`,
  );
  const found = [];
  for await (const each of messagesOf(output, { longest: 100, garbage: (text) => void told.push(text) }))
    found.push(each);
  expect(found).toEqual([JSON.parse(first), JSON.parse(second)]);
  expect(told).toEqual(['noise', `a line of more than 100 bytes: ${'x'.repeat(60)}`, '[1]']);
});

test('[EXE1.26] usage is counted as each agent counts: per turn, since its start, in its own corner, or not at all', () => {
  /** It named its usage after it had done something. */
  const said = (counter: UsageCounter, usage: object) => {
    counter.hear({ sessionUpdate: 'tool_call' });
    return counter.hear({ sessionUpdate: 'usage_update', ...usage });
  };
  const turn = new UsageCounter('turn');
  expect(turn.turnEnded({ usage: { totalTokens: 10 } })).toEqual({ tokens: 10, usd: null, parts: null });
  expect(turn.turnEnded({ usage: { inputTokens: 3, outputTokens: 4 } })).toEqual({
    tokens: 7,
    usd: null,
    parts: { input: 3, output: 4, cached: 0 },
  });
  expect(turn.turnEnded({})).toBeNull();
  const all = new UsageCounter('cumulative');
  expect(all.turnEnded({ usage: { totalTokens: 10 } })?.tokens).toBe(10);
  expect(all.turnEnded({ usage: { totalTokens: 25 } })?.tokens).toBe(15);
  // It was started again in between.
  expect(all.turnEnded({ usage: { totalTokens: 4 } })?.tokens).toBe(4);
  const meta = new UsageCounter('meta');
  const counted = { _meta: { quota: { token_count: { input_tokens: 5, output_tokens: 6 } } } };
  expect(meta.turnEnded({ usage: { totalTokens: 99 }, ...counted })?.tokens).toBe(11);
  const cost = new UsageCounter('turn');
  said(cost, { cost: { amount: 0.5, currency: 'USD' } });
  expect(cost.turnEnded({})).toMatchObject({ tokens: 0, usd: 0.5 });
  said(cost, { cost: { amount: 0.75, currency: 'USD' } });
  expect(cost.turnEnded({})).toMatchObject({ tokens: 0, usd: 0.25 });
  // Named in the middle of a turn, and in all at its end.
  expect(said(cost, { cost: { amount: 1, currency: 'USD' } })).toMatchObject({ tokens: 0, usd: 0.25 });
  expect(said(cost, { cost: { amount: 1, currency: 'USD' } })).toBeNull();
  expect(said(cost, { cost: { amount: 1.5, currency: 'USD' }, used: 9 })).toMatchObject({
    tokens: 9,
    usd: 0.5,
  });
  expect(cost.turnEnded({ usage: { totalTokens: 30 } })).toMatchObject({ tokens: 30, usd: 0.75 });
  expect(cost.turnEnded({})).toBeNull();
});

test('[EXE5.3] usage in the middle of a turn counts once for each thing it did, and a free session is one of unknown price', () => {
  const named = (used: unknown) => ({ sessionUpdate: 'usage_update', used, size: 200_000 });
  const turn = new UsageCounter('turn');
  expect(turn.hear(named(100))).toEqual({
    tokens: 100,
    usd: null,
    parts: { input: 100, cached: 0, output: 0 },
  });
  // The same again without anything in between is no other request.
  expect(turn.hear(named(100))).toBeNull();
  expect(turn.hear({ sessionUpdate: 'tool_call' })).toBeNull();
  expect(turn.hear(named(100))?.tokens).toBe(100);
  for (const wrong of [-5, Number.NaN, Infinity, '7', null, undefined]) {
    turn.hear({ sessionUpdate: 'tool_call' });
    expect(turn.hear(named(wrong))).toBeNull();
  }
  const last = new UsageCounter('last');
  last.hear({ ...named(50), cost: { amount: 0, currency: 'USD' } });
  // Of its last request only: of four it was about four times as much, and nobody says what it cost.
  expect(last.turnEnded({ usage: { totalTokens: 50 } }, 3)).toMatchObject({
    tokens: 200,
    usd: null,
    estimated: true,
  });
  // A turn that was cancelled without a count is part of the next sum, and was counted as it was named.
  const all = new UsageCounter('cumulative');
  all.turnEnded({ usage: { totalTokens: 10 } });
  all.hear(named(20));
  expect(all.turnEnded({})).toBeNull();
  all.turnBegins();
  expect(all.turnEnded({ usage: { totalTokens: 45 } })?.tokens).toBe(15);
});

test('[EXE5.3] what a session that is taken up again had cost, or says of the life before, is not counted again', () => {
  const named = (used: number, amount: number) => ({
    sessionUpdate: 'usage_update',
    used,
    size: 200_000,
    cost: { amount, currency: 'USD' },
  });
  const first = new UsageCounter('last');
  first.hear(named(10, 0.2));
  expect(first.turnEnded({ usage: { totalTokens: 10 } })?.usd).toBeCloseTo(0.2, 9);
  first.turnBegins();
  first.hear({ sessionUpdate: 'tool_call' });
  expect(first.hear(named(10, 0.3))?.usd).toBeCloseTo(0.1, 9);
  // Killed in its turn: what it has named is counted.
  const again = new UsageCounter('last');
  again.processBegins({
    usd: readToken(writeToken({ session: 's', usd: first.usd }))!.usd,
    restates: false,
  });
  again.turnBegins();
  expect(again.hear(named(10, 0.7))?.usd).toBeCloseTo(0.4, 9);
  expect(again.turnEnded({ usage: { totalTokens: 10 } })?.usd).toBeCloseTo(0.4, 9);
  // A turn that was given up without an answer is no part of the next one.
  again.turnBegins();
  again.hear({ sessionUpdate: 'tool_call' });
  expect(again.hear(named(10, 0.8))?.usd).toBeCloseTo(0.1, 9);
  again.turnBegins();
  again.hear({ sessionUpdate: 'tool_call' });
  again.hear(named(10, 0.9));
  expect(again.turnEnded({ usage: { totalTokens: 10 } })?.usd).toBeCloseTo(0.1, 9);
  // A session that was lost counts from nothing.
  const lost = new UsageCounter('last');
  lost.processBegins({ usd: 5, restates: false });
  expect(lost.hear(named(10, 0.5))?.usd).toBeCloseTo(0.5, 9);
  const restating = new UsageCounter('turn');
  restating.processBegins({ usd: 0, restates: true });
  expect(restating.hear({ sessionUpdate: 'usage_update', used: 150_000 })).toBeNull();
  restating.hear({ sessionUpdate: 'tool_call' });
  expect(restating.hear({ sessionUpdate: 'usage_update', used: 150_000 })?.tokens).toBe(150_000);
  // What a process counts in all begins with it.
  const process = new UsageCounter('cumulative');
  process.turnEnded({ usage: { totalTokens: 30 } });
  process.processBegins({ usd: 0, restates: false });
  expect(process.turnEnded({ usage: { totalTokens: 40 } })?.tokens).toBe(40);
  expect(readToken('an id')).toEqual({ session: 'an id', usd: 0 });
  expect(readToken(null)).toBeNull();
});

test('[EXE1.20] a call that is announced before its arguments are known is told when they are, once', () => {
  const events: ExecutorEvent[] = [];
  const listener = new Listener((event) => void events.push(event));
  const call = (fields: object) => listener.hear({ sessionUpdate: 'tool_call', toolCallId: 'a', ...fields });
  const update = (fields: object) =>
    listener.hear({ sessionUpdate: 'tool_call_update', toolCallId: 'a', ...fields });
  listener.turnBegins();
  call({ title: 'bash', kind: 'execute', status: 'pending' });
  expect(events).toEqual([{ type: 'sign' }]);
  events.length = 0;
  update({ rawInput: { command: 'ls' }, title: null });
  update({ status: 'in_progress' });
  update({ status: 'completed', rawOutput: 'x' });
  call({ title: 'bash', kind: 'execute', status: 'pending', rawInput: { command: 'pwd' } });
  update({ status: 'completed', rawOutput: 'x' });
  const told = events.map(({ type }) => type).filter((type) => type !== 'sign');
  expect(told).toEqual(['tool_call', 'tool_end', 'tool_call', 'tool_end']);
  const digests = events.flatMap((event) => (event.type === 'tool_call' ? [event.digest] : []));
  expect(new Set(digests).size).toBe(2);
  // The second brought nothing new.
  expect(events.flatMap((event) => (event.type === 'tool_end' ? [event.news] : []))).toEqual([true, false]);
});

test('[HLT2.20] calls of an agent that says the arguments after the call has begun are told apart when they end', () => {
  const events: ExecutorEvent[] = [];
  const listener = new Listener((event) => void events.push(event));
  listener.turnBegins();
  for (const [id, command] of ['echo 0 >> n.txt', 'echo 1 >> n.txt', 'echo 1 >> n.txt'].entries()) {
    const update = (fields: object): void =>
      listener.hear({ sessionUpdate: 'tool_call_update', toolCallId: `${id}`, ...fields });
    update({ title: 'bash', kind: 'execute', status: 'in_progress', rawInput: {} });
    update({ title: 'work', status: 'in_progress', rawInput: { command } });
    update({ title: 'work', status: 'completed', rawInput: { command }, rawOutput: { output: '' } });
  }
  const [first, second, third] = events.flatMap((event) => (event.type === 'tool_end' ? [event.digest] : []));
  expect(first).not.toBe(second);
  expect(second).toBe(third);
});

test('[HLT2.20] edits of one file are told apart by what they change, if the agent does not say the arguments', () => {
  const digests = new Set<unknown>();
  const listener = new Listener((event) => void (event.type === 'tool_end' && digests.add(event.digest)));
  listener.turnBegins();
  for (let i = 0; i < 3; i++)
    listener.hear({
      sessionUpdate: 'tool_call',
      toolCallId: `${i}`,
      title: 'Edit a.ts',
      kind: 'edit',
      status: 'completed',
      content: [{ type: 'diff', path: 'a.ts', oldText: `${i}`, newText: `${i + 1}` }],
    });
  expect(digests.size).toBe(3);
});

test('[HLT1.20] what an agent by protocol sends by itself is no sign of life', () => {
  const events: ExecutorEvent[] = [];
  const listener = new Listener((event) => void events.push(event));
  listener.turnBegins();
  const plan = { sessionUpdate: 'plan', entries: [{ content: 'look', priority: 'high', status: 'pending' }] };
  listener.hear(plan);
  listener.hear({ sessionUpdate: 'tool_call', toolCallId: 'a', title: 'bash', status: 'in_progress' });
  events.length = 0;
  for (const update of [
    plan,
    { sessionUpdate: 'plan', entries: [] },
    { sessionUpdate: 'usage_update', used: 1_000, size: 200_000 },
    { sessionUpdate: 'available_commands_update', availableCommands: [] },
    { sessionUpdate: 'current_mode_update', currentModeId: 'code' },
    { sessionUpdate: 'session_info_update', title: 'A task' },
    { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'You appear to be idle.' } },
    { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: '' } },
    { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: '' } },
    { sessionUpdate: 'tool_call_update', toolCallId: 'a', status: 'in_progress' },
    { sessionUpdate: 'of the future' },
  ])
    listener.hear(update);
  expect(events).toEqual([]);
  // A plan that changed, and the output of a command, are.
  listener.hear({ ...plan, entries: [{ ...plan.entries[0], status: 'completed' }] });
  const content = [{ type: 'content', content: { type: 'text', text: 'test 1 passed' } }];
  listener.hear({ sessionUpdate: 'tool_call_update', toolCallId: 'a', content });
  expect(events.map(({ type }) => type)).toEqual(['thought', 'sign']);
});

test('[HLT1.20] a warning that Codex itself gives at the beginning of a turn is no sign of life of its model', () => {
  const events: ExecutorEvent[] = [];
  const listener = new Listener((event) => void events.push(event), preset('codex').quirks);
  const says = (text: string, more: object = {}): void =>
    listener.hear({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text }, ...more });
  listener.turnBegins();
  says('Warning: no metadata for this model.');
  expect([events, listener.lastWords]).toEqual([[], 'Warning: no metadata for this model.']);
  says('I look.', { messageId: 'msg_1' });
  expect(events).toEqual([{ type: 'output', text: 'I look.' }]);
  expect(listener.lastWords).toBe('I look.');
});

test('[EXE1.21] what is asked: nothing that the sandbox holds, everything by setting, and never a way out of the mode', () => {
  const ownTools = new Map([['reveille_a2a_send_message', 'a2a_send_message']]);
  const boundary = { policy: 'boundary', confined: true, writes: true, ownTools } as const;
  expect(judge({ kind: 'execute', title: 'make' }, boundary)).toBe('allow');
  expect(judge({ kind: 'execute', title: 'make' }, { ...boundary, confined: false })).toBe('ask');
  expect(judge({ kind: 'execute', title: 'make' }, { ...boundary, policy: 'ask' })).toBe('ask');
  expect(judge({ kind: 'read', title: 'x' }, { ...boundary, confined: false })).toBe('allow');
  expect(judge({ kind: 'edit', title: 'x' }, { ...boundary, writes: false })).toBe('deny');
  expect(judge({ kind: 'switch_mode' }, boundary)).toBe('deny');
  expect(judge({ title: 'something' }, boundary)).toBe('ask');
  expect(judge({ title: 'reveille_a2a_send_message' }, { ...boundary, policy: 'ask' })).toBe('allow');
  // A command cannot pass for one of our tools by its name.
  expect(judge({ kind: 'execute', title: 'reveille a2a_x' }, { ...boundary, policy: 'ask' })).toBe('ask');
  expect(['approve', 'Approved: go', 'yes', 'allow'].map(allows)).toEqual([true, true, true, true]);
  expect(['deny', 'denied', 'no', 'not yet', '', 'I would approve'].some(allows)).toBe(false);
  expect(optionFor([{ optionId: 'a', kind: 'allow_always' }], 'allow')).toBe('a');
  expect(optionFor([{ optionId: 'a', kind: 'allow_always' }], 'deny')).toBeNull();
});

test('[EXE1.25] the words of an error say its class', () => {
  const classes = {
    '429 rate limit': 'rate_limit',
    'You exceeded your current quota': 'rate_limit',
    '529 overloaded': 'overload',
    'getaddrinfo ENOTFOUND api.example.com': 'network',
    'TypeError: fetch failed': 'network',
    '401 Unauthorized': 'auth',
    'Please log in first': 'auth',
    'prompt is too long': 'invalid',
    'port 4290 is in use': 'unknown',
  };
  for (const [words, errorClass] of Object.entries(classes))
    expect([words, classOf(words)]).toEqual([words, errorClass]);
});

test('[EXE1.25] a status that is passed on as a code counts, and so does a failure that is only said', () => {
  const error = Object.assign(new Error('scripted error'), { code: 401 });
  expect(requestFailed(preset('gemini'), 'in its turn', error)).toMatchObject({
    class: 'auth',
    message: expect.stringContaining('GEMINI_API_KEY'),
  });
  const said = 'Info: Request failed. Retrying...Error: Authentication failed with provider (HTTP 401).';
  expect(failureInWords(preset('copilot'), said)).toMatchObject({ class: 'auth' });
  expect(failureInWords(preset('copilot'), 'I fixed the Error: 401 handling.')).toBeNull();
  expect(failureInWords(preset('codex'), said)).toBeNull();
});

test('[EXE1.98] thoughts that come in pieces are told as a whole, before the next word or call', () => {
  const events: ExecutorEvent[] = [];
  const listener = new Listener((event) => void events.push(event));
  const think = (text: string): void =>
    listener.hear({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
  for (const piece of ['the token is rv', 'p_AbCdEf', 'GhIjKl']) think(piece);
  listener.hear({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Hello' } });
  think('more');
  listener.turnEnds();
  expect(events.filter(({ type }) => type !== 'sign')).toEqual([
    { type: 'thought', text: 'the token is rvp_AbCdEfGhIjKl' },
    { type: 'output', text: 'Hello' },
    { type: 'thought', text: 'more' },
    { type: 'output', text: 'Hello' },
  ]);
});

test('[EXE1.98] what is kept of a long text does not begin in the middle of a word', () => {
  const tail = new Tail(20);
  tail.add('rvp_AbCdEfGhIjKlMnOp and more');
  expect(tail.text).toBe('… and more');
  tail.clear();
  tail.add('all of it');
  expect(tail.text).toBe('all of it');
});

test('[EXE3.20] a history of any length is kept as the ids in it, also one that is cut in two', () => {
  const history = new History();
  const hear = (text: string) =>
    history.hear({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } });
  expect(history.seen('msg_abcdef1', false)).toBe('unknown');
  hear('Message msg_abc');
  hear('def1 for you');
  expect(history.seen('msg_abcdef1', false)).toBe('yes');
  expect(history.seen('msg_abcdef2', false)).toBe('unknown');
  history.complete();
  expect(history.seen('msg_abcdef2', false)).toBe('no');
  expect(history.seen('msg_abcdef2', true)).toBe('unknown');
});

test('[EXE1.27] an agent gets its own keys and what is configured, and nothing else of ours', () => {
  const outer = { OPENAI_API_KEY: 'k', AWS_SECRET_ACCESS_KEY: 's', REVEILLE_HOME: '/x', HOME: '/home/a' };
  const env = environmentFor(preset('codex'), held, { outer, configured: { EXTRA: '1' } });
  expect(env).toMatchObject({ OPENAI_API_KEY: 'k', EXTRA: '1', NO_BROWSER: '1' });
  expect(Object.keys(env)).not.toEqual(expect.arrayContaining(['AWS_SECRET_ACCESS_KEY']));
  for (const name of ['AWS_SECRET_ACCESS_KEY', 'REVEILLE_HOME', 'HOME']) expect(env).not.toHaveProperty(name);
});

test('[EXE1.27] its own sandbox is off where ours holds it, and on where nothing does or everything is to be asked', () => {
  const mode = (holding: typeof held) =>
    environmentFor(preset('codex'), holding, { outer: {}, configured: {} })['INITIAL_AGENT_MODE'];
  expect(mode(held)).toBe('agent-full-access');
  expect(mode({ ...held, confined: false })).toBe('workspace-write');
  expect(mode({ ...held, asks: true })).toBe('read-only');
  const permission = (asks: boolean): unknown => {
    const configured = { OPENCODE_CONFIG_CONTENT: '{"model":"a/b","share":"manual"}' };
    const env = environmentFor(preset('opencode'), { ...held, asks }, { outer: {}, configured });
    const content = JSON.parse(env['OPENCODE_CONFIG_CONTENT']!) as Record<string, unknown>;
    // What is configured is put over ours; the rest of ours stays.
    expect(content).toMatchObject({
      model: 'a/b',
      share: 'manual',
      autoupdate: false,
      tools: { task: false },
    });
    return content['permission'];
  };
  expect(permission(false)).toMatchObject({ '*': 'allow' });
  expect(permission(true)).toMatchObject({ '*': 'ask' });
});

test('[EXE1.27] the way to its model is found in what it is given, wherever that is written', () => {
  const env = {
    BASE: 'http://127.0.0.1:4011/v1',
    CONFIG: '{"a":{"base_url":"http://localhost:4012/v1"},"b":"https://models.example.com:8443/x"}',
  };
  expect(endpointsIn(env, ['api.openai.com'])).toEqual({
    loopback: [4011, 4012],
    hosts: ['api.openai.com', 'models.example.com:8443'],
  });
});

test('[EXE1.27] its home is its own, with a link to its login; what the agent put there in its place stays', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-home-'));
  try {
    const person = join(folder, 'person');
    mkdirSync(join(person, '.codex'), { recursive: true });
    writeFileSync(join(person, '.codex/auth.json'), 'login');
    const at = join(folder, 'homes', 'task');
    const made = makeHome(at, preset('codex'), person);
    expect(made).toEqual({ home: at, credentials: [join(person, '.codex/auth.json')] });
    expect(readFileSync(join(at, '.codex/auth.json'), 'utf8')).toBe('login');
    writeFileSync(join(at, '.codex/auth.json'), 'refreshed');
    expect(readFileSync(join(person, '.codex/auth.json'), 'utf8')).toBe('refreshed');
    rmSync(join(at, '.codex/auth.json'));
    writeFileSync(join(at, '.codex/auth.json'), 'newer');
    makeHome(at, preset('codex'), person);
    expect(lstatSync(join(at, '.codex/auth.json')).isSymbolicLink()).toBe(false);
    expect(makeHome(join(folder, 'homes', 'other'), custom('x', 'x', []), person).credentials).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('[EXE1.27] of where it is installed the sandbox is shown as much as it needs, and never the home', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-program-')));
  try {
    const home = join(folder, 'home');
    const deep = join(home, '.npm/lib/node_modules/pkg/node_modules/dep');
    for (const path of [deep, join(home, '.npm/bin'), join(home, 'tools')])
      mkdirSync(path, { recursive: true });
    const script = join(home, '.npm/lib/node_modules/pkg/cli.js');
    for (const file of [script, join(home, 'tools/agent'), join(home, 'loose')])
      writeFileSync(file, '', { mode: 0o755 });
    symlinkSync(script, join(home, '.npm/bin/agent'));
    const path = ['relative', join(home, '.npm/bin'), join(home, 'tools')].join(':');
    expect(findProgram(['nothing', 'agent'], path)).toBe(join(home, '.npm/bin/agent'));
    expect(findProgram(['nothing'], path)).toBeNull();
    const shown = (file: string) => installedWith(join(home, file), home);
    expect(shown('.npm/bin/agent')).toEqual({
      program: script,
      reads: [join(home, '.npm/lib/node_modules')],
    });
    expect(shown('tools/agent').reads).toEqual([join(home, 'tools')]);
    expect(shown('loose').reads).toEqual([join(home, 'loose')]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('[BND7.31] an agent that says more than can be listened to waits; nothing of it is lost', async () => {
  const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'x', params: 'y'.repeat(900) })}\n`;
  const chunk = Buffer.from(line.repeat(10));
  let read = 0;
  const output = (async function* () {
    for (let i = 0; i < 20; i++) {
      read++;
      yield chunk;
    }
  })();
  const pace = new Pace({ bytesPerSecond: 2_000_000, burst: 50_000 });
  let [count, readAtFirstWait] = [0, 0];
  const listening = (async () => {
    for await (const _ of messagesOf(output, { pace, garbage: () => undefined })) count++;
  })();
  // It is made to wait in the first moment, long before it has said everything.
  await new Promise((resolve) => setTimeout(resolve, 1));
  readAtFirstWait = read;
  await listening;
  expect(readAtFirstWait).toBeLessThan(20);
  expect(count).toBe(200);
});

test('[BND7.32] of the files an agent names, those of its checkout are told: of a path’s length, and so many of a call', () => {
  const events: ExecutorEvent[] = [];
  const listener = new Listener((event) => void events.push(event), { root: '/trees/one' });
  const edit = (paths: readonly string[]) =>
    listener.hear({
      sessionUpdate: 'tool_call',
      toolCallId: 'a',
      kind: 'edit',
      status: 'completed',
      locations: paths.map((path) => ({ path })),
    });
  listener.turnBegins();
  edit([
    '/trees/one/a.ts',
    'b/c.ts',
    '/trees/one/..names/d.ts',
    '/trees/one2/x',
    '/etc/passwd',
    '../x',
    '/trees/one/../x',
    `/trees/one/${'x'.repeat(5_000)}`,
  ]);
  const paths = () => events.flatMap((event) => (event.type === 'file_touched' ? [event.path] : []));
  expect(paths()).toEqual(['/trees/one/a.ts', 'b/c.ts', '/trees/one/..names/d.ts']);
  edit(Array.from({ length: 5_000 }, (_, i) => `f${i}`));
  expect(paths()).toHaveLength(203);
});

test('[BND7.32] of open calls only so much is remembered, the oldest are forgotten first', () => {
  const listener = new Listener(() => undefined);
  listener.turnBegins();
  const begin = (toolCallId: string, size: number) =>
    listener.hear({ sessionUpdate: 'tool_call', toolCallId, status: 'pending', title: 'x'.repeat(size) });
  const known = (toolCallId: string): boolean => listener.callOf({ toolCallId })['title'] !== undefined;
  begin('small', 10);
  begin('large0', 1_000_000);
  expect(known('small')).toBe(true);
  for (let i = 1; i < 50; i++) begin(`large${i}`, 1_000_000);
  expect([known('small'), known('large3'), known('large49')]).toEqual([false, false, true]);
  begin('huge', 3_000_000);
  expect(known('huge')).toBe(false);
  begin('again', 10);
  expect(known('again')).toBe(true);
});

test('[BND7.32] thoughts that come by the syllable are told together, and all of them', () => {
  const events: ExecutorEvent[] = [];
  const listener = new Listener((event) => void events.push(event));
  listener.turnBegins();
  for (let i = 0; i < 500; i++)
    listener.hear({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: `${i % 10}` } });
  listener.turnEnds();
  const thoughts = events.flatMap((event) => (event.type === 'thought' ? [event.text] : []));
  expect(thoughts.join('')).toBe('0123456789'.repeat(50));
  expect(thoughts.length).toBeLessThan(20);
});
