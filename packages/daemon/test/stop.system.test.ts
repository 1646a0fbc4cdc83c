import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Executor } from '@reveille/core';
import type { Task } from '@reveille/protocol';
import { openSqlite } from '@reveille/stores';
import { systemClock } from '@reveille/daemon/system';
import { House, until } from './house.ts';
import { OverHttp } from './inside.ts';

const LONG = `Go.\n\n\`\`\`reveille-script\n${JSON.stringify({ steps: [{ do: 'work', ms: 600_000 }] })}\n\`\`\``;

/** The tasks that a stopped daemon left, by their names in the plan. */
async function left(path: string, plan: string): Promise<Record<string, Task>> {
  const backend = await openSqlite({ path, clock: systemClock() });
  const rows = await backend.store.find('task', { list: 'byPlan', equal: [plan] });
  await backend.close();
  return Object.fromEntries(rows.map(({ doc }) => [doc.key, doc]));
}

describe('a stop', () => {
  test('[DMN1.40] claims nothing new and lets a turn come to its end; everybody is answered meanwhile', async () => {
    await using door = await OverHttp.open({
      flags: { 'engine.concurrency': '1', 'daemon.drainMs': '600000' },
    });
    const { person } = door;
    const tasks = [
      { id: 'a', prompt: 'A', priority: 'high' as const },
      { id: 'b', prompt: 'B' },
    ];
    const saved = await person.savePlan({ name: 'p', tasks }, { start: true });
    const puppet = await door.stage.at(saved.tasks.find(({ task }) => task.key === 'a')!.task.id);
    const worker = door.worker(puppet);
    await person.stopDaemon();
    await person.stopDaemon();
    expect((await person.health()).state).toBe('stopping');
    expect(await worker.reportCompletion({ status: 'success', output: 'In time.' })).toEqual({
      accepted: true,
    });
    await door.stop();
    const { a, b } = await left(door.place.database, saved.plan.id);
    expect(a).toMatchObject({ state: 'completed', attempts: 1 });
    expect(b).toMatchObject({ state: 'ready', attempts: 0 });
    expect(door.stage.puppets).toHaveLength(1);
    expect(door.log.match(/"the daemon stops"/g)).toHaveLength(1);
    expect(door.log).not.toContain('agents are asked to stop');
  });

  test('[DMN1.40] asks agents that do not come to an end, tells calls that wait; the runs go on later', async () => {
    await using house = new House({ REVEILLE_DAEMON_DRAIN_MS: '50' });
    const client = await house.connect();
    const { tasks } = await client.savePlan(
      { name: 'p', tasks: [{ id: 'a', prompt: LONG }] },
      { start: true },
    );
    const { id } = tasks[0]!.task;
    await until(async () => (await client.getTask(id)).worker === 'running');
    const { run } = await client.getTask(id);
    const { credential } = await client.grantSession({ name: 'chat' });
    const told = client
      .as(credential)
      .spawnSubtask({ prompt: LONG }, { patienceMs: 600_000 })
      .then(
        () => null,
        (error: unknown) => error,
      );
    await until(async () => (await client.listTasks({ open: true })).length === 2);
    await house.kill('SIGTERM');
    expect(existsSync(house.place.lockFile)).toBe(false);
    expect(await told).toMatchObject({ code: 'stopping' });
    expect(house.said('agents are asked to stop')).toHaveLength(1);
    expect(house.said('the daemon has stopped')).toHaveLength(1);
    const again = await house.connect();
    await until(async () => (await again.getTask(id)).run!.epoch > run!.epoch);
    expect((await again.getTask(id)).run).toMatchObject({ id: run!.id, attempt: 1 });
  });

  test('[DMN1.40] does not wait for ever for an agent that does not stop', async () => {
    const stubborn: Executor = {
      steers: false,
      start: (spec) => {
        spec.report({ type: 'started', identity: null, resume: null });
        return {
          turn: () => undefined,
          steer: async () => 'refused',
          interrupt: () => undefined,
          seen: async () => new Map(),
          stop: () => new Promise(() => undefined),
        };
      },
      reap: async () => undefined,
    };
    const executors = () => ({ backends: () => ['scripted'], get: () => stubborn });
    await using door = await OverHttp.open({ flags: { 'daemon.stopMs': '50' }, parts: { executors } });
    const { tasks } = await door.person.savePlan(
      { name: 'p', tasks: [{ id: 'a', prompt: 'A' }] },
      { start: true },
    );
    await until(async () => (await door.person.getTask(tasks[0]!.task.id)).worker === 'running');
    await door.stop();
    expect(door.log).toContain('agents did not stop in time');
    expect(existsSync(door.place.lockFile)).toBe(false);
  });

  test('[DMN1.41] a second signal ends it at once, and nothing is lost', async () => {
    await using house = new House({ REVEILLE_DAEMON_DRAIN_MS: '600000' });
    const client = await house.connect();
    const { tasks } = await client.savePlan(
      { name: 'p', tasks: [{ id: 'a', prompt: LONG }] },
      { start: true },
    );
    const { id } = tasks[0]!.task;
    await until(async () => (await client.getTask(id)).worker === 'running');
    const { run } = await client.getTask(id);
    process.kill(house.lock.pid, 'SIGINT');
    await until(() => house.said('the daemon stops').length === 1);
    await house.kill('SIGTERM');
    expect(house.said('asked twice: the daemon ends at once')).toHaveLength(1);
    const again = await house.connect();
    await until(async () => (await again.getTask(id)).run!.epoch > run!.epoch);
    expect((await again.getTask(id)).run).toMatchObject({ id: run!.id, attempt: 1 });
  });
});
