import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { readdir } from 'node:fs/promises';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { confinementIn, makeScene, RESPONSE, type Scene } from '../../src/doctor/scene.ts';
import type { Confinement } from '../../src/sandbox/confinement.ts';
import { Sandbox } from '../../src/sandbox/sandbox.ts';
import { found, hasSandbox, unlessSkipped } from './here.ts';
import { holdUnheardPort } from './unheard.ts';

const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  'listed.test': ['127.0.0.1'],
  'deep.below.test': ['127.0.0.1'],
  'inward.test': ['127.0.0.1'],
  'metadata.test': ['169.254.169.254', '::1'],
};

let scene: Scene;
let daemon: Server;
let port: number;
beforeAll(async () => {
  scene = await makeScene();
  daemon = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(daemon, 'listening');
  port = (daemon.address() as AddressInfo).port;
});
afterAll(async () => {
  daemon.closeAllConnections();
  await new Promise((resolve) => daemon.close(resolve));
  await scene[Symbol.asyncDispose]();
});

/** Sends back what it is sent; at `/events` it speaks for as long as it is listened to. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url !== '/events') return void request.pipe(response);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let i = 1; i <= 3; i++) response.write(`data: ${i}\n\n`);
}

const open = (changes: object = {}): Sandbox =>
  new Sandbox(
    { ...found, bubblewrap: { ...found.bubblewrap!, ...changes } },
    {
      setting: 'require',
      warn: () => {},
      home: scene.home,
      env: scene.env,
      runtimeFolder: scene.folder,
      resolve: async (host) => ADDRESSES[host] ?? [],
    },
  );

const node = (script: string): string[] => [process.execPath, '-e', script];

const networks: Confinement['network'][] = [{ kind: 'on' }, { kind: 'off' }, { kind: 'list', hosts: [] }];

/** Who listens inside: Perl where there is one, else Node. */
const RELAYS = [
  ...(found.bubblewrap?.perl ? [{ relay: 'Perl', changes: {} }] : []),
  { relay: 'Node', changes: { perl: null } },
];

describe.skipIf(!hasSandbox).each(RELAYS)(`the daemon, through $relay${unlessSkipped}`, ({ changes }) => {
  let sandbox: Sandbox;
  beforeAll(() => {
    sandbox = open(changes);
  });
  afterAll(async () => sandbox.close());

  test.each(networks)('[BND2.8] is reached with the network $kind, at the same place', async (network) => {
    const script = `fetch('http://127.0.0.1:${port}/', { method: 'POST', body: 'hello' }).then((a) => a.text()).then(console.log)`;
    expect(
      (await sandbox.run(node(script), confinementIn(scene, { network, loopback: [port] }))).output,
    ).toBe('hello\n');
  });

  test('[BND2.8] gets and gives much, whole, many times at once', async () => {
    const script = `
      const body = Buffer.alloc(3_000_000, 'abcdefghij');
      Promise.all(Array.from({ length: 12 }, async () => {
        const back = Buffer.from(await (await fetch('http://127.0.0.1:${port}/', { method: 'POST', body })).arrayBuffer());
        return back.equals(body);
      })).then((all) => console.log(all.every(Boolean), all.length));`;
    expect((await sandbox.run(node(script), confinementIn(scene, { loopback: [port] }))).output).toBe(
      'true 12\n',
    );
  });

  test('[BND2.8] is heard while it speaks, and a listener that leaves is noticed', async () => {
    const gone = new Promise<void>((resolve) =>
      daemon.once('connection', (socket) => socket.once('close', () => resolve())),
    );
    const script = `
      fetch('http://127.0.0.1:${port}/events').then(async (answer) => {
        let text = '';
        for await (const chunk of answer.body) {
          text += Buffer.from(chunk).toString();
          if (text.includes('data: 3')) { console.log('heard'); process.exit(); }
        }
      });`;
    expect((await sandbox.run(node(script), confinementIn(scene, { loopback: [port] }))).output).toBe(
      'heard\n',
    );
    await gone;
  });

  test('[BND2.8] half a connection can be closed before the other half', async () => {
    const script = `
      const socket = require('node:net').connect({ port: ${port}, host: '127.0.0.1', allowHalfOpen: true });
      socket.end('POST / HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 5\\r\\nConnection: close\\r\\n\\r\\nhello');
      socket.pipe(process.stdout);`;
    expect((await sandbox.run(node(script), confinementIn(scene, { loopback: [port] }))).output).toMatch(
      /hello/,
    );
  });

  test('[BND2.8] that is not there is refused at once, and the next command is not disturbed', async () => {
    await using other = open(changes);
    await using unheard = await holdUnheardPort();
    const script = (at: number): string =>
      `fetch('http://127.0.0.1:${at}/', { method: 'POST', body: 'x' }).then((a) => a.text(), (e) => 'no: ' + e.message).then(console.log)`;
    const confinement = confinementIn(scene, { loopback: [unheard.port, port] });
    expect((await other.run(node(script(unheard.port)), confinement)).output).toMatch(/^no: /);
    expect((await other.run(node(script(port)), confinement)).output).toBe('x\n');
  });

  test('[BND2.8] leaves the command its own end and its own children', async () => {
    const confinement = confinementIn(scene, { loopback: [port] });
    expect(await sandbox.run('exit 9', confinement)).toMatchObject({ code: 9 });
    expect((await sandbox.run('kill -9 $$', confinement)).code).toBe(137);
    expect((await sandbox.run(['no-such-program'], confinement)).code).toBe(127);
    expect((await sandbox.run('wait; echo "$?"', confinement)).output).toBe('0\n');
  });
});

