import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutorEvent, StartSpec } from '@reveille/core';
import { describe, expect, test } from 'vitest';
import { claudeExecutor } from '../../src/claude/executor.ts';
import type { ClaudeOptions } from '../../src/claude/options.ts';
import type { ClaudeMessage, ClaudeSdk } from '../../src/claude/sdk.ts';

type Hook = (input: unknown) => Promise<Record<string, unknown>>;

/** What the SDK was given, as one who plays it needs it. */
interface Given {
  readonly options: Record<string, unknown>;
  hook(name: string, input?: unknown): Promise<Record<string, unknown>>;
  may(tool: string, input: Record<string, unknown>): Promise<unknown>;
}

type Play = (text: string, given: Given) => AsyncGenerator<ClaudeMessage>;

const INIT: ClaudeMessage = { type: 'system', subtype: 'init', session_id: 'session-1' };
const done = (result: string): ClaudeMessage => ({ type: 'result', subtype: 'success', result });
const says = (text: string): ClaudeMessage => ({
  type: 'assistant',
  message: { content: [{ type: 'text', text }] },
});

/** Stands where the vendor's SDK would, and does for each word of ours what the test says. If it is deaf, no interrupt ends it. */
function standIn(play: Play, deaf = false): ClaudeSdk {
  return {
    query: ({ prompt, options }) => {
      const hooks = options['hooks'] as Record<string, [{ hooks: [Hook] }]>;
      const permit = options['canUseTool'] as (...given: unknown[]) => Promise<unknown>;
      const given: Given = {
        options,
        hook: (name, input = {}) => hooks[name]![0].hooks[0](input),
        may: (tool, input) => permit(tool, input, { signal: new AbortController().signal, toolUseID: 't' }),
      };
      let interrupted: () => void = () => undefined;
      async function* conversation(): AsyncGenerator<ClaudeMessage> {
        for await (const { message } of prompt) {
          yield INIT;
          const stopped = new Promise<ClaudeMessage>((resolve) => {
            interrupted = () =>
              resolve({ type: 'result', subtype: 'error_during_execution', is_error: true });
          });
          const playing = play(message.content, given);
          while (true) {
            const next = await Promise.race([
              playing.next(),
              stopped.then((value) => ({ value, done: false })),
            ]);
            if (next.done) break;
            yield next.value as ClaudeMessage;
            if ((next.value as ClaudeMessage).type === 'result') break;
          }
        }
      }
      return Object.assign(conversation(), { interrupt: async () => void (deaf || interrupted()) });
    },
  };
}

class Rig implements AsyncDisposable {
  readonly events: ExecutorEvent[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'reveille-claude-'));
  readonly #waiting = new Set<() => void>();
  readonly agent;
  disposed = 0;

  constructor(play: Play | null, more: Partial<ClaudeOptions> = {}, spec: Partial<StartSpec> = {}) {
    const executor = claudeExecutor({
      sdk: async () => (play ? standIn(play) : null),
      install: 'Install it.',
      transcripts: () => this.folder,
      folder: this.folder,
      identityOf: () => null,
      launch: async () => ({
        argv: ['/none/claude'],
        env: {},
        cwd: '/',
        workdir: '/w',
        confined: false,
        dispose: async () => void this.disposed++,
      }),
      tools: () => ({ url: 'http://127.0.0.1:1/mcp', token: 'secret' }),
      policy: 'boundary',
      ownTools: ['a2a_check_updates', 'a2a_subtask_complete'],
      approve: async (_, { text }) => (text.includes('rm') ? 'deny' : 'approve'),
      ...more,
    });
    // Only what the executor reads of it.
    const given = { run: 'run_1', epoch: 1, resume: null, role: null, ...spec } as StartSpec;
    this.agent = executor.start({
      ...given,
      report: (event) => {
        this.events.push(event);
        for (const look of this.#waiting) look();
      },
    });
  }

  turn(number: number, text: string): void {
    this.agent.turn({ turn: number, given: [], text });
  }

  until<T extends ExecutorEvent['type']>(type: T): Promise<Extract<ExecutorEvent, { type: T }>> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = this.events.findLast((event) => event.type === type);
        if (!found) return;
        this.#waiting.delete(look);
        resolve(found as Extract<ExecutorEvent, { type: T }>);
      };
      this.#waiting.add(look);
      look();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent.stop('the test is over');
    rmSync(this.folder, { recursive: true });
    expect(this.events.at(-1)?.type).toBe('exited');
    expect(this.disposed).toBeLessThanOrEqual(1);
  }
}

