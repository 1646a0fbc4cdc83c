import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { daemonStatus, stopDaemon } from '@reveille/daemon/connect';
import { withScript, type WrittenScript } from '@reveille/executors';
import type { TaskView } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Chat } from './chat.ts';
import { House, ended, until } from './house.ts';

const PROGRAM = fileURLToPath(new URL('../bin/reveille.cjs', import.meta.url));
const REPORT: WrittenScript = { steps: [{ do: 'report', output: 'The answer is 42.' }] };
/** Until it is cancelled. */
const LONG: WrittenScript = { steps: [{ do: 'work', ms: 3_600_000 }] };
const ASK: WrittenScript = {
  steps: [
    { do: 'ask', text: 'May I?' },
    { do: 'report', output: 'Thank you.' },
  ],
};

interface Answered {
  readonly decision?: string;
  readonly reason?: string;
  readonly systemMessage?: string;
  readonly hookSpecificOutput?: { readonly hookEventName: string; readonly additionalContext: string };
}

/** What a hook says; null: nothing, and the chat goes its way. */
async function hook(house: House, moment: string, ...options: string[]): Promise<Answered | null> {
  const input = JSON.stringify({ session_id: 'conversation', hook_event_name: moment });
  const { code, out, err } = await house.run(['hook', moment, ...options], { input });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out === '' ? null : (JSON.parse(out) as Answered);
}

/** This process is the chat: it starts the tools, and the hooks. */
const chatIn = (house: House): Promise<Chat> => new Chat(house.start(['mcp', '--client', 'claude'])).open();

async function give(chat: Chat, script: WrittenScript): Promise<string> {
  const prompt = withScript('Do.', script);
  const { data } = await chat.call('a2a_spawn_subtask', {
    agentType: 'scripted:coder',
    prompt,
    blocking: false,
  });
  return String(data['taskId']);
}

const untilState = (house: House, task: string, state: string): Promise<unknown> =>
  until(async () => (await house.json<TaskView>('status', task)).task.state === state);

