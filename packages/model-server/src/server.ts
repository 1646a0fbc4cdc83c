import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { unanswered, type Conversation, type Heard } from './conversation.ts';
import { anthropic } from './dialects/anthropic.ts';
import type { Dialect, Refusal } from './dialects/dialect.ts';
import { gemini } from './dialects/gemini.ts';
import { openaiChat } from './dialects/openai-chat.ts';
import { openaiResponses } from './dialects/openai-responses.ts';
import { fields, type Fields } from './json.ts';
import { Player, type Played } from './play.ts';
import { sideAnswer } from './side.ts';

export interface ModelServerOptions {
  /** 0: any that is free. */
  readonly port?: number;
  /** If there is one, whoever comes without it is refused. */
  readonly key?: string;
  /** If there are any, every other model is unknown. */
  readonly models?: readonly string[];
  readonly maxBodyBytes?: number;
  /** How many requests are kept for whoever wants to look at them. */
  readonly keep?: number;
}

/** A request for an answer, as it came and as it was understood. */
export interface ModelRequest {
  readonly dialect: Dialect['name'];
  readonly path: string;
  readonly model: string;
  readonly body: Fields;
  readonly messages: readonly Heard[];
  readonly tools: readonly string[];
  /** When the whole of it had come, by `performance.now()`. */
  readonly at: number;
  /** How it was answered; null: not yet. */
  answered: 'answer' | 'side' | 'failure' | 'broken' | null;
  /** Its client went away before it had the whole answer. */
  abandoned: boolean;
}

const MAX_BODY = 64 * 2 ** 20;

/** A model that follows scripts, on a port of this machine that nobody else can reach. */
export interface ModelServer extends AsyncDisposable {
  readonly port: number;
  /** As Anthropic's and Google's clients want it; OpenAI's want `/v1` after it. */
  readonly url: string;
  readonly requests: readonly ModelRequest[];
  /** Lets the answers go that are held under this name, now and later. */
  release(name: string): void;
  /** How many answers are held under this name. */
  held(name: string): number;
  stop(): Promise<void>;
}

