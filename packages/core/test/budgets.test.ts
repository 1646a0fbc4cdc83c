import { DEFAULTS } from '@reveille/core';
import type { Budget } from '@reveille/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { quiet, refused, start, type World } from './world.ts';

const node = async (world: World, id: string): Promise<Budget> => (await world.store.get('budget', id))!.doc;
const asked = async (world: World) => (await world.person.inbox()).filter(({ kind }) => kind === 'budget');

describe('used up', () => {
  test('[LIM1.10] the run ends in order with what it has, its owner is told, and the person can raise it', async () => {
    const work = {
      worktree: '/trees/a',
      branch: 'reveille/a',
      commit: 'c0ffee',
      problem: null,
      files: [{ path: 'a.ts', insertions: 1, deletions: 0 }],
    };
    await using world = await start({ work: () => work });
    const { plan } = await world.plan({ a: { budget: { tokens: 100 } }, b: ['a'] });
    const a = world.worker('a');
    await a.says('half of it');
    await a.uses('1', 130);
    expect(await world.task('a')).toMatchObject({
      task: { state: 'failed', why: expect.stringContaining('tokens') },
      end: { status: 'partial', cause: 'budget', output: 'half of it', work: { commit: 'c0ffee' } },
    });
    expect(await world.mail(plan.owner, 'end')).toHaveLength(1);
    expect(await world.state('b')).toBe('blocked');
    const [request] = await asked(world);
    expect(request).toMatchObject({ kind: 'budget', with: null, options: ['raise', 'stop'] });
    expect(request!.text).toContain('130 of 100 used, 30 over');
    await world.person.answer({ request: request!.id, answer: 'raise' });
    await quiet();
    // The same session, the same worktree: another run that goes on where the last one was.
    const again = world.worker('a');
    expect(again).not.toBe(a);
    expect(again.spec).toMatchObject({ session: a.spec.session, resume: `history of ${a.spec.run}` });
    expect(again.last.text).toContain('It has been raised');
    expect((await node(world, a.task)).limits.tokens).toBe(200);
    await again.uses('1', 60);
    await again.reports();
    expect(await world.states('a', 'b')).toEqual(['completed', 'running']);
    expect(await asked(world)).toEqual([]);
    await world.worker('b').reports();
  });

  test('[LIM1.10] left alone it stays as it is, and is answered once', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { turns: 1 } } });
    await world.worker('a').ends('I rest');
    const [request] = await asked(world);
    expect(request!.text).toContain('turns');
    await world.person.answer({ request: request!.id, answer: 'stop' });
    await refused(world.person.answer({ request: request!.id, answer: 'raise' }), 'already_answered');
    expect(await world.state('a')).toBe('failed');
  });

  test('[LIM1.10] a plan’s budget stops whoever draws on it; raised, all of them go on', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: [] }, { budget: { tokens: 100 } });
    await world.worker('a').uses('1', 90);
    await world.worker('b').uses('1', 20);
    expect(await world.states('a', 'b')).toEqual(['running', 'failed']);
    await world.worker('a').uses('2', 1);
    expect(await world.states('a', 'b')).toEqual(['failed', 'failed']);
    expect(await asked(world)).toHaveLength(2);
    const [request] = await asked(world);
    for (const wrong of ['raise tokens=5', 'raise tokens=many', 'raise tokns=500', 'raise usd=-1'])
      await refused(world.person.answer({ request: request!.id, answer: wrong }), 'invalid_input');
    await world.person.answer({ request: request!.id, answer: 'raise tokens=1000' });
    await quiet();
    expect((await node(world, plan.id)).limits.tokens).toBe(1_000);
    expect(await world.states('a', 'b')).toEqual(['running', 'running']);
    expect(await asked(world)).toEqual([]);
    for (const name of ['a', 'b']) await world.worker(name).reports();
  });

  test('[LIM1.10] a time limit that is set or lowered while a run is at work holds for that run', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: { budget: { wallMs: 3_600_000 } }, b: [] });
    for (const name of ['a', 'b']) await world.worker(name).says('slowly');
    await world.advance(60_000);
    const late = await refused(
      world.person.raiseBudget(world.worker('a').task, { wallMs: 30_000 }),
      'invalid_input',
    );
    expect(late.message).toContain('wall time: 30 s is below the 1 min');
    await world.person.raiseBudget(world.worker('a').task, { wallMs: 90_000 });
    await world.person.raiseBudget(plan.id, { wallMs: 120_000 });
    await world.advance(20_000);
    expect(await world.states('a', 'b')).toEqual(['running', 'running']);
    await world.advance(20_000);
    expect(await world.states('a', 'b')).toEqual(['failed', 'running']);
    await world.advance(30_000);
    expect((await world.task('b')).end).toMatchObject({ status: 'partial', cause: 'budget' });
  });

  test('[LIM1.10] wall time counts from the first run under it; raised in time it ends nothing', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: ['a'] }, { budget: { wallMs: 60_000 } });
    await world.worker('a').says('slowly');
    await world.advance(40_000);
    await world.worker('a').reports();
    await world.worker('b').says('slowly too');
    await world.person.raiseBudget(plan.id, { wallMs: 90_000 });
    await world.advance(40_000);
    expect(await world.state('b')).toBe('running');
    await world.advance(15_000);
    expect((await world.task('b')).end).toMatchObject({ status: 'partial', cause: 'budget' });
    const [request] = await asked(world);
    expect(request!.text).toContain('wall time');
  });
});