describe('the hooks of a chat', () => {
  let house: House;
  let chat: Chat;
  beforeAll(async () => {
    house = new House();
    chat = await chatIn(house);
  });
  afterAll(async () => {
    await chat[Symbol.asyncDispose]();
    await house[Symbol.asyncDispose]();
  });

  test('[WAK6.20] a chat that stops with a subtask at work is held, and goes on with what comes of it, once', async () => {
    const task = await give(chat, LONG);
    await untilState(house, task, 'running');
    // Whoever does not want to wait is told what runs, and is not stopped from stopping.
    const look = await hook(house, 'stop', '--wait', '0');
    expect(look?.decision).toBeUndefined();
    expect(look?.systemMessage).toContain('still at work');
    const held = hook(house, 'stop');
    await house.json('cancel', task);
    expect(await held).toMatchObject({ decision: 'block', reason: expect.stringContaining('cancelled') });
    expect(await hook(house, 'stop')).toBeNull();
  });

  test('[WAK6.20] what ended before is handed over at the stop, once, and then it may stop', async () => {
    await untilState(house, await give(chat, REPORT), 'completed');
    const answer = await hook(house, 'stop');
    expect(answer).toMatchObject({ decision: 'block' });
    expect(answer?.reason).toContain('The answer is 42.');
    expect(answer?.reason).toContain('<reveille-data');
    expect(await hook(house, 'stop')).toBeNull();
    expect((await chat.call('a2a_check_updates')).text).not.toContain('The answer is 42.');
  });

  test.each([
    ['claude-code_2-1-163_harness', true],
    ['claude-code/2.2.0/agent', true],
    ['claude-code_2-1-162_harness', false],
    ['another_9-9-9_agent', false],
  ])('[WAK6.26] %s is woken with news: %s; otherwise by a block', async (agent, takesNews) => {
    await untilState(house, await give(chat, REPORT), 'completed');
    house.env['AI_AGENT'] = agent;
    const answer = await hook(house, 'stop').finally(() => delete house.env['AI_AGENT']);
    const words = takesNews ? answer?.hookSpecificOutput?.additionalContext : answer?.reason;
    expect(words).toContain('The answer is 42.');
    expect(answer?.hookSpecificOutput?.hookEventName).toBe(takesNews ? 'Stop' : undefined);
    expect(answer?.decision).toBe(takesNews ? undefined : 'block');
  });

  test('[WAK6.20] a subtask that waits for an answer is told about, and holds nobody: the person may want to speak', async () => {
    await untilState(house, await give(chat, ASK), 'waiting');
    const answer = await hook(house, 'stop');
    expect(answer?.reason).toContain('May I?');
    const request = /req_\w+/.exec(answer?.reason ?? '')?.[0] ?? '';
    expect(await hook(house, 'stop')).toBeNull();
    await chat.call('orchestrator_answer', { requestId: request, answer: 'yes' });
    expect((await hook(house, 'stop'))?.reason).toContain('Thank you.');
  });

  test('[WAK6.21] with the next prompt or tool a chat is given what is there, once, and waits for nothing', async () => {
    for (const [moment, event] of [
      ['prompt', 'UserPromptSubmit'],
      ['tool', 'PostToolUse'],
    ] as const) {
      const running = await give(chat, LONG);
      expect(await hook(house, moment)).toBeNull();
      await house.json('cancel', running);
      await untilState(house, running, 'cancelled');
      const given = (await hook(house, moment))?.hookSpecificOutput;
      expect(given?.hookEventName).toBe(event);
      expect(given?.additionalContext).toContain(running);
      expect(await hook(house, moment)).toBeNull();
    }
  });

  test('[WAK6.21] what is too long to be given along is told of, and waits; at a stop it is given whole', async () => {
    const output = `${'long '.repeat(4_000)}the very end`;
    await untilState(house, await give(chat, { steps: [{ do: 'report', output }] }), 'completed');
    const given = (await hook(house, 'prompt'))?.hookSpecificOutput?.additionalContext;
    expect(given).toContain('a2a_check_updates');
    expect(given).not.toContain('the very end');
    expect((await hook(house, 'stop'))?.reason).toContain('the very end');
    expect(await hook(house, 'prompt')).toBeNull();
  });

  test('[WAK6.22] a hook that is killed while it holds a chat loses nothing', async () => {
    const task = await give(chat, LONG);
    await untilState(house, task, 'running');
    const child = house.start(['hook', 'stop']);
    const over = ended(child);
    // It may be killed before it has read.
    child.stdin.on('error', () => undefined).end('{}');
    // By then it waits, as a rule: this one does the same and takes about as long.
    await hook(house, 'stop', '--wait', '0');
    child.kill('SIGKILL');
    await over;
    await house.json('cancel', task);
    await untilState(house, task, 'cancelled');
    expect((await hook(house, 'prompt'))?.hookSpecificOutput?.additionalContext).toContain('cancelled');
    expect(await hook(house, 'stop')).toBeNull();
  });
});

