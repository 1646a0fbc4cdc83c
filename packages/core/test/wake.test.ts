import { describe, expect, test } from 'vitest';
import { ReveilleError } from '@reveille/protocol';
import { quiet, start } from './world.ts';

const takenBy = (session: string) => ({ list: 'byState', equal: [session, 'delivered'] });

describe('who is woken when', () => {
  test('[WAK1] an idle parent starts a turn at once', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    await a.ends();
    expect(await world.state('a')).toBe('waiting');
    await world.worker('child').reports('hello');
    expect([a.turns.length, await world.state('a')]).toEqual([2, 'running']);
    expect(a.last.text).toContain('hello');
  });

  test('[WAK1] a busy one whose backend can take mail gets it between two calls; its turn is not broken off', async () => {
    await using world = await start({ steers: true });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    await world.worker('child').reports('hello');
    expect(a.steered.map((input) => input.text.includes('hello'))).toEqual([true]);
    expect([a.turns.length, a.interrupts, a.open]).toEqual([1, 0, 1]);
    await a.says('got it');
    await a.ends();
    expect(await world.mail(a.spec.session, 'end')).toMatchObject([{ state: 'read' }]);
    expect(a.turns.slice(1).flatMap((turn) => turn.given)).not.toContain(a.steered[0]?.given[0]);
  });

  test('[WAK1] what a backend refuses to take is given at the end of the turn, as if for the first time', async () => {
    await using world = await start({ steers: true });
    await world.plan({ a: [] });
    const a = world.worker('a');
    a.takesSteering = false;
    await a.spawns('child');
    await world.worker('child').reports('hello');
    expect(await world.mail(a.spec.session, 'end')).toMatchObject([{ state: 'queued', maybeSeen: 0 }]);
    await a.ends();
    expect(a.last.text).toContain('hello');
    expect(a.last.text).not.toContain('may have seen');
  });

  test('[WAK1] by setting, mail comes only after the turn', async () => {
    await using world = await start({ steers: true, settings: { steer: false } });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await world.person.sendMessage({ to: a.task, message: 'hello' });
    await world.advance(20_000);
    expect(a.steered).toEqual([]);
    await a.ends();
    expect(a.last.text).toContain('hello');
  });

  test('[WAK1] a detached chat is not woken; attached, it is at once', async () => {
    await using world = await start();
    const chat = await world.chat();
    await chat.spawns('child');
    await world.worker('child').reports('hello');
    await world.advance(20_000);
    expect(chat.given).toEqual([]);
    await chat.attach();
    expect(chat.given).toHaveLength(1);
  });

  test('[WAK1] one that is attached and waits takes an end in the change that brings it', async () => {
    await using world = await start();
    const chat = await world.chat();
    await chat.attach();
    await chat.spawns('child');
    await world.worker('child').reports('hello');
    expect(chat.given.flat().map((delivery) => delivery.end?.output)).toEqual(['hello']);
    const [end] = await chat.mail('end');
    // Brought and taken, then read.
    expect((await world.store.get('message', end?.id ?? ''))?.version).toBe(2);
    const told = (await world.person.events(0, 1_000)).filter((event) => event.messages);
    expect(told.map(({ type, messages }) => [type, messages])).toEqual([
      ['message.queued', [end?.id]],
      ['message.delivered', [end?.id]],
      ['message.read', [end?.id]],
    ]);
  });

  test('[WAK1] all that one commit brings is taken in the changes that bring it, and given together in order', async () => {
    const disk = { answer: Promise.resolve() };
    await using world = await start({ atHand: true, sync: () => disk.answer });
    const chat = await world.chat();
    await chat.attach();
    const rounds = [
      ['one', 'two', 'three'],
      ['four', 'five', 'six'],
    ];
    for (const names of rounds) {
      for (const name of names) await chat.spawns(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      disk.answer = promise;
      const reports = names.map((output) =>
        world.worker(output).orch.reportCompletion({ status: 'success', output }),
      );
      await quiet();
      expect(await world.store.find('message', takenBy(chat.id))).toHaveLength(3);
      expect(chat.given).toEqual([]);
      disk.answer = Promise.resolve();
      resolve();
      await Promise.all(reports);
      await quiet();
      expect(chat.given.splice(0).map((wake) => wake.map(({ end }) => end?.output))).toEqual([names]);
    }
    const rows = await Promise.all((await chat.mail('end')).map(({ id }) => world.store.get('message', id)));
    // Taken in the change that made it, so that it never was queued; and read.
    expect(rows.map((row) => [row?.doc.state, row?.version])).toEqual(rows.map(() => ['read', 2]));
    expect(rows).toHaveLength(6);
  });

  test('[WAK1.1] the ends of a crowd of children do not stand between another parent and the end of its own', async () => {
    await using world = await start({ atHand: true, settings: { concurrency: 100 } });
    const [crowded, other] = [await world.chat(), await world.chat()];
    const crowd = Array.from({ length: 12 }, (_, i) => `one of many ${i}`);
    for (const name of crowd) await crowded.spawns(name);
    await other.spawns('only child');
    const report = (output: string) =>
      world.worker(output).orch.reportCompletion({ status: 'success', output });
    await Promise.all([...crowd, 'only child'].map(report));
    await quiet();
    const ended = (await world.events('run.ended')).map(({ task }) => task);
    const only = (await world.task('only child')).task.id;
    expect(ended).toHaveLength(13);
    // One was inside when it came, and one of the crowd may have the first turn.
    expect(ended.indexOf(only)).toBeLessThanOrEqual(2);
    expect(await crowded.mail('end')).toHaveLength(12);
  });

  test('[MBX3] what comes while it is given something is not said to be delivered before it can be', async () => {
    await using world = await start();
    const chat = await world.chat();
    await chat.attach(() => new Promise(() => undefined));
    for (const name of ['one', 'two', 'three']) await chat.spawns(name);
    for (const name of ['one', 'two', 'three']) await world.worker(name).reports(name);
    expect(chat.given.flat().map(({ end }) => end?.output)).toEqual(['one']);
    const states = (await chat.mail('end')).map(({ state }) => state);
    expect(states).toEqual(['delivered', 'queued', 'queued']);
  });

  test('[MBX3] an end does not overtake mail that waits already', async () => {
    await using world = await start();
    const chat = await world.chat();
    let arrive = (): void => undefined;
    await chat.attach(() => new Promise((resolve) => (arrive = resolve)));
    for (const name of ['one', 'two']) await chat.spawns(name);
    await world.worker('one').reports('one');
    await world.person.sendMessage({ to: chat.id, message: 'before the second end' });
    await world.worker('two').reports('two');
    arrive();
    await quiet();
    const numbers = chat.given.flat().map(({ message }) => message.number);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(chat.given.flat()).toHaveLength(3);
  });

  test('[MBX3] what it took so is in its hands only when that is on disk, and not at all if it left before', async () => {
    const disk = { answer: Promise.resolve() };
    await using world = await start({ sync: () => disk.answer });
    const chat = await world.chat();
    await chat.attach();
    await chat.spawns('child');
    const { promise, resolve } = Promise.withResolvers<void>();
    disk.answer = promise;
    const report = world.worker('child').orch.reportCompletion({ status: 'success', output: 'hello' });
    await quiet();
    expect((await world.store.find('message', takenBy(chat.id))).length).toBe(1);
    const leaving = chat.detach();
    resolve();
    await Promise.all([report, leaving]);
    expect(chat.given).toEqual([]);
    expect(await chat.mail('end')).toMatchObject([{ state: 'queued', maybeSeen: 0 }]);
    await chat.attach();
    expect(chat.given.flat().map((delivery) => delivery.end?.output)).toEqual(['hello']);
  });

  test('[MBX3] what it took so in a change that was lost comes with the next one, once', async () => {
    const disk = { answer: () => Promise.resolve() };
    await using world = await start({ sync: () => disk.answer() });
    const chat = await world.chat();
    await chat.attach();
    await chat.spawns('child');
    const worker = world.worker('child');
    disk.answer = () => Promise.reject(new ReveilleError('store_full', 'full'));
    const report = { status: 'success', output: 'hello' } as const;
    await expect(worker.orch.reportCompletion(report)).rejects.toMatchObject({ code: 'store_full' });
    expect(chat.given).toEqual([]);
    disk.answer = () => Promise.resolve();
    await worker.reports('hello');
    expect(chat.given.flat().map((delivery) => delivery.end?.output)).toEqual(['hello']);
    expect(await chat.mail('end')).toMatchObject([{ state: 'read', maybeSeen: 0 }]);
  });

  test('[WAK1] a parent that was parked is started for its mail', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    await a.ends();
    await a.dies();
    expect(await world.state('a')).toBe('waiting');
    expect(world.hasWorker('a')).toBe(false);
    await world.worker('child').reports('hello');
    expect(world.worker('a').last.text).toContain('hello');
  });

  test('[WAK1][LIM2] a woken parent does not queue behind new work for a slot', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    await world.plan({ a: {}, b: { priority: 'critical' } });
    await world.worker('b').spawns('child');
    await world.worker('b').ends();
    expect(world.working).toEqual(['child']);
    await world.worker('child').reports();
    expect(world.working).toContain('b');
  });
});

