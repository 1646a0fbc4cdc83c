import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faultOf } from '../../src/claude/faults.ts';
import { idsIn } from '../../src/claude/history.ts';
import { Inbox } from '../../src/claude/inbox.ts';
import { Meter, UNUSED } from '../../src/claude/meter.ts';
import { sdkFile } from '../../src/claude/sdk.ts';
import { readToken, writeToken } from '../../src/claude/token.ts';
import { claudeTools } from '../../src/claude/tools.ts';
import { Translator } from '../../src/claude/translate.ts';

const ROLE = { systemPrompt: '', tools: ['*'], deniedTools: [], readOnly: false, model: null };

describe('what Claude Code says, in the words of every backend', () => {
  test('[EXE6.51] text, thought, call and end; a file is touched when its call went well', () => {
    const words = new Translator();
    const content = [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'I write.' },
      { type: 'tool_use', id: 't1', name: 'Write', input: { file_path: '/w/a' } },
      { type: 'tool_use', id: 't2', name: 'Edit', input: { file_path: '/w/b' } },
      { type: 'tool_use', id: 't3', name: 'mcp__reveille__a2a_spawn_subtask', input: {} },
    ];
    expect(words.events({ type: 'assistant', message: { content } })).toMatchObject([
      { type: 'thought', text: 'hm' },
      { type: 'output', text: 'I write.' },
      { type: 'tool_call', id: 't1', name: 'Write' },
      { type: 'tool_call', id: 't2', name: 'Edit' },
      { type: 'tool_call', id: 't3', name: 'a2a_spawn_subtask' },
    ]);
    const results = [
      { type: 'tool_result', tool_use_id: 't1', content: 'ok' },
      { type: 'tool_result', tool_use_id: 't2', content: 'no', is_error: true },
      { type: 'tool_result', tool_use_id: 't3', content: 'ok' },
    ];
    expect(words.events({ type: 'user', message: { content: results } })).toEqual([
      { type: 'file_touched', path: '/w/a' },
      { type: 'tool_end', id: 't1', failed: false, news: true },
      { type: 'tool_end', id: 't2', failed: true, news: true },
      { type: 'tool_end', id: 't3', failed: false, news: false },
    ]);
  });

  test('[HLT1.20] pieces of an answer and words of agents that it started are signs of life', () => {
    const words = new Translator();
    for (const message of [
      { type: 'stream_event', event: { type: 'content_block_start' } },
      { type: 'stream_event', event: { type: 'content_block_delta' } },
      { type: 'system', subtype: 'thinking_tokens' },
      { type: 'assistant', parent_tool_use_id: 't', message: { content: [{ type: 'text', text: 'x' }] } },
    ])
      expect(words.events(message)).toEqual([{ type: 'sign' }]);
  });

  test('[HLT1.20] what Claude Code says while its model is silent is no sign of life', () => {
    const words = new Translator();
    for (const message of [
      { type: 'system', subtype: 'status' },
      { type: 'system', subtype: 'hook_progress' },
      { type: 'system', subtype: 'task_progress' },
      { type: 'stream_event', event: { type: 'ping' } },
      { type: 'stream_event', event: { type: 'message_start' } },
      { type: 'stream_event' },
      { type: 'tool_progress', parent_tool_use_id: 't' },
      { type: 'user', message: { content: 'You appear to be idle.' } },
      { type: 'rate_limit_event' },
      { type: 'keep_alive' },
      { type: 'of the future' },
    ])
      expect(words.events(message)).toEqual([]);
  });

  test('[EXE5.1] sums that grow become what each turn took, over a resume too', () => {
    const usage = (n: number) => ({
      modelUsage: {
        m: { inputTokens: n, outputTokens: 1, cacheReadInputTokens: 1, cacheCreationInputTokens: 1 },
      },
      total_cost_usd: n / 100,
    });
    const meter = new Meter(UNUSED);
    expect(meter.read('a', { type: 'result', ...usage(7) })).toMatchObject({ tokens: 10, usd: 0.07 });
    expect(meter.read('b', { type: 'result', ...usage(7) })).toBeNull();
    expect(meter.read('c', { type: 'result' })).toBeNull();
    const resumed = new Meter(meter.state);
    expect(resumed.read('d', { type: 'result', ...usage(17) })).toMatchObject({ tokens: 10 });
    // One that forgot its session begins to count anew.
    expect(resumed.read('e', { type: 'result', ...usage(2) })).toMatchObject({ tokens: 5, usd: 0.02 });
  });

  test('[EXE5.2] each message names what its request took; the result counts the turn, and nothing twice', () => {
    const price = { input: 10, output: 100, cached: 1, written: 20 };
    const priceOf = (model: string) => (model === 'known' ? price : null);
    const said = (id: string, model = 'known') => ({
      type: 'assistant',
      message: {
        id,
        model,
        content: [{ type: 'text', text: 'x'.repeat(400) }],
        usage: {
          input_tokens: 700,
          cache_read_input_tokens: 200,
          cache_creation_input_tokens: 100,
          output_tokens: 1,
        },
      },
    });
    const result = (tokens: number, usd: number) => ({
      type: 'result',
      modelUsage: {
        m: { inputTokens: tokens, outputTokens: 0, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 },
      },
      total_cost_usd: usd,
    });
    const meter = new Meter(UNUSED, priceOf);
    const first = meter.within('1', said('a'))!;
    // What was sent, and about what it says: that is counted only later.
    expect(first).toMatchObject({ kind: 'interim', id: '1' });
    expect(first.tokens).toBeGreaterThan(1_100);
    expect(first.usd).toBeCloseTo((700 * 10 + 200 + 100 * 20 + (first.tokens - 1_000) * 100) / 1e6, 9);
    // A second piece of the same message is no second request.
    expect(meter.within('2', said('a'))!.tokens).toBe(first.tokens - 1_000);
    expect(meter.within('3', said('b', 'unknown'))).toMatchObject({ tokens: first.tokens, usd: null });
    expect(meter.within('4', { type: 'assistant', message: { id: 'c', content: 'no model' } })).toBeNull();
    expect(meter.read('5', result(2_500, 2))).toEqual({
      type: 'usage',
      id: '5',
      kind: 'final',
      tokens: 2_500,
      usd: 2,
    });
    // Stopped in the middle of its turn and resumed, it counts what it has named before no second time.
    const told = meter.within('6', said('d'))!.tokens;
    const resumed = new Meter(meter.state, priceOf);
    const rest = resumed.read('7', result(2_500 + 4 * told, 6))!;
    expect(rest).toMatchObject({ kind: 'final', tokens: 3 * told });
    expect(rest.usd).toBeCloseTo(3, 9);
    // A message that is said again after another one is no second request either.
    const pieces = new Meter(UNUSED, priceOf);
    const whole = pieces.within('9', said('x'))!.tokens;
    pieces.within('10', said('y'));
    expect(pieces.within('11', said('x'))!.tokens).toBe(whole - 1_000);
    // Whatever it was told in pieces, a sum is never less than nothing.
    for (const wrong of [-1_000, Number.NaN])
      expect(
        new Meter(UNUSED).read('8', {
          type: 'result',
          modelUsage: {
            m: { inputTokens: wrong, outputTokens: 5, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 },
          },
        }),
      ).toMatchObject({ tokens: 5, usd: null });
  });

  test('[EXE5.2] killed in its turn, its next life may count on, without that turn, or anew: none of it is lost or counted twice', () => {
    const said = (id: string, tokens: number) => ({
      type: 'assistant',
      message: { id, model: 'm', content: [], usage: { input_tokens: tokens, output_tokens: 100 } },
    });
    const result = (tokens: number, usd: number) => ({
      type: 'result',
      modelUsage: {
        m: { inputTokens: tokens, outputTokens: 0, cacheReadInputTokens: 0, cacheCreationInputTokens: 0 },
      },
      total_cost_usd: usd,
    });
    const afterKill = () => {
      const killed = new Meter(UNUSED);
      killed.within('1', said('a', 20_900));
      killed.read('2', result(21_000, 0.1));
      killed.within('3', said('b', 9_900));
      const resumed = new Meter(killed.state);
      resumed.within('4', said('c', 29_900));
      return resumed;
    };
    const took = { tokens: 30_000, usd: expect.closeTo(0.3, 9) };
    expect(afterKill().read('5', result(21_000 + 10_000 + 30_000, 0.1 + 0.4))).toMatchObject(took);
    expect(afterKill().read('5', result(21_000 + 30_000, 0.1 + 0.3))).toMatchObject(took);
    expect(afterKill().read('5', result(30_000, 0.3))).toMatchObject(took);
    // After that it is known where it goes on.
    const resumed = afterKill();
    resumed.read('5', result(30_000, 0.3));
    resumed.within('6', said('d', 39_000));
    expect(resumed.read('7', result(31_000, 0.31))).toMatchObject({ tokens: 1_000 });
  });

  test('[EXE6.52] an error has its class, and says what to do where somebody can', () => {
    const result = { type: 'result', is_error: true, result: 'it failed' };
    const kind = (status: number | null, named: string | null = null): string =>
      faultOf({ ...result, api_error_status: status }, named).class;
    expect([kind(401), kind(429), kind(529), kind(400), kind(null)]).toEqual([
      'auth',
      'rate_limit',
      'overload',
      'invalid',
      'unknown',
    ]);
    expect(kind(null, 'billing_error')).toBe('limit');
    expect(faultOf({ ...result, result: 'connect ECONNREFUSED' }, null)).toMatchObject({
      class: 'network',
      message: expect.stringContaining('ANTHROPIC_BASE_URL'),
    });
    expect(faultOf({ ...result, result: 'ECONNREFUSED' }, 'server_error').class).toBe('network');
    expect(faultOf(result, 'authentication_failed').message).toContain('Log in');
  });
});

