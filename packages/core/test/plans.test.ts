import type { PlanInput } from '@reveille/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { graphProblems } from '../src/plan-rules.ts';
import { quiet, refused, start } from './world.ts';

describe('a plan is checked whole', () => {
  test('[PLN1] all problems come at once, each with its place, and nothing is stored', async () => {
    await using world = await start();
    const tasks = [
      { id: 'a', prompt: 'x', dependencies: ['b'] },
      { id: 'b', prompt: 'x', dependencies: ['a'] },
      { id: 'b', prompt: 'x', agent: 'codr' },
      { id: 'c', prompt: 'x', dependencies: ['c', 'nobody', 'a', 'a'], agent: 'vim:coder' },
    ];
    const before = await world.store.lastEvent();
    const error = await refused(world.person.savePlan({ name: 'p', tasks }), 'invalid_input');
    const problems = error.data['problems'] as { at: string; problem: string }[];
    const at = (place: string) =>
      problems.filter((problem) => problem.at === place).map(({ problem }) => problem);
    expect(at('tasks[2].agent')).toEqual([expect.stringContaining('there are: coder')]);
    expect(at('tasks[3].agent')).toEqual([expect.stringContaining('no backend "vim"')]);
    expect(at('tasks[2].id')).toHaveLength(1);
    expect(at('tasks[3].dependencies[0]')).toHaveLength(1);
    expect(at('tasks[3].dependencies[1]')).toEqual([expect.stringContaining('no task "nobody"')]);
    expect(at('tasks[3].dependencies[3]')).toEqual([expect.stringContaining('twice')]);
    expect(problems.some(({ problem }) => problem.startsWith('cycle: a → b → a'))).toBe(true);
    for (const { at: place } of problems) expect(error.message).toContain(place);
    expect(await world.store.lastEvent()).toBe(before);
    expect(await world.person.listPlans()).toEqual([]);
  });

  test('[PLN1] problems of shape do not hide problems of meaning', async () => {
    await using world = await start();
    const plan = {
      name: '',
      tasks: [
        { id: 'a', prompt: 'x', priority: 'urgent' },
        { id: 'b', prompt: 'x', agent: 'nobody', dependencies: ['zzz'] },
        { id: 'c', prompt: 'x', dependencies: ['d'] },
        { id: 'd', prompt: '', dependencies: ['c'] },
      ],
    } as unknown as PlanInput;
    const error = await refused(world.person.savePlan(plan), 'invalid_input');
    const places = (error.data['problems'] as { at: string }[]).map(({ at }) => at);
    const wanted = [
      'name',
      'tasks[0].priority',
      'tasks[1].agent',
      'tasks[1].dependencies[0]',
      'tasks[3].prompt',
    ];
    expect(places).toEqual(expect.arrayContaining(wanted));
    expect(error.message).toContain('cycle: c → d → c');
    const nameless = {
      name: 'p',
      tasks: [
        { id: 7, prompt: 'x' },
        { id: 'a', prompt: 'x', agent: 'nobody', dependencies: ['7'] },
      ],
    };
    const { data } = await refused(world.person.savePlan(nameless as unknown as PlanInput), 'invalid_input');
    expect((data['problems'] as { at: string }[]).map(({ at }) => at)).toEqual([
      'tasks[0].id',
      'tasks[1].agent',
    ]);
  });

  test('[PLN1] a name of ten megabytes is refused without repeating it', async () => {
    await using world = await start();
    const huge = 'x'.repeat(10_000_000);
    const before = await world.store.lastEvent();
    for (const tasks of [
      [{ id: huge, prompt: 'x' }],
      [{ id: 'a', prompt: 'x', name: huge }],
      [{ id: 'a', prompt: huge }],
    ]) {
      const error = await refused(world.person.savePlan({ name: 'p', tasks }), 'invalid_input');
      expect(error.message.length).toBeLessThan(1_000);
      expect(error.message).toMatch(/tasks\[0\]\.(id|name|prompt): .*(200|200000)/);
    }
    const agent = await refused(world.plan({ a: { agent: huge } }), 'invalid_input');
    expect(agent.message.length).toBeLessThan(1_000);
    expect(await world.store.lastEvent()).toBe(before);
  });

  test('[PLN1] what is no plan at all is refused, not a crash', async () => {
    await using world = await start();
    for (const input of [
      null,
      42,
      'plan',
      [],
      {},
      { name: 'p', tasks: [] },
      { name: 'p', tasks: [null] },
      { name: 'p', tasks: 'a' },
    ]) {
      await refused(world.person.savePlan(input as unknown as PlanInput), 'invalid_input');
    }
    const extra = { name: 'p', tasks: [{ id: 'a', prompt: 'x', dependancies: [] }] } as unknown as PlanInput;
    expect((await refused(world.person.savePlan(extra), 'invalid_input')).message).toContain('dependancies');
  });

  test('[BND7.42] a plan in which everything is wrong is refused by its first hundred problems', async () => {
    await using world = await start();
    const ids = Array.from({ length: 400 }, (_, i) => `${i}`.padEnd(200, 'q'));
    const nobodies = ids.map((id) => `no ${id}`.slice(0, 200));
    const wrong = [
      { dependencies: nobodies },
      { dependencies: ids.map(() => ids[0]!) },
      { agent: 'n'.repeat(64) },
      { review: 'n'.repeat(64) },
    ];
    for (const about of wrong) {
      const tasks = ids.map((id) => ({ id, prompt: 'x', ...about }));
      const began = performance.now();
      const error = await refused(world.person.savePlan({ name: 'p', tasks }), 'invalid_input');
      // One of these plans took a minute, in which nobody else was served.
      expect(performance.now() - began).toBeLessThan(5_000);
      const problems = error.data['problems'] as { at: string; problem: string }[];
      expect(problems).toHaveLength(101);
      expect(problems.at(-1)).toEqual({ at: 'tasks', problem: expect.stringContaining('first 100') });
      expect(problems.filter(({ problem }) => problem.includes('did you mean')).length).toBeLessThan(11);
    }
  });

  test('[PLN1] a chain of twenty thousand tasks is checked, and so is a cycle of that length', () => {
    const chain = Array.from({ length: 20_000 }, (_, i) => ({
      id: `t${i}`,
      dependencies: i > 0 ? [`t${i - 1}`] : [],
    }));
    expect(graphProblems(chain)).toEqual([]);
    const cycle = chain.with(0, { id: 't0', dependencies: ['t19999'] });
    expect(graphProblems(cycle)).toHaveLength(1);
  });

  test('[PLN1] a cycle is reported exactly when there is one', () => {
    const graph = fc.integer({ min: 1, max: 8 }).chain((n) =>
      fc.array(fc.uniqueArray(fc.integer({ min: 0, max: n - 1 }), { maxLength: 3 }), {
        minLength: n,
        maxLength: n,
      }),
    );
    fc.assert(
      fc.property(graph, (edges) => {
        const tasks = edges.map((to, i) => ({
          id: `${i}`,
          dependencies: to.filter((j) => j !== i).map(String),
        }));
        const cyclic = graphProblems(tasks).some(({ problem }) => problem.startsWith('cycle'));
        expect(cyclic).toBe(!canBeOrdered(tasks));
      }),
    );
  });

  test('[PLN1] a task added later is checked like the others', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    const before = await world.store.lastEvent();
    await refused(world.person.addPlanTask(plan.id, { id: 'a', prompt: 'x' }), 'invalid_input');
    await refused(
      world.person.addPlanTask(plan.id, { id: 'b', prompt: 'x', dependencies: ['c'] }),
      'invalid_input',
    );
    await refused(
      world.person.addPlanTask(plan.id, { id: 'b', prompt: 'x', agent: 'codr' }),
      'unknown_agent',
    );
    await refused(world.person.addPlanTask(plan.id, { id: 'b', prompt: '' }), 'invalid_input');
    expect(await world.store.lastEvent()).toBe(before);
    await world.person.addPlanTask(plan.id, { id: 'b', prompt: 'x', dependencies: ['a'] });
    await world.worker('a').reports();
    expect(world.working).toEqual(['b']);
  });
});

