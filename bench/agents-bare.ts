import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { PRESETS, environmentFor, type Preset } from '@reveille/executors/acp';
import { CLAUDE, SDK_PACKAGE, bundledProgram } from '@reveille/executors/claude';
import { recipeFor, type RealAgent } from '@reveille/model-server';

/** What each vendor's program is called in the folder it was installed in. */
const PROGRAMS: Readonly<Record<RealAgent, string>> = {
  claude: 'claude',
  codex: 'codex-acp',
  gemini: 'gemini',
  copilot: 'copilot',
  opencode: 'opencode',
};

export interface Bare extends AsyncDisposable {
  /** A turn; resolves when it has ended. */
  prompt(text: string): Promise<void>;
}

interface Given {
  readonly installed: string;
  readonly model: string;
  /** Its own: its home and where it works. */
  readonly folder: string;
}

export const programOf = (agent: RealAgent, installed: string): string =>
  agent === 'claude'
    ? (bundledProgram(installed) ?? '')
    : join(installed, 'node_modules/.bin', PROGRAMS[agent]);

/** The agent alone, as its own client would start it: no daemon, no sandbox, no tools of ours. */
export function startBare(agent: RealAgent, given: Given): Promise<Bare> {
  mkdirSync(join(given.folder, 'home'), { recursive: true });
  mkdirSync(join(given.folder, 'work'), { recursive: true });
  return agent === 'claude' ? bareClaude(given) : bareAcp(agent, given);
}

const environment = (agent: RealAgent, preset: Preset, { model, folder }: Given) => ({
  PATH: process.env['PATH'] ?? '',
  HOME: join(folder, 'home'),
  ...environmentFor(
    preset,
    { confined: true, asks: false },
    { outer: {}, configured: recipeFor(agent, model).env },
  ),
});

async function bareAcp(agent: RealAgent, given: Given): Promise<Bare> {
  const preset = PRESETS.find(({ name }) => name === agent) ?? CLAUDE;
  const args = [...preset.args, ...recipeFor(agent, given.model).args];
  const child = spawn(programOf(agent, given.installed), args, {
    cwd: join(given.folder, 'work'),
    env: environment(agent, preset, given),
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ask = speakWith(child);
  const capabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
  await ask('initialize', { protocolVersion: 1, clientCapabilities: capabilities });
  const [login] = preset.logins;
  if (login) await ask('authenticate', { methodId: login.method });
  const opened = await ask('session/new', { cwd: join(given.folder, 'work'), mcpServers: [] });
  const { sessionId } = opened as { sessionId: string };
  return {
    async prompt(text) {
      await ask('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
    },
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit');
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await gone;
    },
  };
}

type Piped = ChildProcessByStdio<Writable, Readable, null>;

/** The least that a client of the protocol does: it asks, and lets everything by that it is told or asked. */
function speakWith(child: Piped): (method: string, params: unknown) => Promise<unknown> {
  const waiting = new Map<unknown, PromiseWithResolvers<unknown>>();
  const send = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (!text.startsWith('{')) return;
    const { id, method, result, error } = JSON.parse(text) as Record<string, unknown>;
    if (method !== undefined) {
      if (id !== undefined) send({ id, result: { outcome: { outcome: 'cancelled' } } });
      return;
    }
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(JSON.stringify(error)));
  });
  let ids = 0;
  return (method, params) => {
    const asked = Promise.withResolvers<unknown>();
    waiting.set(++ids, asked);
    send({ id: ids, method, params });
    return asked.promise;
  };
}

/** Only what is used of the SDK, which nobody has unless they installed it. */
interface ClaudeSdk {
  query(given: object): AsyncIterable<{ readonly type: string }>;
}

async function bareClaude(given: Given): Promise<Bare> {
  const file = createRequire(join(given.installed, 'package.json')).resolve(SDK_PACKAGE);
  const sdk = (await import(pathToFileURL(file).href)) as ClaudeSdk;
  const abortController = new AbortController();
  const queue: string[] = [];
  let more = Promise.withResolvers<void>();
  let ended = Promise.withResolvers<void>();
  async function* inbox(): AsyncGenerator<object> {
    for (;;) {
      await more.promise;
      more = Promise.withResolvers();
      for (const content of queue.splice(0))
        yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null };
    }
  }
  const running = sdk.query({
    prompt: inbox(),
    options: {
      cwd: join(given.folder, 'work'),
      env: environment('claude', CLAUDE, given),
      abortController,
      pathToClaudeCodeExecutable: programOf('claude', given.installed),
      settingSources: [],
    },
  });
  const listening = (async () => {
    for await (const { type } of running) if (type === 'result') ended.resolve();
  })().catch(() => undefined);
  return {
    async prompt(text) {
      ended = Promise.withResolvers();
      queue.push(text);
      more.resolve();
      await ended.promise;
    },
    async [Symbol.asyncDispose]() {
      abortController.abort();
      await listening;
    },
  };
}
