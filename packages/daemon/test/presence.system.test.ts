import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { withScript } from '@reveille/executors';
import { createClient } from '@reveille/protocol';
import { processIdentity } from '../src/place/process-identity.ts';
import { House, processesOf, until } from './house.ts';

const LONG = withScript('Do.', { steps: [{ do: 'work', ms: 600_000 }] });
const DONE = withScript('Do.', { steps: [{ do: 'report', output: 'Done.' }] });
const plan = (prompt: string) => ({ name: 'p', tasks: [{ id: 'a', prompt }] });

describe('a state folder that is removed under a daemon', () => {
  test('[DMN3.31] what is acknowledged afterwards is kept: the call goes to a new daemon, and the old one ends', async () => {
    await using house = new House({ REVEILLE_DAEMON_RESTART: 'true' });
    const client = await house.connect();
    const old = { ...house.lock };
    await client.savePlan(plan(LONG), { start: true });
    rmSync(house.place.home, { recursive: true });
    // The connection is open, and its daemon has not looked yet.
    const saved = await client.savePlan(plan(DONE), { start: true });
    const anybody = await house.connect();
    await until(async () => (await anybody.getPlan(saved.plan.id)).plan.state === 'completed');
    expect((await anybody.listPlans()).map(({ id }) => id)).toEqual([saved.plan.id]);
    await until(() => processIdentity(old.pid) !== old.process);
    // The supervisor of the old one did not start a third, and the new one has its files.
    await until(() => processesOf(house.place.home).length === 2);
    expect((await (await house.connect()).health()).pid).toBe(house.lock.pid);
    expect(house.said('there is no socket for the person; all calls come by the port')).toEqual([]);
  });

  test('[DMN3.31] whoever has only its address is refused in one sentence; a call that waits is cut, and told of no mail', async () => {
    await using house = new House();
    const client = await house.connect();
    const { pid, process: identity } = house.lock;
    const direct = createClient({ url: house.url, token: house.lock.token });
    const { credential } = await client.grantSession({ name: 'chat' });
    const told = direct
      .as(credential)
      .spawnSubtask({ prompt: LONG }, { patienceMs: 600_000 })
      .then(
        () => null,
        (error: unknown) => error,
      );
    await until(async () => (await client.listTasks({ open: true })).length === 1);
    rmSync(house.place.home, { recursive: true });
    const words = `${house.place.home} was deleted or replaced while the daemon (process ${pid}) ran, so that daemon ends and nothing was done. Make the call again: it goes to a new daemon.`;
    await expect(direct.savePlan(plan(DONE), { start: true })).rejects.toMatchObject({
      code: 'unreachable',
      message: words,
    });
    expect(await told).toMatchObject({ code: 'unreachable' });
    expect(String(await told)).not.toContain('mail');
    await until(() => processIdentity(pid) !== identity);
    expect(processesOf(house.place.home)).toEqual([]);
  });

  test('[DMN3.31] a copy in its place is another one: the old daemon ends, and the next has what the copy holds', async () => {
    await using house = new House();
    const client = await house.connect();
    const { plan: kept } = await client.savePlan(plan(DONE), { start: true });
    await until(async () => (await client.getPlan(kept.id)).plan.state === 'completed');
    const { pid, process: identity } = house.lock;
    const { home } = house.place;
    const socket = (path: string): boolean => !path.endsWith('.sock');
    cpSync(home, `${home}.copy`, { recursive: true, filter: socket });
    renameSync(home, `${home}.old`);
    renameSync(`${home}.copy`, home);
    expect((await client.getPlan(kept.id)).plan.state).toBe('completed');
    await until(() => processIdentity(pid) !== identity);
    expect(house.lock.pid).not.toBe(pid);
  });

  test('[DMN3.31] a database that is replaced alone is noticed too, with nobody calling', async () => {
    await using house = new House();
    await house.connect();
    const { pid, process: identity } = house.lock;
    mkdirSync(`${house.place.home}/away`);
    renameSync(house.place.database, `${house.place.home}/away/reveille.db`);
    writeFileSync(house.place.database, '');
    await until(() => processIdentity(pid) !== identity);
    expect(readFileSync(house.place.log, 'utf8')).toContain('the daemon ends because its place is gone');
  });
});
