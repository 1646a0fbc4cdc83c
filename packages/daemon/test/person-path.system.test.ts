import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createClient, type Client } from '@reveille/protocol';
import { socketFetch } from '../src/connect/socket-fetch.ts';
import { hasSandbox } from '../../../test/sandbox.ts';
import { AcpHouse, endOf, play, worktreeWith } from './acp-house.ts';
import { House, until } from './house.ts';
import { OverHttp } from './inside.ts';
import type { Puppet } from './puppets.ts';
import { parse, readAll, request, wire } from './wire.ts';

/** A port where nobody listens: only the socket leads anywhere. */
const NO_PORT = 'http://127.0.0.1:1';

/** A client that can reach the daemon by its socket only. */
const bySocket = (door: OverHttp): Client =>
  createClient({
    url: door.url,
    token: door.token,
    fetch: (input, init) => {
      const { pathname, search } = new URL(input as URL);
      const own = socketFetch(door.place.socket);
      // The host is checked on the socket too.
      const headers = { ...(init?.headers as Record<string, string>), host: new URL(door.url).host };
      return own(new URL(`${pathname}${search}`, NO_PORT), { ...init, headers });
    },
  });

async function atWork(door: OverHttp, name: string): Promise<Puppet> {
  const { self } = await door.session(name);
  const [child] = await self.spawnSubtasks([{ prompt: name }]);
  return door.stage.at(child!.task);
}

