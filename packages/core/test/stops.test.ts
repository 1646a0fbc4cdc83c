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

test('[WRK1.80] a worker that is paused starts nothing by any other operation either, nor lets a plan go on', async () => {
  await using world = await start({ settings: { depth: { orchestrator: 9 } } });
  await world.plan({ a: [] });
  const { orch, task } = world.worker('a');
  const child = await world.worker('a').spawns('child');
  await orch.cancelTask(child);
  const draft = await orch.savePlan({ name: 'draft', tasks: [{ id: 'b', prompt: 'x' }] });
  const running = await orch.savePlan({ name: 'q', tasks: [{ id: 'c', prompt: 'x' }] }, { start: true });
  await quiet();
  await orch.pausePlan(running.plan.id);
  await world.person.pauseWorker(task);
  await quiet();
  const before = await world.store.lastEvent();
  const starting = [
    () => orch.retryTask(child),
    () => orch.savePlan({ name: 'another', tasks: [{ id: 'd', prompt: 'x' }] }, { start: true }),
    () => orch.startPlan(draft.plan.id),
    () => orch.deployTask(draft.tasks[0]!.task.id),
    () => orch.addPlanTask(running.plan.id, { id: 'e', prompt: 'x' }),
    () => orch.resumePlan(running.plan.id),
  ];
  for (const start of starting)
    expect((await refused(start(), 'wrong_state')).message, String(start)).toContain('paused');
  expect(await world.store.lastEvent()).toBe(before);
  await world.person.resumeWorker(task);
  await orch.startPlan(draft.plan.id);
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
