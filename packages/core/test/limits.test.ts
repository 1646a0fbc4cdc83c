import { DEFAULTS } from '@reveille/core';
import { describe, expect, test } from 'vitest';
import { quiet, refused, start } from './world.ts';

describe('spawning', () => {
  test('[LIM1][SUB7] depth is counted from the stored ancestry, and the refusal says both numbers', async () => {
    await using world = await start({ settings: { depth: { orchestrator: 4, standalone: 2 } } });
    await world.plan({ top: [] });
    let name = 'top';
    for (const depth of [2, 3, 4]) {
      await world.worker(name).spawns(`at ${depth}`);
      name = `at ${depth}`;
      expect((await world.task(name)).task.depth).toBe(depth);
    }
    const deep = await refused(world.worker(name).orch.spawnSubtask({ prompt: 'x' }), 'limit_reached');
    expect(deep.message).toMatch(/depth would be 5, the limit is 4/);
    expect(deep.data).toMatchObject({ limit: 'depth', value: 5, max: 4 });
    const chat = await world.chat();
    await chat.spawns('one');
    await world.worker('one').spawns('two');
    await refused(world.worker('two').orch.spawnSubtask({ prompt: 'x' }), 'limit_reached');
    const orchestrator = await world.chat('orchestrator');
    await orchestrator.spawns('of orchestrator');
    expect((await world.task('of orchestrator')).task.depth).toBe(1);
  });

  test('[SUB7] depth is the same after a restart and after a retry', async () => {
    await using world = await start();
    await world.plan({ top: [] });
    await world.worker('top').spawns('child');
    world.crash();
    await world.restart();
    await refused(world.worker('child').orch.spawnSubtask({ prompt: 'x' }), 'limit_reached');
    const { task } = world.worker('child');
    await world.worker('child').fails('auth');
    await world.person.retryTask(task);
    await quiet();
    await refused(world.worker('child').orch.spawnSubtask({ prompt: 'x' }), 'limit_reached');
  });

  test('[SUB7] a plan that a worker saves is no way around the depth', async () => {
    await using world = await start();
    await world.plan({ top: [] });
    await world.worker('top').spawns('child');
    const plan = { name: 'deeper', tasks: [{ id: 'a', prompt: 'x' }] };
    const before = await world.store.lastEvent();
    const error = await refused(world.worker('child').orch.savePlan(plan, { start: true }), 'limit_reached');
    expect(error.data).toMatchObject({ limit: 'depth', value: 3, max: 2 });
    expect(await world.store.lastEvent()).toBe(before);
    const { tasks } = await world.worker('top').orch.savePlan(plan);
    expect(tasks[0]?.task.depth).toBe(2);
  });

  test('[LIM1] children at once: an end makes room', async () => {
    await using world = await start({ settings: { children: { open: 2 } } });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('x');
    await a.spawns('y');
    const full = await refused(a.orch.spawnSubtask({ prompt: 'z' }), 'limit_reached');
    expect(full.message).toMatch(/children at once would be 3, the limit is 2/);
    await world.worker('x').reports();
    await a.spawns('z');
  });

  test('[LIM1] children in all: an end makes no room', async () => {
    await using world = await start({ settings: { children: { total: 2 } } });
    await world.plan({ a: [] });
    const a = world.worker('a');
    for (const name of ['x', 'y']) {
      await a.spawns(name);
      await world.worker(name).reports();
    }
    expect((await refused(a.orch.spawnSubtask({ prompt: 'z' }), 'limit_reached')).message).toMatch(
      /in all would be 3/,
    );
  });

  test('[LIM1] spawns per minute: a minute later there is room again, whatever the wall clock did', async () => {
    await using world = await start({ settings: { children: { perMinute: 3, open: 100 } } });
    await world.plan({ a: [] });
    const a = world.worker('a');
    for (const name of ['1', '2', '3']) await a.spawns(name);
    expect((await refused(a.orch.spawnSubtask({ prompt: '4' }), 'limit_reached')).message).toMatch(
      /per minute would be 4, the limit is 3/,
    );
    await world.advance(59_000);
    await refused(a.orch.spawnSubtask({ prompt: '4' }), 'limit_reached');
    await world.advance(1_000);
    await a.spawns('4');
    for (const name of ['5', '6']) await a.spawns(name);
    await refused(a.orch.spawnSubtask({ prompt: '7' }), 'limit_reached');
    world.clock.jump(-3_600_000);
    await a.spawns('7');
  });

  test('[LIM1][SUB1] the same agent with the same words, somewhere above, is a cycle', async () => {
    await using world = await start({ settings: { depth: { orchestrator: 9 } } });
    await world.plan({ top: { prompt: 'Fix   the bug', agent: 'coder' } });
    await world.worker('top').spawns('look into it', { agentType: 'reviewer' });
    const { orch } = world.worker('look into it');
    const error = await refused(
      orch.spawnSubtask({ prompt: 'fix the BUG', agentType: 'coder' }),
      'limit_reached',
    );
    expect(error.data).toMatchObject({ limit: 'cycle', ancestor: world.worker('top').task });
    await orch.spawnSubtask({ prompt: 'fix the bug', agentType: 'tester' }, { blocking: false });
    await orch.spawnSubtask({ prompt: 'fix the other bug', agentType: 'coder' }, { blocking: false });
  });

  test('[LIM1] ten spawns at once count as ten', async () => {
    await using world = await start({ settings: { children: { open: 5 } } });
    await world.plan({ a: [] });
    const { orch } = world.worker('a');
    const calls = Array.from({ length: 10 }, (_, i) =>
      orch.spawnSubtask({ prompt: `c${i}` }, { blocking: false }),
    );
    const results = await Promise.allSettled(calls);
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(5);
  });
});