test('[WAK1][LIM2] nor does one that was parked, whatever its priority', async () => {
  await using world = await start({ settings: { concurrency: 1 } });
  const view = await world.person.savePlan({
    name: 'p',
    tasks: [
      { id: 'parent', prompt: 'x', priority: 'low' },
      { id: 'first', prompt: 'x', priority: 'critical' },
      { id: 'second', prompt: 'x', priority: 'critical' },
    ],
  });
  await world.person.deployTask(view.tasks.find(({ task }) => task.name === 'parent')!.task.id);
  await quiet();
  await world.worker('parent').spawns('child');
  await world.worker('parent').ends();
  await world.worker('parent').dies();
  await world.person.startPlan(view.plan.id);
  await quiet();
  await world.worker('child').reports('done');
  expect(world.working).toContain('parent');
});

describe('several messages', () => {
  test('[WAK2] make one turn, each in full: failures and questions first, then in order', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    for (const name of ['one', 'two', 'asker', 'bad', 'three']) await a.spawns(name);
    const long = 'x'.repeat(50_000);
    await world.worker('one').reports(`ONE ${long}`);
    await world.worker('two').reports('TWO');
    await world.worker('asker').asks('ASK');
    await world.worker('bad').reports('BAD', { status: 'failed' });
    await world.worker('three').reports('THREE');
    await a.ends();
    expect(a.turns).toHaveLength(2);
    const { text } = a.last;
    const order = ['ASK', 'BAD', 'ONE', 'TWO', 'THREE'].map((word) => text.indexOf(word));
    expect(order).toEqual(order.toSorted((x, y) => x - y));
    expect(order[0]).toBeGreaterThan(0);
    expect(text).toContain(long);
  });

  test('[WAK2] an idle parent woken by the first gets the others in its next turn, none twice', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const names = ['one', 'two', 'three'];
    for (const name of names) await a.spawns(name);
    await a.ends();
    await Promise.all(names.map((name) => world.worker(name).reports(`from ${name}`)));
    while (a.turns.flatMap((turn) => turn.given).length < 4) await a.ends();
    const given = a.turns.flatMap((turn) => turn.given);
    expect(new Set(given).size).toBe(given.length);
    expect(a.turns.length).toBeLessThanOrEqual(3);
  });
});

