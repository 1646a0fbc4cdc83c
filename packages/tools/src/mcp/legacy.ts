import { randomUUID } from 'node:crypto';
import {
  WebStandardStreamableHTTPServerTransport,
  isInitializeRequest,
  legacyStatelessFallback,
  type EventStore,
  type McpServer,
} from '@modelcontextprotocol/server';
import { answeredBy } from './answered.ts';
import type { McpCaller, ServerFor } from './caller.ts';

export interface LegacyOptions {
  /** Connections that are remembered; beyond this, the one that was used longest ago is not. */
  readonly maxSessions?: number;
  /** Keeps what was sent, for clients that take up a broken stream. */
  readonly eventStore?: EventStore;
  readonly retryIntervalMs?: number;
}

interface LegOptions extends LegacyOptions {
  readonly serverFor: ServerFor;
  readonly onError: (error: Error) => void;
  readonly maxBodyBytes: number;
}

interface Connection {
  readonly key: string;
  readonly server: McpServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}

const SESSIONS = 1_000;
/** Of one caller, so that whoever opens many makes none of the others be forgotten. */
const SESSIONS_OF_ONE = 16;
const ENDED = 1_000;
const SESSION_HEADER = 'mcp-session-id';

/**
 * The 2025 era over HTTP. Its sessions only join the requests of a connection, for cancelling and for streams that
 * listen; nothing that lasts is kept in them. So one that is not known (the daemon was started again, or many came since)
 * is served all the same, request by request, and its client need not notice. One that its client ended, or that is
 * another caller's, does not exist.
 */
export class LegacyLeg {
  readonly #options: LegOptions;
  readonly #sessions = new Map<string, Connection>();
  /** Sessions that their clients ended, the last of them: these do not come back. */
  readonly #ended = new Set<string>();
  /** Streams that listen without a session. */
  readonly #listeners = new Set<McpServer>();

  constructor(options: LegOptions) {
    this.#options = options;
  }

  async serve(request: Request, caller: McpCaller, body: unknown): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    const known = id === null ? undefined : this.#sessions.get(id);
    if (id !== null && known) {
      if (known.key !== caller.key) return notFound();
      this.#sessions.delete(id);
      this.#sessions.set(id, known);
      const response = await known.transport.handleRequest(request, { parsedBody: body });
      answeredBy(known.server).hear(body);
      return response;
    }
    if (id !== null && this.#ended.has(id)) return notFound();
    if (request.method === 'POST') {
      if (isInitializeRequest(body)) return this.#open(request, caller, body);
      return this.#once(request, caller, body);
    }
    return request.method === 'GET' ? this.#listen(request, caller) : notFound();
  }

  toolsChanged(): void {
    for (const { server } of this.#sessions.values()) server.sendToolListChanged();
    for (const server of this.#listeners) server.sendToolListChanged();
  }

  async close(): Promise<void> {
    const servers = [...[...this.#sessions.values()].map(({ server }) => server), ...this.#listeners];
    this.#sessions.clear();
    this.#listeners.clear();
    await Promise.all(servers.map((server) => server.close()));
  }

  async #open(request: Request, caller: McpCaller, body: unknown): Promise<Response> {
    const { serverFor, eventStore, retryIntervalMs, maxBodyBytes } = this.#options;
    const id = randomUUID();
    const server = serverFor(caller, id);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessioninitialized: () => this.#remember(id, { key: caller.key, server, transport }),
      onsessionclosed: () => this.#end(id),
      maxRequestBodySize: maxBodyBytes,
      ...(eventStore === undefined ? {} : { eventStore }),
      ...(retryIntervalMs === undefined ? {} : { retryInterval: retryIntervalMs }),
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request, { parsedBody: body });
    if (!this.#sessions.has(id)) await server.close();
    return response;
  }

  /** Forgetting a connection ends its calls, as if it had broken: what they waited for comes by mail. */
  #remember(id: string, connection: Connection): void {
    this.#sessions.set(id, connection);
    const own = [...this.#sessions].filter(([, { key }]) => key === connection.key);
    if (own.length > SESSIONS_OF_ONE) this.#forget(own);
    if (this.#sessions.size > (this.#options.maxSessions ?? SESSIONS)) this.#forget(this.#sessions);
  }

  /** Forgets the first of these, which is the one that was used longest ago. */
  #forget([oldest]: Iterable<[string, Connection]>): void {
    if (!oldest) return;
    const [id, { server }] = oldest;
    this.#sessions.delete(id);
    server.close().catch(this.#options.onError);
  }

  #end(id: string): void {
    this.#sessions.delete(id);
    this.#ended.add(id);
    const [oldest] = this.#ended;
    if (this.#ended.size > ENDED && oldest !== undefined) this.#ended.delete(oldest);
  }

  /** One request, with nothing before it and nothing after. */
  #once(request: Request, caller: McpCaller, body: unknown): Promise<Response> {
    const { serverFor, onError, maxBodyBytes } = this.#options;
    // The name of a session that was forgotten still tells this connection's calls from others.
    const connection = request.headers.get(SESSION_HEADER);
    const serve = legacyStatelessFallback(() => serverFor(caller, connection), onError, {
      maxRequestBodySize: maxBodyBytes,
    });
    return serve(request, { parsedBody: body });
  }

  async #listen(request: Request, caller: McpCaller): Promise<Response> {
    const server = this.#options.serverFor(caller, null);
    const transport = new WebStandardStreamableHTTPServerTransport({});
    await server.connect(transport);
    const response = await transport.handleRequest(request);
    if (!response.ok) {
      await server.close();
      return response;
    }
    this.#listeners.add(server);
    const leave = (): void => {
      this.#listeners.delete(server);
      server.close().catch(this.#options.onError);
    };
    request.signal.addEventListener('abort', leave, { once: true });
    if (request.signal.aborted) leave();
    return response;
  }
}

const notFound = (): Response =>
  Response.json(
    { jsonrpc: '2.0', error: { code: -32_001, message: 'Session not found' }, id: null },
    { status: 404 },
  );
