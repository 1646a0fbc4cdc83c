/**
 * An agent that speaks the Agent Client Protocol and does what the script in its prompt says: no model, no vendor.
 *
 *   node scripted-agent.ts [--no-load] [--no-http] [--steers] [--hang] [--old] [--login] [--crash] [--garbage]
 *
 * A script is a fence ```acp-script with JSON: { "steps": [...], "restarted": [...] }. A session remembers its script and
 * how far it is, in a file of its home, so that it can be loaded by a later process.
 */
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import {
  RequestError,
  agent,
  methods,
  ndJsonStream,
  type AgentContext,
  type McpServer,
} from '@agentclientprotocol/sdk';

type Step = { readonly do: string } & Readonly<Record<string, unknown>>;

interface Saved {
  cwd: string;
  steps: Step[];
  at: number;
  given: string[];
}

interface Session extends Saved {
  readonly id: string;
  readonly mcp: readonly McpServer[];
  cancel: AbortController;
  steered: string[];
  onSteer: () => void;
  prompting: boolean;
}

const flags = new Set(process.argv.slice(2));
const sessions = new Map<string, Session>();
const folder = join(homedir(), 'scripted-sessions');
let calls = 0;
let ignoresCancel = false;
let ignoresTerm = false;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const fileOf = (id: string): string => join(folder, `${id}.json`);

function save(session: Session): void {
  const { id, cwd, steps, at, given } = session;
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileOf(id), JSON.stringify({ cwd, steps, at, given }));
}

function makeSession(id: string, saved: Saved, mcp: readonly McpServer[]): Session {
  const session: Session = {
    id,
    mcp,
    ...saved,
    cancel: new AbortController(),
    steered: [],
    onSteer: () => undefined,
    prompting: false,
  };
  sessions.set(id, session);
  return session;
}

/** Until the file is there, or the turn is cancelled. */
function fileThere(path: string, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    mkdirSync(dirname(path), { recursive: true });
    const finish = (): void => {
      watcher.close();
      clearInterval(timer);
      done();
    };
    const look = (): void => {
      if (existsSync(path) || signal.aborted) finish();
    };
    const watcher = watch(dirname(path), look);
    // A mounted folder may not tell of what is made on the other side.
    const timer = setInterval(look, 20);
    signal.addEventListener('abort', finish, { once: true });
    look();
  });
}

/** `ready` is called when a cancel from now on is heeded. */
const forever = (signal: AbortSignal, ready = (): void => undefined): Promise<void> =>
  new Promise((done) => {
    const keep = setInterval(() => undefined, 1_000);
    signal.addEventListener('abort', () => {
      if (ignoresCancel) return;
      clearInterval(keep);
      done();
    });
    ready();
  });

async function callTool(
  session: Session,
  { name, args, signal }: { name: string; args: Record<string, unknown>; signal: AbortSignal },
): Promise<string> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const [server] = session.mcp;
  if (!server) throw new Error('there is no MCP server');
  const client = new Client({ name: 'scripted', version: '1' });
  if ('url' in server) {
    const headers = Object.fromEntries(server.headers.map((header) => [header.name, header.value]));
    await client.connect(
      new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }),
    );
  } else {
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
    const env = Object.fromEntries(server.env.map((variable) => [variable.name, variable.value]));
    await client.connect(new StdioClientTransport({ command: server.command, args: server.args, env }));
  }
  try {
    const result = await client.callTool({ name, arguments: args }, { signal });
    return (result.content as { text?: string }[]).map((part) => part.text ?? '').join('\n');
  } finally {
    await client.close();
  }
}

class Turn {
  readonly session: Session;
  readonly client: AgentContext;
  readonly prompt: string;
  usage: unknown = null;
  last = '';

  constructor(session: Session, client: AgentContext, prompt: string) {
    this.session = session;
    this.client = client;
    this.prompt = prompt;
  }

  update(update: Record<string, unknown>): Promise<void> {
    const params = { sessionId: this.session.id, update };
    return this.client.notify<unknown>(methods.client.session.update, params);
  }

