import { expect, test } from 'vitest';
import { quiet, refused, start } from './world.ts';

test('[WRK1.80] a worker that is paused spawns nothing, also before it has been stopped; resumed, it does', async () => {
  await using world = await start();
  await world.plan({ a: [] });
  const a = world.worker('a');
  a.heedsInterrupt = false;
  await world.person.pauseWorker(a.task);
  const { message } = await refused(a.orch.spawnSubtask({ prompt: 'x' }), 'wrong_state');
  expect(message).toContain('paused');
  expect(await world.person.listTasks({ owner: a.spec.session })).toEqual([]);
  await world.person.resumeWorker(a.task);
  expect((await a.orch.spawnSubtasks([{ prompt: 'x' }])).length).toBe(1);
});

test('[LIM1.80] what is past its budget begins nothing more: no turn, no child', async () => {
  await using world = await start({ settings: { concurrency: 1 } });
  await world.plan({ a: { priority: 'high' }, b: [] }, { budget: { tokens: 100 } });
  await world.worker('a').uses('1', 150);
  await quiet();
  expect(await world.states('a', 'b')).toEqual(['failed', 'failed']);
  expect(world.hasWorker('b')).toBe(false);
});

test('[INB2.80] what was asked of one that ends goes at once to the next who can answer', async () => {
  await using world = await start({ settings: { orphans: 'hand_up', depth: { orchestrator: 3 } } });
  await world.plan({ top: [] });
  const top = world.worker('top');
  await top.spawns('mid');
  await world.worker('mid').spawns('low');
  const request = await world.worker('low').asks('tabs or spaces?');
  await world.worker('mid').fails('auth', 'no key');
  expect((await world.store.get('request', request))?.doc).toMatchObject({
    state: 'open',
    with: top.spec.session,
  });
  await top.ends();
  expect(top.last.text).toContain('tabs or spaces?');
});

test('[INB2.80] of a plan whose chat has ended it goes to the person', async () => {
  await using world = await start();
  const chat = await world.chat('chat');
  await chat.orch.savePlan({ name: 'p', tasks: [{ id: 'a', prompt: 'x' }] }, { start: true });
  await quiet();
  const request = await world.worker('a').asks('tabs or spaces?');
  expect(await world.person.inbox()).toEqual([]);
  await chat.orch.endSession(chat.id);
  expect(await world.person.inbox()).toMatchObject([{ id: request, with: null }]);
});