describe('a turn', () => {
  test('[EXE6.54] begins with its text and ends with its last words; what can be resumed is said', async () => {
    await using rig = new Rig(async function* (text) {
      yield says(`You said ${text}.`);
      yield done('All is done.');
    });
    rig.turn(1, 'hello');
    expect(await rig.until('turn_ended')).toMatchObject({ turn: 1, lastWords: 'All is done.' });
    expect(rig.events).toContainEqual({ type: 'output', text: 'You said hello.' });
    const [first, second] = rig.events.filter(({ type }) => type === 'started');
    expect(first).toMatchObject({ identity: 'claude-run_1-1', resume: null });
    expect(second).toMatchObject({ resume: expect.stringContaining('session-1') });
  });

  test('[EXE6.55] an interrupt ends it and keeps the agent', async () => {
    await using rig = new Rig(async function* (text) {
      if (text === 'two') return yield done('again');
      yield says('I work.');
      await new Promise(() => undefined);
    });
    rig.turn(1, 'one');
    await rig.until('output');
    rig.agent.interrupt();
    expect(await rig.until('turn_ended')).toMatchObject({ turn: 1, interrupted: true });
    rig.events.length = 0;
    rig.turn(2, 'two');
    expect(await rig.until('turn_ended')).toMatchObject({ turn: 2, lastWords: 'again', interrupted: false });
  });

  test('[EXE6.52] that failed says how; what no try can mend is not tried for minutes', async () => {
    await using rig = new Rig(async function* () {
      yield { type: 'result', is_error: true, api_error_status: 529, result: 'at capacity' };
    });
    rig.turn(1, 'go');
    expect(await rig.until('failed')).toMatchObject({ class: 'overload', message: 'at capacity' });
    await using wrong = new Rig(async function* () {
      yield { type: 'system', subtype: 'api_retry', error: 'authentication_failed' };
      await new Promise(() => undefined);
    });
    wrong.turn(1, 'go');
    expect(await wrong.until('failed')).toMatchObject({
      class: 'auth',
      message: expect.stringContaining('Log in'),
    });
    wrong.agent.interrupt();
  });

  test('[EXE2.11] where the SDK is missing the agent fails with what to do, and leaves nothing', async () => {
    await using rig = new Rig(null);
    expect(await rig.until('failed')).toMatchObject({
      class: 'invalid',
      message: expect.stringContaining('Install it.'),
    });
  });
});

test('[EXE3.12] one whose session is gone begins anew and is told what it did; one whose session is there goes on', async () => {
  const resumes: unknown[] = [];
  const play: Play = async function* (text, { options }) {
    resumes.push(options['resume']);
    yield done(text);
  };
  const task = { id: 'task_1', prompt: 'Make it.' } as unknown as StartSpec['task'];
  const resume = JSON.stringify({ session: 'gone', tokens: 0, usd: 0 });
  await using rig = new Rig(play, { digest: async () => 'It made half of it.' }, { task, epoch: 2, resume });
  rig.turn(2, 'Go on.');
  const { lastWords } = await rig.until('turn_ended');
  expect(lastWords).toMatch(/begin anew[\s\S]*Make it\.[\s\S]*half of it\.[\s\S]*Go on\.$/);
  writeFileSync(join(rig.folder, 'gone.jsonl'), '{}\n');
  await using again = new Rig(play, { transcripts: () => rig.folder }, { task, epoch: 3, resume });
  again.turn(3, 'Go on.');
  expect(await again.until('turn_ended')).toMatchObject({ lastWords: 'Go on.' });
  // Whoever takes the task over from another agent is handed it, and worked on nothing before.
  await using next = new Rig(play, { digest: async () => 'x' }, { task, epoch: 4, resume: null });
  next.agent.turn({ turn: 4, given: ['run_1'], text: 'Make it.' });
  expect(await next.until('turn_ended')).toMatchObject({ lastWords: 'Make it.' });
  expect(resumes).toEqual([undefined, 'gone', undefined]);
});

/** A program that is no agent, in place of one. */
const instead = (source: string, waits: ClaudeOptions['waits'] = {}): Partial<ClaudeOptions> => ({
  launch: async () => ({
    argv: [process.execPath, '-e', source],
    env: {},
    cwd: '/',
    workdir: '/w',
    confined: false,
    dispose: async () => undefined,
  }),
  graces: { eofMs: 100, termMs: 100 },
  waits,
});