describe('slots', () => {
  test('[LIM1] no more turns at once than the host allows', async () => {
    await using world = await start({ settings: { concurrency: 3 } });
    await world.plan(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`t${i}`, []])));
    for (let left = 10; left > 0; left--) {
      expect(world.working.length).toBe(Math.min(3, left));
      await world.worker(world.working[0]!).reports();
    }
  });

  test('[LIM2] parents that wait hold no slot: one slot is enough for a whole tree', async () => {
    await using world = await start({ settings: { concurrency: 1, depth: { orchestrator: 5 } } });
    await world.plan({ a: [], b: [] });
    for (const [parent, child] of [
      ['a', 'a1'],
      ['a1', 'a2'],
      ['a2', 'a3'],
    ] as const) {
      await world.worker(parent).spawns(child);
      await world.worker(parent).ends();
    }
    expect(world.working).toEqual(['a3']);
    for (const name of ['a3', 'a2', 'a1', 'a']) await world.worker(name).reports();
    expect(await world.states('a', 'a1', 'a2', 'a3', 'b')).toEqual([
      'completed',
      'completed',
      'completed',
      'completed',
      'running',
    ]);
  });

  test('[LIM2] the child of a waiting parent goes before new work of any priority', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    await world.plan({
      a: { priority: 'critical' },
      b: { priority: 'critical' },
      c: { priority: 'critical' },
    });
    const first = world.working[0]!;
    await world.worker(first).spawns('child');
    await world.worker(first).ends();
    expect(world.working).toEqual(['child']);
  });

  test('[LIM2] many parents that all wait in calls at once stop nobody', async () => {
    await using world = await start({
      settings: { concurrency: 1 },
      reflex: (agent) => {
        const report = async (): Promise<void> => {
          const { orch, spec } = agent;
          if (spec.task.depth === 1) await orch.spawnSubtask({ prompt: `child of ${spec.task.name}` });
          await orch.reportCompletion({ status: 'success', output: 'done' });
        };
        void report();
      },
    });
    const names = Array.from({ length: 6 }, (_, i) => `p${i}`);
    await world.plan(Object.fromEntries(names.map((name) => [name, []])));
    expect(await world.states(...names)).toEqual(names.map(() => 'completed'));
  });
});

