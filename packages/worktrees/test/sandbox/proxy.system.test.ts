import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type Server } from 'node:http';
import { connect, createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createProxy } from '../../src/sandbox/proxy.ts';
import { holdUnheardPort } from './unheard.ts';

let closers: (() => Promise<unknown>)[];
beforeEach(() => {
  closers = [];
});
afterEach(async () => {
  for (const close of closers.toReversed()) await close();
});

async function listen(server: NetServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

const requests: IncomingMessage[] = [];

async function startOrigin(): Promise<number> {
  requests.length = 0;
  const server: Server = createHttpServer((request, response) => {
    requests.push(request);
    response.writeHead(201, { 'x-origin': 'yes' });
    request.pipe(response);
  });
  return listen(server);
}

const startProxy = async (hosts: string[], addresses: Record<string, string[]> = {}): Promise<number> =>
  listen(createProxy({ hosts, resolve: async (host) => addresses[host] ?? ['127.0.0.1'] }));

/** Everything the proxy says to these bytes. */
async function say(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write(bytes);
  return text(socket);
}

describe('the proxy', () => {
  test('[BND2.9] carries a tunnel both ways, to its end', async () => {
    const upstream = await listen(createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)));
    const proxy = await startProxy([`a.test:${upstream}`, `127.0.0.1:${upstream}`]);
    const socket = connect({ port: proxy, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(`CONNECT a.test:${upstream} HTTP/1.1\r\nHost: whatever\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 /);
    const much = 'x'.repeat(2_000_000);
    socket.end(much);
    expect(await text(socket)).toBe(much);
  });

  test('[BND2.9] sends on what came with the CONNECT itself', async () => {
    const upstream = await listen(
      createServer((socket) => socket.once('data', (data) => socket.end(`got ${String(data)}`))),
    );
    const proxy = await startProxy([`a.test:${upstream}`, `127.0.0.1:${upstream}`]);
    expect(await say(proxy, `CONNECT a.test:${upstream} HTTP/1.1\r\n\r\nearly`)).toMatch(/200[^]*got early$/);
  });

  test('[BND2.9] carries plain requests, with the name that was checked and without what is for one hop', async () => {
    const origin = await startOrigin();
    const proxy = await startProxy([`a.test:${origin}`, `127.0.0.1:${origin}`]);
    const answered = await say(
      proxy,
      `POST http://a.test:${origin}/path?q=1 HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: Basic eA==\r\nX-Mine: 1\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody`,
    );
    expect(answered).toMatch(/^HTTP\/1\.1 201 /);
    expect(answered).toMatch(/x-origin: yes/i);
    expect(answered).toMatch(/body/);
    expect(requests[0]).toMatchObject({
      method: 'POST',
      url: '/path?q=1',
      headers: { host: `a.test:${origin}`, 'x-mine': '1' },
    });
    expect(requests[0]!.headers).not.toHaveProperty('proxy-authorization');
  });

  test.each([
    ['a name that is not listed', 'CONNECT other.test:443 HTTP/1.1\r\n\r\n', 403],
    ['another port', 'CONNECT a.test:22 HTTP/1.1\r\n\r\n', 403],
    ['an address', 'CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n', 403],
    ['the loopback written otherwise', 'CONNECT 2130706433:443 HTTP/1.1\r\n\r\n', 403],
    ['version 6', 'CONNECT [::1]:443 HTTP/1.1\r\n\r\n', 403],
    ['no port', 'CONNECT a.test HTTP/1.1\r\n\r\n', 400],
    ['a user in front', 'CONNECT x@a.test:443 HTTP/1.1\r\n\r\n', 400],
    [
      'a plain request to another',
      'GET http://other.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n',
      403,
    ],
    [
      'a user in an address',
      'GET http://a.test:80@other.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n',
      400,
    ],
    [
      'TLS without a tunnel',
      'GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n',
      400,
    ],
    ['a file', 'GET file:///etc/passwd HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n', 400],
    ['a relative request', 'GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n', 400],
    [
      'an upgrade',
      'GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
      501,
    ],
    ['what is no request', 'hello\r\n\r\n', 400],
    ['a NUL in the name', Buffer.from('CONNECT evil.test\0.a.test:443 HTTP/1.1\r\n\r\n'), 400],
    ['a listed name that points inwards', 'CONNECT a.test:443 HTTP/1.1\r\n\r\n', 403],
    ['one without an address', 'CONNECT none.test:443 HTTP/1.1\r\n\r\n', 502],
  ])('[BND2.9] refuses %s', async (_name, bytes, status) => {
    const proxy = await startProxy(['a.test', '*.a.test', 'none.test'], { 'none.test': [] });
    expect(await say(proxy, bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test('[BND2.9] connects to the address that was checked, asking for it once', async () => {
    const origin = await startOrigin();
    const asked: string[] = [];
    const proxy = await listen(
      createProxy({
        hosts: [`a.test:${origin}`, `127.0.0.1:${origin}`],
        // The second answer would be another machine: a name that is changed between the check and the use.
        resolve: async (host) => (asked.push(host) === 1 ? ['10.1.2.3', '127.0.0.1'] : ['10.1.2.3']),
      }),
    );
    expect(
      await say(proxy, `GET http://a.test:${origin}/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 201 /);
    expect(asked).toEqual(['a.test']);
  });

  test('[BND2.9] says so if nobody answers there', async () => {
    await using unheard = await holdUnheardPort();
    const { port } = unheard;
    const proxy = await startProxy([`a.test:${port}`, `127.0.0.1:${port}`]);
    expect(await say(proxy, `CONNECT a.test:${port} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1\.1 502 /);
    expect(
      await say(proxy, `GET http://a.test:${port}/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 502 /);
  });
});