/** Takes away what depends on nothing until nothing is left. */
function canBeOrdered(tasks: readonly { id: string; dependencies: readonly string[] }[]): boolean {
  const left = new Map(tasks.map((task) => [task.id, task.dependencies]));
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const [id, dependencies] of left)
      if (!dependencies.some((other) => left.has(other))) left.delete(id);
  }
  return left.size === 0;
}

describe('the states of a plan', () => {
  test('[PLN2] draft → active ⇄ paused → completed; only an active one starts tasks', async () => {
    await using world = await start();
    const { plan } = await world.person.savePlan({
      name: 'p',
      tasks: [
        { id: 'a', prompt: 'x' },
        { id: 'b', prompt: 'x', dependencies: ['a'] },
      ],
    });
    await quiet();
    expect([plan.state, world.working]).toEqual(['draft', []]);
    await refused(world.person.pausePlan(plan.id), 'wrong_state');
    await refused(world.person.resumePlan(plan.id), 'wrong_state');
    expect(await world.person.startPlan(plan.id)).toMatchObject({ state: 'active', why: 'started' });
    await refused(world.person.startPlan(plan.id), 'wrong_state');
    await quiet();
    expect((await world.person.pausePlan(plan.id)).state).toBe('paused');
    await refused(world.person.pausePlan(plan.id), 'wrong_state');
    await world.worker('a').reports();
    expect([world.working, await world.state('b')]).toEqual([[], 'ready']);
    expect((await world.person.resumePlan(plan.id)).state).toBe('active');
    await quiet();
    await world.worker('b').reports();
    expect((await world.person.getPlan(plan.id)).plan).toMatchObject({
      state: 'completed',
      why: 'every task completed',
    });
    for (const again of ['startPlan', 'pausePlan', 'resumePlan', 'cancelPlan'] as const)
      await refused(world.person[again](plan.id), 'wrong_state');
  });

  test('[PLN2] a cancelled plan is cancelled when its last agent has stopped; a draft at once', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: ['a'], c: [] });
    await world.worker('c').reports();
    await world.person.cancelPlan(plan.id, 'changed my mind');
    await quiet();
    expect((await world.person.getPlan(plan.id)).plan).toMatchObject({
      state: 'cancelled',
      why: 'changed my mind',
    });
    expect(await world.states('a', 'b', 'c')).toEqual(['cancelled', 'cancelled', 'completed']);
    const draft = await world.person.savePlan({ name: 'd', tasks: [{ id: 'x', prompt: 'x' }] });
    expect((await world.person.cancelPlan(draft.plan.id)).state).toBe('cancelled');
  });

  test('[PLN2] a cancelled plan stays cancelled while nothing of it can run', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: ['a'] });
    await world.person.cancelPlan(plan.id);
    await quiet();
    await world.person.retryTask((await world.task('b')).task.id);
    expect(await world.state('b')).toBe('blocked');
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('cancelled');
  });

  test('[PLN2] states say why and since when', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: ['a'] });
    await world.advance(5_000);
    await world.worker('a').reports('no luck', { status: 'failed', error: 'tests are red' });
    const view = await world.person.getPlan(plan.id);
    expect(view.plan).toMatchObject({
      state: 'failed',
      since: world.clock.now(),
      why: 'nothing more can run: 1 failed, 1 blocked',
    });
    expect((await world.task('a')).task).toMatchObject({
      why: expect.stringContaining('tests are red'),
      since: world.clock.now(),
    });
    expect((await world.task('b')).task.why).toContain('"a" is failed');
  });
});