describe.skipIf(!hasSandbox)(`a list of hosts${unlessSkipped}`, () => {
  let sandbox: Sandbox;
  beforeAll(() => {
    sandbox = open();
  });
  afterAll(async () => sandbox.close());

  /** As programs do that know a proxy: they ask it for the whole address. */
  const get = async (url: string, hosts: string[]): Promise<string> => {
    const script = `
      const { hostname, port } = new URL(process.env.HTTP_PROXY);
      require('node:http').get({ hostname, port, path: ${JSON.stringify(url)} }, async (answer) => {
        let text = answer.statusCode + ' ';
        for await (const chunk of answer) text += chunk;
        console.log(text.trim());
      });`;
    return (await sandbox.run(node(script), confinementIn(scene, { network: { kind: 'list', hosts } })))
      .output;
  };
  const listed = (): string[] => [
    `listed.test:${scene.listedPort}`,
    `*.below.test:${scene.listedPort}`,
    `127.0.0.1:${scene.listedPort}`,
  ];

  test('[BND2.6] what is listed is reached, by name and by suffix', async () => {
    expect(await get(`http://listed.test:${scene.listedPort}/`, listed())).toBe(`200 ${RESPONSE.listed}\n`);
    expect(await get(`http://deep.below.test:${scene.listedPort}/`, listed())).toBe(
      `200 ${RESPONSE.listed}\n`,
    );
  });

  test('[BND2.6] a program that knows of proxies by the environment needs nothing else', async () => {
    const script = `fetch('http://listed.test:${scene.listedPort}/').then((a) => a.text()).then(console.log)`;
    const { output } = await sandbox.run(
      node(script),
      confinementIn(scene, { network: { kind: 'list', hosts: listed() } }),
    );
    expect(output).toBe(`${RESPONSE.listed}\n`);
  });

  test('[BND2.6] what is not listed is refused, in words', async () => {
    for (const url of [
      'http://other.test/',
      `http://listed.test:${scene.places['PRIVATE']}/`,
      `http://below.test:${scene.listedPort}/`,
    ])
      expect(await get(url, listed()), url).toMatch(/^403 .* is not in the list of hosts/);
  });

  test('[BND2.6] a listed name that points inwards is refused', async () => {
    const privatePort = scene.places['PRIVATE'];
    expect(await get(`http://inward.test:${privatePort}/`, [`inward.test:${privatePort}`])).toMatch(
      /^403 .*points into this machine/,
    );
    expect(await get('http://metadata.test/', ['metadata.test'])).toMatch(/^403 .*points into this machine/);
    expect(await get('http://nowhere.test/', ['nowhere.test'])).toMatch(/^502 .*no address/);
  });

  test('[BND2.6] there is no way but the proxy: no name is resolved, no address reached', async () => {
    const script = `
      const direct = (options) => new Promise((resolve) => require('node:net').connect(options).once('connect', () => resolve('connected')).once('error', (e) => resolve(e.code)));
      Promise.all([direct({ host: '127.0.0.1', port: ${scene.listedPort} }), direct({ host: '8.8.8.8', port: 53 }), direct({ host: 'localhost.localdomain.test', port: 80 })]).then((all) => console.log(all.join(' ')));`;
    const { output } = await sandbox.run(
      node(script),
      confinementIn(scene, { network: { kind: 'list', hosts: listed() } }),
    );
    expect(output).toMatch(/^ECONNREFUSED ENETUNREACH (?:ENOTFOUND|EAI_AGAIN)\n$/);
  });

  test('[BND2.6] a list with an entry that is no host is refused before anything runs', async () => {
    await expect(
      sandbox.run(['true'], confinementIn(scene, { network: { kind: 'list', hosts: ['https://x'] } })),
    ).rejects.toMatchObject({ code: 'invalid_input' });
  });

  test('[BND2.6] two lists at once do not mix', async () => {
    const url = `http://listed.test:${scene.listedPort}/`;
    const [yes, no] = await Promise.all([get(url, listed()), get(url, ['other.test'])]);
    expect(yes).toBe(`200 ${RESPONSE.listed}\n`);
    expect(no).toMatch(/^403 /);
  });

  test('[BND2.8] the daemon’s port may be the one the proxy would have taken', async () => {
    const script = 'console.log(process.env.HTTP_PROXY)';
    const { output } = await sandbox.run(
      node(script),
      confinementIn(scene, { network: { kind: 'list', hosts: [] }, loopback: [3128, 3129] }),
    );
    expect(output).toBe('http://127.0.0.1:3130\n');
  });

  test('[BND2.8] every sandbox has doors of its own, and none after its end', async () => {
    const other = open();
    const socketsOf = async (): Promise<number> => {
      const folders = (await readdir(scene.folder)).filter((name) => name.startsWith('reveille-doors-'));
      const all = await Promise.all(folders.map(async (name) => readdir(join(scene.folder, name))));
      return all.flat().length;
    };
    const before = await socketsOf();
    const take = async (at: number) => other.wrap(['true'], confinementIn(scene, { loopback: [at] }));
    const [first, second] = [await take(port), await take(port)];
    expect(await socketsOf()).toBe(before + 2);
    await first.dispose();
    await first.dispose();
    expect(await socketsOf()).toBe(before + 1);
    const many = await Promise.all(Array.from({ length: 12 }, async (_, i) => take(20_000 + i)));
    expect(await socketsOf()).toBe(before + 13);
    for (const wrapped of many) await wrapped.dispose();
    await other.close();
    await second.dispose();
    expect(await socketsOf()).toBe(before);
  });
});

