import { expect, test } from 'vitest';
import { product, quiet, refused, start } from './world.ts';

const files = { work: () => product('/w', 'b', []), integrates: true };

test('[PLN6.1] a plan on a repository ends with its integration, after everything else', async () => {
  await using world = await start(files);
  const { plan, tasks } = await world.plan({ a: [], b: ['a'], c: [] });
  const integration = tasks.find(({ task }) => task.id === plan.integration)?.task;
  expect(integration).toMatchObject({ key: 'integration', agent: { name: 'integrator' }, state: 'pending' });
  for (const name of ['a', 'c', 'b']) await world.worker(name).reports('x');
  expect(world.working).toEqual(['integration']);
  expect((await world.person.getPlan(plan.id)).plan.state).toBe('active');
  await world.worker('integration').reports('merged');
  expect((await world.person.getPlan(plan.id)).plan.state).toBe('completed');
});

test('[PLN6.1] none without a repository, without a wish, or with nobody to do it; an author may have used its name', async () => {
  await using bare = await start({ integrates: true });
  expect((await bare.plan({ a: [] })).plan.integration).toBeNull();
  await using nobody = await start({ ...files, integrates: false });
  expect((await nobody.plan({ a: [] })).plan.integration).toBeNull();
  await using world = await start(files);
  expect((await world.plan({ a: [] }, { integrate: false })).plan.integration).toBeNull();
  const { plan, tasks } = await world.plan({ integration: [] });
  expect(tasks.find(({ task }) => task.id === plan.integration)?.task.key).toBe('integration-2');
});

test('[PLN6.2] a task that is added is integrated too: by the same one, or by another if that has begun', async () => {
  await using world = await start(files);
  const { plan } = await world.plan({ a: [] });
  await world.person.addPlanTask(plan.id, { id: 'late', prompt: 'x' });
  await quiet();
  await world.worker('a').reports('x');
  expect(await world.state('integration')).toBe('pending');
  await world.worker('late').reports('x');
  expect(await world.state('integration')).toBe('running');
  await world.person.addPlanTask(plan.id, { id: 'later', prompt: 'x' });
  await quiet();
  await world.worker('integration').reports('x');
  await world.worker('later').reports('x');
  await world.worker('integration after later').reports('x');
  const view = await world.person.getPlan(plan.id);
  expect(view.plan.state).toBe('completed');
  expect(view.plan.integration).toBe(world.worker('integration after later').task);
});

test('[PLN6.2] one that is to start after the integration is merged by another, and nobody waits for himself', async () => {
  await using world = await start(files);
  const { plan } = await world.plan({ a: [] });
  await world.person.addPlanTask(plan.id, { id: 'after', prompt: 'x', dependencies: ['integration'] });
  await world.person.addPlanTask(plan.id, { id: 'last', prompt: 'x', dependencies: ['after'] });
  for (const name of ['a', 'integration', 'after', 'last', 'integration after after'])
    await world.worker(name).reports('x');
  expect((await world.person.getPlan(plan.id)).plan.state).toBe('completed');
});

test('[PLN6.4] nobody’s word stands for the merges: an integration is completed by its own report alone', async () => {
  await using world = await start(files);
  const { plan } = await world.plan({ a: [] });
  await world.worker('a').reports('x');
  const { task } = world.worker('integration');
  const { message } = await refused(world.person.completeTask(task, 'Merged: a'), 'wrong_state');
  expect(message).toContain('cancel it');
  expect((await world.person.getPlan(plan.id)).plan.state).toBe('active');
  await world.worker('integration').reports('merged');
  expect((await world.person.getPlan(plan.id)).plan.state).toBe('completed');
});

test('[PLN6.2] another integration waits for everything that the one that was given up waited for', async () => {
  await using world = await start(files);
  const { plan, tasks } = await world.plan({ a: [], b: [] });
  for (const { task } of tasks) if (task.id === plan.integration) await world.person.cancelTask(task.id);
  await world.person.addPlanTask(plan.id, { id: 'late', prompt: 'x' });
  await quiet();
  await world.worker('late').reports('x');
  await world.worker('a').reports('x');
  expect(await world.state('integration after late')).toBe('pending');
  await world.worker('b').reports('x');
  expect(await world.state('integration after late')).toBe('running');
});

test('[PLN6.3] a failed task blocks the integration, and its retry unblocks it', async () => {
  await using world = await start(files);
  const { plan } = await world.plan({ a: [], b: [] });
  await world.worker('b').reports('x');
  await world.worker('a').reports('no', { status: 'failed' });
  expect(await world.state('integration')).toBe('blocked');
  await world.person.addPlanTask(plan.id, { id: 'c', prompt: 'x', dependencies: ['a'] });
  expect((await world.person.getPlan(plan.id)).plan.state).toBe('failed');
  await world.person.retryTask(world.worker('a').task);
  await quiet();
  await world.worker('a').reports('x');
  await world.worker('c').reports('x');
  expect(await world.state('integration')).toBe('running');
});