describe('the end is written on every exit path', () => {
  const exits: Record<
    string,
    { by: (world: Awaited<ReturnType<typeof start>>) => Promise<unknown>; status: string; cause: string }
  > = {
    'a report': { by: (world) => world.worker('child').reports(), status: 'success', cause: 'report' },
    'a failed report': {
      by: (world) => world.worker('child').reports('no', { status: 'failed' }),
      status: 'failed',
      cause: 'report',
    },
    'a fatal error': {
      by: (world) => world.worker('child').fails('auth'),
      status: 'failed',
      cause: 'executor',
    },
    'a cancel': {
      by: (world) => world.person.cancelTask(world.worker('child').task),
      status: 'cancelled',
      cause: 'cancel',
    },
    'a completion by hand': {
      by: (world) => world.person.completeTask(world.worker('child').task, 'fine'),
      status: 'success',
      cause: 'completed_by_owner',
    },
    'a limit': { by: (world) => world.worker('child').uses('1', 1_000), status: 'partial', cause: 'budget' },
    'its process, again and again': {
      by: async (world) => {
        for (let life = 0; life < 4; life++) {
          await world.worker('child').dies();
          await world.advance(60_000);
        }
      },
      status: 'failed',
      cause: 'executor',
    },
    silence: {
      by: async (world) => {
        await world.worker('child').ends();
        await world.advance(70_000);
      },
      status: 'failed',
      cause: 'unresponsive',
    },
    'an emergency stop of its tree': {
      by: (world) => world.person.stop({ scope: 'tree', task: world.worker('child').task }, 'stop'),
      status: 'cancelled',
      cause: 'cancel',
    },
  };

  test.for(Object.keys(exits))('[WAK3] %s', async (name) => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child', { budget: { tokens: 10 } });
    await parent.ends();
    await exits[name]!.by(world);
    await quiet();
    const { status, cause } = exits[name]!;
    expect((await world.task('child')).end).toMatchObject({ status, cause });
    expect(await world.mail(parent.spec.session, 'end')).toHaveLength(1);
    // It may be at work on the news of a fault.
    if (!parent.last.text.includes('ended:')) await parent.ends();
    expect(parent.last.text).toContain(`ended: ${status}`);
    expect(world.hasWorker('child')).toBe(false);
  });
});

