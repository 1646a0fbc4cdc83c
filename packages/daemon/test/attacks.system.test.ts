import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HTTP_OPERATION_NAMES, HTTP_ROUTES } from '@reveille/protocol';
import { until } from './house.ts';
import { OverHttp } from './inside.ts';
import { parse, readAll, request, wire, type Sent } from './wire.ts';

/** What must be on every answer, whoever asks. */
const PROTECTED = {
  'content-security-policy': expect.stringContaining("default-src 'none'"),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};
const PATHS = Object.values(HTTP_ROUTES).flatMap(({ method, path }) =>
  path.includes(':operation')
    ? HTTP_OPERATION_NAMES.map((name) => ({ method, path: path.replace(':operation', name) }))
    : [{ method, path: path.replace(':attachment', 'a1').replace(':view', 'board') }],
);

describe('attacks on the door', () => {
  let door: OverHttp;
  beforeAll(async () => {
    door = await OverHttp.open();
  });
  afterAll(async () => {
    // Nobody got in: nothing was changed, and it still answers.
    expect(await door.person.listPlans()).toEqual([]);
    expect((await door.person.health()).state).toBe('running');
    // Each of them is in the log.
    const told = (): number => door.log.split('"message":"a request was refused"').length - 1;
    await until(() => told() >= refused);
    await door[Symbol.asyncDispose]();
  });

  let refused = 0;
  const send = async (sent: Sent, token = door.token) => {
    const answer = await wire(door.port, request(door.port, token, sent));
    // What is no HTTP at all has no request.
    if (answer.status > 400 && answer.status !== 404 && answer.status !== 431) refused++;
    expect(answer.text).not.toMatch(/\bat .*\.ts|node_modules|node:internal/);
    expect(answer.text.toLowerCase()).not.toContain('access-control');
    return answer;
  };

  test('[DMN1.27] the farewell of an agent whose run has ended is refused, and no warning', async () => {
    const options = { method: 'DELETE', headers: { authorization: `Bearer ${'x'.repeat(43)}` } };
    expect((await fetch(`http://127.0.0.1:${door.port}/mcp`, options)).status).toBe(401);
    refused++;
    const line = (): string | undefined =>
      door.log
        .split('\n')
        .find((each) => each.includes('"method":"DELETE"') && each.includes('"path":"/mcp"'));
    await until(() => line() !== undefined);
    expect(line()).toContain('"level":"info"');
  });

  test('[DMN1.20] it listens on loopback only', async () => {
    const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const others = addresses.filter(({ address }) => address !== '127.0.0.1' && !address.startsWith('fe80'));
    for (const { address } of [...others, { address: '127.0.0.2' }]) {
      const socket = connect(door.port, address);
      const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
      expect([address, error.code]).toEqual([address, 'ECONNREFUSED']);
    }
    if (process.platform !== 'linux') return;
    const sockets = ['tcp', 'tcp6'].flatMap((table) =>
      readFileSync(`/proc/net/${table}`, 'utf8').split('\n').slice(1),
    );
    const hex = door.port.toString(16).toUpperCase().padStart(4, '0');
    const listening = sockets
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === '0A' && local?.endsWith(`:${hex}`));
    expect(listening.map(([, local]) => local)).toEqual([`0100007F:${hex}`]);
  });

  test('[DMN1.21] no route answers without a credential, and none says whether it exists', async () => {
    const bad = [undefined, 'Bearer', 'Bearer ', 'Bearer x', `Basic ${btoa(`x:${door.token}`)}`, door.token];
    bad.push(`Bearer ${door.token}x`, `Bearer ${door.token.slice(0, -1)}`, `Bearer ${door.token} x`);
    bad.push('Bearer rvs_session_1.AAAA', 'Bearer rvr_run_1.session_1.1.AAAA', `Bearer ${'a'.repeat(5_000)}`);
    const paths = [
      ...PATHS,
      { method: 'GET', path: '/' },
      { method: 'POST', path: '/mcp' },
      { method: 'GET', path: '/v1/nothing' },
    ];
    for (const { method, path } of paths) {
      for (const authorization of path.startsWith('/v1/op') ? bad.slice(0, 4) : bad) {
        const { status, body, headers } = await send({ method, path, headers: { authorization } });
        expect(status, `${method} ${path} ${authorization}`).toBe(401);
        expect(JSON.parse(body)).toMatchObject({ error: { code: 'unauthorized' } });
        expect(headers).toMatchObject(PROTECTED);
      }
    }
    expect(paths.length).toBeGreaterThan(45);
  });

  test('[DMN1.21] a token in the address is worth nothing and is not written down', async () => {
    for (const name of ['token', 'access_token', 'authorization']) {
      const path = `/v1/health?${name}=${door.token}`;
      expect((await send({ method: 'GET', path, headers: { authorization: undefined } })).status).toBe(401);
    }
    expect(door.log).not.toContain(door.token);
    expect(door.log).not.toContain('access_token');
  });

  test('[DMN1.22] another host (a name that resolves to us) is refused', async () => {
    const { port } = door;
    const hosts = [
      'evil.com',
      `evil.com:${port}`,
      `localhost.evil.com:${port}`,
      '127.0.0.1',
      'localhost',
      `127.0.0.1:${port}.evil.com`,
    ];
    hosts.push(
      `127.0.0.1:${port + 1}`,
      `127.0.0.1:${port}@evil.com`,
      `0.0.0.0:${port}`,
      `[::1]:${port}`,
      `127.0.0.1.:${port}`,
      `127.1:${port}`,
      '',
    );
    for (const host of hosts) expect([host, (await send({ headers: { host } })).status]).toEqual([host, 403]);
    expect((await send({ headers: { host: undefined } })).status).toBe(400);
    expect((await send({ path: 'http://evil.com/v1/op/listPlans' })).status).toBe(404);
    expect((await send({ headers: { host: `LOCALHOST:${port}` } })).status).toBe(200);
  });

  test('[DMN1.22] another origin or site is refused, with whatever credential', async () => {
    const { port } = door;
    const origins = [
      'https://evil.com',
      'null',
      '',
      'http://localhost.evil.com',
      `http://127.0.0.1:${port}@evil.com`,
    ];
    origins.push(
      `http://127.0.0.1:${port + 1}`,
      `https://127.0.0.1:${port}`,
      `http://127.0.0.1:${port}/`,
      `http://127.0.0.1:${port}.evil.com`,
    );
    origins.push(
      `http://evil.com#http://127.0.0.1:${port}`,
      'file://',
      'vscode-webview://x',
      `HTTP://127.0.0.1:${port}`,
    );
    for (const origin of origins) {
      for (const { method, path } of [
        HTTP_ROUTES.health,
        HTTP_ROUTES.events,
        { method: 'POST', path: '/v1/op/listPlans' },
      ])
        expect([origin, (await send({ method, path, headers: { origin } })).status]).toEqual([origin, 403]);
    }
    for (const site of ['cross-site', 'same-site', 'x'])
      expect((await send({ headers: { 'sec-fetch-site': site } })).status).toBe(403);
    expect(
      (await send({ headers: { origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' } }))
        .status,
    ).toBe(200);
  });

  test('[DMN1.22] a preflight is refused without a word of CORS', async () => {
    const headers = {
      origin: 'https://evil.com',
      'access-control-request-method': 'POST',
      'access-control-request-private-network': 'true',
    };
    expect((await send({ method: 'OPTIONS', headers })).status).toBe(403);
    expect((await send({ method: 'OPTIONS' })).status).toBe(405);
  });

  test('[DMN1.23] methods, paths and upgrades that we do not have', async () => {
    for (const method of ['PUT', 'PATCH', 'HEAD', 'TRACE', 'PROPFIND', 'OPTIONS'])
      expect([method, (await send({ method })).status]).toEqual([method, 405]);
    const paths = [
      '/v1/op/../health',
      '/v1/%2e%2e/health',
      '/v1/..%5chealth',
      '/v1/op/%252e%252e',
      '//v1/health',
      '/v1//health',
    ];
    paths.push(
      '/v1/health%00',
      '/v1/health;a',
      '/v1/héalth',
      '/v1\\health',
      '/.',
      '/v1/op/',
      '/v1/op/listPlans/x',
      '/V1/HEALTH',
      '*',
    );
    for (const path of paths) {
      const { status } = await send({ method: 'GET', path });
      expect([400, 404], `${path} → ${status}`).toContain(status);
    }
    expect((await send({ path: `/v1/health?${'a'.repeat(3_000)}` })).status).toBe(414);
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'x',
      'sec-websocket-version': '13',
    };
    expect((await send({ method: 'GET', headers: upgrade })).status).toBe(400);
    const hijack = { ...upgrade, origin: 'https://evil.com' };
    for (const path of ['/', '/v1/events', '/mcp'])
      expect((await send({ method: 'GET', path, headers: hijack })).status).toBe(403);
    expect(
      (await wire(door.port, `CONNECT evil.com:443 HTTP/1.1\r\nhost: evil.com:443\r\n\r\n`)).status,
    ).not.toBe(200);
  });

  test('[DMN1.23] no GET changes anything', async () => {
    for (const { method, path } of PATHS) {
      if (method === 'GET') continue;
      const { status } = await send({ method: 'GET', path });
      expect([path, status]).toEqual([path, 404]);
    }
    expect((await door.person.health()).state).toBe('running');
  });

  test('[DMN1.23] a request with two meanings is refused', async () => {
    const { port, token } = door;
    const good = request(port, token);
    const line = (name: string, value: string) =>
      good.replace('\r\nconnection:', `\r\n${name}: ${value}\r\nconnection:`);
    const twice = {
      'content-length': line('Content-Length', '3'),
      'same content-length': line('Content-Length', '2'),
      'length and chunks': line('Transfer-Encoding', 'chunked'),
      'odd encoding': line('Transfer-Encoding', 'xchunked'),
      host: line('Host', 'evil.com'),
      'same host': line('HOST', `127.0.0.1:${port}`),
      authorization: line('Authorization', 'Bearer x'),
      origin: good.replace(
        '\r\nconnection:',
        `\r\norigin: http://127.0.0.1:${port}\r\norigin: null\r\nconnection:`,
      ),
      'content-type': line('content-type', 'text/plain'),
      'folded header': good.replace('\r\nconnection:', '\r\nx: a\r\n b: c\r\nconnection:'),
      'bare newline': good.replace('\r\nconnection:', '\nx: y\r\nconnection:'),
      'space before colon': line('Content-Length ', '2'),
      'nul in a header': line('x', 'a\0b'),
      'negative length': good.replace('content-length: 2', 'content-length: -2'),
      'hex length': good.replace('content-length: 2', 'content-length: 0x2'),
      'huge length': good.replace('content-length: 2', 'content-length: 99999999999999999999'),
      'no version': good.replace(' HTTP/1.1', ''),
      'old version': good.replace('HTTP/1.1', 'HTTP/0.9'),
      'http/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      tls: '\u0016\u0003\u0001\u0000\u0001',
      noise: '\u0000\u00ff\u0001\r\n\r\n',
    };
    for (const [name, text] of Object.entries(twice)) {
      const { status } = await wire(port, Buffer.from(text, 'latin1'));
      expect([name, status]).toEqual([name, status >= 400 && status < 500 ? status : 400]);
    }
  });

  test('[DMN1.23] what follows a refused request on the same connection is not taken for another', async () => {
    const { port, token } = door;
    const hidden = request(port, token, { path: HTTP_ROUTES.stop.path, body: '{}' });
    const body = `[]${' '.repeat(10)}${hidden}`;
    // Refused before its body is read: the body must not become a request.
    const refused = request(port, 'wrong', { body, headers: { connection: 'keep-alive' } });
    const { text } = await wire(port, refused);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect((await door.person.health()).state).toBe('running');
  });

  test('[DMN1.24] a form of a web page, or anything that is not said to be JSON, is refused', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      undefined,
      'application/jsonx',
      'text/json',
    ])
      expect([type, (await send({ headers: { 'content-type': type } })).status]).toEqual([type, 400]);
    expect((await send({ headers: { 'content-type': 'application/json; charset=utf-8' } })).status).toBe(200);
    for (const encoding of ['gzip', 'br', 'identity', 'x'])
      expect((await send({ headers: { 'content-encoding': encoding } })).status).toBe(400);
  });

  test('[DMN1.24] a body that is no JSON is refused, and not repeated', async () => {
    for (const body of [
      '',
      'canary',
      '[',
      '{"a":canary}',
      '[1,]',
      "['canary']",
      '\u0000',
      '[]x',
      'NaN',
      '[1e999]canary',
    ]) {
      const answer = await send({ body });
      expect([body, answer.status]).toEqual([body, 400]);
      expect(answer.body).not.toContain('canary');
    }
    const bytes = Buffer.concat([
      Buffer.from(request(door.port, door.token, { headers: { 'content-length': '4' }, body: '' })),
      Buffer.from([0x22, 0xff, 0xfe, 0x22]),
    ]);
    expect((await wire(door.port, bytes)).status).toBe(400);
  });

  test('[DMN1.24] depth and names that could pollute are refused', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const objects = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    for (const body of [
      deep,
      `[${objects}]`,
      '[{"__proto__":{"polluted":1}}]',
      '[{"a":[{"\\u005f_proto__":1}]}]',
    ])
      expect((await send({ path: '/v1/op/savePlan', body })).status).toBe(400);
    const named = JSON.stringify([{ name: 'p', constructor: { prototype: { polluted: 1 } }, tasks: [] }]);
    expect((await send({ path: '/v1/op/savePlan', body: named })).status).toBe(400);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test('[DMN1.24] a body that is too large is refused, announced or not, and is not kept', async () => {
    const { port, token } = door;
    const megabyte = 2 ** 20;
    const announced = request(port, token, { headers: { 'content-length': String(2 ** 30) }, body: '' });
    expect((await wire(port, announced)).status).toBe(413);
    const chunked = request(port, token, {
      headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' },
      body: '',
    });
    const chunk = `${megabyte.toString(16)}\r\n${' '.repeat(megabyte)}\r\n`;
    expect((await wire(port, chunked + chunk.repeat(2))).status).toBe(413);
    // A plan may be larger than other things, but not without end.
    const plan = (size: number) => `[{"x":"${'y'.repeat(size)}"}]`;
    expect((await send({ path: '/v1/op/listPlans', body: plan(megabyte) })).status).toBe(413);
    expect((await send({ path: '/v1/op/savePlan', body: plan(9 * megabyte) })).status).toBe(400);
    expect((await send({ path: '/v1/op/savePlan', body: plan(11 * megabyte) })).status).toBe(413);
    await expect(
      door.person.savePlan({ name: 'p', description: 'x'.repeat(11 * megabyte), tasks: [] }),
    ).rejects.toMatchObject({
      code: 'too_large',
      data: { maxBytes: 10 * megabyte },
    });
    // The largest result that an operation takes, at its longest in JSON, fits.
    await expect(
      door.person.sendMessage({ to: 'session_none', message: '\u0001'.repeat(1_000_000) }),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  test('[DMN1.26] every answer forbids to be run, framed, kept or read elsewhere', async () => {
    expect((await send({})).headers).toMatchObject(PROTECTED);
    expect((await send({ method: 'GET', path: '/v1/nothing' })).headers).toMatchObject(PROTECTED);
    expect((await send({ headers: { host: 'evil.com' } })).headers).toMatchObject(PROTECTED);
    const socket = connect(door.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(request(door.port, door.token, { method: 'GET', path: '/v1/events' }));
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(parse(first.toString()).headers).toMatchObject({
      ...PROTECTED,
      'content-type': 'text/event-stream; charset=utf-8',
    });
    socket.destroy();
  });

  test('[DMN1.27] what was refused is in the log, without what was sent', async () => {
    await send({
      headers: { host: 'evil.com', authorization: 'Bearer canary-in-header' },
      body: '["canary-in-body"]',
    });
    await until(() => door.log.includes('"status":403'));
    expect(door.log).not.toContain('canary-in');
  });
});

describe('patience', () => {
  test('[DMN1.25] who sends a head or a body too slowly is cut off; everybody else is served', async () => {
    await using door = await OverHttp.open({
      flags: { 'daemon.headersMs': '300', 'daemon.requestMs': '600' },
    });
    const { port, token } = door;
    const good = request(port, token);
    const starts = ['', 'POST /v1/op', good.slice(0, 60), good.slice(0, -1), `${good.slice(0, -2)}`];
    const slow = starts.map(async (text) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      // A byte now and then must not help.
      const drip = setInterval(() => socket.write(text === '' ? '' : 'x'), 100);
      if (text !== '') socket.write(text);
      const answer = parse(await readAll(socket));
      clearInterval(drip);
      return answer.status;
    });
    expect((await wire(port, good)).status).toBe(200);
    for (const status of await Promise.all(slow)) expect([0, 400, 408]).toContain(status);
    expect((await wire(port, good)).status).toBe(200);
  });

  test('[DMN1.25] a head that is too large or has too many lines is refused', async () => {
    await using door = await OverHttp.open();
    const { port, token } = door;
    expect((await wire(port, request(port, token, { headers: { x: 'a'.repeat(20_000) } }))).status).toBe(431);
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`x-${i}`, 'y']));
    expect((await wire(port, request(port, token, { headers: many }))).status).toBe(431);
  });

  test('[DMN1.25] a thousand idle connections are kept out, and it serves again when they are gone', async () => {
    await using door = await OverHttp.open({
      flags: { 'daemon.connections': '20', 'daemon.headersMs': '500' },
    });
    const { port, token } = door;
    const sockets = Array.from({ length: 1_000 }, () => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      return socket;
    });
    // They neither send nor read nor close; their places are given to others all the same.
    await until(async () => (await wire(port, request(port, token))).status === 200);
    await until(() => door.log.includes('connections were dropped'));
    for (const socket of sockets) socket.destroy();
  });

  test('[DMN1.32] a call that waits says that it lives, and ends with its value', async () => {
    await using door = await OverHttp.open({ flags: { 'daemon.heartbeatMs': '20' } });
    const { credential, self } = await door.session('chat');
    const [child] = await self.spawnSubtasks([{ prompt: 'x' }]);
    const puppet = await door.stage.at(child!.task);
    const socket = connect(door.port, '127.0.0.1');
    await once(socket, 'connect');
    const body = JSON.stringify([{ taskIds: [child!.task] }]);
    socket.write(request(door.port, credential, { path: '/v1/op/awaitSubtasks', body }));
    let beats = 0;
    socket.on('data', () => beats++);
    const all = readAll(socket);
    await until(() => beats > 3);
    await door.worker(puppet).reportCompletion({ status: 'success', output: 'there' });
    const answer = parse(await all);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('"output":"there"');
  });
});