describe('a hook and its chat', () => {
  test('[WAK6.23] without a chat, without a daemon, or with nonsense to read, it says nothing and starts nothing', async () => {
    await using house = new House();
    expect(await hook(house, 'stop')).toBeNull();
    expect(await daemonStatus({ env: house.env })).toMatchObject({ state: 'none' });
    const chat = await chatIn(house);
    await untilState(house, await give(chat, REPORT), 'completed');
    await stopDaemon({ env: house.env });
    expect(await hook(house, 'stop')).toBeNull();
    expect(await daemonStatus({ env: house.env })).toMatchObject({ state: 'none' });
    // The daemon comes back with the next call, and nothing was lost.
    await chat.call('a2a_list_agents');
    const { code, out } = await house.run(['hook', 'stop'], { input: 'no JSON' });
    expect(code).toBe(0);
    expect(out).toContain('The answer is 42.');
    await chat.kill();
    expect(await hook(house, 'stop')).toBeNull();
  });

  test('[WAK6.24] a hook serves its own chat: the one whose process started it, or whose id it is told', async () => {
    await using house = new House();
    await using own = await chatIn(house);
    // Another chat of the same person in the same repository, in a process of its own.
    const program = `const { spawn } = require('node:child_process');
      spawn(process.execPath, [${JSON.stringify(PROGRAM)}, 'mcp', '--client', 'claude'], { stdio: 'inherit' });`;
    const other = spawn(process.execPath, ['-e', program], {
      cwd: house.repository,
      env: { ...house.env, CLAUDE_CODE_SESSION_ID: 'the other' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    await using others = await new Chat(other).open();
    await untilState(house, await give(others, REPORT), 'completed');
    expect(await hook(house, 'stop')).toBeNull();
    await untilState(house, await give(own, ASK), 'waiting');
    expect((await hook(house, 'stop'))?.reason).toContain('May I?');
    const { out } = await house.run(['hook', 'stop'], { input: '{ "session_id": "the other" }' });
    expect(out).toContain('The answer is 42.');
  });

  test('[WAK6.24] a chat inside a chat takes nothing from the outer one, with or without ids', async () => {
    await using house = new House();
    for (const conversation of ['outer', undefined]) {
      const env = conversation === undefined ? {} : { CLAUDE_CODE_SESSION_ID: conversation };
      await using outer = await new Chat(
        spawn(process.execPath, [PROGRAM, 'mcp', '--client', 'claude'], {
          cwd: house.repository,
          env: { ...house.env, ...env },
          stdio: ['pipe', 'pipe', 'pipe'],
        }),
      ).open();
      const task = await give(outer, LONG);
      await untilState(house, task, 'running');
      // The outer chat's shell starts another program, whose hook runs while the outer one's subtask is at work.
      const inner = (told: object) =>
        spawnSync('sh', ['-c', `"${process.execPath}" -e "$INNER"; true`], {
          cwd: house.repository,
          env: { ...house.env, ...env, INNER: innerProgram(told) },
          encoding: 'utf8',
          // One that is held would be so for a day.
          timeout: 60_000,
        });
      for (const told of [{ session_id: 'inner' }, {}]) {
        expect(inner(told)).toMatchObject({ status: 0, stdout: '', stderr: '' });
      }
      await house.json('cancel', task);
      await untilState(house, task, 'cancelled');
      expect(inner({ session_id: 'inner' }).stdout).toBe('');
      const input = JSON.stringify(conversation === undefined ? {} : { session_id: conversation });
      expect((await house.run(['hook', 'stop'], { input })).out).toContain('cancelled');
    }
  });

  test('[WAK6.24] of two chats in one process each gets its own', async () => {
    await using house = new House();
    const open = (conversation: string): Promise<Chat> =>
      new Chat(
        spawn(process.execPath, [PROGRAM, 'mcp', '--client', 'claude'], {
          cwd: house.repository,
          env: { ...house.env, CLAUDE_CODE_SESSION_ID: conversation },
          stdio: ['pipe', 'pipe', 'pipe'],
        }),
      ).open();
    await using first = await open('first');
    await using second = await open('second');
    await untilState(house, await give(first, REPORT), 'completed');
    const stop = async (session: string): Promise<string> =>
      (await house.run(['hook', 'stop'], { input: JSON.stringify({ session_id: session }) })).out;
    expect(await stop('second')).toBe('');
    expect(await stop('third')).toBe('');
    expect(await stop('first')).toContain('The answer is 42.');
    expect((await second.call('a2a_check_updates')).text).not.toContain('42');
  });
});

/** A program that runs the hook as a chat of its own would. */
const innerProgram = (told: object): string => `
  const { spawnSync } = require('node:child_process');
  const ran = spawnSync(process.execPath, [${JSON.stringify(PROGRAM)}, 'hook', 'stop'],
    { input: ${JSON.stringify(JSON.stringify(told))}, encoding: 'utf8' });
  process.stdout.write(ran.stdout); process.stderr.write(ran.stderr);`;
