import { lookup } from 'node:dns/promises';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { AllowList, parseTarget, type Target } from './hosts.ts';
import { splice } from './splice.ts';

/** The addresses of a name. Handed in by tests; else the system's. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export interface ProxyOptions {
  readonly hosts: readonly string[];
  readonly resolve?: Resolve;
}

/** Headers that are about one hop, and not for the next one (RFC 9110, 7.6.1). */
const HOP = [
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
];

const CONNECT_MS = 30_000;

/**
 * An HTTP proxy that lets through what a list names, and nothing else: CONNECT for TLS, absolute requests for plain
 * HTTP. The name is looked up here, its address is checked, and that same address is connected to, so what a name
 * points to cannot change in between. It does not look into TLS: whoever runs a listed host decides what is behind it.
 *
 * It only makes the server; who calls decides where it listens.
 */
export function createProxy(options: ProxyOptions): Server {
  const list = new AllowList(options.hosts);
  const resolve = options.resolve ?? resolveBySystem;
  const server = createServer((incoming, response) => void forward(list, resolve, incoming, response));
  server.on('connect', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    client.on('error', () => client.destroy());
    void tunnel({ list, resolve, authority: incoming.url ?? '', client, head });
  });
  server.on('upgrade', (_incoming, client: Socket) => client.end(answer(501, 'Use CONNECT.')));
  server.on('clientError', (_error, client: Socket) => client.end(answer(400, 'Not a request.')));
  return server;
}

async function resolveBySystem(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Why not, in words for whoever reads them inside the sandbox; or the address to connect to. */
type Admission = { readonly address: string } | { readonly status: 403 | 502; readonly why: string };

async function admit(list: AllowList, resolve: Resolve, target: Target): Promise<Admission> {
  const { host, port } = target;
  if (!list.allows(target))
    return { status: 403, why: `${host}:${port} is not in the list of hosts this agent may reach.` };
  if (isIP(host)) return { address: host };
  const addresses = await resolve(host).catch(() => []);
  const address = addresses.find((each) => list.allowsAddress(each, port));
  if (address !== undefined) return { address };
  if (addresses.length === 0) return { status: 502, why: `${host} has no address.` };
  return {
    status: 403,
    why: `${host} points into this machine or a private network, and that address is not listed.`,
  };
}

interface Tunnel {
  readonly list: AllowList;
  readonly resolve: Resolve;
  readonly authority: string;
  readonly client: Socket;
  readonly head: Buffer;
}

async function tunnel({ list, resolve, authority, client, head }: Tunnel): Promise<void> {
  const target = parseTarget(authority);
  if (target === null) return void client.end(answer(400, 'CONNECT needs host:port.'));
  const admission = await admit(list, resolve, target);
  if ('why' in admission) return void client.end(answer(admission.status, admission.why));
  const server = dial(admission.address, target.port);
  server.once('connect', () => {
    server.setTimeout(0);
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) server.write(head);
    splice(client, server);
  });
  server.on('error', () => {
    if (server.connecting || server.pending) client.end(answer(502, `${target.host} does not answer.`));
  });
  client.once('close', () => server.destroySoon());
}

function dial(address: string, port: number): Socket {
  const socket = connect({ host: address, port, allowHalfOpen: true });
  socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('No connection in time.')));
  return socket;
}

async function forward(
  list: AllowList,
  resolve: Resolve,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = parseUrl(incoming.url ?? '');
  const target = url === null ? null : parseTarget(url.host, 80);
  if (url === null || target === null)
    return refuse(response, 400, 'A proxy takes absolute http: addresses.');
  const admission = await admit(list, resolve, target);
  if ('why' in admission) return refuse(response, admission.status, admission.why);
  // The name that was checked is the name the server is asked for, whatever the client wrote as Host.
  const headers = { ...incoming.headers, host: url.host };
  for (const name of HOP) delete (headers as NodeJS.Dict<unknown>)[name];
  const outgoing = request(
    {
      host: admission.address,
      port: target.port,
      method: incoming.method,
      path: url.pathname + url.search,
      headers,
    },
    (answered) => {
      response.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(response);
      answered.once('error', () => response.destroy());
    },
  );
  outgoing.once('error', () => {
    if (response.headersSent) response.destroy();
    else refuse(response, 502, `${target.host} does not answer.`);
  });
  response.once('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

function parseUrl(text: string): URL | null {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && url.username === '' && url.password === '' ? url : null;
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  response.end(`${why}\n`);
}

function answer(status: number, why: string): string {
  const words =
    { 400: 'Bad Request', 403: 'Forbidden', 501: 'Not Implemented', 502: 'Bad Gateway' }[status] ?? '';
  return `HTTP/1.1 ${status} ${words}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${why}\n`;
}