export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const house = new House(options);
  const server = createServer((request, response) => void house.serve(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  // It listens on TCP, so its address is one.
  const { port } = server.address() as AddressInfo;
  const stop = (): Promise<void> => house.stop(server);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    requests: house.requests,
    release: (name) => house.release(name),
    held: (name) => house.held(name),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

class House {
  readonly requests: ModelRequest[] = [];
  readonly #options: ModelServerOptions;
  readonly #player = new Player();
  readonly #stopped = new AbortController();
  readonly #released = new Set<string>();
  readonly #held = new Map<string, Set<() => void>>();

  constructor(options: ModelServerOptions) {
    this.#options = options;
  }

  release(name: string): void {
    this.#released.add(name);
    for (const go of this.#held.get(name) ?? []) go();
  }

  held(name: string): number {
    return this.#held.get(name)?.size ?? 0;
  }

  async stop(server: Server): Promise<void> {
    this.#stopped.abort();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#stopped.signal]);
    try {
      await this.#answer(request, response, signal);
    } catch (error) {
      if (signal.aborted || response.headersSent) response.destroy();
      else send(response, 500, { error: { type: 'api_error', message: String(error) } });
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname.replace(/^(?:\/v1){2}\//, '/v1/');
    const raw = await bodyOf(request, this.#options.maxBodyBytes ?? MAX_BODY);
    if (raw === null)
      return send(response, 413, { error: { type: 'request_too_large', message: 'too large' } });
    const dialect = request.method === 'POST' ? dialectOf(path) : undefined;
    if (!dialect) {
      const { status, body } = sideAnswer(path, raw.length, this.#options.models ?? ['scripted']);
      return send(response, status, body);
    }
    const body = parsed(raw);
    if (!body) return send(response, 400, { error: { type: 'invalid_request_error', message: 'not JSON' } });
    const asked = dialect.read(body, path);
    const entry = this.#record(dialect, path, body, asked);
    response.once('close', () => (entry.abandoned = !response.writableFinished));
    const refused = this.#refusal(request, dialect, asked);
    if (refused) {
      entry.answered = 'failure';
      return send(response, refused.status, refused.body);
    }
    // The two vendors that are known to look.
    const wrong = /^(?:anthropic|openai-chat)$/.test(dialect.name) ? unanswered(asked.messages) : null;
    if (wrong !== null) {
      entry.answered = 'failure';
      return send(response, 400, { type: 'error', error: { type: 'invalid_request_error', message: wrong } });
    }
    const stage = { dialect, asked, response, entry, signal };
    await this.#perform(this.#player.play(asked), stage);
  }

  #record(dialect: Dialect, path: string, body: Fields, asked: Conversation): ModelRequest {
    const entry: ModelRequest = {
      dialect: dialect.name,
      path,
      model: asked.model,
      body,
      messages: asked.messages,
      tools: asked.tools.map(({ name }) => name),
      at: performance.now(),
      answered: null,
      abandoned: false,
    };
    this.requests.push(entry);
    if (this.requests.length > (this.#options.keep ?? 1_000)) this.requests.shift();
    return entry;
  }

  #refusal(request: IncomingMessage, dialect: Dialect, asked: Conversation): Refusal | null {
    const { key, models } = this.#options;
    if (key !== undefined && keyOf(request) !== key) return dialect.refuse('auth', asked);
    if (models && !models.includes(asked.model)) return dialect.refuse('unknown_model', asked);
    return null;
  }

  async #perform(played: Played, stage: Stage): Promise<void> {
    const { dialect, asked, response, entry, signal } = stage;
    if (played.waitMs > 0) await sleep(played.waitMs, undefined, { signal });
    if (played.kind === 'answer') {
      if (played.hold !== null) await this.#hold(played.hold, signal);
      return perform(played, stage);
    }
    entry.answered = 'failure';
    if (played.failure === 'hang') return until(signal);
    if (played.failure === 'network') return void response.destroy();
    const { status, body } = dialect.refuse(played.failure, asked);
    if (played.retryAfterS !== null) response.setHeader('retry-after', String(played.retryAfterS));
    send(response, status, body);
  }

  async #hold(name: string, signal: AbortSignal): Promise<void> {
    if (this.#released.has(name)) return;
    const waiting = this.#held.get(name) ?? new Set();
    this.#held.set(name, waiting);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    waiting.delete(resolve);
    signal.throwIfAborted();
  }
}

interface Stage {
  readonly dialect: Dialect;
  readonly asked: Conversation;
  readonly response: ServerResponse;
  readonly entry: ModelRequest;
  readonly signal: AbortSignal;
}

async function perform(played: Extract<Played, { kind: 'answer' }>, stage: Stage): Promise<void> {
  const { dialect, asked, response, entry, signal } = stage;
  entry.answered = played.breaks ? 'broken' : played.side ? 'side' : 'answer';
  if (!asked.stream) {
    if (played.breaks) return void response.destroy();
    return send(response, 200, dialect.whole(played.answer, asked));
  }
  const all = [...dialect.pieces(played.answer, asked)];
  const sent = played.breaks ? all.slice(0, Math.ceil(all.length / 2)) : all;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const piece of sent) {
    if (!response.write(piece)) await drained(response, signal);
    if (played.chunkMs > 0) await sleep(played.chunkMs, undefined, { signal });
  }
  if (!played.breaks) return void response.end();
  // What was written must have left before the connection breaks, or nobody saw the half of it.
  await new Promise<void>((resolve) => response.write('', () => resolve()));
  response.destroy();
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function until(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function dialectOf(path: string): Dialect | undefined {
  if (path.endsWith('/messages')) return anthropic;
  if (path.endsWith('/chat/completions')) return openaiChat;
  if (path.endsWith('/responses')) return openaiResponses;
  return /:(?:g|streamG)enerateContent$/.test(path) ? gemini : undefined;
}

function keyOf({ headers }: IncomingMessage): string {
  const bearer = headers.authorization?.replace(/^Bearer /i, '');
  return String(headers['x-api-key'] ?? headers['x-goog-api-key'] ?? bearer ?? '');
}

async function bodyOf(request: IncomingMessage, most: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parsed(raw: Buffer): Fields | null {
  try {
    return fields(JSON.parse(raw.toString('utf8')));
  } catch {
    return null;
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  // The rest of a body that was too large is not waited for.
  if (status === 413) response.setHeader('connection', 'close');
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
