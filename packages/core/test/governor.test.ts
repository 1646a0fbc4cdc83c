import { describe, expect, test } from 'vitest';
import { learnedNeed, shortage, type Promised } from '../src/admission.ts';
import { FakeMachine } from './fake-machine.ts';
import { quiet, start } from './world.ts';

const MB = 2 ** 20;
const large = (...dependencies: string[]) => ({ agent: 'claude:coder', dependencies });
const light = { agent: 'scripted:coder' };

describe('the rule', () => {
  const free = { memoryBytes: 1_000 * MB, load: 1, cores: 2, diskBytes: 5_000 * MB };
  const limits = { reserveBytes: 200 * MB, maxLoad: 2, minDiskBytes: 1_000 * MB };
  const nothing: Promised = { growingBytes: 0, starting: 0, busy: true, resting: false };
  const ask = { needBytes: 300 * MB, fresh: true };

  test('[LIM2.10] what is free, but for the reserve and what others will still take, must cover the need', () => {
    expect(shortage(free, limits, { ...ask, needBytes: 800 * MB }, nothing)).toBeNull();
    expect(shortage(free, limits, { ...ask, needBytes: 801 * MB }, nothing)).toEqual({
      on: 'memory',
      why: 'waits for memory: needs about 801 MB, 800 MB free',
    });
    const growing = { ...nothing, growingBytes: 501 * MB };
    expect(shortage(free, limits, ask, growing)).toMatchObject({ on: 'memory' });
  });

  test('[LIM2.10] load per core, with those started since it was measured', () => {
    expect(shortage(free, limits, ask, { ...nothing, starting: 2 })).toBeNull();
    expect(shortage(free, limits, ask, { ...nothing, starting: 3 })).toEqual({
      on: 'cpu',
      why: 'waits for CPU: the load is 2.0 per core, at most 2 is wanted',
    });
    expect(shortage(free, { ...limits, maxLoad: null }, ask, { ...nothing, starting: 99 })).toBeNull();
  });

  test('[LIM2.11] what has no process of its own waits for neither', () => {
    const full = { ...free, memoryBytes: 0, load: 100 };
    expect(shortage(full, limits, { ...ask, needBytes: 0 }, nothing)).toBeNull();
  });

  test('[LIM2.12] if nobody is at work, one may start whatever is free; but not past one that can be parked', () => {
    const full = { ...free, memoryBytes: 0, load: 100 };
    expect(shortage(full, limits, ask, { ...nothing, busy: false })).toBeNull();
    const resting = { ...nothing, busy: false, resting: true };
    expect(shortage(full, limits, ask, resting)).toMatchObject({ on: 'memory' });
    // Whoever rests uses no CPU.
    expect(shortage({ ...free, load: 100 }, limits, ask, resting)).toBeNull();
  });

  test('[LIM2.13] on a full disk nothing new starts, not even the first; what goes on does', () => {
    const full = { ...free, diskBytes: 999 * MB };
    const idle = { ...nothing, busy: false };
    expect(shortage(full, limits, { needBytes: 0, fresh: true }, idle)).toEqual({
      on: 'disk',
      why: 'waits for disk space: 999 MB free, 1,000 MB are wanted',
    });
    expect(shortage(full, limits, { ...ask, fresh: false }, nothing)).toBeNull();
    expect(shortage({ ...free, diskBytes: null }, limits, ask, nothing)).toBeNull();
  });

  test('[LIM2.14] a larger peak counts at once, a smaller one slowly and only of who had time to grow', () => {
    expect(learnedNeed(300 * MB, 900 * MB, false)).toBe(900 * MB);
    expect(learnedNeed(300 * MB, 100 * MB, false)).toBe(300 * MB);
    expect(learnedNeed(300 * MB, 100 * MB, true)).toBe(280 * MB);
    let need = 2_000 * MB;
    for (let i = 0; i < 30; i++) need = learnedNeed(need, 200 * MB, true);
    expect(need).toBeLessThan(300 * MB);
    for (let i = 0; i < 1_000; i++) need = learnedNeed(need, 1, true);
    expect(need).toBeGreaterThanOrEqual(32 * MB);
  });
});

