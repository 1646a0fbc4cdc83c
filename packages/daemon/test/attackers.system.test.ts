import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HTTP_ROUTES, isReveilleError } from '@reveille/protocol';
import { DO_IT, House, until } from './house.ts';
import { McpDoor } from './mcp/door.ts';
import { request, wire, type Sent } from './wire.ts';

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
const ACCEPT = 'application/json, text/event-stream';

describe('attacks on the MCP server', () => {
  test('[DMN1.28] it is behind the same door: credential, host, origin, site, type, size, depth', async () => {
    await using door = await McpDoor.make();
    const send = async (sent: Sent, token = door.token): Promise<number> => {
      const headers = { accept: ACCEPT, ...sent.headers };
      const text = request(door.port, token, { path: '/mcp', body: LIST, ...sent, headers });
      return (await wire(door.port, text)).status;
    };
    for (const method of ['GET', 'POST', 'DELETE']) {
      for (const authorization of [undefined, 'Bearer x', `Bearer ${door.token}x`, 'Bearer rvs_session_1.x'])
        expect([method, await send({ method, headers: { authorization } })]).toEqual([method, 401]);
      for (const headers of [{ host: 'evil.com' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
        expect([method, await send({ method, headers })]).toEqual([method, 403]);
    }
    for (const method of ['PUT', 'PATCH', 'OPTIONS', 'HEAD']) expect(await send({ method })).toBe(405);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', undefined])
      expect(await send({ headers: { 'content-type': type } })).toBe(415);
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    for (const body of [deep, '{', '[]', '{"__proto__":{"x":1}}']) expect(await send({ body })).toBe(400);
    expect(await send({ headers: { 'content-length': String(2 ** 30) }, body: '' })).toBe(413);
    expect(await send({ path: '/mcp/../v1/health' })).toBe(404);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    // It is there for whom it is there for.
    const headers = {
      authorization: `Bearer ${door.token}`,
      'content-type': 'application/json',
      accept: ACCEPT,
    };
    const answer = await fetch(`${door.url}/mcp`, { method: 'POST', headers, body: LIST });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('a2a_list_agents')]);
  });
});

describe('agents that mean harm', () => {
  const atWork = async (door: McpDoor) => {
    const { id, credential, self } = await door.session('ann');
    const [spawned] = await self.spawnSubtasks([{ prompt: 'x', agentType: 'coder' }]);
    const puppet = await door.stage.at(spawned!.task);
    return { owner: id, credential, self, puppet, worker: door.worker(puppet) };
  };

  test('[ID3.25] a child cannot ask for more than it has: no argument widens what it may', async () => {
    await using door = await McpDoor.make();
    const { puppet } = await atWork(door);
    const credential = door.credentialOf(puppet);
    const wider = [
      { tools: ['*'] },
      { permissions: 'all' },
      { readOnly: false },
      { sandbox: 'off' },
      { caller: 'person' },
    ];
    for (const more of wider) {
      const body = JSON.stringify([{ prompt: 'x', agentType: 'coder', ...more }, { blocking: false }]);
      const sent = request(door.port, credential, { path: '/v1/op/spawnSubtask', body });
      expect([more, (await wire(door.port, sent)).status]).toEqual([more, 400]);
    }
    await expect(door.worker(puppet).raiseBudget(puppet.spec.task.id, { wallMs: 1e9 })).rejects.toMatchObject(
      { code: 'not_allowed' },
    );
  });

  test('[DMN1.29] a flood of notes is folded, a message without end is refused, and others are served', async () => {
    await using door = await McpDoor.make();
    const { owner, self, puppet, worker } = await atWork(door);
    const refused: unknown[] = [];
    const note = (i: number) =>
      worker
        .notifyParent({ type: 'progress', message: `note ${i}` })
        .catch((error: unknown) => void refused.push(error));
    await note(0);
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 50 }, (_, j) => note(i * 50 + j)));
    expect(refused.length).toBeGreaterThan(0);
    for (const error of refused) expect(error).toMatchObject({ code: 'limit_reached' });
    const unread = (await self.mailbox(owner)).filter(({ state }) => state === 'queued');
    expect(unread.length).toBeGreaterThan(0);
    expect(unread.length).toBeLessThanOrEqual(101);
    const credential = door.credentialOf(puppet);
    const huge = request(door.port, credential, {
      path: '/v1/op/sendMessage',
      headers: { 'content-length': String(100 * 2 ** 20) },
      body: '',
    });
    await until(async () => (await wire(door.port, huge)).status === 413);
    const report = { status: 'success', output: 'an end is never folded' } as const;
    await until(() =>
      worker.reportCompletion(report).then(
        () => true,
        (error: unknown) => !isReveilleError(error, 'limit_reached'),
      ),
    );
    const updates = await self.checkUpdates();
    expect(updates.filter(({ message: { kind } }) => kind === 'end')).toHaveLength(1);
  });

  test('[DMN1.29] spawns without end stop at the limits, and what is told of them is clear', async () => {
    await using door = await McpDoor.make();
    const { puppet, worker } = await atWork(door);
    const results = [];
    for (let i = 0; i < 200; i++)
      results.push(
        await worker
          .spawnSubtasks([{ prompt: `x${i}`, agentType: 'coder' }])
          .catch((error: unknown) => error),
      );
    const refused = results.filter((result) => result instanceof Error);
    expect(refused.length).toBeGreaterThan(0);
    for (const error of refused) expect(error).toMatchObject({ code: 'limit_reached' });
    expect((await door.person.getTask(puppet.spec.task.id)).task.state).toBe('running');
  });
});