  say(words: string): Promise<void> {
    return this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } });
  }

  /** A call from its announcement to its end, as agents show it. */
  async tool(what: Record<string, unknown>, work: () => Promise<Record<string, unknown>>): Promise<void> {
    const toolCallId = `call-${++calls}`;
    await this.update({ sessionUpdate: 'tool_call', toolCallId, status: 'pending', ...what });
    let end: Record<string, unknown>;
    try {
      end = { status: 'completed', ...(await work()) };
    } catch (error) {
      end = {
        status: 'failed',
        content: [{ type: 'content', content: { type: 'text', text: String(error) } }],
      };
      this.last = String(error);
    }
    await this.update({ sessionUpdate: 'tool_call_update', toolCallId, ...end });
  }

  result(words: string): Record<string, unknown> {
    this.last = words;
    return { content: [{ type: 'content', content: { type: 'text', text: words } }] };
  }

  async play(): Promise<{ stopReason: string; usage?: unknown }> {
    const { session } = this;
    const done = (stopReason: string) => ({ stopReason, ...(this.usage ? { usage: this.usage } : {}) });
    while (session.at < session.steps.length) {
      if (session.cancel.signal.aborted && !ignoresCancel) return done('cancelled');
      const step = session.steps[session.at++]!;
      save(session);
      if (step.do === 'rest') return done('end_turn');
      if (step.do === 'stop') return done(text(step['reason']));
      await this.step(step);
    }
    return done(session.cancel.signal.aborted ? 'cancelled' : 'end_turn');
  }

  async step(step: Step): Promise<void> {
    const { session, client } = this;
    const { signal } = session.cancel;
    const inside = (path: unknown): string => resolve(session.cwd, text(path));
    // A file by which others know that it is now where it waits.
    const ready = (): void => {
      if (step['ready']) writeFileSync(inside(step['ready']), '');
    };
    switch (step.do) {
      case 'say':
        return this.say(text(step['text']).replaceAll('$last', this.last));
      case 'echo':
        return this.say(`heard: ${this.prompt}`);
      case 'think':
        return this.update({
          sessionUpdate: 'agent_thought_chunk',
          content: { type: 'text', text: text(step['text']) },
        });
      case 'call': {
        const args = (step['args'] ?? {}) as Record<string, unknown>;
        const name = text(step['tool']);
        // As every client it gives up some time: when this file is there.
        const giveUp = new AbortController();
        if (step['giveUpFile']) void fileThere(inside(step['giveUpFile']), signal).then(() => giveUp.abort());
        return this.tool({ title: `reveille: ${name}`, kind: 'other', rawInput: args }, async () =>
          this.result(await callTool(session, { name, args, signal: giveUp.signal })),
        );
      }
      case 'edit': {
        const path = inside(step['path']);
        return this.tool({ title: `Edit ${path}`, kind: 'edit', locations: [{ path }] }, async () => {
          writeFileSync(path, text(step['content']));
          return { content: [{ type: 'diff', path, oldText: null, newText: text(step['content']) }] };
        });
      }
      case 'sh':
        return this.tool(
          { title: text(step['command']), kind: 'execute', rawInput: { command: step['command'] } },
          async () => {
            const { stdout, stderr } = await promisify(execFile)('/bin/sh', ['-c', text(step['command'])], {
              cwd: session.cwd,
            });
            return this.result(`${stdout}${stderr}`.trim());
          },
        );
      case 'permission': {
        const { title, kind, input } = step as Record<string, unknown>;
        const toolCall = { toolCallId: `call-${++calls}`, title, kind, rawInput: input };
        // Not in the order one would think, and named like nothing else.
        const options = [
          { optionId: 'zz-never', name: 'Never', kind: 'reject_always' },
          { optionId: 'q1', name: 'Not now', kind: 'reject_once' },
          { optionId: 'aa-ever', name: 'For ever', kind: 'allow_always' },
          { optionId: 'q2', name: 'Go on', kind: 'allow_once' },
        ];
        const params = { sessionId: session.id, toolCall, options };
        const answer = await client.request<{ outcome: { outcome: string; optionId?: string } }, unknown>(
          methods.client.session.requestPermission,
          params,
        );
        const { outcome, optionId } = answer.outcome;
        const chosen = options.find((option) => option.optionId === optionId)?.kind ?? outcome;
        this.last = chosen;
        await this.say(`permission: ${chosen}`);
        const allowed = chosen.startsWith('allow');
        const then = (allowed ? step['then'] : step['else']) as Step[] | undefined;
        for (const next of then ?? []) await this.step(next);
        return;
      }
      case 'client': {
        const params = { sessionId: session.id, ...(step['params'] as Record<string, unknown>) };
        try {
          this.last = JSON.stringify(await client.request<unknown, unknown>(text(step['method']), params));
        } catch (error) {
          this.last = `refused: ${error instanceof Error ? error.message : String(error)}`;
        }
        return this.say(this.last);
      }
      case 'terminal': {
        const terminal = await client.createTerminal({
          sessionId: session.id,
          command: text(step['command']),
        });
        const { exitCode } = await terminal.waitForExit();
        const { output } = await terminal.currentOutput();
        await terminal.release();
        return this.say(`terminal: ${exitCode} ${output}`);
      }
      case 'waitFile': {
        const there = fileThere(inside(step['path']), signal);
        ready();
        return there;
      }
      case 'waitSteer': {
        if (session.steered.length === 0 && !signal.aborted)
          await new Promise<void>((done) => {
            session.onSteer = done;
            signal.addEventListener('abort', () => done(), { once: true });
            ready();
          });
        return this.say(`steered: ${session.steered.splice(0).join(' | ')}`);
      }
      case 'hang':
        return forever(signal, ready);
      case 'ignoreCancel':
        ignoresCancel = true;
        return;
      case 'ignoreTerm':
        process.on('SIGTERM', () => undefined);
        ignoresTerm = true;
        setInterval(() => undefined, 1_000);
        return;
      case 'crash':
        process.stderr.write(`${text(step['says'])}\n`, () => process.exit(Number(step['code'] ?? 3)));
        return forever(new AbortController().signal);
      case 'stray': {
        // In a session of its own, and deaf: only the sandbox or its mark finds it.
        const child = spawn('/bin/sh', ['-c', "trap '' TERM HUP; while :; do sleep 1; done"], {
          detached: true,
          stdio: 'ignore',
        });
        child.unref();
        return this.say(`stray ${child.pid}`);
      }
      case 'garbage':
        return void process.stdout.write(`${text(step['text']) || 'x'.repeat(Number(step['bytes']))}\n`);
      case 'big': {
        for (let n = 0; n < Number(step['times']); n++) await this.say('w'.repeat(Number(step['bytes'])));
        return;
      }
      case 'usage':
        this.usage = step['usage'];
        return this.update({
          sessionUpdate: 'usage_update',
          used: 1,
          size: 2,
          ...(step['cost'] ? { cost: { amount: step['cost'], currency: 'USD' } } : {}),
        });
      case 'unknownUpdate':
        return this.update({ sessionUpdate: 'something_of_tomorrow', whatever: [1] });
      case 'error': {
        const data = step['data'];
        throw new RequestError(Number(step['code'] ?? -32_603), text(step['message']), data);
      }
      default:
        throw new RequestError(-32_602, `no such step: ${step.do}`);
    }
  }
}

