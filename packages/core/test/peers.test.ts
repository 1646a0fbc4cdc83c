// Cases that went wrong in comparable systems, as listed in test/FAULTS.md.
import { expect, test } from 'vitest';
import { quiet, refused, start } from './world.ts';

test('[peer-a] nineteen children that end within one turn of their parent all arrive, each in full', async () => {
  await using world = await start({ settings: { concurrency: 64 } });
  await world.plan({ parent: [] });
  const parent = world.worker('parent');
  const names = Array.from({ length: 19 }, (_, i) => `child ${i}`);
  await parent.orch.spawnSubtasks(names.map((prompt) => ({ prompt })));
  await quiet();
  await Promise.all(names.map((name) => world.worker(name).reports(`answer of ${name}.`)));
  await parent.ends();
  for (const name of names) expect(parent.last.text).toContain(`answer of ${name}.`);
  expect(parent.turns).toHaveLength(2);
  expect(parent.last.given).toHaveLength(19);
});

test('[peer-b] a child that its parent retried tells that parent, not the root', async () => {
  await using world = await start({ settings: { depth: { orchestrator: 3 } } });
  const { plan } = await world.plan({ root: [] });
  const root = world.worker('root');
  await root.spawns('b');
  const b = world.worker('b');
  const c = await b.spawns('c');
  await world.worker('c').reports('broken', { status: 'failed' });
  await b.ends();
  await b.orch.retryTask(c);
  await quiet();
  await world.worker('c').reports('mended');
  await b.ends();
  expect(b.last.text).toContain('mended');
  expect(await world.mail(root.spec.session)).toEqual([]);
  expect(await world.mail(plan.owner)).toEqual([]);
});

test('[peer-c] the word of an earlier attempt does not end the next one', async () => {
  await using world = await start();
  await world.plan({ a: [] });
  const old = world.worker('a');
  await old.fails('auth', 'key expired');
  await world.person.retryTask(old.task);
  await quiet();
  const late = await refused(
    old.orch.reportCompletion({ status: 'success', output: 'DONE' }),
    'stale_caller',
  );
  expect(late.message).toContain('has ended');
  expect(await world.task('a')).toMatchObject({
    task: { state: 'running' },
    run: { attempt: 2, state: 'open' },
  });
  expect(await world.events('report.refused')).toMatchObject([{ run: old.spec.run }]);
});

test('[peer-d] a child that is done before its start-up is over is heard', async () => {
  await using world = await start({
    reflex: (agent) => {
      if (agent.spec.task.name === 'quick')
        void agent.orch.reportCompletion({ status: 'success', output: 'already' });
    },
  });
  await world.plan({ a: [] });
  const result = await world.worker('a').orch.spawnSubtask({ prompt: 'quick' });
  expect(result).toMatchObject({ state: 'ended', delivery: { end: { output: 'already' } } });
});

test('[peer-e] an end that came before the crash is delivered after the restart', async () => {
  await using world = await start();
  await world.plan({ parent: [] });
  await world.worker('parent').spawns('child');
  await world.worker('child').reports('made it');
  world.crash();
  await world.restart();
  expect(world.worker('parent').last.text).toContain('made it');
});

test('[peer-e] an end on another host while the parent’s host is down is delivered when it is back', async () => {
  await using one = await start({ host: 'one', settings: { concurrency: 1 } });
  await one.plan({ parent: [] });
  const parent = one.worker('parent');
  await using two = await start({ host: 'two', beside: one });
  const child = await parent.spawns('child');
  one.crash();
  await two.worker(child).reports('from the other host');
  await one.restart();
  const heirs = [...one.agents, ...two.agents].filter((agent) => agent.task === parent.task && agent.alive);
  expect(heirs).toHaveLength(1);
  expect(heirs[0]?.last.text).toContain('from the other host');
});

test('[peer-f] a receiver that is already idle is given its mail without any time passing', async () => {
  await using world = await start();
  await world.plan({ parent: [] });
  const parent = world.worker('parent');
  await parent.spawns('child');
  await parent.ends('waiting');
  await world.advance(10_000);
  const before = world.clock.mono();
  await world.worker('child').reports('here');
  expect(parent.last.text).toContain('here');
  expect(world.clock.mono()).toBe(before);
});

test('[peer-g] no message is given twice: not by await and turn, not by sweep and wake, not after a restart', async () => {
  await using world = await start();
  await world.plan({ parent: [] });
  let parent = world.worker('parent');
  const one = await parent.spawns('one');
  await world.worker('one').reports('1');
  await parent.orch.awaitSubtasks({ taskIds: [one] });
  await parent.spawns('two');
  await parent.ends();
  await world.worker('two').reports('2');
  await parent.says('thank you');
  await world.advance(30_000);
  world.crash();
  await world.restart();
  parent = world.worker('parent');
  await parent.ends();
  await world.advance(120_000);
  const given = world.agents.filter((agent) => agent.task === parent.task).flatMap((agent) => agent.turns);
  const ends = await world.mail(parent.spec.session, 'end');
  const times = ends.map(({ id }) => given.filter((turn) => turn.given.includes(id)).length);
  expect(times).toEqual([0, 1]);
  expect(ends.map((message) => message.state)).toEqual(['read', 'read']);
});

test('[peer-k][HLT4] a machine that slept, or a clock that was set, fails nobody and loses nothing', async () => {
  await using world = await start();
  await world.plan({ a: [], parent: [] });
  const [a, parent] = [world.worker('a'), world.worker('parent')];
  await parent.spawns('child');
  await parent.ends();
  for (const jump of [8 * 3_600_000, -9 * 3_600_000, 30 * 86_400_000]) {
    world.clock.jump(jump);
    await world.advance(6_000);
  }
  expect(await world.states('a', 'parent', 'child')).toEqual(['running', 'waiting', 'running']);
  expect((await world.events()).filter((event) => event.type.startsWith('health.'))).toEqual([]);
  expect(await world.mail(a.spec.session)).toEqual([]);
  await world.worker('child').reports('good morning');
  expect(parent.last.text).toContain('good morning');
});

test('[peer-m] agents that spawn agents without end are stopped by the budget of their root', async () => {
  await using world = await start({
    settings: {
      depth: { orchestrator: 1_000 },
      children: { total: 1_000, open: 1_000, perMinute: 1_000 },
      concurrency: 1_000,
    },
    reflex: (agent) => {
      const inputs = [0, 1].map((i) => ({ prompt: `${agent.spec.task.prompt}.${i}` }));
      for (const input of inputs)
        void agent.orch.spawnSubtask(input, { blocking: false }).catch(() => undefined);
    },
  });
  const { plan } = await world.plan({ root: { budget: { spawns: 60 } } });
  expect(world.agents).toHaveLength(61);
  await refused(world.worker('root').orch.spawnSubtask({ prompt: 'one more' }), 'budget_exhausted');
  await world.person.stop({ scope: 'plan', plan: plan.id }, 'enough');
  await quiet();
  expect(world.agents.filter((agent) => agent.alive)).toEqual([]);
});