describe('raise', () => {
  test('[LIM1.13] does what the request says, also where far more was used than twice the limit', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { usd: 0.05, tokens: 10_000 } } });
    const a = world.worker('a');
    await a.uses('1', 3_152_919, 15.0117);
    const items = await asked(world);
    // One request for both limits.
    expect(items).toHaveLength(1);
    expect(items[0]!.text).toContain('raise: tokens to 3162919, money to $15.0617, and it goes on.');
    await world.person.answer({ request: items[0]!.id, answer: 'raise' });
    await quiet();
    expect((await node(world, a.task)).limits).toEqual({ tokens: 3_162_919, usd: 15.0617 });
    expect(await world.state('a')).toBe('running');
    await world.worker('a').reports();
  });

  test('[LIM1.13] of a task and of its plan at once, in one answer', async () => {
    await using world = await start();
    const { plan } = await world.plan(
      { a: { budget: { tokens: 100 } } },
      { budget: { tokens: 150, usd: 1 } },
    );
    const a = world.worker('a');
    await a.uses('1', 160, 3);
    const [request] = await asked(world);
    expect(request!.text).toContain(
      `raise: tokens of ${a.task} to 200, tokens of ${plan.id} to 300, money of ${plan.id} to $4, and`,
    );
    await world.person.answer({ request: request!.id, answer: 'raise' });
    await quiet();
    expect([(await node(world, a.task)).limits, (await node(world, plan.id)).limits]).toEqual([
      { tokens: 200 },
      { tokens: 300, usd: 4 },
    ]);
    expect(await world.state('a')).toBe('running');
  });

  test('[LIM1.13] of the plan, for an agent that says itself that its budget is used up', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: [] }, { budget: { tokens: 100 } });
    await world.worker('b').uses('1', 150);
    const { task } = world.worker('a');
    await world.worker('a').fails('budget', 'no credit is left');
    const request = (await asked(world)).find((each) => each.task === task);
    expect(request!.text).toContain(`tokens of ${plan.id}: 150 of 100 used, 50 over`);
    expect(request!.text).toContain('raise: tokens to 200, and it goes on.');
    await world.person.answer({ request: request!.id, answer: 'raise' });
    await quiet();
    expect((await node(world, plan.id)).limits.tokens).toBe(200);
    expect(await world.states('a', 'b')).toEqual(['running', 'running']);
  });

  test('[LIM1.13] of the task that had no room for a call, and of its plan that others have overrun', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: { budget: { tokens: 100 } }, b: [] }, { budget: { tokens: 150 } });
    const a = world.worker('a');
    await a.uses('1', 90);
    await world.worker('b').uses('1', 100);
    const reserved = await a.spec.reserve('2', { tokens: 50 });
    expect(reserved).toMatchObject({ granted: false, why: expect.stringContaining(a.task) });
    await a.fails('budget', 'no room for another call');
    const request = (await asked(world)).find(({ task }) => task === a.task);
    expect(request!.text).toContain(`raise: tokens of ${a.task} to 200, tokens of ${plan.id} to 300, and`);
    await world.person.answer({ request: request!.id, answer: 'raise' });
    await quiet();
    expect((await node(world, a.task)).limits.tokens).toBe(200);
    expect(await world.states('a', 'b')).toEqual(['running', 'running']);
  });

  test('[LIM1.13] takes what every door takes, and says which limit is still missing', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { tokens: 100, usd: 1 } } });
    const a = world.worker('a');
    await a.uses('1', 160, 3);
    const [request] = await asked(world);
    const answer = (text: string) => world.person.answer({ request: request!.id, answer: text });
    const half = await refused(answer('raise tokens=1k'), 'invalid_input');
    expect(half.message).toContain(`the money of ${a.task} would still keep it from going on`);
    for (const wrong of [
      'raise minutes=x',
      'raise wallMs=5',
      'raise tokens=1k tokens=2k',
      'raise usd=-1 tokens=1k',
    ])
      await refused(answer(wrong), 'invalid_input');
    await answer('raise tokens=1k, usd=$4.50 minutes=5 turns=7 spawns=3');
    await quiet();
    expect((await node(world, a.task)).limits).toEqual({
      tokens: 1_000,
      usd: 4.5,
      wallMs: 300_000,
      turns: 7,
      spawns: 3,
    });
    expect(await world.state('a')).toBe('running');
  });

  test('[LIM1.13] offers time that is not used up yet, also after a sleep of the machine', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { wallMs: 12_000 } } });
    await world.worker('a').says('slowly');
    await world.advance(5_000);
    world.clock.jump(7_200_000);
    await world.advance(8_000);
    const [request] = await asked(world);
    expect(request!.text).toMatch(/wall time of task_\w+: 1[23](\.\d)? s of 12 s used/);
    await world.person.answer({ request: request!.id, answer: 'raise' });
    await quiet();
    await world.advance(9_000);
    expect(await world.state('a')).toBe('running');
    await world.advance(9_000);
    expect((await world.task('a')).end).toMatchObject({ cause: 'budget' });
  });

  test('[LIM1.13] speaks of time in minutes, and the time that nobody could work does not count', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { wallMs: 12_000 } } });
    const a = world.worker('a');
    await a.says('slowly');
    await world.advance(13_000);
    const [request] = await asked(world);
    expect(request!.text).toMatch(/wall time of task_\w+: 1[23](\.\d)? s of 12 s used/);
    expect(request!.text).toContain('raise: wall time to 24 s, and it goes on.');
    // The person comes back an hour later.
    await world.advance(3_600_000);
    await world.person.answer({ request: request!.id, answer: 'raise' });
    await quiet();
    await world.advance(2_000);
    expect(await world.state('a')).toBe('running');
    await world.advance(15_000);
    expect((await world.task('a')).end).toMatchObject({ cause: 'budget' });
    expect((await asked(world)).at(-1)!.text).toContain('raise: wall time to 48 s');
  });

  test('[LIM1.13] what is said while it is being stopped changes the numbers that are asked and done', async () => {
    await using world = await start({ reports: 'request' });
    await world.plan({ a: { budget: { tokens: 100 } } });
    const a = world.worker('a');
    a.hears({ type: 'started', identity: 'p1', resume: null });
    await quiet();
    // It answers when its process is asked to end.
    a.heedsInterrupt = false;
    a.onStop = () => a.hears({ type: 'usage', id: 'last', kind: 'final', tokens: 900, usd: 0 });
    a.hears({ type: 'usage', id: 'first', kind: 'interim', tokens: 130, usd: 0 });
    await quiet();
    const [request] = await asked(world);
    expect(request!.text).toContain(
      '900 of 100 used, 800 over. What it had done is kept. raise: tokens to 1000,',
    );
    await world.person.answer({ request: request!.id, answer: 'raise' });
    await quiet();
    expect((await node(world, a.task)).limits.tokens).toBe(1_000);
  });

  test('[LIM1.13] to what would not let it go on is refused, and stays to be answered', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { turns: 1 } }, b: { budget: { wallMs: 60_000 } } });
    await world.worker('a').ends('I rest');
    await world.worker('b').says('slowly');
    await world.advance(61_000);
    const [turns, time] = await asked(world);
    const answers = [
      [turns!, 'raise turns=1', 'it could not go on. It stopped because of this: turns of'],
      [turns!, 'raise turns=5=6', 'is no budget'],
      [time!, 'raise minutes=1', 'it could not go on'],
      [time!, 'raise minutes=0.5', 'wall time: 30 s is below the 1 min'],
    ] as const;
    for (const [{ id }, answer, why] of answers) {
      const { message } = await refused(world.person.answer({ request: id, answer }), 'invalid_input');
      expect(message).toContain(why);
    }
    expect(await asked(world)).toHaveLength(2);
    await world.person.answer({ request: turns!.id, answer: 'raise turns=9' });
    await world.person.answer({ request: time!.id, answer: 'raise minutes=2' });
    await quiet();
    expect(await world.states('a', 'b')).toEqual(['running', 'running']);
  });

  test('[LIM1.13] of a task whose owner has ended is refused with the reason', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('child', { budget: { tokens: 10 } });
    await world.worker('child').uses('1', 50);
    const [request] = await asked(world);
    await world.person.completeTask(world.worker('a').task);
    await quiet();
    const answer = world.person.answer({ request: request!.id, answer: 'raise' });
    expect((await refused(answer, 'wrong_state')).message).toContain('"child"');
    expect((await node(world, world.worker('child').task)).limits.tokens).toBe(10);
  });

  test('[LIM1.13] one limit raised by hand does not start a run that another one would stop', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { tokens: 100, usd: 1 } } });
    const a = world.worker('a');
    await a.uses('1', 160, 3);
    await world.person.raiseBudget(a.task, { tokens: 500 });
    await quiet();
    expect(await world.state('a')).toBe('failed');
    expect(await asked(world)).toHaveLength(1);
    await world.person.raiseBudget(a.task, { usd: 5 });
    await quiet();
    expect(await world.state('a')).toBe('running');
    expect(await asked(world)).toEqual([]);
  });
});

