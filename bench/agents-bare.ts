import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk';
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
    { confined: true, asks: false, nests: false },
    { outer: {}, configured: recipeFor(agent, model).env },
  ),
});

async function bareAcp(agent: RealAgent, given: Given): Promise<Bare> {
  const preset = PRESETS.find(({ name }) => name === agent)!;
  const args = [...preset.args, ...recipeFor(agent, given.model).args];
  const child = spawn(programOf(agent, given.installed), args, {
    cwd: join(given.folder, 'work'),
    env: environment(agent, preset, given),
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const anything = (params: unknown): unknown => params;
  const connection = client({ name: 'bare' })
    .onRequest(methods.client.session.requestPermission, anything, () => ({
      outcome: { outcome: 'cancelled' },
    }))
    .onNotification(methods.client.session.update, anything, () => undefined)
    .connect(
      ndJsonStream(
        Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
      ),
    );
  const ask = (method: string, params: unknown): Promise<unknown> =>
    connection.agent.request<unknown, unknown>(method, params);
  const capabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
  await ask(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: capabilities });
  const [login] = preset.logins;
  if (login) await ask(methods.agent.authenticate, { methodId: login.method });
  const opened = await ask(methods.agent.session.new, { cwd: join(given.folder, 'work'), mcpServers: [] });
  const { sessionId } = opened as { sessionId: string };
  return {
    async prompt(text) {
      await ask(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
    },
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit');
      process.kill(-child.pid!, 'SIGKILL');
      await gone;
    },
  };
}

/** Only what is used of the SDK, which nobody has unless they installed it. */
interface ClaudeSdk {
  query(given: object): AsyncIterable<{ readonly type: string }>;
}

async function bareClaude(given: Given): Promise<Bare> {
  const file = createRequire(join(given.installed, 'package.json')).resolve(SDK_PACKAGE);
  const { query } = (await import(pathToFileURL(file).href)) as ClaudeSdk;
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
  const running = query({
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
