import type { Assignment, Role } from '@reveille/core';
import { describe, expect, test } from 'vitest';
import { product, quiet, start } from './world.ts';

const role = (name: string): Role => ({
  systemPrompt: `You are ${name}.`,
  tools: ['read_file'],
  deniedTools: [],
  readOnly: true,
  model: 'small',
});

describe('what an agent is started with', () => {
  test('[AGT4.30] its executor is told who it is, at every start', async () => {
    await using world = await start({ definitions: { role: async ({ agent }) => role(agent.name) } });
    await world.plan({ a: { agent: 'coder' } });
    const first = world.worker('a');
    expect(first.spec.role).toEqual(role('coder'));
    first.kill();
    await quiet();
    await world.clock.advance(60_000);
    const second = world.worker('a');
    expect(second).not.toBe(first);
    expect(second.spec.role).toEqual(role('coder'));
  });

  test('[AGT4.30] without anybody who defines agents there is no role, and no harm', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    expect(world.worker('a').spec.role).toBeNull();
  });

  test('[AGT4.30] a definition that cannot be read fails the run, with the reason', async () => {
    const definitions = { role: () => Promise.reject(new Error('the disk is gone')) };
    await using world = await start({ definitions });
    await world.plan({ a: [] });
    await quiet();
    const { task, end } = await world.task('a');
    expect(task.state).toBe('failed');
    expect(end?.error?.message).toContain('the disk is gone');
    expect(world.agents).toEqual([]);
  });
});

describe('what a worker is told first', () => {
  test('[AGT8.10] the room of agents words it, from what is recorded', async () => {
    const told: Assignment[] = [];
    const briefing = (assignment: Assignment): string => {
      told.push(assignment);
      return `the words for ${assignment.task.name}`;
    };
    await using world = await start({ definitions: { briefing } });
    const { plan } = await world.plan({ a: [], b: ['a'], c: ['b'] });
    expect(world.worker('a').last.text).toBe('the words for a');
    await world.worker('a').reports('done');
    await quiet();
    const b = world.worker('b');
    expect(told.at(-1)).toMatchObject({
      task: { name: 'b' },
      run: b.spec.run,
      plan: { id: plan.id, tasks: 3, before: [{ name: 'a', state: 'completed' }], after: [{ name: 'c' }] },
      parent: { kind: 'terminal', name: 'person:person' },
    });
    expect(told.at(-1)).not.toHaveProperty('mayNotDelegate');
    await b.spawns('below');
    expect(told.at(-1)).toMatchObject({
      plan: null,
      parent: { kind: 'worker', task: { id: b.task } },
      mayNotDelegate: expect.stringContaining('depth 2'),
    });
  });

  test('[AGT8.10] in our own words, its history can be asked for the run too', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const { spec, last } = world.worker('a');
    expect(last.text).toContain(spec.task.prompt);
    for (const id of last.given) expect(last.text).toContain(id);
  });

  test('[AGT8.10] the integrator is no agent', async () => {
    const asked: string[] = [];
    const definitions = {
      role: async (task: { agent: { name: string } }) => {
        asked.push(task.agent.name);
        return role(task.agent.name);
      },
      briefing: ({ task }: Assignment) => {
        asked.push(task.agent.name);
        return 'words';
      },
    };
    const work = () => product('/w', 'b', []);
    await using world = await start({ definitions, work, integrates: true });
    await world.plan({ a: { agent: 'coder' } });
    await world.worker('a').reports('done');
    await quiet();
    expect(world.worker('integration').spec.role).toBeNull();
    expect(world.worker('integration').last.text).toContain('Merge the branches');
    expect(asked).toEqual(['coder', 'coder']);
  });
});