test('[AGT4.10] what the definition allows, in its own names; nothing that starts agents behind our back', () => {
  const all = claudeTools(ROLE);
  expect(all.tools).toEqual(expect.arrayContaining(['Read', 'Write', 'Edit', 'Bash', 'Grep', 'Glob']));
  for (const tool of ['Task', 'Agent', 'Workflow', 'ScheduleWakeup', 'SendMessage', 'AskUserQuestion'])
    expect(all.tools).not.toContain(tool);
  expect(all.disallowedTools).toContain('mcp__reveille__run_command');
  const reader = claudeTools({ ...ROLE, tools: ['read_file', 'search_*'] });
  expect(reader.tools).toEqual(['TodoWrite', 'Read', 'Grep']);
  expect(claudeTools({ ...ROLE, deniedTools: ['run_command'] }).tools).not.toContain('Bash');
  expect(claudeTools({ ...ROLE, readOnly: true }).tools).not.toContain('Write');
});

test('[EXE3.10] what its transcript holds it has seen; what only waited to become part of it it has not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-claude-'));
  try {
    expect(await idsIn(folder, 's', ['msg_a'])).toBeNull();
    mkdirSync(join(folder, 'projects', '-w'), { recursive: true });
    writeFileSync(
      join(folder, 'projects', '-w', 's.jsonl'),
      '{"type":"queue-operation","content":"msg_b"}\n{"type":"user","message":"msg_a"}\n{"half',
    );
    expect(await idsIn(folder, 's', ['msg_a', 'msg_b'])).toEqual(new Set(['msg_a']));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('[EXE3.11] a token that cannot be read is none', () => {
  const token = { session: 's', tokens: 1, usd: 0.5, told: 3 };
  expect(readToken(writeToken(token))).toEqual(token);
  for (const text of [null, '', 'nonsense', '{}', '{"session":""}']) expect(readToken(text)).toBeNull();
});

test('[EXE6.53] an inbox gives what comes, when it comes, and ends when it is told to', async () => {
  const inbox = new Inbox();
  inbox.push('one');
  const got: string[] = [];
  const reading = (async () => {
    for await (const { message } of inbox) got.push(message.content);
  })();
  await Promise.resolve();
  inbox.push('two');
  inbox.end();
  await reading;
  expect(got).toEqual(['one', 'two']);
});

test('[EXE2.10] the SDK is looked for, never fetched', () => {
  expect(sdkFile(null)).toBeNull();
  expect(sdkFile(tmpdir())).toBeNull();
});
