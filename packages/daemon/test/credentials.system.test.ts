import { describe, expect, test } from 'vitest';
import {
  HTTP_OPERATION_NAMES,
  HTTP_ROUTES,
  createClient,
  type RunId,
  type SessionId,
} from '@reveille/protocol';
import { Credentials } from '../src/http/credentials.ts';
import { DO_IT, House, until } from './house.ts';
import { OverHttp } from './inside.ts';
import { request, wire } from './wire.ts';

/** Routes for nobody but the person. */
const PERSONS_ROUTES = (['grant', 'rotate', 'stop', 'ticket', 'view'] as const).map(
  (name) => HTTP_ROUTES[name].path,
);

const status = async (door: OverHttp, credential: string, path: string, body = '[]'): Promise<number> =>
  (await wire(door.port, request(door.port, credential, { path, body }))).status;

describe('a person', () => {
  test('[ID3.20] the token is new at every start, and worth nothing to another daemon', async () => {
    await using first = await OverHttp.open();
    await using second = await OverHttp.open();
    const old = first.token;
    expect(await status(second, old, '/v1/op/listPlans')).toBe(401);
    const { credential } = await first.session('chat');
    expect(await status(second, credential, '/v1/op/listPlans')).toBe(401);
    await first.stop();
    await first.begin();
    expect(first.token).not.toBe(old);
    expect(await status(first, old, '/v1/op/listPlans')).toBe(401);
    expect(await status(first, first.token, '/v1/op/listPlans')).toBe(200);
  });

  test('[ID3.20] two users’ daemons, as processes, know nothing of each other', async () => {
    await using ada = new House();
    await using bob = new House();
    await Promise.all([ada.connect(), bob.connect()]);
    expect(ada.lock.port).not.toBe(bob.lock.port);
    const thief = createClient({ url: bob.url, token: ada.lock.token });
    await expect(thief.listPlans()).rejects.toMatchObject({ code: 'unauthorized' });
  });
});

describe('a session', () => {
  test('[ID3.21] comes back after a restart with the same credential, and finds its children and its mail', async () => {
    await using house = new House();
    const client = await house.connect();
    const { session, credential } = await client.grantSession({ name: 'chat', kind: 'chat' });
    const [child] = await client.as(credential).spawnSubtasks([{ prompt: DO_IT }]);
    await until(async () => (await client.getTask(child!.task)).task.state === 'completed');
    await house.kill();
    const back = await house.connect({ credential });
    expect(await back.listTasks({ owner: session.id })).toMatchObject([{ task: { id: child!.task } }]);
    const [delivery, ...more] = await back.checkUpdates();
    expect(delivery).toMatchObject({ message: { kind: 'end', to: session.id, task: child!.task } });
    expect(more).toEqual([]);
    expect(await back.checkUpdates()).toEqual([]);
    // One that lost its credential gets the same again, from the person.
    const again = await (await house.connect()).grantSession({ session: session.id });
    expect(again).toMatchObject({ credential, session: { id: session.id } });
  });

  test('[ID3.21] the credential dies with the session', async () => {
    await using door = await OverHttp.open();
    const { id, self, credential } = await door.session('chat');
    await self.endSession(id);
    for (const path of ['/v1/op/listPlans', '/v1/op/checkUpdates'])
      expect(await status(door, credential, path)).toBe(401);
    await expect(door.person.grantSession({ session: id })).rejects.toMatchObject({ code: 'wrong_state' });
  });
});

describe('a run', () => {
  const atWork = async (door: OverHttp) => {
    const plan = {
      name: 'p',
      tasks: [
        { id: 'a', prompt: 'A' },
        { id: 'b', prompt: 'B' },
      ],
    };
    const { tasks } = await door.person.savePlan(plan, { start: true });
    const [a, b] = await Promise.all(tasks.map(({ task }) => door.stage.at(task.id)));
    return { a: a!, b: b! };
  };

  test('[ID3.22] speaks for its own task and for no other', async () => {
    await using door = await OverHttp.open();
    const { a, b } = await atWork(door);
    const self = door.worker(a);
    await expect(self.completeTask(b.spec.task.id)).rejects.toMatchObject({ code: 'not_allowed' });
    await expect(self.cancelTask(b.spec.task.id)).rejects.toMatchObject({ code: 'not_allowed' });
    await expect(self.mailbox(b.spec.session)).rejects.toMatchObject({ code: 'not_allowed' });
    await expect(self.stop({ scope: 'all' }, 'mine')).rejects.toMatchObject({ code: 'not_allowed' });
    await self.reportCompletion({ status: 'success', output: 'mine' });
    expect(await door.person.getTask(b.spec.task.id)).toMatchObject({ task: { state: 'running' } });
    expect(await door.person.getTask(a.spec.task.id)).toMatchObject({ end: { output: 'mine' } });
  });

  test('[ID3.22] dies with the run: nothing more is answered, and a late report is refused and recorded', async () => {
    await using door = await OverHttp.open();
    const { a } = await atWork(door);
    const self = door.worker(a);
    expect(await self.getTask(a.spec.task.id)).toMatchObject({ task: { state: 'running' } });
    await self.reportCompletion({ status: 'success', output: 'done' });
    const bodies: Record<string, string> = { getTask: `["${a.spec.task.id}"]`, events: '[0,1]' };
    for (const name of HTTP_OPERATION_NAMES)
      expect([name, await status(door, door.credentialOf(a), `/v1/op/${name}`, bodies[name])]).toEqual([
        name,
        name === 'reportCompletion' ? 400 : 401,
      ]);
    for (const { method, path } of [HTTP_ROUTES.health, HTTP_ROUTES.events])
      expect((await wire(door.port, request(door.port, door.credentialOf(a), { method, path }))).status).toBe(
        401,
      );
    await expect(self.reportCompletion({ status: 'failed', output: 'no!' })).rejects.toMatchObject({
      code: 'stale_caller',
    });
    const events = await door.person.events(0, 10_000);
    expect(events.filter(({ type }) => type === 'report.refused')).toMatchObject([{ run: a.spec.run }]);
  });

  test('[ID3.22] goes on after a restart only under the new epoch', async () => {
    await using door = await OverHttp.open();
    const { a } = await atWork(door);
    const before = door.credentialOf(a);
    await door.stop();
    await door.begin();
    const resumed = await door.stage.at(a.spec.task.id);
    expect(resumed.spec.run).toBe(a.spec.run);
    expect(resumed.spec.epoch).toBeGreaterThan(a.spec.epoch);
    expect(await status(door, before, '/v1/op/listPlans')).toBe(401);
    expect(await status(door, door.credentialOf(resumed), '/v1/op/listPlans')).toBe(200);
    await expect(
      door.person.as(before).reportCompletion({ status: 'success', output: 'old' }),
    ).rejects.toMatchObject({
      code: 'stale_caller',
    });
    expect(await door.worker(resumed).reportCompletion({ status: 'success', output: 'new' })).toEqual({
      accepted: true,
    });
  });
});