describe('budgets', () => {
  const budget = async (world: Awaited<ReturnType<typeof start>>, id: string) =>
    (await world.store.get('budget', id))!.doc;

  test('[LIM1] what a child uses comes out of its parent’s and its plan’s', async () => {
    await using world = await start();
    const { plan } = await world.plan(
      { a: { budget: { tokens: 500 } } },
      { budget: { tokens: 1_000, usd: 9 } },
    );
    const a = world.worker('a');
    await a.uses('1', 100, 0.5);
    const child = await a.spawns('child', { budget: { tokens: 300 } });
    await world.worker('child').uses('1', 250, 1);
    expect((await budget(world, child)).used).toMatchObject({ tokens: 250, usd: 1 });
    expect((await budget(world, a.task)).used).toMatchObject({ tokens: 350, usd: 1.5 });
    expect((await budget(world, plan.id)).used).toMatchObject({ tokens: 350, usd: 1.5 });
  });

  test('[LIM1] past the limit the run is stopped with what was done, and the overrun is recorded', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { tokens: 100 } } });
    const a = world.worker('a');
    await a.says('done so far: half');
    await a.uses('1', 100);
    expect(await world.state('a')).toBe('running');
    await a.uses('2', 50);
    expect(await world.task('a')).toMatchObject({
      task: { state: 'failed' },
      end: {
        status: 'partial',
        cause: 'budget',
        output: 'done so far: half',
        error: { class: 'budget', message: expect.stringContaining('150 of 100 used, 50 over') },
      },
    });
    expect(a.alive).toBe(false);
    expect((await budget(world, a.task)).used.tokens).toBe(150);
  });

  test('[LIM1] a child that overruns its parent’s limit is stopped, though its own would allow it', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { tokens: 100 } } });
    await world.worker('a').spawns('child', { budget: { tokens: 10_000 } });
    await world.worker('child').uses('1', 101);
    expect((await world.task('child')).end).toMatchObject({ cause: 'budget' });
    expect(await world.state('a')).toBe('running');
  });

  test('[LIM1] what is reserved cannot be reserved twice; used, it is replaced; unused, it is given back with the run', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [] }, { budget: { tokens: 100 } });
    const [a, b] = [world.worker('a'), world.worker('b')];
    expect(await a.spec.reserve('1', { tokens: 60 })).toEqual({ granted: true });
    expect(await a.spec.reserve('1', { tokens: 60 })).toEqual({ granted: true });
    expect(await b.spec.reserve('1', { tokens: 60 })).toMatchObject({
      granted: false,
      why: expect.stringContaining('120 would exceed 100'),
    });
    await a.uses('1', 30);
    expect(await b.spec.reserve('1', { tokens: 60 })).toEqual({ granted: true });
    await b.reports();
    expect(await a.spec.reserve('2', { tokens: 70 })).toEqual({ granted: true });
    await a.reports();
  });

  test('[LIM1] a reservation is an amount: one that cannot be counts as a call', async () => {
    const budgets = { ...DEFAULTS.budgets, callTokens: 60 };
    await using world = await start({ settings: { budgets } });
    await world.plan({ a: { budget: { tokens: 100 } } });
    const { spec } = world.worker('a');
    expect(await spec.reserve('1', { tokens: -1_000 })).toEqual({ granted: true });
    expect(await spec.reserve('2', { tokens: Number.NaN })).toMatchObject({
      granted: false,
      why: expect.stringContaining('120 would exceed 100'),
    });
    expect(await spec.reserve('3', { tokens: 41, usd: -5 })).toMatchObject({ granted: false });
    expect(await spec.reserve('4', { tokens: 40 })).toEqual({ granted: true });
  });

  test('[LIM1] the same use reported twice is used once', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { tokens: 100 } } });
    const a = world.worker('a');
    await a.uses('1', 60);
    await a.uses('1', 60);
    expect(await world.state('a')).toBe('running');
    expect((await budget(world, a.task)).used.tokens).toBe(60);
  });

  test('[LIM1] what an agent says it used while it is stopped after its report counts, once', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const stop = a.stop.bind(a);
    a.stop = async (reason) => {
      a.hears({ type: 'usage', id: 'last', tokens: 5, usd: 0.5 });
      a.hears({ type: 'usage', id: 'last', tokens: 5, usd: 0.5 });
      await stop(reason);
    };
    await a.reports('done');
    await quiet();
    expect((await world.task('a')).run).toMatchObject({ state: 'ended', used: { tokens: 5, usd: 0.5 } });
  });

  test('[LIM1] turns', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { turns: 2 } } });
    const a = world.worker('a');
    await a.ends('one');
    await a.calls('edit');
    await a.ends('two');
    await world.person.sendMessage({ to: a.task, message: 'three?' });
    await quiet();
    expect((await world.task('a')).end).toMatchObject({
      cause: 'budget',
      output: 'two',
      error: { message: expect.stringContaining('turns') },
    });
  });

  test('[LIM1] spawns, down the whole tree', async () => {
    await using world = await start({ settings: { depth: { orchestrator: 5 } } });
    await world.plan({ a: { budget: { spawns: 2 } } });
    await world.worker('a').spawns('b');
    await world.worker('b').spawns('c');
    expect(
      (await refused(world.worker('c').orch.spawnSubtask({ prompt: 'd' }), 'budget_exhausted')).message,
    ).toContain('spawns');
  });

  test('[LIM1] wall time', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { wallMs: 60_000 } } });
    await world.worker('a').says('slowly');
    await world.advance(59_000);
    expect(await world.state('a')).toBe('running');
    world.clock.jump(3_600_000);
    await world.advance(500);
    expect(await world.state('a')).toBe('running');
    await world.advance(2_000);
    expect((await world.task('a')).end).toMatchObject({
      cause: 'budget',
      error: { message: expect.stringContaining('wall time') },
    });
  });

  test('[LIM1] raised, it goes on by itself', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { tokens: 100 } } });
    await world.worker('a').uses('1', 200);
    const { task } = world.worker('a');
    await world.person.raiseBudget(task, { tokens: 1_000 });
    await quiet();
    await world.worker('a').uses('1', 100);
    await world.worker('a').reports();
    expect(await world.state('a')).toBe('completed');
  });
});