describe('what starts when', () => {
  test('[PLN3] by priority, then age, under the limit', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    await world.plan({
      first: {},
      low: { priority: 'low' },
      one: { priority: 'high' },
      two: { priority: 'high' },
      now: { priority: 'critical' },
      plain: {},
    });
    const order: string[] = [];
    for (let agent = world.agents.at(-1); agent?.alive; agent = world.agents.at(-1)) {
      order.push(agent.spec.task.name);
      await agent.reports();
    }
    expect(order).toEqual(['now', 'one', 'two', 'first', 'plain', 'low']);
  });

  test('[PLN3] pausing a plan stops nothing that runs and starts nothing new', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    const { plan } = await world.plan({ a: [], b: [] });
    await world.person.pausePlan(plan.id);
    await world.worker('a').reports('done all the same');
    await world.advance(10_000);
    expect([await world.state('a'), await world.state('b'), world.working]).toEqual([
      'completed',
      'ready',
      [],
    ]);
    await world.person.resumePlan(plan.id);
    await quiet();
    expect(world.working).toEqual(['b']);
  });

  test('[PLN3] one task is deployed by hand, in a draft or a paused plan, but not before its dependencies', async () => {
    await using world = await start();
    const saved = await world.person.savePlan({
      name: 'p',
      tasks: [
        { id: 'a', prompt: 'x' },
        { id: 'b', prompt: 'x', dependencies: ['a'] },
      ],
    });
    const id = (name: string) => saved.tasks.find((view) => view.task.name === name)!.task.id;
    await refused(world.person.deployTask(id('b')), 'wrong_state');
    await world.person.deployTask(id('a'));
    await quiet();
    expect(world.working).toEqual(['a']);
    await refused(world.person.deployTask(id('a')), 'wrong_state');
    await world.worker('a').reports();
    expect(world.working).toEqual([]);
    await world.person.deployTask(id('b'));
    await quiet();
    await world.worker('b').reports();
    expect((await world.person.startPlan(saved.plan.id)).state).toBe('completed');
  });

  test('[PLN3] a task of a cancelled plan that is retried runs', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: ['a'] });
    await world.person.cancelPlan(plan.id);
    await quiet();
    await world.person.retryTask(world.worker('a').task);
    await quiet();
    expect(world.working).toEqual(['a']);
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('active');
    await world.worker('a').reports();
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('failed');
    await world.person.retryTask((await world.task('b')).task.id);
    await quiet();
    await world.worker('b').reports();
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('completed');
  });

  test('[PLN3] nothing is added to a plan that is being cancelled', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    const a = world.worker('a');
    let letGo = (): void => undefined;
    a.stop = () => new Promise((resolve) => (letGo = () => (a.kill(), resolve())));
    await world.person.cancelPlan(plan.id);
    await refused(world.person.addPlanTask(plan.id, { id: 'b', prompt: 'x' }), 'wrong_state');
    expect(await world.state('a')).toBe('running');
    letGo();
    await quiet();
    expect(await world.state('a')).toBe('cancelled');
  });
});

