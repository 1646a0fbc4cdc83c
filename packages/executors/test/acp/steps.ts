import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, watch, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { RequestError, methods, type AgentContext } from '@agentclientprotocol/sdk';
import { Telling, nextCallId, save, type Session, type Step } from './session.ts';
import { ToolCalls } from './tool-calls.ts';

/** What the agent no longer does, once a step said so. */
export const manners = { ignoresCancel: false, ignoresTerm: false };

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

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

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Sends requests to the daemon of the MCP server, and answers with each one's status and text. */
async function sendAll(
  [server]: Session['mcp'],
  requests: readonly RawRequest[],
): Promise<{ status: number; text: string }[]> {
  if (!server || !('url' in server)) throw new Error('there is no MCP server over HTTP');
  const headers = Object.fromEntries(server.headers.map(({ name, value }) => [name, value]));
  const answers = [];
  for (const { method, path, body } of requests) {
    const response = await fetch(new URL(path, server.url), {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    const text = isStream ? await beginningOf(response) : await response.text();
    answers.push({ status: response.status, text });
  }
  return answers;
}

/** A stream of events has no end: what comes in its first seconds is enough. */
async function beginningOf({ body }: Response): Promise<string> {
  let text = '';
  const late = new Promise<null>((done) => void setTimeout(() => done(null), 2_000));
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const part = await Promise.race([reader?.read(), late]);
    if (!part || part.done) break;
    text += part.value;
  }
  await reader?.cancel();
  return text;
}

/** `ready` is called when a cancel from now on is heeded. */
export const forever = (signal: AbortSignal, ready = (): void => undefined): Promise<void> =>
  new Promise((done) => {
    const keep = setInterval(() => undefined, 1_000);
    signal.addEventListener('abort', () => {
      if (manners.ignoresCancel) return;
      clearInterval(keep);
      done();
    });
    ready();
  });

/** A turn that does what the steps say which came with its prompt. */
export class ScriptedTurn extends Telling {
  readonly prompt: string;
  usage: unknown = null;

  constructor(session: Session, client: AgentContext, prompt: string) {
    super(session, client);
    this.prompt = prompt;
  }

  async play(): Promise<{ stopReason: string; usage?: unknown }> {
    const { session } = this;
    const done = (stopReason: string) => ({ stopReason, ...(this.usage ? { usage: this.usage } : {}) });
    while (session.at < session.steps.length) {
      if (session.cancel.signal.aborted && !manners.ignoresCancel) return done('cancelled');
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
        return this.think(text(step['text']));
      case 'call': {
        const args = (step['args'] ?? {}) as Record<string, unknown>;
        const name = text(step['tool']);
        // As every client it gives up some time: when this file is there.
        const giveUp = new AbortController();
        if (step['giveUpFile']) void fileThere(inside(step['giveUpFile']), signal).then(() => giveUp.abort());
        return this.tool({ title: `reveille: ${name}`, kind: 'other', rawInput: args }, async () => {
          await using tools = await ToolCalls.open(session.mcp);
          return this.result(await tools.call(name, args, giveUp.signal));
        });
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
        const { title, kind, input, content, locations } = step as Record<string, unknown>;
        const toolCall = { toolCallId: nextCallId(), title, kind, rawInput: input, content, locations };
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
      case 'http': {
        // With nothing but the credential that the run was given: what a prompt-injected agent has.
        const encoded = (step['secrets'] ?? []) as string[];
        const secrets = encoded.map((secret) => Buffer.from(secret, 'base64').toString());
        const answers = await sendAll(session.mcp, step['requests'] as RawRequest[]);
        const told = answers.map(({ status, text: body }) => [
          status,
          secrets.some((one) => body.includes(one)),
        ]);
        return this.say(`answers: ${JSON.stringify(told)}`);
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
        manners.ignoresCancel = true;
        return;
      case 'ignoreTerm':
        process.on('SIGTERM', () => undefined);
        manners.ignoresTerm = true;
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
