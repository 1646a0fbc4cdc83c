import type { Assignment, Role } from '@reveille/core';
import type { Task } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { product, quiet, refused, start } from './world.ts';

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

  test('[AGT4.33] who says who it is hears whether its depth lets it hand work on', async () => {
    const places: Record<string, unknown> = {};
    const definitions = {
      role: async ({ name, agent }: Task, place: object) => {
        places[name] = place;
        return role(agent.name);
      },
    };
    await using world = await start({ definitions, settings: { depth: { orchestrator: 2, standalone: 1 } } });
    await world.plan({ a: [] });
    await world.worker('a').spawns('deep', { name: 'deep' });
    const chat = await world.chat();
    await chat.spawns('of a chat', { name: 'of a chat' });
    expect(places).toEqual({
      a: {},
      deep: { mayNotDelegate: 'depth 2 is as deep as it goes here' },
      'of a chat': { mayNotDelegate: 'depth 1 is as deep as it goes here' },
    });
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

describe('what a definition decides', () => {
  const all = { tools: ['*', 'orchestrator_*'], deniedTools: [], readOnly: false };
  const defined = (name: string) =>
    ({
      coder: { ...all, backend: 'claude', model: 'large', delegatesTo: ['tester'] },
      tester: { ...all, backend: null, model: 'small', delegatesTo: [] },
      reviewer: { ...all, backend: 'gemini', model: null, delegatesTo: null },
    })[name];

  test('[AGT1.1] backend and model: what the task says, then what the definition says, then the default', async () => {
    await using world = await start({ definitions: { defined } });
    const chat = await world.chat();
    for (const [i, [agentType, model, backend, used]] of (
      [
        ['coder', undefined, 'claude', 'large'],
        ['@coder', 'tiny', 'claude', 'tiny'],
        ['scripted:coder', undefined, 'scripted', null],
        ['scripted:coder', 'tiny', 'scripted', 'tiny'],
        ['tester', undefined, 'scripted', 'small'],
        ['claude:tester', undefined, 'claude', 'small'],
        ['researcher', undefined, 'scripted', null],
        [undefined, undefined, 'scripted', null],
      ] as const
    ).entries()) {
      await chat.spawns(`t${i}`, { agentType, model });
      expect((await world.task(`t${i}`)).task).toMatchObject({ agent: { backend }, model: used });
    }
    await world.plan({ p: { agent: 'coder' } });
    expect((await world.task('p')).task).toMatchObject({ agent: { backend: 'claude' }, model: 'large' });
  });

  test('[AGT1.1] a backend that only the definition names, and that is not here, is refused with what to write', async () => {
    await using world = await start({ definitions: { defined } });
    const chat = await world.chat();
    const error = await refused(
      chat.orch.spawnSubtask({ prompt: 'x', agentType: 'reviewer' }),
      'unknown_agent',
    );
    expect(error.message).toContain('runs on the backend "gemini" by its definition');
    expect(error.message).toContain('claude:reviewer');
  });

  test('[AGT2] a default backend that is not here is refused too', async () => {
    await using world = await start({ settings: { defaultBackend: 'gemini' } });
    const chat = await world.chat();
    const error = await refused(chat.orch.spawnSubtask({ prompt: 'x' }), 'unknown_agent');
    expect(error.data['known']).toEqual(['claude', 'scripted']);
  });

  test('[AGT4.31] an agent hands work only to those its definition names, whichever way it tries', async () => {
    await using world = await start({ definitions: { defined } });
    await world.plan({ a: { agent: 'coder' } });
    const { orch } = world.worker('a');
    const before = await world.store.lastEvent();
    const error = await refused(
      orch.spawnSubtask({ prompt: 'x', agentType: 'researcher' }, { blocking: false }),
      'not_allowed',
    );
    expect(error.message).toContain('only to tester, not to researcher');
    expect(error.data['known']).toEqual(['tester']);
    await refused(orch.spawnSubtask({ prompt: 'x' }, { blocking: false }), 'not_allowed');
    await refused(orch.spawnSubtasks([{ prompt: 'x', agentType: 'tester' }, { prompt: 'y' }]), 'not_allowed');
    await refused(
      orch.savePlan({ name: 'p', tasks: [{ id: 'x', prompt: 'x', agent: 'researcher' }] }),
      'not_allowed',
    );
    expect(await world.store.lastEvent()).toBe(before);
    await world.worker('a').spawns('below', { agentType: 'tester' });
    expect(world.worker('below').spec.agent.name).toBe('tester');
  });

  test('[AGT4.31] one that may spawn nobody is told so; a person is held by no definition', async () => {
    const settings = { depth: { orchestrator: 3 } };
    await using world = await start({ definitions: { defined }, settings });
    await world.plan({ a: { agent: 'tester' } });
    const error = await refused(world.worker('a').orch.spawnSubtask({ prompt: 'x' }), 'not_allowed');
    expect(error.message).toContain('to nobody');
    await world.plan({ b: { agent: 'researcher' } });
    expect(world.worker('b').spec.agent.name).toBe('researcher');
  });
});
