import { randomBytes } from 'node:crypto';
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, ListenOptions as ListenAddress, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { ReveilleError, type Caller, type ErrorCode } from '@reveille/protocol';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log/log.ts';
import { pathOf, sendError, type Exchange } from './answer.ts';
import type { App } from './app.ts';
import { Connections } from './connections.ts';
import { refusal, setHeaders } from './headers.ts';
import { RunQuota } from './run-quota.ts';

const HEADER_BYTES = 16 * 1024;
const HEADER_COUNT = 100;
/** Linux has room for 108 bytes in the address of a socket, macOS for 104, with the zero at their end. */
const LONGEST_SOCKET = process.platform === 'linux' ? 107 : 103;

export interface HttpServer {
  readonly port: number;
  /** From now on requests are answered; until then they wait. */
  serve(app: App['hono']): void;
  /** No new connections; those that are open have so long to end. */
  close(graceMs: number): Promise<void>;
  /** Ends all connections at once, and leaves the socket in its folder, which may be another daemon's by now. */
  cut(): void;
}

interface ListenOptions {
  readonly limits: Config['daemon'];
  readonly log: Log;
  /** The port to listen on, if no other process has it. */
  readonly wished: number;
  /** Where the person's own socket is to be. */
  readonly socket: string;
  /** Who sends a request; null: nobody we know. */
  readonly callerOf: (request: IncomingMessage) => Caller | null;
  /** Why nothing is acknowledged any more; null: it is. */
  readonly lost: Exchange['lost'];
}

/**
 * Listens on loopback, and on a socket that only this user can reach. What agents do on the port, with or without a
 * credential, takes no place of those who come by the socket: the command line and the hooks do (BND7.22).
 */
export async function listen(options: ListenOptions): Promise<HttpServer> {
  let serve: (app: App['hono']) => void = () => undefined;
  const served = new Promise<App['hono']>((resolve) => (serve = resolve));
  const quota = new RunQuota(options.limits);
  const making = { ...options, served, quota };
  const onPort = makeServer(making, () => port);
  await bindPort(onPort, options.wished).catch(() => bindPort(onPort, 0));
  const { port } = onPort.address() as AddressInfo;
  const onSocket = makeServer(making, () => port);
  const servers = (await bindSocket(onSocket, options)) ? [onPort, onSocket] : [onPort];
  const closeAll = async (graceMs: number): Promise<void> => {
    await Promise.all(servers.map((server) => close(server, graceMs)));
  };
  const cut = (): void => servers.forEach((server) => server.closeAllConnections());
  return { port, serve, close: closeAll, cut };
}

interface MakeOptions extends ListenOptions {
  readonly served: Promise<App['hono']>;
  readonly quota: RunQuota;
}

function makeServer(options: MakeOptions, port: () => number): Server {
  const { limits, log, callerOf, served, quota } = options;
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs, limits.requestMs),
    // Both are what Node does by itself, and what a stray command-line switch could change.
    insecureHTTPParser: false,
    requireHostHeader: true,
  });
  server.maxHeadersCount = HEADER_COUNT;
  const connections = new Connections(limits, countingDrops(log));
  server.on('connection', (socket) => connections.opened(socket));
  server.on('request', (request, response) => {
    const exchange = begin(request, response, options);
    const caller = callerOf(request);
    const full = connections.asked(request.socket, caller);
    if (full !== null) return tooMany(exchange, full);
    // A connection that nobody answers for is not kept for a next request.
    if (!caller) response.setHeader('connection', 'close');
    const refused = refusal(request, port());
    if (refused) return refuse(exchange, refused);
    const spent = caller?.kind === 'worker' ? quota.take(caller.run, request, response) : null;
    if (spent) return tooMany(exchange, spent.why, spent.retryS);
    served.then((app) => answer(app, exchange)).catch((error: unknown) => sendError(exchange, error));
  });
  server.on('clientError', (error, socket) => spoiled(error, socket as Socket, log));
  return server;
}

function bindPort(server: Server, port: number): Promise<void> {
  return bind(server, { host: '127.0.0.1', port, exclusive: true });
}