describe('what blocks what', () => {
  test('[PLN4] a cancellation blocks its dependents down the graph and nobody else', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: ['a'], c: ['b'], d: ['c', 'x'], x: [] });
    await world.person.cancelTask(world.worker('a').task);
    await quiet();
    expect(await world.states('b', 'c', 'd', 'x')).toEqual(['blocked', 'blocked', 'blocked', 'running']);
    await world.worker('x').reports();
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('failed');
  });

  test('[PLN4] what two failures block is free only when both are mended', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [], c: ['a', 'b'] });
    for (const name of ['a', 'b']) await world.worker(name).reports('no', { status: 'failed' });
    await world.person.retryTask(world.worker('a').task);
    await quiet();
    expect(await world.state('c')).toBe('blocked');
    await world.worker('a').reports();
    await world.person.retryTask(world.worker('b').task);
    await quiet();
    expect(await world.state('c')).toBe('pending');
    await world.worker('b').reports();
    expect(await world.state('c')).toBe('running');
  });

  test('[PLN4] a retry of a blocked task’s cancelled neighbour waits for what is still broken', async () => {
    await using world = await start();
    await world.plan({ a: [], b: ['a'], c: ['b'] });
    await world.worker('a').reports('no', { status: 'failed' });
    const b = (await world.task('b')).task.id;
    await world.person.cancelTask(b);
    await world.person.retryTask(b);
    expect(await world.states('b', 'c')).toEqual(['blocked', 'blocked']);
    await world.person.retryTask(world.worker('a').task);
    await quiet();
    for (const name of ['a', 'b', 'c']) await world.worker(name).reports();
    expect(await world.states('a', 'b', 'c')).toEqual(['completed', 'completed', 'completed']);
  });

  test('[PLN4] a new task brings an ended plan back; one that depends on a failure is blocked from birth', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    await world.worker('a').reports('no', { status: 'failed' });
    await world.person.addPlanTask(plan.id, { id: 'b', prompt: 'x', dependencies: ['a'] });
    await quiet();
    expect(await world.state('b')).toBe('blocked');
    await world.person.addPlanTask(plan.id, { id: 'c', prompt: 'x' });
    await quiet();
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('active');
    expect(world.working).toEqual(['c']);
  });

  test('[PLN4] the failure of a subtask is its parent’s business, not the plan’s', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    await world.worker('child').reports('no', { status: 'failed' });
    expect((await world.person.getPlan(plan.id)).plan).toMatchObject({
      state: 'active',
      counts: { running: 1 },
    });
    await a.ends();
    await a.reports('did it myself');
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('completed');
  });
});

test('[PLN1] a plan that is saved and started is never found saved only: it is one change', async () => {
  await using world = await start();
  await world.plan({ first: [], second: ['first'] });
  const created = (await world.events()).filter((event) => event.type === 'plan.created');
  expect(created).toMatchObject([{ data: { state: 'active' } }]);
  expect(await world.states('first', 'second')).toEqual(['running', 'pending']);
});