function take(session: Session, prompt: string): void {
  for (const [id] of prompt.matchAll(/\b(?:msg|run|task)_\w+/g)) session.given.push(id);
  const fence = /```acp-script\n([\s\S]*?)\n```/.exec(prompt)?.[1];
  if (fence === undefined || session.steps.length > 0) return;
  const script = JSON.parse(fence) as { steps: Step[]; restarted?: Step[] };
  session.steps = prompt.includes('you begin anew') ? (script.restarted ?? script.steps) : script.steps;
}

if (flags.has('--crash')) {
  process.stderr.write('Error: cannot find module "left-pad"\n');
  process.exit(1);
}
if (flags.has('--garbage')) process.stdout.write('Welcome to the scripted agent!\n{"not":"rpc"}\n[1,2\n');
if (flags.has('--unknown-option')) {
  process.stderr.write("error: unknown option '--acp'\n");
  process.exit(2);
}

const connection = agent({ name: 'scripted' })
  .onRequest(methods.agent.initialize, async () => {
    if (flags.has('--hang')) await forever(new AbortController().signal);
    return {
      protocolVersion: flags.has('--old') ? 99 : 1,
      agentCapabilities: {
        loadSession: !flags.has('--no-load'),
        mcpCapabilities: { http: !flags.has('--no-http') },
      },
      agentInfo: { name: 'scripted', version: '1.2.3' },
      authMethods: [{ id: 'key', name: 'A key' }],
      ...(flags.has('--steers') ? { _meta: { steering: { supported: true } } } : {}),
    };
  })
  .onRequest(methods.agent.authenticate, () => ({}))
  .onRequest(methods.agent.session.new, ({ params }) => {
    if (flags.has('--login')) throw RequestError.authRequired();
    const id = randomUUID();
    const session = makeSession(id, { cwd: params.cwd, steps: [], at: 0, given: [] }, params.mcpServers);
    save(session);
    return { sessionId: id };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const { sessionId, mcpServers } = params;
    if (!existsSync(fileOf(sessionId))) throw RequestError.resourceNotFound(sessionId);
    const saved = JSON.parse(readFileSync(fileOf(sessionId), 'utf8')) as Saved;
    const session = makeSession(sessionId, saved, mcpServers);
    const turn = new Turn(session, client, '');
    for (const id of session.given)
      await turn.update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: `${id} ` } });
    return {};
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => {
    sessions.get(params.sessionId)?.cancel.abort();
  })
  .onRequest(
    '_session/steering',
    (params) => params as { sessionId: string; prompt: { text: string }[] },
    ({ params }) => {
      const session = sessions.get(params.sessionId);
      if (!session?.prompting) return { outcome: 'promptRequired', reason: 'noRunningTurn' };
      const words = params.prompt.map((part) => part.text).join('\n');
      session.steered.push(words);
      session.onSteer();
      return { outcome: 'injected' };
    },
  )
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const session = sessions.get(params.sessionId);
    if (!session) throw RequestError.sessionNotFound(params.sessionId);
    if (session.prompting) throw new RequestError(-32_603, 'a second prompt came during a turn');
    const prompt = params.prompt.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
    session.cancel = new AbortController();
    session.prompting = true;
    try {
      take(session, prompt);
      save(session);
      return (await new Turn(session, client, prompt).play()) as { stopReason: 'end_turn' };
    } finally {
      session.prompting = false;
    }
  })
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
      Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
    ),
  );

// Nobody speaks with it any more.
void connection.closed.then(() => {
  if (!ignoresTerm) process.exit(0);
});