test('[LIM1.12] what was used stays used over a swap and a retry', async () => {
  await using world = await start();
  const { plan } = await world.plan({ a: { budget: { tokens: 100 } } }, { budget: { tokens: 1_000 } });
  const { task } = world.worker('a');
  await world.worker('a').uses('1', 40);
  await world.person.swapWorker(task, { agent: 'claude:coder' });
  await quiet();
  await world.worker('a').uses('2', 40);
  await world.worker('a').reports('no', { status: 'failed' });
  await world.person.retryTask(task);
  await quiet();
  expect([(await node(world, task)).used.tokens, (await node(world, plan.id)).used.tokens]).toEqual([80, 80]);
  await world.worker('a').uses('3', 21);
  expect((await world.task('a')).end).toMatchObject({ cause: 'budget' });
});

describe('what may be set', () => {
  test('[LIM1.11] a limit below what is used is refused, with every number, and nothing is changed', async () => {
    await using world = await start();
    await world.plan({ a: { budget: { tokens: 100, usd: 5 } } });
    const a = world.worker('a');
    await a.uses('1', 60, 2.5);
    await a.spec.reserve('2', { tokens: 20 });
    const error = await refused(world.person.raiseBudget(a.task, { tokens: 70, usd: 1 }), 'invalid_input');
    expect(error.message).toContain('70 is below the 80');
    expect(error.message).toContain('$1 is below the $2.5');
    expect((await node(world, a.task)).limits).toEqual({ tokens: 100, usd: 5 });
    await world.person.raiseBudget(a.task, { tokens: 80 });
    expect((await node(world, a.task)).limits).toEqual({ tokens: 80, usd: 5 });
  });

  test('[LIM1.11] negative, huge and odd numbers are refused everywhere', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const { task, orch } = world.worker('a');
    const wrong = [
      { tokens: -1 },
      { tokens: 1e13 },
      { tokens: Infinity },
      { usd: Number.NaN },
      { usd: -0.01 },
      { turns: 1.5 },
      { wallMs: 0 },
      {},
    ];
    for (const limits of wrong) await refused(world.person.raiseBudget(task, limits), 'invalid_input');
    await refused(orch.spawnSubtask({ prompt: 'x', budget: { tokens: -5 } }), 'invalid_input');
    await refused(
      world.person.savePlan({ name: 'p', tasks: [{ id: 'a', prompt: 'x', budget: { usd: 1e9 } }] }),
      'invalid_input',
    );
  });

  test('[LIM1.11] one that comes late counts what was used before, and what is below', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    const a = world.worker('a');
    await a.uses('1', 50);
    await a.spawns('child');
    await world.worker('child').uses('1', 25);
    await refused(world.person.raiseBudget(plan.id, { tokens: 60 }), 'invalid_input');
    await world.person.raiseBudget(plan.id, { tokens: 100 });
    expect((await node(world, plan.id)).used.tokens).toBe(75);
    await world.worker('child').uses('2', 26);
    expect((await world.task('child')).end).toMatchObject({ cause: 'budget' });
    await a.uses('2', 1);
    expect((await world.task('a')).end).toMatchObject({ cause: 'budget' });
  });

  test('[LIM1.11] one that comes late has all that a budget below it has counted, of earlier attempts too', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: { budget: { tokens: 500, spawns: 5 } } });
    for (const attempt of ['1', '2', '3']) {
      await world.worker('a').uses(attempt, 20);
      if (attempt === '1') await world.worker('a').spawns('child');
      await world.worker('a').reports('no', { status: 'failed', giveUpChildren: true });
      await world.person.retryTask(world.worker('a').task);
      await quiet();
    }
    await world.worker('a').spec.reserve('next', { tokens: 30 });
    await world.person.raiseBudget(plan.id, { tokens: 200 });
    const [above, below] = [await node(world, plan.id), await node(world, world.worker('a').task)];
    expect(above.used).toEqual(below.used);
    expect(above.used).toMatchObject({ tokens: 60, turns: 5, spawns: 1 });
    expect(above.reserved).toEqual(below.reserved);
    await world.worker('a').reports();
    expect((await node(world, plan.id)).reserved).toEqual({});
  });

  test('[LIM1.11] whoever spends it cannot raise it', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] }, { budget: { tokens: 100 } });
    const { orch, task } = world.worker('a');
    await refused(orch.raiseBudget(plan.id, { tokens: 1e6 }), 'not_allowed');
    await refused(orch.raiseBudget(task, { tokens: 1e6 }), 'not_allowed');
    const planner = await world.chat('orchestrator');
    await refused(planner.orch.raiseBudget(plan.id, { tokens: 1e6 }), 'not_allowed');
  });

  test('[LIM1.11] a budget is shown with what is above it, what is below it, and who used what', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: { budget: { turns: 9 } } }, { budget: { tokens: 1_000 } });
    const a = world.worker('a');
    await a.uses('1', 50, 0.25);
    await a.spawns('child');
    await world.worker('child').uses('1', 25, null);
    const view = await world.person.getBudget(a.task);
    expect(view.chain.map(({ id }) => id)).toEqual([a.task, plan.id]);
    expect(view.tasks).toMatchObject([
      { name: 'a', tokens: 50, usd: 0.25, unpriced: { tokens: 0, calls: 0 } },
      { name: 'child', tokens: 25, usd: 0, unpriced: { tokens: 25, calls: 1 } },
    ]);
    expect((await world.person.getBudget(plan.id)).below.map(({ id }) => id)).toEqual([a.task]);
  });

  test('[LIM1] a task without a budget of its own is shown what is above it, whatever its children have', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] }, { budget: { tokens: 100 } });
    const a = world.worker('a');
    const child = await a.spawns('child', { budget: { tokens: 10 } });
    const { chain, below } = await world.person.getBudget(a.task);
    expect([chain, below].map((nodes) => nodes.map(({ id }) => id))).toEqual([[plan.id], [child]]);
    expect((await world.person.getBudget(child)).chain.map(({ id }) => id)).toEqual([child, plan.id]);
  });
});