describe('a host that is too small', () => {
  test('[LIM2.10] starts as many as there is memory for; who waits says so, and begins when there is room', async () => {
    const machine = new FakeMachine();
    machine.look({ free: 750 });
    await using world = await start({ machine });
    await world.plan({ a: large(), b: large(), c: large() });
    expect(world.working).toEqual(['a', 'b']);
    const { task, run } = await world.task('c');
    expect(task).toMatchObject({
      state: 'ready',
      waitingOn: 'memory',
      why: 'waits for memory: needs about 300 MB, 50 MB free',
      since: world.clock.now(),
    });
    expect(run).toBeNull();
    const [said] = (await world.events('task.ready')).filter(({ data }) => data?.['on'] === 'memory');
    expect(said?.task).toBe(task.id);
    await world.worker('a').reports();
    machine.look({ free: 750 });
    await quiet();
    expect(world.working).toEqual(['b', 'c']);
    expect((await world.task('c')).task).toMatchObject({ state: 'running', waitingOn: null });
    await world.worker('b').reports();
    await world.worker('c').reports();
  });

  test('[LIM2.10] those that have not grown yet count as what they will be; those that have, as what they are', async () => {
    const machine = new FakeMachine();
    machine.look({ free: 750 });
    await using world = await start({ machine });
    await world.plan({ a: large() });
    machine.uses('process 1', 100);
    machine.look({ free: 650 });
    await world.plan({ b: large(), c: large() });
    expect(world.working).toEqual(['a', 'b']);
    machine.uses('process 1', 300);
    machine.uses('process 2', 100);
    machine.look({ free: 550 });
    await quiet();
    expect(world.working).toEqual(['a', 'b', 'c'].slice(0, 2));
    // It will not grow any more: a minute is enough for that.
    await world.advance(60_000);
    machine.look({ free: 550 });
    await quiet();
    expect(world.working).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'b', 'c']) await world.worker(name).reports();
  });

  test('[LIM2.10] waits for CPU too', async () => {
    const machine = new FakeMachine();
    await using world = await start({ machine });
    await world.plan({ a: large() });
    machine.look({ load: 4 });
    await world.plan({ b: large() });
    expect((await world.task('b')).task).toMatchObject({ state: 'ready', waitingOn: 'cpu' });
    machine.look({ load: 1 });
    await quiet();
    expect(world.working).toEqual(['a', 'b']);
    for (const name of ['a', 'b']) await world.worker(name).reports();
  });

  test('[LIM2.11] who needs no memory does not wait behind who does', async () => {
    const machine = new FakeMachine();
    machine.look({ free: 100 });
    await using world = await start({ machine, settings: { concurrency: 2 } });
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`large ${i}`, large()]));
    await world.plan(many);
    expect(world.working).toEqual(['large 0']);
    await world.plan({ light });
    expect(world.working).toEqual(['large 0', 'light']);
    await world.person.stop({ scope: 'all' }, 'over');
    await quiet();
  });

  test('[LIM2][LIM2.12] if nobody is at work, one may always start, one after the other', async () => {
    const machine = new FakeMachine();
    machine.look({ free: 0, load: 100 });
    await using world = await start({ machine });
    await world.plan({ a: large(), b: large(), c: large() });
    for (const name of ['a', 'b', 'c']) {
      expect(world.working).toEqual([name]);
      await world.worker(name).reports();
    }
    expect(await world.states('a', 'b', 'c')).toEqual(['completed', 'completed', 'completed']);
  });

  test('[LIM2.12] who rests after a restart, with nothing to do, is not at work', async () => {
    const machine = new FakeMachine();
    await using world = await start({ machine, reaps: true });
    await world.plan({ a: large() });
    await world.worker('a').ends('hm');
    await world.worker('a').ends('I have nothing to add');
    world.crash();
    await world.restart();
    expect([world.hasWorker('a'), world.working]).toEqual([true, []]);
    machine.look({ free: 0 });
    await world.plan({ b: large() });
    expect(world.working).toEqual(['b']);
    await world.person.stop({ scope: 'all' }, 'over');
    await quiet();
  });

  test('[LIM2][LIM2.12] the child of a parent that waits in a call goes first', async () => {
    const machine = new FakeMachine();
    machine.look({ free: 0 });
    await using world = await start({ machine });
    await world.plan({ parent: large(), other: large() });
    const parent = world.worker('parent');
    const waiting = parent.orch.spawnSubtask(
      { prompt: 'child', agentType: 'claude:coder' },
      { blocking: true },
    );
    await quiet();
    expect(world.working).toEqual(['parent', 'child']);
    expect((await world.task('other')).task.waitingOn).toBe('memory');
    await world.worker('child').reports('made');
    expect(await waiting).toMatchObject({ state: 'ended' });
    await parent.reports();
    await world.worker('other').reports();
  });

  test('[LIM2.12] who waited for memory also needs a slot to begin', async () => {
    const machine = new FakeMachine();
    machine.look({ free: 450 });
    await using world = await start({ machine, settings: { concurrency: 2 } });
    await world.plan({ a: large(), b: large() });
    await world.plan({ light });
    expect(world.working).toEqual(['a', 'light']);
    machine.look({ free: 5_000 });
    await quiet();
    expect(world.working).toEqual(['a', 'light']);
    await world.worker('light').reports();
    expect(world.working).toEqual(['a', 'b']);
    for (const name of ['a', 'b']) await world.worker(name).reports();
  });

  test('[LIM2.15] an agent that rests is parked for one that waits, and resumed by its mail', async () => {
    const machine = new FakeMachine();
    machine.look({ free: 450 });
    await using world = await start({ machine });
    await world.plan({ parent: large() });
    await world.worker('parent').spawns('child', { agentType: 'claude:coder' });
    const parent = world.worker('parent');
    machine.uses('process 1', 300);
    machine.look({ free: 150 });
    expect((await world.task('child').catch(() => null))?.run ?? null).toBeNull();
    await parent.ends('I wait for my child');
    machine.look({ free: 150 });
    await quiet();
    expect(parent.alive).toBe(false);
    const parked = await world.task('parent');
    expect(parked.task).toMatchObject({ state: 'waiting', waitingOn: 'children' });
    expect(parked.run).toMatchObject({ state: 'open', host: null, resume: `history of ${parked.run?.id}` });
    expect((await world.events('run.parked')).map(({ run }) => run)).toEqual([parked.run?.id]);
    machine.look({ free: 450 });
    await quiet();
    expect(world.working).toEqual(['child']);
    await world.worker('child').reports('made');
    expect(world.working).toEqual(['parent']);
    const again = world.worker('parent');
    expect(again).not.toBe(parent);
    expect(again.spec).toMatchObject({ run: parked.run?.id, resume: `history of ${parked.run?.id}` });
    expect(again.last.text).toContain('made');
    await again.reports();
  });

  test('[LIM2.15] nobody is parked who is at work, has mail, or could not be resumed', async () => {
    const machine = new FakeMachine();
    await using world = await start({ machine, anonymous: true });
    await world.plan({ a: large(), b: large() });
    const a = world.worker('a');
    await a.asks('which one?');
    machine.look({ free: 0 });
    await quiet();
    expect([a.alive, world.worker('b').alive]).toEqual([true, true]);
    await world.person.stop({ scope: 'all' }, 'over');
    await quiet();
  });

  test('[LIM2.16] who waits to go on says so, and can be cancelled or paused meanwhile', async () => {
    const machine = new FakeMachine();
    await using world = await start({ machine });
    await world.plan({ a: large(), b: large(), busy: large() });
    for (const name of ['a', 'b']) await world.worker(name).asks('which one?');
    for (const name of ['a', 'b']) await world.worker(name).ends('I wait');
    machine.look({ free: 0 });
    await quiet();
    expect(world.working).toEqual(['busy']);
    for (const request of await world.person.inbox())
      await world.person.answer({ request: request.id, answer: 'that one' });
    await quiet();
    expect(world.working).toEqual(['busy']);
    for (const name of ['a', 'b'])
      expect((await world.task(name)).task).toMatchObject({ state: 'waiting', waitingOn: 'memory' });
    await world.person.cancelTask((await world.task('a')).task.id);
    await world.person.pauseWorker((await world.task('b')).task.id);
    await quiet();
    expect(await world.states('a', 'b')).toEqual(['cancelled', 'waiting']);
    await world.worker('busy').reports();
    expect(world.working).toEqual([]);
    await world.person.resumeWorker((await world.task('b')).task.id);
    await quiet();
    expect(world.working).toEqual(['b']);
    await world.worker('b').reports();
  });

  test('[LIM2.16] one that is cancelled while it waits to begin never does', async () => {
    const machine = new FakeMachine();
    machine.look({ free: 0 });
    await using world = await start({ machine });
    await world.plan({ a: large(), b: large() });
    await world.person.cancelTask((await world.task('b')).task.id);
    await world.worker('a').reports();
    await world.advance(20_000);
    expect(world.working).toEqual([]);
    expect(await world.state('b')).toBe('cancelled');
  });

  test('[LIM2.13] on a full disk nothing new begins, and goes on by itself when there is space', async () => {
    const machine = new FakeMachine();
    machine.look({ disk: 10 });
    await using world = await start({ machine });
    await world.plan({ light, other: light });
    expect((await world.task('light')).task).toMatchObject({ state: 'ready', waitingOn: 'disk' });
    const told = await world.ownersMail('light', 'warning');
    expect(told.map(({ text }) => text)).toEqual([expect.stringContaining('Make room') as string]);
    machine.look({ disk: 5_000 });
    await quiet();
    expect(world.working.toSorted()).toEqual(['light', 'other']);
    for (const name of ['light', 'other']) await world.worker(name).reports();
  });

  test('[LIM2.14][LIM2.17] memory and CPU of a run are on record, over all its lives, and what it needed is learned', async () => {
    const machine = new FakeMachine();
    await using world = await start({ machine, reaps: true });
    await world.plan({ a: large() });
    machine.uses('process 1', 500, 1_000);
    expect((await world.task('a')).run?.resources).toEqual({
      rssBytes: 500 * MB,
      peakBytes: 500 * MB,
      cpuMs: 1_000,
    });
    await world.worker('a').asks('which one?');
    await world.worker('a').ends('I wait');
    world.crash();
    await world.restart();
    const [request] = await world.person.inbox();
    await world.person.answer({ request: request!.id, answer: 'that one' });
    await quiet();
    machine.uses('process 2', 200, 50);
    await world.worker('a').reports();
    const { resources } = (await world.task('a')).run!;
    expect(resources).toEqual({ rssBytes: 200 * MB, peakBytes: 500 * MB, cpuMs: 1_050 });
    machine.uses('process 3', 700);
    await world.plan({ b: large() });
    await world.worker('b').reports();
    expect(machine.learned.get('claude')).toBe(700 * MB);
  });

  test('[LIM2.10] nothing is asked of the store for it while there is plenty', async () => {
    const readsWith = async (options: { machine?: FakeMachine }): Promise<number> => {
      await using world = await start(options);
      const { store } = world.engine.context;
      const get = store.get.bind(store);
      let reads = 0;
      const counting: typeof store.get = (table, id) => {
        reads++;
        return get(table, id);
      };
      Object.assign(store, { get: counting });
      await world.plan({ a: large(), b: large(), light });
      for (const name of ['a', 'b', 'light']) await world.worker(name).reports();
      return reads;
    };
    const without = await readsWith({});
    expect(await readsWith({ machine: new FakeMachine() })).toBe(without);
    const small = new FakeMachine();
    small.look({ free: 0 });
    expect(await readsWith({ machine: small })).toBeGreaterThan(without);
  });
});