/** Starts the program as the vendor's SDK does, and takes what it writes for messages. */
const STARTS: ClaudeSdk = {
  query: ({ options }) => {
    const { spawnClaudeCodeProcess: start } = options as {
      spawnClaudeCodeProcess: (given: object) => unknown;
    };
    const held = start({ command: 'claude', args: [], env: {} }) as {
      stdout: AsyncIterable<Buffer>;
      once(event: 'exit', listener: (code: number | null) => void): void;
    };
    async function* conversation(): AsyncGenerator<ClaudeMessage> {
      const exit = new Promise<number | null>((resolve) => held.once('exit', resolve));
      for await (const chunk of held.stdout) yield JSON.parse(String(chunk)) as ClaudeMessage;
      const code = await exit;
      if (code !== 0) throw new Error(`Claude Code process exited with code ${code}`);
    }
    return Object.assign(conversation(), { interrupt: async () => undefined });
  },
};

describe('one that cannot be started', () => {
  test.each([
    [
      'crashes',
      'console.error("left-pad is missing"); process.exit(3)',
      'invalid',
      /left-pad[\s\S]*npm install/,
    ],
    ['ends without a word', '', 'invalid', /ended in the middle[\s\S]*npm install/],
    ['is too old', 'console.error("unknown option --x"); process.exit(1)', 'invalid', /--x[\s\S]*too old/],
    ['writes garbage', 'console.log("hello")', 'invalid', /npm install/],
    ['wants a login', 'console.error("Please run /login"); process.exit(1)', 'auth', /Log in with/],
  ])('[EXE6.58] that %s fails with what to do', async (_, source, errorClass, message) => {
    await using rig = new Rig(null, { ...instead(source), sdk: async () => STARTS });
    rig.turn(1, 'go');
    await rig.until('exited');
    expect(rig.events.filter(({ type }) => type === 'failed')).toEqual([
      { type: 'failed', class: errorClass, message: expect.stringMatching(message) },
    ]);
  });

  test.each(['process.exit(137)', 'process.kill(process.pid, "SIGKILL")'])(
    '[EXE1.29] that a signal ends (%s) has crashed, and is tried again',
    async (source) => {
      await using rig = new Rig(null, { ...instead(source), sdk: async () => STARTS });
      rig.turn(1, 'go');
      await rig.until('exited');
      expect(rig.events.filter(({ type }) => type === 'failed')).toEqual([
        {
          type: 'failed',
          class: 'crash',
          message: expect.stringMatching(/being started \(killed by SIGKILL/),
        },
      ]);
    },
  );

  test('[EXE6.58] that says nothing is given up, and its process is ended', async () => {
    const silent = instead('setInterval(() => 0, 1e6)', { initializeMs: 200, lastMs: 10 });
    await using rig = new Rig(null, { ...silent, sdk: async () => STARTS });
    rig.turn(1, 'go');
    expect(await rig.until('failed')).toMatchObject({
      class: 'unresponsive',
      message: expect.stringContaining('did not answer'),
    });
  });
});

describe('a stop', () => {
  test('[EXE4.24] of a conversation that never ends comes back, and nothing is said after it', async () => {
    let go: () => void = () => undefined;
    const later = new Promise<void>((resolve) => (go = resolve));
    let said: () => void = () => undefined;
    const all = new Promise<void>((resolve) => (said = resolve));
    async function* play(): AsyncGenerator<ClaudeMessage> {
      yield says('I work.');
      await later;
      yield says('I still work.');
      said();
      yield done('done');
    }
    await using rig = new Rig(play, { waits: { lastMs: 10 }, sdk: async () => standIn(play, true) });
    rig.turn(1, 'go');
    await rig.until('output');
    await rig.agent.stop('enough');
    expect(rig.events.at(-1)).toMatchObject({ type: 'exited' });
    go();
    await all;
    rig.turn(2, 'again');
    expect(rig.events.at(-1)).toMatchObject({ type: 'exited' });
    expect(rig.events.filter(({ type }) => type === 'output')).toHaveLength(1);
  });

  test('[EXE4.24] in its turn interrupts it: it would wait for its model', async () => {
    await using rig = new Rig(
      async function* () {
        yield says('I work.');
        await new Promise(() => undefined);
      },
      { waits: { lastMs: 600_000 } },
    );
    rig.turn(1, 'go');
    await rig.until('output');
    await rig.agent.stop('enough');
    expect(rig.events.map(({ type }) => type)).not.toContain('failed');
    expect(rig.events.at(-1)).toMatchObject({ type: 'exited' });
  });

  test('[EXE4.24] before its process was started ends the process at once', async () => {
    type Held = { stdout: NodeJS.ReadableStream };
    const asked = Promise.withResolvers<(given: object) => Held>();
    const sdk: ClaudeSdk = {
      query: ({ options }) => {
        asked.resolve(options['spawnClaudeCodeProcess'] as (given: object) => Held);
        return Object.assign(never(), { interrupt: async () => undefined });
      },
    };
    const given = { ...instead('setInterval(() => 0, 1e6)', { lastMs: 10 }), sdk: async () => sdk };
    await using rig = new Rig(null, given);
    rig.turn(1, 'go');
    const start = await asked.promise;
    await rig.agent.stop('enough');
    const { stdout } = start({ command: 'claude', args: [], env: {} });
    const closed = new Promise((resolve) => stdout.once('close', resolve));
    stdout.resume();
    await closed;
    expect(rig.events.at(-1)).toMatchObject({ type: 'exited' });
  });
});

async function* never(): AsyncGenerator<ClaudeMessage> {
  yield await new Promise<ClaudeMessage>(() => undefined);
}

test('[EXE6.55] an interrupt of what it was not told yet takes it back', async () => {
  const heard: string[] = [];
  let load: () => void = () => undefined;
  const loaded = new Promise<void>((resolve) => (load = resolve));
  const play: Play = async function* (text) {
    heard.push(text);
    yield done(text);
  };
  await using rig = new Rig(null, { sdk: async () => (await loaded, standIn(play)) });
  rig.turn(1, 'one');
  rig.agent.interrupt();
  expect(await rig.until('turn_ended')).toMatchObject({ turn: 1, interrupted: true });
  load();
  rig.events.length = 0;
  rig.turn(2, 'two');
  expect(await rig.until('turn_ended')).toMatchObject({ turn: 2, interrupted: false });
  expect(heard).toEqual(['two']);
});

test('[EXE6.55] an interrupt that comes before the agent has begun is said again when it has', async () => {
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  let read: () => void = () => undefined;
  const taken = new Promise<void>((resolve) => (read = resolve));
  let working = false;
  const sdk: ClaudeSdk = {
    query: ({ prompt }) => {
      const cut = Promise.withResolvers<void>();
      async function* conversation(): AsyncGenerator<ClaudeMessage> {
        for await (const _ of prompt) {
          read();
          await begun;
          working = true;
          yield INIT;
          await cut.promise;
          yield { type: 'result', subtype: 'error_during_execution', is_error: true };
        }
      }
      // As the vendor's: an interrupt of nothing is lost.
      return Object.assign(conversation(), { interrupt: async () => void (working && cut.resolve()) });
    },
  };
  await using rig = new Rig(null, { sdk: async () => sdk });
  rig.turn(1, 'one');
  await taken;
  rig.agent.interrupt();
  begin();
  expect(await rig.until('turn_ended')).toMatchObject({ turn: 1, interrupted: true });
});

test('[EXE6.59] its token is in no argument: it finds it in its environment', async () => {
  let given: Record<string, unknown> = {};
  await using rig = new Rig(async function* (_, { options }) {
    given = options;
    yield done('done');
  });
  rig.turn(1, 'go');
  await rig.until('turn_ended');
  const { env, ...rest } = given;
  expect(JSON.stringify(rest)).not.toContain('secret');
  expect(JSON.stringify(rest['mcpServers'])).toContain('Bearer ${REVEILLE_RUN_TOKEN}');
  expect(env).toMatchObject({ REVEILLE_RUN_TOKEN: 'secret' });
});

describe('mail in the middle of a turn', () => {
  test('[EXE6.56] is given at the next pause, and counts as taken no sooner', async () => {
    let pause: () => void = () => undefined;
    const paused = new Promise<void>((resolve) => (pause = resolve));
    const heard: unknown[] = [];
    await using rig = new Rig(async function* (_, given) {
      yield says('I work.');
      await paused;
      heard.push(await given.hook('PostToolUse'), await given.hook('PostToolUse'));
      yield done('done');
    });
    rig.turn(1, 'go');
    await rig.until('output');
    let answer = 'none';
    const steering = rig.agent.steer({ turn: 1, given: [], text: 'mail' }).then((said) => (answer = said));
    expect(await rig.agent.steer({ turn: 1, given: [], text: 'more' })).toBe('refused');
    expect(answer).toBe('none');
    pause();
    await steering;
    expect(answer).toBe('taken');
    await rig.until('turn_ended');
    expect(heard).toEqual([
      { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'mail' } },
      {},
    ]);
  });

  test('[EXE6.56] keeps an agent that would stop; after the end nothing is taken', async () => {
    let go: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (go = resolve));
    let said: unknown;
    await using rig = new Rig(async function* (_, given) {
      yield says('I work.');
      await gone;
      said = await given.hook('Stop');
      yield done('done');
    });
    rig.turn(1, 'go');
    await rig.until('output');
    const steering = rig.agent.steer({ turn: 1, given: [], text: 'mail' });
    go();
    expect(await steering).toBe('taken');
    expect(said).toEqual({ hookSpecificOutput: { hookEventName: 'Stop', additionalContext: 'mail' } });
    await rig.until('turn_ended');
    expect(await rig.agent.steer({ turn: 1, given: [], text: 'late' })).toBe('refused');
  });

  test('[EXE6.56] is refused if it is longer than what is shown whole at a pause', async () => {
    let go: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (go = resolve));
    await using rig = new Rig(async function* () {
      yield says('I work.');
      await gone;
      yield done('done');
    });
    rig.turn(1, 'go');
    await rig.until('output');
    expect(await rig.agent.steer({ turn: 1, given: [], text: 'x'.repeat(10_000) })).toBe('refused');
    go();
    await rig.until('turn_ended');
  });

  test('[EXE6.56] is called back before a pause, and then nobody is given it', async () => {
    let pause: () => void = () => undefined;
    const paused = new Promise<void>((resolve) => (pause = resolve));
    let heard: unknown;
    await using rig = new Rig(async function* (_, given) {
      yield says('I report.');
      await paused;
      heard = await given.hook('PostToolUse');
      yield done('done');
    });
    rig.turn(1, 'go');
    await rig.until('output');
    const steering = rig.agent.steer({ turn: 1, given: [], text: 'mail' });
    rig.agent.withdraw?.();
    expect(await steering).toBe('refused');
    pause();
    await rig.until('turn_ended');
    expect(heard).toEqual({});
  });

  test('[EXE6.56] is refused if the turn ends without a pause', async () => {
    let go: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => (go = resolve));
    await using rig = new Rig(async function* () {
      yield says('I work.');
      await gone;
      yield done('done');
    });
    rig.turn(1, 'go');
    await rig.until('output');
    const steering = rig.agent.steer({ turn: 1, given: [], text: 'mail' });
    go();
    expect(await steering).toBe('refused');
  });
});