describe('what nobody knows the price of', () => {
  test('[EXE5.40] is counted apart, and by setting is no money', async () => {
    await using world = await start({ settings: { budgets: { ...DEFAULTS.budgets, unpriced: 'allow' } } });
    await world.plan({ a: { budget: { usd: 1 } } });
    const a = world.worker('a');
    await a.uses('1', 100, null);
    await a.uses('2', 40, 0.5);
    expect((await world.task('a')).run?.used).toEqual({
      tokens: 140,
      usd: 0.5,
      unpriced: { tokens: 100, calls: 1 },
    });
    expect(await node(world, a.task)).toMatchObject({
      used: { tokens: 140, usd: 0.5 },
      unpriced: { tokens: 100, calls: 1 },
    });
  });

  test('[EXE5.40] two calls without a price that are recorded in one change are told once, and hold nothing up', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] }, { budget: { usd: 1 } });
    const a = world.worker('a');
    await Promise.all([a.uses('1', 100, null), a.uses('2', 100, null)]);
    expect(await world.mail(plan.owner, 'warning')).toHaveLength(1);
    expect((await world.task('a')).run?.used.tokens).toBe(200);
    await a.reports();
    expect(await world.state('a')).toBe('completed');
  });

  test('[EXE5.40] where money is limited the owner is told so, once', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: [] }, { budget: { usd: 1 } });
    for (const name of ['a', 'b']) {
      await world.worker(name).uses('1', 100, null);
      await world.worker(name).uses('2', 100, null);
    }
    const told = await world.mail(plan.owner, 'warning');
    expect(told).toHaveLength(1);
    expect(told[0]!.text).toContain('nobody knows what "a"');
    expect(await world.states('a', 'b')).toEqual(['running', 'running']);
  });

  test('[EXE5.40] by setting it ends the run, and is not even begun where it can be refused before', async () => {
    await using world = await start({ settings: { budgets: { ...DEFAULTS.budgets, unpriced: 'stop' } } });
    await world.plan({
      a: { budget: { usd: 1 } },
      b: { budget: { usd: 1 } },
      c: { budget: { tokens: 1_000 } },
    });
    await world.worker('a').uses('1', 10, null);
    expect((await world.task('a')).end).toMatchObject({
      cause: 'budget',
      error: { message: expect.stringContaining('nobody knows what 10 tokens cost') },
    });
    const { spec } = world.worker('b');
    expect(await spec.reserve('1', { tokens: 10 })).toMatchObject({ granted: false });
    expect(await spec.reserve('1', { tokens: 10, usd: 0.1 })).toEqual({ granted: true });
    await world.worker('c').uses('1', 10, null);
    expect(await world.state('c')).toBe('running');
    const [request] = await asked(world);
    expect(request!.options).toEqual(['stop']);
    await refused(world.person.answer({ request: request!.id, answer: 'raise' }), 'invalid_input');
  });
});

