import type { OpenSpec, Workspaces } from '@reveille/core';
import type { Snapshot } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { quiet, refused, start, type World } from './world.ts';

const SNAPSHOTS: Snapshot[] = ['1', '2'].map((number) => ({
  ref: `refs/reveille/snapshots/a/${number}`,
  commit: `${number}abcdef0123`,
  why: 'a new attempt',
  at: Number(number),
}));

function files(opened: OpenSpec[]): Partial<Workspaces> {
  return {
    snapshots: async () => SNAPSHOTS,
    open: async (spec) => {
      opened.push(spec);
      return { path: '/w', branch: 'b', environment: {}, notices: [] };
    },
  };
}

async function failedTask(opened: OpenSpec[]): Promise<World> {
  const world = await start({ workspaces: files(opened) });
  await world.plan({ a: [] });
  await world.worker('a').reports('no', { status: 'failed' });
  return world;
}

const how = (opened: readonly OpenSpec[]) => opened.map(({ fresh, from }) => ({ fresh, from }));

test('[CHK3.1] a retry from a snapshot begins there, once: the next attempt begins as any other', async () => {
  const opened: OpenSpec[] = [];
  await using world = await failedTask(opened);
  const { task } = world.worker('a');
  for (const from of [SNAPSHOTS[0]!.ref, '2', '1abcdef', 'last', undefined]) {
    await world.person.retryTask(task, from === undefined ? {} : { from });
    await quiet();
    await world.worker('a').reports('no', { status: 'failed' });
  }
  expect(how(opened)).toEqual([
    { fresh: false, from: undefined },
    { fresh: true, from: SNAPSHOTS[0]!.ref },
    { fresh: true, from: SNAPSHOTS[1]!.ref },
    { fresh: true, from: SNAPSHOTS[0]!.ref },
    { fresh: false, from: null },
    { fresh: true, from: undefined },
  ]);
});

test('[AGT2] a retry with another agent looks at the agents of the repository of the task', async () => {
  const known: string[] = [];
  const know = async (repository: string): Promise<void> => void known.push(repository);
  await using world = await start({ workspaces: files([]), definitions: { know } });
  await world.plan({ a: [] });
  const { task } = world.worker('a');
  await world.worker('a').reports('no', { status: 'failed' });
  known.length = 0;
  await world.person.retryTask(task);
  expect(known).toEqual([]);
  await quiet();
  await world.worker('a').reports('no', { status: 'failed' });
  await world.person.retryTask(task, { agent: 'claude:coder' });
  expect(known).toEqual(['/repos/a']);
});

test('[CHK3.1] it is the same after a crash, and with another agent', async () => {
  const opened: OpenSpec[] = [];
  await using world = await failedTask(opened);
  await world.person.retryTask(world.worker('a').task, { from: '2', agent: 'claude:coder', model: 'opus' });
  world.crash();
  await world.restart();
  expect(opened.at(-1)).toMatchObject({ fresh: true, from: SNAPSHOTS[1]!.ref });
  expect(world.worker('a').spec.agent).toEqual({ backend: 'claude', name: 'coder' });
});

test('[CHK3.2] a name that means no snapshot, or two, changes nothing and says which there are', async () => {
  const opened: OpenSpec[] = [];
  await using world = await failedTask(opened);
  const { task } = world.worker('a');
  const error = await refused(world.person.retryTask(task, { from: '3' }), 'not_found');
  expect(error.message).toContain(SNAPSHOTS[1]!.ref);
  expect(error.message).toContain('"last"');
  expect(await world.state('a')).toBe('failed');
  await world.person.retryTask(task);
  await quiet();
  await refused(world.person.retryTask(task, { from: '1' }), 'wrong_state');
  const stranger = await world.chat();
  await refused(stranger.orch.retryTask(task, { from: '1' }), 'not_allowed');
  await using bare = await start();
  await bare.plan({ a: [] });
  await bare.worker('a').reports('no', { status: 'failed' });
  await refused(bare.person.retryTask(bare.worker('a').task, { from: 'last' }), 'wrong_state');
});