describe.skipIf(!hasSandbox)(`a flood of connections${unlessSkipped}`, () => {
  test('[BND7.26] one sandbox has so many connections to the daemon at once, and another still gets through', async () => {
    let [held, most] = [0, 0];
    const server = createSocketServer((socket) => {
      most = Math.max(most, ++held);
      socket.on('error', () => undefined);
      socket.on('data', () => socket.end('served'));
      socket.once('close', () => held--);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: at } = server.address() as AddressInfo;
    await using sandbox = open();
    const confinement = confinementIn(scene, { loopback: [at] });
    // Each holds its connection without a word.
    const flood = `
      const net = require('node:net');
      for (let i = 0; i < 300; i++) net.connect(${at}, '127.0.0.1').on('error', () => {});
      setInterval(() => {}, 1_000);`;
    const given = new AbortController();
    const flooding = sandbox.run(node(flood), confinement, { signal: given.signal }).catch(() => null);
    while (held < 64) await sleep(10);
    const polite = `require('node:net').connect(${at}, '127.0.0.1').once('data', (data) => { console.log(String(data)); process.exit(); }).write('x');`;
    expect((await sandbox.run(node(polite), confinement)).output).toBe('served\n');
    given.abort();
    await flooding;
    // The 64 of one and the one of the other.
    expect(most).toBeLessThanOrEqual(65);
    await new Promise((resolve) => server.close(resolve));
  });
});