test('[LIM1.12] whatever is reserved, spent, spawned and given back, no node grants more than it has', async () => {
  const step = fc.record({
    who: fc.constantFrom('a', 'b'),
    what: fc.constantFrom('reserve', 'use'),
    id: fc.integer({ min: 1, max: 4 }).map(String),
    tokens: fc.integer({ min: 0, max: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      await using world = await start();
      const limits = { plan: 150, a: 80 };
      const { plan } = await world.plan(
        { a: { budget: { tokens: limits.a } }, b: [] },
        { budget: { tokens: limits.plan } },
      );
      const set = new Map<string, number>();
      for (const { who, what, id, tokens } of steps) {
        const worker = world.worker(who);
        if (!worker.alive) continue;
        const key = `${who}/${id}`;
        if (what === 'reserve') {
          const { granted } = await worker.spec.reserve(id, { tokens }).catch(() => ({ granted: false }));
          if (granted && !set.has(key)) set.set(key, tokens);
        } else if (set.has(key)) {
          // It uses no more than it set aside.
          await worker.uses(id, Math.min(tokens, set.get(key) ?? 0));
          set.delete(key);
        }
        for (const [name, limit] of [
          [plan.id, limits.plan],
          [world.worker('a').task, limits.a],
        ] as const) {
          const { used, reserved } = await node(world, name);
          const all = Object.values(reserved).reduce((sum, each) => sum + (each.tokens ?? 0), used.tokens);
          expect(all).toBeLessThanOrEqual(limit);
        }
      }
    }),
    { numRuns: 25 },
  );
});