/** False: there can be none here, because the path is too long for the system or its file system has no sockets. */
async function bindSocket(server: Server, { socket, log }: ListenOptions): Promise<boolean> {
  try {
    if (Buffer.byteLength(socket) > LONGEST_SOCKET)
      throw new Error(`its path is longer than ${LONGEST_SOCKET} bytes`);
    // Left by a daemon that was killed: whoever starts one holds the guard, so nobody listens there.
    rmSync(socket, { force: true });
    await bind(server, { path: socket });
    chmodSync(socket, 0o600);
    return true;
  } catch (error) {
    log.warn('there is no socket for the person; all calls come by the port', {
      socket,
      error: String(error),
    });
    return false;
  }
}

function bind(server: Server, where: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function begin(
  request: IncomingMessage,
  response: ServerResponse,
  { log, lost }: Pick<ListenOptions, 'log' | 'lost'>,
): Exchange {
  const id = `http_${randomBytes(8).toString('hex')}`;
  const started = performance.now();
  const exchange = { request, response, id, log, lost };
  setHeaders(response);
  response.once('close', () => {
    const { statusCode: status, writableFinished: finished } = response;
    const what = { request: id, method: request.method, path: pathOf(request), status, finished };
    const ms = Math.round(performance.now() - started);
    const level = isFarewell(exchange, status) ? 'info' : 'warn';
    if (isRefused(exchange, status)) log[level]('a request was refused', { ...what, ms });
    else log.debug('a request was answered', { ...what, ms });
  });
  // A connection that breaks is the reader's affair; without a listener it would be ours.
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  return exchange;
}

/** Refused before anybody asked who calls: nobody has a good reason for one of these. */
const atTheDoor = new WeakSet<Exchange>();

/** What is not there, or not in the right state, is an ordinary answer. */
const isRefused = (exchange: Exchange, status: number): boolean =>
  atTheDoor.has(exchange) || (status >= 400 && status !== 404 && status !== 409);

/** An agent whose run has ended closes its connection to our tools, with a token that counts no longer. */
const isFarewell = ({ request }: Exchange, status: number): boolean =>
  status === 401 && request.method === 'DELETE' && pathOf(request) === '/mcp';

function answer(app: App['hono'], exchange: Exchange): Promise<void> {
  const { request, response } = exchange;
  const listener = getRequestListener(
    (web, env) => app.fetch(web, { ...env, incoming: request, outgoing: response, exchange }),
    {
      overrideGlobalObjects: false,
      errorHandler: (error) => {
        sendError(exchange, error);
      },
    },
  );
  return listener(request, response);
}

const CODES: Readonly<Record<number, ErrorCode>> = { 403: 'not_allowed', 404: 'not_found' };

function refuse(exchange: Exchange, { status, why }: { status: number; why: string }): void {
  atTheDoor.add(exchange);
  sendError(exchange, new ReveilleError(CODES[status] ?? 'invalid_input', why), status);
}

function tooMany(exchange: Exchange, why: string, retryS = 1): void {
  exchange.response.setHeader('connection', 'close').setHeader('retry-after', String(retryS));
  sendError(exchange, new ReveilleError('limit_reached', why, { data: { retryAfterMs: retryS * 1_000 } }));
}

const SPOILED: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** What is no HTTP, came too slowly, or has two meanings. */
function spoiled(error: Error, socket: Socket, log: Log): void {
  const code = 'code' in error ? String(error.code) : '';
  if (code !== 'ECONNRESET') log.warn('a connection was refused', { code });
  const status = SPOILED[code] ?? '400 Bad Request';
  if (!socket.writable) return void socket.destroy();
  // Whoever does not close its side, or does not read, must not keep ours.
  const head = `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
  socket.end(head, () => socket.destroy());
}

/** There may be thousands in a second. */
function countingDrops(log: Log): () => void {
  let dropped = 0;
  return () => {
    if (dropped++ > 0) return;
    setTimeout(() => {
      log.warn('connections were dropped: there are too many', { dropped });
      dropped = 0;
    }, 1_000).unref();
  };
}

function close(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