/** Opens connections that send half a head, and opens each again as soon as it is gone, until it is disposed. */
function holdOpen(port: number, count: number): Disposable & { readonly opened: number } {
  let [opened, over] = [0, false];
  const sockets = new Set<Socket>();
  const open = (): void => {
    if (over) return;
    const socket = connect(
      port,
      '127.0.0.1',
      () => void socket.write('POST /v1/op/listPlans HTTP/1.1\r\nx: '),
    );
    opened++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      setImmediate(open);
    });
  };
  for (let i = 0; i < count; i++) open();
  return {
    get opened() {
      return opened;
    },
    [Symbol.dispose]() {
      over = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe('the person’s own socket', () => {
  test('[BND7.22] it is in the state folder, for this user alone, and serves every call and stream', async () => {
    await using door = await OverHttp.open();
    const { socket } = door.place;
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
    const person = bySocket(door);
    expect((await person.health()).state).toBe('running');
    const { plan } = await person.savePlan({ name: 'ß', tasks: [{ id: 'a', prompt: 'x'.repeat(150_000) }] });
    expect((await person.listPlans()).map(({ id, name }) => [id, name])).toEqual([[plan.id, 'ß']]);
    for await (const events of person.follow({ after: 0 })) {
      expect(events.length).toBeGreaterThan(0);
      break;
    }
    await expect(person.getTask('task_none' as never)).rejects.toMatchObject({ code: 'not_found' });
    await expect(person.as('rvp_wrong').listPlans()).rejects.toMatchObject({ code: 'unauthorized' });
    const given = new AbortController();
    const { session, credential } = await person.grantSession({ name: 'chat' });
    const [child] = await person.as(credential).spawnSubtasks([{ prompt: 'x' }]);
    const waiting = person.as(credential).awaitSubtasks({ taskIds: [child!.task] }, { signal: given.signal });
    await door.stage.at(child!.task);
    given.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    expect(session.state).toBe('open');
  });

  test('[BND7.22] a daemon that was killed leaves none behind that the next could not use', async () => {
    await using house = new House();
    const client = await house.connect();
    await house.kill();
    expect(existsSync(house.place.socket)).toBe(true);
    expect((await client.health()).state).toBe('running');
    const socket = connect(house.place.socket);
    await once(socket, 'connect');
    socket.destroy();
    await house.kill('SIGTERM');
    expect(existsSync(house.place.socket)).toBe(false);
  });

  test('[BND7.23] where there can be none, or somebody removed it, the port serves', async () => {
    await using house = new House();
    const client = await house.connect();
    rmSync(house.place.socket);
    expect((await client.health()).state).toBe('running');
    expect((await (await house.connect()).health()).state).toBe('running');
    const long = join(house.folder, 'd'.repeat(120));
    await using far = new House({ REVEILLE_HOME: long });
    expect((await (await far.connect()).health()).state).toBe('running');
    expect(existsSync(far.place.socket)).toBe(false);
    expect(far.said('there is no socket for the person; all calls come by the port')).toHaveLength(1);
  });
});

describe.skipIf(!hasSandbox)('an agent in the sandbox', () => {
  test('[BND7.22] cannot reach the person’s socket, by its path or under another name', async () => {
    await using house = new AcpHouse({ sandbox: { mode: 'require' } });
    const client = await house.connect();
    const program = `
      const net = require('node:net');
      const { writeFileSync } = require('node:fs');
      const tried = ['${house.place.socket}', '\\0${house.place.socket}', '/proc/1/root${house.place.socket}'];
      const how = (path) => new Promise((done) => net.connect(path, () => done('reached')).on('error', (e) => done(e.code)));
      Promise.all(tried.map(how)).then((all) => writeFileSync('out.txt', all.join(' ')));`;
    const file = { do: 'edit', path: 'try.cjs', content: program };
    const run = { do: 'sh', command: `${process.execPath} try.cjs` };
    const view = await house.run(client, play([file, run, { do: 'rest' }]));
    const out = join(await worktreeWith(client, view, 'out.txt'), 'out.txt');
    await until(() => readFileSync(out, 'utf8').split(' ').length === 3);
    expect(readFileSync(out, 'utf8')).not.toContain('reached');
    await client.cancelPlan(view.task.plan!);
    await endOf(client, view);
  });
});

describe('connections', () => {
  test('[BND7.24] a thousand half-open requests, opened again and again, keep nobody out', async () => {
    await using door = await OverHttp.open();
    const puppet = await atWork(door, 'other');
    using held = holdOpen(door.port, 1_100);
    await until(() => held.opened > 1_300);
    const person = bySocket(door);
    const good = request(door.port, door.token);
    const others = request(door.port, door.credentialOf(puppet), {
      path: '/v1/op/mailbox',
      body: JSON.stringify([puppet.spec.session]),
    });
    for (let i = 0; i < 20; i++) {
      expect((await person.health()).state).toBe('running');
      expect((await wire(door.port, good)).status).toBe(200);
      expect((await wire(door.port, others)).status).toBe(200);
      // The page is there only if it was built; an answer is one either way.
      const page = request(door.port, '', { method: 'GET', path: '/dashboard' });
      expect([200, 503]).toContain((await wire(door.port, page)).status);
    }
  });

  test('[BND7.24] one run has so many connections; the person, other runs and pages have theirs', async () => {
    await using door = await OverHttp.open({
      flags: { 'daemon.connections': '40', 'daemon.runConnections': '10' },
    });
    const [puppet, other] = [await atWork(door, 'greedy'), await atWork(door, 'other')];
    const idle = (token: string): Socket => {
      const socket = connect(door.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(
        request(door.port, token, {
          method: 'GET',
          path: '/v1/health',
          headers: { connection: 'keep-alive' },
        }),
      );
      return socket;
    };
    const sockets = Array.from({ length: 10 }, () => idle(door.credentialOf(puppet)));
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    const refused = parse(await readAll(idle(door.credentialOf(puppet))));
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1', connection: 'close' } });
    expect(refused.body).toMatch(/10 connections.*Close some/);
    expect((await wire(door.port, request(door.port, door.token))).status).toBe(200);
    const theirs = request(door.port, door.credentialOf(other), { method: 'GET', path: '/v1/health' });
    expect((await wire(door.port, theirs)).status).toBe(200);
    // Chats fill what is left to them; the quarter of the person stays.
    const { credential } = await door.session('many');
    const chats = Array.from({ length: 19 }, () => idle(credential));
    await Promise.all(chats.map((socket) => once(socket, 'data')));
    expect(parse(await readAll(idle(credential))).status).toBe(429);
    expect((await wire(door.port, request(door.port, door.token))).status).toBe(200);
    for (const socket of [...sockets, ...chats]) socket.destroy();
    await until(async () => (await wire(door.port, theirs)).status === 200);
  });

  test('[BND7.25] one run makes so many calls, is told when to call again, and then is served', async () => {
    await using door = await OverHttp.open({
      flags: { 'daemon.runCallsPerSecond': '2', 'daemon.runOpenCalls': '3' },
    });
    const [puppet, other] = [await atWork(door, 'greedy'), await atWork(door, 'other')];
    const call = (token: string, body = '[]') =>
      wire(door.port, request(door.port, token, { path: '/v1/op/checkUpdates', body }));
    const token = door.credentialOf(puppet);
    const statuses = [];
    for (let i = 0; i < 30; i++) statuses.push((await call(token)).status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(10);
    expect(statuses).toContain(429);
    const refused = await call(token);
    expect(refused.status).toBe(429);
    expect(refused.body).toMatch(/more than 2 calls in a second. Call again in \d+ s/);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await call(door.credentialOf(other))).status).toBe(200);
    expect((await wire(door.port, request(door.port, door.token))).status).toBe(200);
    await until(async () => (await call(token)).status === 200);
    // A long request counts as many calls.
    await until(async () => (await call(token, JSON.stringify(['x'.repeat(900_000)]))).status === 400);
    expect((await call(token)).status).toBe(429);
  });

  test('[BND7.25] one run has so many calls open', async () => {
    await using door = await OverHttp.open({
      flags: { 'daemon.runOpenCalls': '3', 'engine.depth.standalone': '3' },
    });
    const puppet = await atWork(door, 'greedy');
    const worker = door.worker(puppet);
    const [child] = await worker.spawnSubtasks([{ prompt: 'x' }]);
    await door.stage.at(child!.task);
    const given = new AbortController();
    const waiting = Array.from({ length: 3 }, () =>
      worker
        .awaitSubtasks({ taskIds: [child!.task] }, { signal: given.signal })
        .catch((error: unknown) => error),
    );
    const isFull = (): Promise<boolean> =>
      worker.mailbox(puppet.spec.session).then(
        () => false,
        (error: { code?: string }) => error.code === 'limit_reached',
      );
    await until(isFull);
    given.abort();
    await Promise.all(waiting);
    await until(async () => !(await isFull()));
  });
});