describe('what is nobody’s business', () => {
  const CANARY = 'sk-ant-api03-canary-0123456789abcdefghij';

  test('[OBS1.6] a key of the person’s environment is in no file of the daemon, no event and no answer', async () => {
    await using house = new House({
      ANTHROPIC_API_KEY: CANARY,
      SOME_TOKEN: CANARY,
      REVEILLE_LOGS_LEVEL: 'debug',
    });
    const client = await house.connect();
    const { session, credential } = await client.grantSession({ name: 'chat' });
    const [child] = await client.as(credential).spawnSubtasks([{ prompt: DO_IT }]);
    await until(async () => (await client.getTask(child!.task)).task.state === 'completed');
    const said = JSON.stringify([
      await client.events(0, 10_000),
      await client.getTask(child!.task),
      await client.mailbox(session.id),
      await client.health(),
    ]);
    expect(said).not.toContain(CANARY);
    // Nothing comes or goes while one looks.
    await house.kill();
    for (const name of readdirSync(house.place.home, { recursive: true, encoding: 'utf8' })) {
      const path = join(house.place.home, name);
      if (statSync(path).isFile())
        expect([name, readFileSync(path, 'latin1').includes(CANARY)]).toEqual([name, false]);
    }
  });

  test.runIf(process.getuid?.() === 0)(
    '[DMN1.21] another user of the machine gets neither the token nor an answer',
    async () => {
      await using house = new House();
      await house.connect();
      const stranger = { uid: 65_534, gid: 65_534, cwd: '/', encoding: 'utf8' } as const;
      for (const path of [
        house.place.lockFile,
        house.place.identity,
        house.place.database,
        house.place.log,
      ]) {
        const read = spawnSync('cat', ['--', path], stranger);
        expect([path, read.status, read.stdout]).toEqual([path, 1, '']);
      }
      expect((await fetch(`${house.url}${HTTP_ROUTES.health.path}`)).status).toBe(401);
    },
  );
});

test('[DMN1.11] a port is never asked for, so none can be in use; a lock file that names somebody else’s is put right', async () => {
  await using house = new House();
  await house.connect();
  const { lockFile } = house.place;
  const right = house.lock;
  const other = createServer((_, response) => response.writeHead(200).end('hello')).listen(0, '127.0.0.1');
  try {
    await until(() => other.listening);
    const { port } = other.address() as AddressInfo;
    writeFileSync(lockFile, JSON.stringify({ ...right, port }), { mode: 0o600 });
    await until(() => house.lock.port === right.port);
    expect((await (await house.connect()).health()).pid).toBe(right.pid);
  } finally {
    other.close();
    other.closeAllConnections();
  }
});