test('[EXE6.57] paths and permission are asked for before anything is done', async () => {
  const answers: unknown[] = [];
  await using rig = new Rig(async function* (_, given) {
    const before = (file_path: string) =>
      given.hook('PreToolUse', { tool_name: 'Write', tool_input: { file_path } });
    answers.push(await before('/w/a'), await before('/etc/passwd'));
    answers.push(await given.may('Bash', { command: 'ls' }), await given.may('Bash', { command: 'rm x' }));
    answers.push(
      await given.may('Edit', { file_path: '../b' }),
      await given.may('Read', { file_path: '/usr/a' }),
    );
    yield done('done');
  });
  rig.turn(1, 'go');
  await rig.until('turn_ended');
  const outside = (path: string) => `${path} is outside of your worktree /w: you can write only in there.`;
  expect(answers).toEqual([
    {},
    {
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: outside('/etc/passwd'),
      },
    },
    { behavior: 'allow', updatedInput: { command: 'ls' } },
    { behavior: 'deny', message: 'It was not allowed. Go on without it, or ask your parent.' },
    { behavior: 'deny', message: outside('../b') },
    { behavior: 'allow', updatedInput: { file_path: '/usr/a' } },
  ]);
  expect(rig.events.filter(({ type }) => type.startsWith('permission'))).toMatchObject([
    { type: 'permission_asked' },
    { type: 'permission_settled', granted: true },
    { type: 'permission_asked' },
    { type: 'permission_settled', granted: false },
  ]);
});
