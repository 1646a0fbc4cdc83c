import { DEFAULTS, type Usage } from '@reveille/core';
import { HTTP_OPERATIONS, type Budget } from '@reveille/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FakeAgent } from './fake-agent.ts';
import { deliveries } from '../src/briefing.ts';
import { quiet, start, type World } from './world.ts';

const { callTokens, usdPerMillion } = DEFAULTS.budgets;
const CALL_USD = (callTokens * usdPerMillion) / 1e6;
const node = async (world: World, id: string): Promise<Budget> => (await world.store.get('budget', id))!.doc;
const used = async (world: World, name: string) => (await world.task(name)).run!.used;

let ids = 0;
async function tells(agent: FakeAgent, usage: Partial<Usage>): Promise<void> {
  agent.hears({ type: 'usage', id: `t${++ids}`, tokens: 0, usd: null, ...usage });
  await quiet();
}

describe('a backend that says nothing in the middle of a turn', () => {
  test('[LIM1.14] is stopped by an estimate for each call, marked as one; raised, it goes on', async () => {
    await using world = await start({ reports: 'turn' });
    await world.plan({ a: { budget: { tokens: 2.5 * callTokens } } });
    const a = world.worker('a');
    await a.calls('one');
    await a.calls('two');
    expect(await world.state('a')).toBe('running');
    await a.calls('three');
    expect((await world.task('a')).end).toMatchObject({ status: 'partial', cause: 'budget' });
    expect((await used(world, 'a')).estimated?.tokens).toBe((await used(world, 'a')).tokens);
    const [request] = await world.person.inbox();
    // With the request that was on its way when it was stopped.
    expect(request!.text).toMatch(/80000 of 50000 used, 30000 over \(80000 of it estimated\)/);
    await world.person.answer({ request: request!.id, answer: 'raise' });
    await quiet();
    expect((await node(world, a.task)).limits.tokens).toBe(5 * callTokens);
    expect(await world.state('a')).toBe('running');
    await world.worker('a').reports();
  });

  test('[LIM1.14] what it says at the end of the turn takes the place of the estimates', async () => {
    await using world = await start({ reports: 'turn' });
    const { plan } = await world.plan({ a: { budget: { tokens: 1e6 } } }, { budget: { usd: 10 } });
    const a = world.worker('a');
    await a.calls('one');
    await a.calls('two');
    expect(await node(world, plan.id)).toMatchObject({
      used: { tokens: 2 * callTokens, usd: 2 * CALL_USD },
      estimated: { tokens: 2 * callTokens, usd: 2 * CALL_USD },
    });
    await tells(a, { kind: 'final', tokens: 500, usd: 0.25 });
    await a.ends('rests');
    expect(await used(world, 'a')).toEqual({ tokens: 500, usd: 0.25 });
    const { estimated, ...after } = await node(world, plan.id);
    expect([after.used.tokens, after.used.usd, estimated]).toEqual([500, 0.25, undefined]);
  });

  test('[LIM1.14] a report of the next turn does not take the place of what the last one never said', async () => {
    await using world = await start({ reports: 'turn' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.calls('one');
    await a.ends('rests');
    // One call, and the request that came after it.
    expect(await used(world, 'a')).toMatchObject({
      tokens: 2 * callTokens,
      estimated: { tokens: 2 * callTokens },
    });
    await world.person.sendMessage({ to: a.task, message: 'go on' });
    await quiet();
    await a.calls('two');
    await tells(a, { kind: 'final', tokens: 7, usd: 0 });
    expect(await used(world, 'a')).toMatchObject({
      tokens: 2 * callTokens + 7,
      estimated: { tokens: 2 * callTokens },
    });
    expect((await used(world, 'a')).open).toBeUndefined();
  });

  test('[LIM1.14] what it names in a turn replaces the guess of that call, and counts once', async () => {
    await using world = await start({ reports: 'unknown' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.calls('one');
    await tells(a, { kind: 'interim', tokens: 1_000 });
    await a.calls('two');
    await tells(a, { kind: 'interim', tokens: 1_100 });
    expect(await used(world, 'a')).toMatchObject({ tokens: 2_100, estimated: { tokens: 2_100 } });
    // The call after a call of which it said something is known to be reported; the next is not.
    await a.calls('three');
    await a.calls('four');
    expect((await used(world, 'a')).tokens).toBe(2_100 + callTokens);
    await tells(a, { kind: 'final', tokens: 4_000, usd: 0.5 });
    expect(await used(world, 'a')).toEqual({ tokens: 4_000, usd: 0.5 });
  });

  test('[LIM1.14] one that reports its task before it says anything is estimated when it has stopped', async () => {
    await using world = await start({ reports: 'turn' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    a.hears({ type: 'started', identity: 'p1', resume: null });
    await quiet();
    await a.reports();
    await quiet();
    expect(await used(world, 'a')).toMatchObject({ tokens: callTokens, estimated: { tokens: callTokens } });
  });

  test('[LIM1.14] an agent without a model is charged nothing', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.calls('one');
    await a.ends('rests');
    expect(await used(world, 'a')).toEqual({ tokens: 0, usd: 0 });
  });
});

describe('a backend that says what each request took', () => {
  test('[LIM1.14] is stopped in the middle of its turn, although its report follows at once', async () => {
    await using world = await start({ reports: 'request' });
    await world.plan({ a: { budget: { tokens: 2_500, usd: 0.5 } } });
    const a = world.worker('a');
    for (const call of ['one', 'two']) {
      await tells(a, { kind: 'interim', tokens: 1_000, usd: 0.1 });
      await a.calls(call);
    }
    expect(await world.state('a')).toBe('running');
    await tells(a, { kind: 'interim', tokens: 1_000, usd: 0.1 });
    expect((await world.task('a')).end).toMatchObject({ status: 'partial', cause: 'budget' });
    await expect(a.reports()).rejects.toMatchObject({ code: 'stale_caller' });
  });

  test('[LIM1.14] of a turn in which it says nothing, every call is estimated', async () => {
    await using world = await start({ reports: 'request' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.calls('one');
    await a.calls('two');
    await a.ends('rests');
    expect(await used(world, 'a')).toMatchObject({
      tokens: 3 * callTokens,
      estimated: { tokens: 3 * callTokens },
    });
  });

  test('[LIM1.14] one that says nothing in its turn is estimated from the fifth call on, and stopped', async () => {
    await using world = await start({ reports: 'request' });
    await world.plan({ a: { budget: { tokens: 4.5 * callTokens } } });
    const a = world.worker('a');
    // The calls of one answer may be made before that request is reported.
    for (const call of ['1', '2', '3', '4']) await a.calls(call);
    expect(await used(world, 'a')).toEqual({ tokens: 0, usd: 0 });
    await a.calls('5');
    expect((await world.task('a')).end).toMatchObject({ status: 'partial', cause: 'budget' });
    const { tokens, estimated } = await used(world, 'a');
    // With the request that was on its way.
    expect([tokens, estimated?.tokens]).toEqual([6 * callTokens, 6 * callTokens]);
  });

  test('[LIM1.14] a call that was refused took nothing, and no estimate takes its place', async () => {
    await using world = await start({ reports: 'request' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    a.hears({ type: 'sign' });
    await a.uses('refused', 0, 0);
    await a.fails('refusal');
    expect(await used(world, 'a')).toEqual({ tokens: 0, usd: 0 });
  });

  test('[LIM1.14] past a limit it is interrupted before anybody looks at what it left', async () => {
    const interrupts: number[] = [];
    await using world = await start({
      reports: 'request',
      work: () => (interrupts.push(world.worker('a').interrupts), null),
    });
    await world.plan({ a: { budget: { tokens: 100 } } });
    await tells(world.worker('a'), { kind: 'interim', tokens: 200 });
    expect((await world.task('a')).end).toMatchObject({ cause: 'budget' });
    expect(interrupts[0]).toBe(1);
  });

  test('[LIM1.18] usage and the token that says how much is counted are recorded in one change, also of one that is being stopped', async () => {
    const recorded = new Set<string>();
    await using world = await start({
      reports: 'request',
      sync: async () => {
        const [agent] = world.agents;
        const run = agent && (await world.store.get('run', agent.spec.run));
        if (run?.doc.resume?.startsWith('counted'))
          recorded.add(`${run.doc.resume} of ${run.doc.used.tokens}`);
      },
    });
    await world.plan({ a: { budget: { tokens: 1_000 } } });
    const a = world.worker('a');
    const counts = async (tokens: number): Promise<void> => {
      a.hears({ type: 'usage', id: `counts ${tokens}`, kind: 'interim', tokens: 100, usd: 0 });
      a.hears({ type: 'started', identity: 'process 1', resume: `counted ${tokens}` });
      await quiet();
    };
    await counts(100);
    await counts(200);
    a.heedsInterrupt = false;
    a.onStop = () => {
      a.hears({ type: 'usage', id: 'last', kind: 'final', tokens: 1_500, usd: 0 });
      a.hears({ type: 'started', identity: 'process 1', resume: 'counted 1500' });
    };
    await tells(a, { kind: 'interim', tokens: 900 });
    expect([...recorded]).toEqual(['counted 100 of 100', 'counted 200 of 200', 'counted 200 of 1100']);
    expect((await world.task('a')).run).toMatchObject({ resume: 'counted 1500', used: { tokens: 1_500 } });
    const [request] = await world.person.inbox();
    await world.person.answer({ request: request!.id, answer: 'raise' });
    await quiet();
    expect(world.worker('a').spec.resume).toBe('counted 1500');
    await world.worker('a').reports();
  });

  test('[LIM1.14] killed in its turn, what it had named stays, and its next life replaces none of it', async () => {
    await using world = await start({ reports: 'request' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await tells(a, { kind: 'interim', tokens: 1_000, usd: 0.1 });
    await a.dies();
    await world.advance(60_000);
    const again = world.worker('a');
    expect(again.spec.epoch).toBe(2);
    await tells(again, { kind: 'final', tokens: 50, usd: 0.01 });
    expect(await used(world, 'a')).toEqual({
      tokens: 1_050,
      usd: 0.11,
      estimated: { tokens: 1_000, usd: 0.1 },
    });
  });
});

describe('what is reported wrongly', () => {
  test.each([-50_000, Number.NaN, Infinity, -Infinity, undefined, 'many', null])(
    '[LIM1.15] %s tokens refill nothing: they count as a call, marked as an estimate',
    async (wrong) => {
      await using world = await start({ reports: 'request' });
      const { plan } = await world.plan({ a: [] }, { budget: { tokens: 1e6, usd: 5 } });
      const a = world.worker('a');
      await a.uses('1', 100, 0.5);
      await tells(a, { tokens: wrong as number, usd: wrong as number });
      expect(await used(world, 'a')).toMatchObject({
        tokens: 100 + callTokens,
        usd: 0.5 + CALL_USD,
        estimated: { tokens: callTokens, usd: CALL_USD },
      });
      expect((await node(world, plan.id)).used).toMatchObject({ tokens: 100 + callTokens });
      expect(await world.state('a')).toBe('running');
    },
  );

  test('[LIM1.15] an absurdly large report is cut and marked, and stops the run', async () => {
    await using world = await start({ reports: 'request' });
    await world.plan({ a: { budget: { tokens: 1_000 } } });
    const a = world.worker('a');
    await tells(a, { tokens: 1e300, usd: 1e300 });
    const { tokens, usd, estimated } = await used(world, 'a');
    expect([tokens, usd]).toEqual([1e8, 1e4]);
    expect(estimated).toEqual({ tokens, usd });
    expect((await world.task('a')).end).toMatchObject({ cause: 'budget' });
  });

  test('[LIM1.15] a turn of calls that is said to have taken nothing keeps its estimate', async () => {
    await using world = await start({ reports: 'turn' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.calls('one');
    await tells(a, { kind: 'final', tokens: 0, usd: 0.75 });
    const { tokens, usd, estimated } = await used(world, 'a');
    expect({ tokens, usd, tokensEstimated: estimated?.tokens }).toEqual({
      tokens: callTokens,
      usd: 0.75,
      tokensEstimated: callTokens,
    });
  });

  test('[LIM1.15] whatever is reported, in any order, no sum goes below nothing, and no node below its run', async () => {
    const amount = fc.oneof(fc.double(), fc.integer({ min: -1e6, max: 1e6 }), fc.constant(0));
    const report = fc.record({
      type: fc.constant('usage' as const),
      kind: fc.constantFrom(undefined, 'interim' as const, 'final' as const),
      tokens: amount,
      usd: fc.oneof(amount, fc.constant(null)),
    });
    const step = fc.oneof(report, fc.constant('call' as const));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
        await using world = await start({ reports: 'unknown' });
        const { plan } = await world.plan({ a: [] }, { budget: { tokens: 1e11, usd: 1e6 } });
        const a = world.worker('a');
        for (const each of steps) {
          if (each === 'call') await a.calls('x');
          else {
            const { kind, ...usage } = each;
            await tells(a, kind === undefined ? usage : { ...usage, kind });
          }
          const run = await used(world, 'a');
          const { used: above, estimated } = await node(world, plan.id);
          expect(run.tokens).toBeGreaterThanOrEqual(0);
          expect(run.usd).toBeGreaterThanOrEqual(0);
          expect(above.tokens).toBeCloseTo(run.tokens, 6);
          expect(above.usd).toBeCloseTo(run.usd, 6);
          expect(estimated?.tokens ?? 0).toBeLessThanOrEqual(above.tokens + 1e-6);
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe('what nobody knows the price of', () => {
  test('[EXE5.40] is an estimate until the end of a turn that may name it, also where unknown prices end a run', async () => {
    await using world = await start({ reports: 'request', settings: { budgets: { unpriced: 'stop' } } });
    await world.plan({ a: { budget: { usd: 1 } }, b: { budget: { usd: 1 } } });
    const a = world.worker('a');
    await tells(a, { kind: 'interim', tokens: 100_000 });
    await tells(a, { kind: 'final', tokens: 100_000, usd: 0.1 });
    expect(await used(world, 'a')).toEqual({ tokens: 100_000, usd: 0.1 });
    expect(await world.state('a')).toBe('running');
    await a.reports();
    const b = world.worker('b');
    await tells(b, { kind: 'interim', tokens: 150_000 });
    expect(await world.state('b')).toBe('running');
    await tells(b, { kind: 'interim', tokens: 100_000 });
    expect((await world.task('b')).end).toMatchObject({ cause: 'budget' });
  });

  test('[EXE5.40] counts as money by an estimate, marked as one, until a price is known', async () => {
    await using world = await start({ reports: 'request' });
    const { plan } = await world.plan({ a: { budget: { usd: 1 } } });
    const a = world.worker('a');
    await a.uses('1', 100_000, null);
    const usd = (100_000 * usdPerMillion) / 1e6;
    expect(await used(world, 'a')).toEqual({
      tokens: 100_000,
      usd,
      unpriced: { tokens: 100_000, calls: 1 },
      estimated: { tokens: 0, usd },
    });
    expect((await world.mail(plan.owner, 'warning'))[0]!.text).toContain(
      `$${usdPerMillion} for a million tokens`,
    );
    await a.uses('2', 150_000, null);
    expect((await world.task('a')).end).toMatchObject({ cause: 'budget' });
  });

  test('[EXE5.40] where money is not limited it stays unknown', async () => {
    await using world = await start({ reports: 'request' });
    await world.plan({ a: { budget: { tokens: 1e9 } } });
    await world.worker('a').uses('1', 100_000, null);
    expect(await used(world, 'a')).toMatchObject({ usd: 0, unpriced: { tokens: 100_000 } });
    expect((await used(world, 'a')).estimated).toBeUndefined();
  });

  test.each(['request', 'turn', 'unknown'] as const)(
    '[EXE5.40] by setting it ends the run of an agent that says nothing after a turn (%s)',
    async (reports) => {
      await using world = await start({ reports, settings: { budgets: { unpriced: 'stop' } } });
      await world.plan({ a: { budget: { usd: 1 } } });
      const a = world.worker('a');
      await a.calls('one');
      expect(await world.state('a')).toBe('running');
      await a.ends('rests');
      expect((await world.task('a')).end).toMatchObject({
        cause: 'budget',
        error: { message: expect.stringContaining('nobody knows what') },
      });
    },
  );
});

describe('a person is told', () => {
  test('[LIM1.16] beforehand what a limit cannot do, by a spawn and in a plan; where it holds, nothing', async () => {
    await using silent = await start({ reports: 'turn' });
    const chat = await silent.chat();
    const spawned = await chat.orch.spawnSubtask({ prompt: 'x', budget: { tokens: 5 } }, { blocking: false });
    expect(spawned).toMatchObject({ warning: expect.stringContaining('only when a turn ends') });
    const view = await silent.plan({ a: [], b: [] }, { budget: { usd: 5 } });
    for (const { warning } of (await silent.person.getPlan(view.plan.id)).tasks)
      expect(warning).toMatch(/estimated 20000 tokens.*does not say what it costs.*\$5 for a million/);
    const free = await chat.orch.spawnSubtask({ prompt: 'x', budget: { turns: 5 } }, { blocking: false });
    expect(free).not.toHaveProperty('warning');
    await using exact = await start({ reports: 'request' });
    const { plan } = await exact.plan({ a: { budget: { tokens: 5, usd: 1 } } });
    expect((await exact.person.getPlan(plan.id)).tasks[0]).not.toHaveProperty('warning');
  });

  test('[LIM1.16] of an overrun also if the run succeeded: in its view and in the mail of its owner', async () => {
    await using world = await start({ reports: 'request' });
    const { plan } = await world.plan({ a: { budget: { usd: 0.01 } } });
    const a = world.worker('a');
    a.hears({ type: 'started', identity: 'p1', resume: null });
    await quiet();
    const reporting = a.orch.reportCompletion({ status: 'success', output: 'done' });
    a.hears({ type: 'usage', id: 'last', kind: 'final', tokens: 15_000, usd: 0.13 });
    await reporting;
    await quiet();
    const view = await world.task('a');
    expect(view).toMatchObject({ end: { status: 'success' }, overrun: 'used $0.13 of $0.01' });
    const letters = await deliveries(world.store, await world.mail(plan.owner, 'end'));
    expect(letters.map(({ text }) => text)).toEqual([
      expect.stringContaining('over budget: used $0.13 of $0.01'),
    ]);
  });
});

test('[LIM1.17] a call that died with the daemon counts as what it had set aside', async () => {
  await using world = await start();
  const { plan } = await world.plan({ a: { budget: { tokens: 1e6 } } }, { budget: { usd: 5 } });
  const a = world.worker('a');
  await a.spec.reserve('1-1', { tokens: 30_000, usd: 0.25 });
  world.crash();
  await world.restart();
  expect(world.worker('a').spec.epoch).toBe(2);
  for (const id of [a.task, plan.id])
    expect(await node(world, id)).toMatchObject({
      used: { tokens: 30_000, usd: 0.25 },
      estimated: { tokens: 30_000, usd: 0.25 },
      reserved: {},
    });
  expect(await used(world, 'a')).toMatchObject({ tokens: 30_000, estimated: { tokens: 30_000 } });
  await world.worker('a').reports();
});

test('[LIM1.17] what is set aside is the engine’s own: no operation of any caller reserves', async () => {
  await using world = await start();
  await world.plan({ a: { budget: { tokens: 100 } } });
  const a = world.worker('a');
  expect(Object.keys(HTTP_OPERATIONS)).not.toContain('reserve');
  expect('reserve' in a.orch).toBe(false);
  expect('reserve' in world.person).toBe(false);
  // An executor of an earlier life, or of a run that is over, sets nothing aside.
  await a.reports();
  expect(await a.spec.reserve('late', { tokens: 1 })).toEqual({ granted: false, why: 'the run is over' });
  expect((await node(world, a.task)).reserved).toEqual({});
});
