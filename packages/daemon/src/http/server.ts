import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { ReveilleError, type ErrorCode } from '@reveille/protocol';
import type { Config } from '../config/schema.ts';
import type { Log } from '../log/log.ts';
import { pathOf, sendError, type Exchange } from './answer.ts';
import type { App } from './app.ts';
import { refusal, setHeaders } from './headers.ts';

const HEADER_BYTES = 16 * 1024;
const HEADER_COUNT = 100;

export interface HttpServer {
  readonly port: number;
  /** From now on requests are answered; until then they wait. */
  serve(app: App['hono']): void;
  /** No new connections; those that are open have so long to end. */
  close(graceMs: number): Promise<void>;
}

/** Listens on loopback, on the port that was wished for or, if another has it, on one that is free. */
export async function listen(limits: Config['daemon'], log: Log, wished = 0): Promise<HttpServer> {
  let serve: (app: App['hono']) => void = () => undefined;
  const served = new Promise<App['hono']>((resolve) => (serve = resolve));
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
  server.maxConnections = limits.connections;
  server.maxHeadersCount = HEADER_COUNT;
  await bind(server, wished).catch(() => bind(server, 0));
  const { port } = server.address() as AddressInfo;
  server.on('request', (request, response) => {
    const exchange = begin(request, response, log);
    const refused = refusal(request, port);
    if (refused) return refuse(exchange, refused);
    served.then((app) => answer(app, exchange)).catch((error: unknown) => sendError(exchange, error));
  });
  server.on('clientError', (error, socket) => spoiled(error, socket as Socket, log));
  server.on('drop', countingDrops(log));
  return { port, serve, close: (graceMs) => close(server, graceMs) };
}

function bind(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function begin(request: IncomingMessage, response: ServerResponse, log: Log): Exchange {
  const id = `http_${randomBytes(8).toString('hex')}`;
  const started = performance.now();
  const exchange = { request, response, id, log };
  setHeaders(response);
  response.once('close', () => {
    const { statusCode: status, writableFinished: finished } = response;
    const what = { request: id, method: request.method, path: pathOf(request), status, finished };
    const ms = Math.round(performance.now() - started);
    if (isRefused(exchange, status)) log.warn('a request was refused', { ...what, ms });
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