test('[LIM1] raised again for a later run, it is told again', async () => {
  await using world = await start();
  await world.plan({ a: { budget: { tokens: 100 } } });
  for (const [n, tokens] of [200, 6_000].entries()) {
    const a = world.worker('a');
    await a.uses(`${n}`, tokens);
    await world.person.raiseBudget(a.task, { tokens: (n + 1) * 5_000 });
    await quiet();
    expect(world.worker('a')).not.toBe(a);
    expect(world.worker('a').last.text).toContain('It has been raised');
    expect(await world.mail(a.spec.session, 'resume')).toHaveLength(n + 1);
  }
  await world.worker('a').reports();
});

describe('stop', () => {
  test('[LIM3] everything, at once: plans, chats’ tasks, what was started by hand', async () => {
    await using world = await start();
    await world.plan({ a: [], b: ['a'] });
    await world.worker('a').spawns('child');
    const chat = await world.chat();
    await chat.spawns('of chat');
    const draft = await world.person.savePlan({
      name: 'd',
      tasks: [
        { id: 'by hand', prompt: 'x' },
        { id: 'later', prompt: 'x' },
      ],
    });
    await world.person.deployTask(draft.tasks[0]!.task.id);
    await quiet();
    const { stopped } = await world.person.stop({ scope: 'all' }, 'fire');
    await quiet();
    expect(stopped).toBe(5);
    expect(world.agents.filter((agent) => agent.alive)).toEqual([]);
    expect(await world.states('a', 'b', 'child', 'of chat', 'by hand', 'later')).toEqual([
      'cancelled',
      'cancelled',
      'cancelled',
      'cancelled',
      'cancelled',
      'pending',
    ]);
    // Nothing is left to be stopped, and what is over is not counted.
    const plans = await world.person.listPlans();
    for (const { id } of plans.filter(({ state }) => state === 'cancelled'))
      expect(await world.person.stop({ scope: 'plan', plan: id }, 'again')).toEqual({ stopped: 0 });
    expect(plans.length).toBeGreaterThan(1);
  });

  test('[LIM3] one plan, or one tree, and nothing else', async () => {
    await using world = await start();
    const one = await world.plan({ a: [], b: [] });
    await world.plan({ c: [], d: [] });
    await world.worker('c').spawns('child');
    await world.person.stop({ scope: 'plan', plan: one.plan.id }, 'no');
    await world.person.stop({ scope: 'tree', task: world.worker('c').task }, 'no');
    await quiet();
    expect(await world.states('a', 'b', 'c', 'child', 'd')).toEqual([
      'cancelled',
      'cancelled',
      'cancelled',
      'cancelled',
      'running',
    ]);
  });

  test('[LIM3] an agent that does not want to stop holds up nobody else', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [] });
    const a = world.worker('a');
    let letGo = (): void => undefined;
    a.stop = () => new Promise((resolve) => (letGo = () => (a.kill(), resolve())));
    await world.person.stop({ scope: 'all' }, 'fire');
    await quiet();
    expect(await world.states('a', 'b')).toEqual(['running', 'cancelled']);
    letGo();
    await quiet();
    expect(await world.state('a')).toBe('cancelled');
  });
});