describe('an agent that cannot be started', () => {
  test('[WAK3] is an end like any other', async () => {
    let broken = false;
    await using world = await start({
      onStart: () => {
        if (broken) throw new Error('no such program');
      },
    });
    await world.plan({ parent: [] });
    broken = true;
    const call = world.worker('parent').orch.spawnSubtask({ prompt: 'child' });
    expect(await call).toMatchObject({
      state: 'ended',
      delivery: {
        end: {
          status: 'failed',
          error: { class: 'invalid', message: expect.stringContaining('no such program') },
        },
      },
    });
  });

  test('[WAK3] one whose leftovers cannot be taken goes on, and can report again', async () => {
    let broken = false;
    await using world = await start({
      work: () => {
        if (broken) throw new Error('disk full');
        return null;
      },
    });
    await world.plan({ parent: [] });
    const child = await world.worker('parent').spawns('child');
    await world.worker('parent').ends();
    broken = true;
    const report = world.worker('child').orch.reportCompletion({ status: 'success', output: 'done' });
    await expect(report).rejects.toThrow('disk full');
    expect(await world.state('child')).toBe('running');
    broken = false;
    await world.worker('child').reports('done');
    expect((await world.person.getTask(child)).task.state).toBe('completed');
    expect(world.worker('parent').last.text).toContain('done');
  });
});

describe('a wake-up is a hint', () => {
  test('[WAK4] one that is lost costs five seconds at most', async () => {
    await using world = await start({ host: 'deaf', deaf: true });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    await a.ends();
    await world.advance(500);
    await using other = await start({ host: 'other', beside: world });
    await other.person.sendMessage({ to: a.task, message: 'from another host' });
    await quiet();
    expect(a.turns).toHaveLength(1);
    await world.advance(5_000);
    expect(a.last.text).toContain('from another host');
  });

  test('[WAK4] a hint from another host is heard at once', async () => {
    await using world = await start({ host: 'hears' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    await a.ends();
    await using other = await start({ host: 'other', beside: world });
    await other.person.sendMessage({ to: a.task, message: 'from another host' });
    await quiet();
    expect(a.last.text).toContain('from another host');
  });

  test('[WAK4] one that comes during a look makes another follow', async () => {
    await using world = await start();
    const chat = await world.chat();
    let arrive = (): void => undefined;
    await chat.attach(() => new Promise((resolve) => (arrive = resolve)));
    await chat.spawns('one');
    await chat.spawns('two');
    await world.worker('one').reports('1');
    await world.worker('two').reports('2');
    expect(chat.given.flat()).toHaveLength(1);
    arrive();
    await quiet();
    expect(chat.given.flat().map((delivery) => delivery.end?.output)).toEqual(['1', '2']);
    arrive();
    await quiet();
    expect((await chat.mail('end')).map((message) => message.state)).toEqual(['read', 'read']);
  });

  test('[WAK4] sweep and wake do not start two turns', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    await a.ends();
    await world.advance(4_999);
    const report = world.worker('child').orch.reportCompletion({ status: 'success', output: 'x' });
    await Promise.all([report, world.advance(1)]);
    await world.advance(20_000);
    expect(a.turns).toHaveLength(2);
  });
});

test('[WAK7] a turn that mail started is on record like any other: events, and what it used', async () => {
  await using world = await start();
  await world.plan({ parent: [] });
  const parent = world.worker('parent');
  await parent.spawns('child');
  await parent.uses('first', 10);
  await parent.ends();
  await world.worker('child').reports('done');
  await parent.uses('woken', 7);
  await parent.ends('seen');
  const { run } = await world.person.getTask(parent.task);
  expect(run).toMatchObject({ turns: 3, used: { tokens: 17 } });
  const [end] = await world.mail(parent.spec.session, 'end');
  const about = (await world.events()).filter((event) => event.run === parent.spec.run);
  const opened = about.filter(({ type }) => type === 'turn.opened').map(({ data }) => data?.['turn']);
  expect(opened.slice(0, 2)).toEqual([1, 2]);
  const taken = (await world.events('message.delivered')).find(({ messages }) => messages?.includes(end!.id));
  expect(taken?.data).toMatchObject({ by: `${parent.spec.run}/2` });
});