describe('forgery', () => {
  const secret = 'ab'.repeat(32);
  const run = { run: 'run_1' as RunId, session: 'session_1' as SessionId, epoch: 1 };

  test('[ID3.23] nothing in a credential can be changed, cut or swapped', () => {
    const credentials = new Credentials({ secret, person: 'ada' });
    const stranger = new Credentials({ secret: 'cd'.repeat(32), person: 'ada' });
    const session = credentials.ofSession('session_1');
    const worker = credentials.ofRun(run);
    expect(credentials.read(session)).toEqual({ kind: 'session', session: 'session_1' });
    expect(credentials.read(worker)).toEqual({ kind: 'worker', ...run });
    expect(credentials.read(credentials.token)).toEqual({ kind: 'person', name: 'ada' });
    const seal = (credential: string): string => credential.slice(credential.lastIndexOf('.') + 1);
    const forged = [
      session.replace('session_1', 'session_2'),
      session.replace('rvs_', 'rvr_'),
      `rvs_session_1.${seal(worker)}`,
      `rvr_run_1.session_1.1.${seal(session)}`,
      worker.replace('.1.', '.2.'),
      worker.replace('run_1', 'run_2'),
      worker.replace('session_1', 'session_2'),
      worker.slice(0, -1),
      `${worker}A`,
      'rvs_session_1',
      'rvs_session_1.',
      'rvp_',
      '',
      '.',
      stranger.ofSession('session_1'),
      stranger.ofRun(run),
      stranger.token,
    ];
    for (const credential of forged)
      expect([credential, credentials.read(credential)]).toEqual([credential, null]);
    const old = credentials.token;
    credentials.rotate();
    expect(credentials.read(old)).toBeNull();
  });

  test('[ID3.23] what is sealed but makes no sense is nobody', () => {
    const credentials = new Credentials({ secret, person: 'ada' });
    const odd = [
      credentials.ofSession('task_1' as unknown as SessionId),
      credentials.ofRun({ ...run, epoch: -1 }),
      credentials.ofRun({ ...run, epoch: 1.5 }),
      credentials.ofRun({ ...run, run: 'run_1.session_9' as RunId }),
      credentials.ofRun({ ...run, session: 'x' as SessionId }),
    ];
    for (const credential of odd) expect(credentials.read(credential)).toBeNull();
  });

  test('[ID3.23] no argument says who calls', async () => {
    await using door = await OverHttp.open();
    const { credential, id } = await door.session('chat');
    const body = JSON.stringify([{ prompt: 'x', owner: 'session_other', caller: { kind: 'person' } }]);
    expect(await status(door, credential, '/v1/op/spawnSubtask', body)).toBe(400);
    const headers = { 'x-forwarded-user': 'root', 'reveille-session': 'session_other' };
    const spoken = request(door.port, credential, {
      path: '/v1/op/spawnSubtask',
      body: JSON.stringify([{ prompt: 'x' }, { blocking: false }]),
      headers,
    });
    const { body: answer } = await wire(door.port, spoken);
    const { value } = JSON.parse(answer) as { value: { task: `task_${string}` } };
    expect(await door.person.getTask(value.task)).toMatchObject({ task: { owner: id } });
  });

  test('[ID3.24] only a person opens lasting sessions, gives out credentials, replaces the token and stops', async () => {
    await using door = await OverHttp.open();
    const { credential, id } = await door.session('chat');
    const { tasks } = await door.person.savePlan(
      { name: 'p', tasks: [{ id: 'a', prompt: 'A' }] },
      { start: true },
    );
    const worker = await door.stage.at(tasks[0]!.task.id);
    const token = door.token;
    for (const caller of [credential, door.credentialOf(worker)]) {
      for (const path of PERSONS_ROUTES) {
        const body = path === HTTP_ROUTES.grant.path ? JSON.stringify({ session: id }) : '{}';
        expect([path, await status(door, caller, path.replace(':view', 'board'), body)]).toEqual([path, 403]);
      }
    }
    expect(door.token).toBe(token);
    await expect(door.person.grantSession({ session: worker.spec.session })).rejects.toMatchObject({
      code: 'not_allowed',
    });
    await expect(door.person.grantSession({ session: 'session_none' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
