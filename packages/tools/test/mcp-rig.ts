import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Caller, CallerWorld } from '@reveille/protocol';
import { mcpHttp, type McpCaller, type McpHttp, type McpHttpOptions } from '../src/index.ts';
import { Rig, type WorldOptions } from './rig.ts';
import { SCRIPTS } from './scripts.ts';

export const ERAS = ['2025', '2026'] as const;
export type Era = (typeof ERAS)[number];

/** What children of a test wait for. */
export class Flags implements AsyncDisposable {
  readonly #folder: string;
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(): Promise<Flags> {
    return new Flags(await mkdtemp(join(tmpdir(), 'reveille-mcp-')));
  }

  next(): { path: string; raise(): Promise<void> } {
    const path = join(this.#folder, `flag-${++this.#count}`);
    return { path, raise: () => writeFile(path, '') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** The engine in real time behind a real HTTP server, as a daemon would mount it: the token names the caller. */
export class McpRig implements AsyncDisposable {
  readonly rig: Rig;
  readonly errors: Error[] = [];
  /** Every request that came, for tests that wait until the server has noticed something. */
  readonly requests: Request[] = [];
  readonly #callers = new Map<string, McpCaller>();
  readonly #clients = new Set<Client>();
  readonly #options: Partial<McpHttpOptions>;
  http: McpHttp;
  #server: Server | null = null;

  constructor(options: Partial<McpHttpOptions> = {}) {
    this.#options = options;
    this.rig = new Rig({ clock: 'real', scripts: SCRIPTS });
    this.http = this.#mount();
  }

  static async start(options?: Partial<McpHttpOptions>): Promise<McpRig> {
    const made = new McpRig(options);
    await made.rig.engine.start();
    // Other tests share this process: its own Request and Response stay what they are.
    const listener = getRequestListener((request) => made.#serve(request), { overrideGlobalObjects: false });
    made.#server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
    await new Promise<void>((resolve) => made.#server?.listen(0, '127.0.0.1', resolve));
    return made;
  }

  get url(): URL {
    const address = this.#server?.address();
    assert(address && typeof address === 'object', 'the server is not listening');
    return new URL(`http://127.0.0.1:${address.port}/mcp`);
  }

  /** As if the daemon had been started again: it remembers no connection. */
  async remount(): Promise<void> {
    await this.http.close();
    this.http = this.#mount();
  }

  #mount(): McpHttp {
    return mcpHttp({ version: '0.0.0', onError: (error) => this.errors.push(error), ...this.#options });
  }

  async #serve(request: Request): Promise<Response> {
    this.requests.push(request);
    const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
    const caller = this.#callers.get(token);
    return caller ? this.http.fetch(request, caller) : new Response(null, { status: 401 });
  }

  /** A credential for a caller, with its world as given or as it is at each call. */
  admit(caller: Caller, options: WorldOptions | (() => CallerWorld) = {}): string {
    const token = `token-${this.#callers.size + 1}`;
    const world = typeof options === 'function' ? options : () => this.rig.worldOf(caller, options);
    this.#callers.set(token, { key: token, kind: caller.kind, world });
    return token;
  }

  async chat(options?: WorldOptions): Promise<string> {
    const { id } = await this.rig.person.openSession('chat', 'ann');
    return this.admit({ kind: 'session', session: id }, options);
  }

  async connect(token: string, era: Era, options: ClientOptions = {}): Promise<Client> {
    const client = newClient(era, options);
    const headers = { authorization: `Bearer ${token}` };
    await client.connect(new StreamableHTTPClientTransport(this.url, { requestInit: { headers } }));
    this.#clients.add(client);
    return client;
  }

  /** A bare request, for what no client would send. */
  async post(token: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#clients].map((client) => client.close()));
    await this.http.close();
    await new Promise((resolve) => {
      this.#server?.close(resolve);
      this.#server?.closeAllConnections();
    });
    await this.rig[Symbol.asyncDispose]();
  }
}

export function newClient(era: Era, options: ClientOptions = {}): Client {
  const mode = era === '2025' ? 'legacy' : { pin: '2026-07-28' };
  return new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode } });
}

/** The same over a pipe, to a process of its own with an engine of its own. */
export async function connectStdio(
  era: Era,
  options: ClientOptions = {},
): Promise<{ client: Client; transport: StdioClientTransport }> {
  const client = newClient(era, options);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--conditions=source', new URL('stdio-server.ts', import.meta.url).pathname],
    env: { PATH: process.env['PATH'] ?? '', NODE_NO_WARNINGS: '1' },
    stderr: 'inherit',
  });
  await client.connect(transport);
  return { client, transport };
}
