import type { Store, TableName } from '@reveille/core';
import { ReveilleError } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { FakeMachine } from './fake-machine.ts';
import { World, pending, quiet, refused, start } from './world.ts';

describe('runs, epochs and leases', () => {
  test('[ID4] a crash of the engine goes on with the same run under the next epoch', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const first = world.worker('a').spec;
    await world.worker('a').says('at it');
    world.crash();
    await world.restart();
    const second = world.worker('a').spec;
    expect([second.run, second.session, second.epoch]).toEqual([first.run, first.session, first.epoch + 1]);
    expect(second.resume).toBe(`history of ${first.run}`);
    expect((await world.task('a')).run?.attempt).toBe(1);
    expect(await world.events('run.held')).toMatchObject([{ data: { epoch: 1 } }, { data: { epoch: 2 } }]);
  });

  test('[ID4] the retry of a failed task is a new run of the same session', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const first = world.worker('a').spec;
    await world.worker('a').reports('no', { status: 'failed' });
    await world.person.retryTask(first.task.id);
    await quiet();
    const second = world.worker('a').spec;
    expect(second.run).not.toBe(first.run);
    expect([second.session, second.epoch, second.resume]).toEqual([first.session, 1, null]);
    expect((await world.task('a')).task.attempts).toBe(2);
  });

  test('[ID4] what an old epoch says is refused, whatever it is, and a report is recorded', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const old = world.worker('a');
    world.crash({ agentsDie: false });
    await world.restart();
    const late = world.as({
      kind: 'worker',
      session: old.spec.session,
      run: old.spec.run,
      epoch: old.spec.epoch,
    });
    const calls = [
      late.reportCompletion({ status: 'success', output: 'late' }),
      late.spawnSubtask({ prompt: 'late' }),
      late.spawnSubtasks([{ prompt: 'late' }]),
      late.notifyParent({ type: 'info', message: 'late' }),
      late.notifyParent({ type: 'question', message: 'late?' }),
      late.sendMessage({ to: old.task, message: 'late' }),
      late.checkUpdates(),
      late.awaitSubtasks({ taskIds: [old.task] }),
      late.savePlan({ name: 'late', tasks: [{ id: 'a', prompt: 'x' }] }),
      late.stop({ scope: 'all' }, 'late'),
    ];
    for (const call of calls) expect((await refused(call, 'stale_caller')).message).toContain('epoch 2');
    expect(await world.events('report.refused')).toHaveLength(1);
    expect(await world.state('a')).toBe('running');
    await world.worker('a').reports('in time');
    expect((await world.task('a')).end?.output).toBe('in time');
  });

  test('[ID4] mailbox and children stay with the session across runs', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const child = await a.spawns('child');
    await a.fails('network');
    await world.person.sendMessage({ to: a.task, message: 'for the next life' });
    await world.worker('child').reports('child’s answer');
    await world.advance(5_000);
    const next = world.worker('a');
    expect(next).not.toBe(a);
    expect(next.last.text).toContain('for the next life');
    expect(next.last.text).toContain('child’s answer');
    expect(next.last.text).toContain(child);
  });

  test('[ID4] an agent of an earlier life is ended before the next one starts', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const old = world.worker('a');
    world.crash({ agentsDie: false });
    expect(old.alive).toBe(true);
    await world.restart();
    expect(world.reaped).toEqual(['process 1']);
    expect(old.alive).toBe(false);
    expect(world.worker('a').alive).toBe(true);
  });

  test('[ID4][HLT4] a dead host’s run goes on elsewhere when its lease ends, and not before', async () => {
    await using one = await start({ host: 'one' });
    await using two = await start({ host: 'two', beside: one });
    await one.plan({ a: [] });
    const [from, to] = one.agents.length > 0 ? [one, two] : [two, one];
    from.crash();
    await to.advance(14_000);
    expect(to.agents).toEqual([]);
    await to.advance(2_000);
    expect(to.worker('a').spec.epoch).toBe(2);
    await to.worker('a').reports('carried on');
    expect(await to.state('a')).toBe('completed');
    await from.restart();
  });

  test('[LIM2.90] a host that comes back first ends what it left, also what another host went on with and forgot', async () => {
    await using one = await start({ host: 'one', reaps: true });
    await one.plan({ a: [] });
    const left = one.worker('a');
    one.crash({ agentsDie: false });
    await using two = await start({ host: 'two', beside: one });
    await two.advance(16_000);
    await two.worker('a').reports('carried on');
    expect((await two.task('a')).run?.identity).toBeNull();
    expect(left.alive).toBe(true);
    await one.restart();
    expect(left.alive).toBe(false);
  });

  test('[ID4] an agent that names its process as it is cancelled is ended by the next life, if it did not stop', async () => {
    let disk = Promise.resolve();
    await using world = await start({ sync: () => disk });
    await world.plan({ a: [] });
    const a = world.worker('a');
    a.stop = () => new Promise<void>(() => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    disk = promise;
    // While its run records an amount, both come.
    await a.uses('1', 50);
    const cancelling = world.person.cancelTask(a.task, 'stop it');
    await quiet();
    a.hears({ type: 'started', identity: 'process of the model', resume: null });
    disk = Promise.resolve();
    resolve();
    await cancelling;
    await quiet();
    world.crash({ agentsDie: false });
    await world.restart();
    expect(world.reaped).toContain('process of the model');
    expect(await world.state('a')).toBe('cancelled');
    a.kill();
  });

  test('[ID4] an engine has stopped when what it was doing for its runs is over', async () => {
    const looked = Promise.withResolvers<{ escapes: []; conflicts: [] }>();
    const look = () => looked.promise;
    await using world = await start({ workspaces: { look } });
    await world.plan({ a: [] }, { integrate: false });
    await world.worker('a').ends('that is it');
    const stopping = world.engine.stop();
    expect(await pending(stopping)).toBe(true);
    looked.resolve({ escapes: [], conflicts: [] });
    await stopping;
  });

  test('[ID4] an engine has stopped when what it acknowledges is on disk, so that its store may be closed', async () => {
    let disk = Promise.resolve();
    await using world = await start({ sync: () => disk });
    const { promise, resolve } = Promise.withResolvers<void>();
    disk = promise;
    const opened = world.person.openSession('chat', 'c');
    await quiet();
    const stopping = world.engine.stop();
    expect(await pending(stopping)).toBe(true);
    disk = Promise.resolve();
    resolve();
    await stopping;
    expect(await pending(opened)).toBe(false);
  });

  test('[ID4] a host that cannot renew stops its agents before the lease ends and writes nothing more', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const dispatch = { ...world.engine.context.dispatch };
    Object.assign(world.engine.context.dispatch, { renew: () => Promise.reject(new Error('no store')) });
    await world.advance(14_999);
    expect(a.alive).toBe(false);
    expect((await world.task('a')).run).toMatchObject({ state: 'open', epoch: 1 });
    Object.assign(world.engine.context.dispatch, dispatch);
    world.logs.length = 0;
    await world.advance(10_000);
    expect(world.worker('a').spec.epoch).toBe(2);
  });

  test('[ID4] a host that lost its lease to another stops its agent', async () => {
    await using one = await start({ host: 'one' });
    await one.plan({ a: [] });
    const a = one.worker('a');
    // The other takes it over while nothing that this one says arrives.
    const dispatch = { ...one.engine.context.dispatch };
    Object.assign(one.engine.context.dispatch, { renew: async () => [], claim: async () => [] });
    await one.advance(16_000);
    await using two = await start({ host: 'two', beside: one });
    expect(two.worker('a').spec.epoch).toBe(2);
    Object.assign(one.engine.context.dispatch, dispatch);
    await one.advance(6_000);
    expect(a.alive).toBe(false);
    expect(two.worker('a').alive).toBe(true);
    expect(one.agents).toHaveLength(1);
  });

  test('[ID4] two hosts never hold one run at the same time', async () => {
    await using one = await start({ host: 'one' });
    await using two = await start({ host: 'two', beside: one });
    await one.plan({ a: [], b: [], c: [], d: [] });
    const held = [...one.agents, ...two.agents].map((agent) => agent.spec.task.name);
    expect(held.toSorted()).toEqual(['a', 'b', 'c', 'd']);
    await one.advance(60_000);
    expect([...one.agents, ...two.agents]).toHaveLength(4);
  });
});

describe('a host that may have lost its leases', () => {
  test('[WAK4.1] claims what was offered meanwhile as soon as it has renewed them', async () => {
    await using world = await start();
    const { dispatch } = world.engine.context;
    const renew = dispatch.renew.bind(dispatch);
    const hanging: (() => void)[] = [];
    Object.assign(dispatch, {
      renew: (request: Parameters<typeof renew>[0]) =>
        new Promise((resolve) => hanging.push(() => resolve(renew(request)))),
    });
    await world.advance(10_000);
    await world.plan({ a: [] });
    expect(world.agents).toEqual([]);
    Object.assign(dispatch, { renew });
    for (const go of hanging) go();
    await quiet();
    expect(world.working).toEqual(['a']);
  });

  test('[WAK4.1] goes on with what it stopped as soon as it has', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const before = world.worker('a');
    await world.clock.stall(10_000);
    expect(before.alive).toBe(false);
    expect(world.worker('a').spec.epoch).toBe(2);
  });

  test('[WAK4.1] gives back what it could not begin as soon as that is known', async () => {
    let hangs = false;
    let fail = (): void => undefined;
    const failing = (_: () => void, reject: (error: Error) => void): void => {
      fail = () => reject(new ReveilleError('store_failed', 'no disk'));
    };
    await using world = await start({
      sync: () => (hangs ? new Promise<void>(failing) : Promise.resolve()),
    });
    const { dispatch } = world.engine.context;
    const claim = dispatch.claim.bind(dispatch);
    Object.assign(dispatch, {
      claim: async (request: Parameters<typeof claim>[0]) => {
        const claims = await claim(request);
        if (claims.length > 0) hangs = true;
        return claims;
      },
    });
    await world.plan({ a: [] });
    await world.clock.stall(10_000);
    expect(world.agents).toEqual([]);
    Object.assign(dispatch, { claim });
    hangs = false;
    fail();
    await quiet();
    expect(world.working).toEqual(['a']);
  });

  test('[WAK4.1] claims again what waits for room, and it begins when there is some', async () => {
    const machine = new FakeMachine();
    machine.look({ disk: 0 });
    await using world = await start({ machine });
    await world.plan({ a: [] });
    await world.clock.stall(10_000);
    expect(world.agents).toEqual([]);
    machine.look({ disk: 100_000 });
    await quiet();
    expect(world.working).toEqual(['a']);
  });

  test('[WAK4.1] one that took long to start has none to lose', async () => {
    await using world = new World({});
    await world.advance(10_000);
    await world.engine.start();
    await world.plan({ a: [] });
    expect(world.working).toEqual(['a']);
  });
});

describe('what a resumed agent is given', () => {
  /** A parent whose child’s end was handed over in a turn that then died with the engine. */
  async function diedWithMail(history: 'shows' | 'lacks' | 'unknown') {
    const world = await start({ history });
    await world.plan({ parent: [] });
    await world.worker('parent').spawns('child');
    await world.worker('parent').ends();
    await world.worker('child').reports('the answer');
    const [end] = await world.mail(world.worker('parent').spec.session, 'end');
    expect(end).toMatchObject({ state: 'delivered' });
    world.crash();
    await world.restart();
    return { world, id: end!.id, session: world.worker('parent').spec.session };
  }

  test('[MBX3] its history holds the message: it counts as read and is not given again', async () => {
    const { world, id, session } = await diedWithMail('shows');
    await using _ = world;
    expect(await world.mail(session, 'end')).toMatchObject([{ id, state: 'read', maybeSeen: 0 }]);
    expect(world.worker('parent').last.given).not.toContain(id);
    expect(world.worker('parent').last.text).toContain('You were interrupted');
  });

  test('[MBX3] its history shows that it never came: it is given as if for the first time', async () => {
    const { world, id, session } = await diedWithMail('lacks');
    await using _ = world;
    expect(await world.mail(session, 'end')).toMatchObject([{ id, state: 'delivered', maybeSeen: 0 }]);
    expect(world.worker('parent').last.text).toContain('the answer');
    expect(world.worker('parent').last.text).not.toContain('you may have seen it');
  });

  test('[MBX3] nobody can say: it is given again and says so', async () => {
    const { world, id, session } = await diedWithMail('unknown');
    await using _ = world;
    expect(await world.mail(session, 'end')).toMatchObject([{ id, state: 'delivered', maybeSeen: 1 }]);
    expect(world.worker('parent').last.text).toMatch(/you may have seen it before[\s\S]*the answer/);
  });

  test.for(['shows', 'lacks', 'unknown'] as const)(
    '[MBX3] the task itself is given anew unless it arrived (%s)',
    async (history) => {
      await using world = await start({ history });
      await world.plan({ a: { prompt: 'paint the fence' } });
      world.crash();
      await world.restart();
      const { text } = world.worker('a').last;
      expect(text.includes('paint the fence')).toBe(history !== 'shows');
      await world.worker('a').says('I have it');
      world.crash();
      await world.restart();
      expect(world.worker('a').last.text).not.toContain('paint the fence');
    },
  );

  test('[MBX3] a sign of life makes what was given read; a crash afterwards gives nothing back', async () => {
    await using world = await start({ history: 'unknown' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.ends('words');
    await world.person.sendMessage({ to: a.task, message: 'note this' });
    await a.ends();
    expect(await world.mail(a.spec.session, 'words')).toMatchObject([{ state: 'delivered' }]);
    await a.says('noted');
    expect(await world.mail(a.spec.session, 'words')).toMatchObject([{ state: 'read' }]);
    world.crash();
    await world.restart();
    expect(world.worker('a').last.text).not.toContain('note this');
  });

  test('[MBX3] what a call answered with goes back to the mailbox if the agent dies before its next word', async () => {
    await using world = await start({ history: 'unknown' });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    await world.worker('child').reports('precious');
    expect(await a.orch.checkUpdates()).toHaveLength(1);
    world.crash();
    await world.restart();
    expect(world.worker('a').last.text).toMatch(/may have seen[\s\S]*precious/);
  });

  test('[ID4] a run that waits is given no agent until there is something to say', async () => {
    await using world = await start({ anonymous: true });
    await world.plan({ parent: [] });
    await world.worker('parent').spawns('child');
    await world.worker('parent').ends();
    world.crash();
    await world.restart();
    expect(world.working).toEqual(['child']);
    await world.worker('child').reports('now');
    expect(world.worker('parent').last.text).toContain('now');
  });

  test('[ID4] a wish to cancel that the crash interrupted is carried out by the next life', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    a.stop = () => new Promise(() => undefined);
    await world.person.cancelTask(a.task, 'stop it');
    await quiet();
    expect(await world.state('a')).toBe('running');
    world.crash({ agentsDie: false });
    await world.restart();
    expect(await world.state('a')).toBe('cancelled');
    expect(a.alive).toBe(false);
  });
});

describe('what could not be written', () => {
  /** `looks`: what is being written is undone just after somebody has looked at such a row, and before it asks whether that is on disk. */
  async function failing(looks: TableName) {
    const disk = { hangs: false, fail: (): void => undefined };
    const hang = (_: () => void, reject: (error: Error) => void): void => {
      disk.fail = () => reject(new ReveilleError('store_full', 'no disk'));
    };
    const world = await start({ sync: () => (disk.hangs ? new Promise<void>(hang) : Promise.resolve()) });
    const { store } = world;
    const fails = async <T>(table: TableName, row: T): Promise<T> => {
      if (!disk.hangs || table !== looks) return row;
      disk.hangs = false;
      disk.fail();
      await quiet();
      return row;
    };
    const real = { ...store };
    const armed: Pick<Store, 'get' | 'find'> = {
      get: async (table, id) => fails(table, await real.get(table, id)),
      find: async (table, by) => fails(table, await real.find(table, by)),
    };
    return { world, disk, arm: () => Object.assign(store, armed) };
  }

  test('[WAK4.2] is not shown to whoever reads it meanwhile', async () => {
    const disk = { fail: (): void => undefined, hangs: false };
    const hang = (_: () => void, reject: (error: Error) => void): void => {
      disk.fail = () => reject(new ReveilleError('store_full', 'no disk'));
    };
    await using world = await start({
      sync: () => (disk.hangs ? new Promise<void>(hang) : Promise.resolve()),
    });
    const { plan } = await world.plan({ a: [] });
    const { task, orch, spec } = world.worker('a');
    const reads = {
      getPlan: () => world.person.getPlan(plan.id),
      listPlans: () => world.person.listPlans(),
      getTask: () => world.person.getTask(task),
      listTasks: () => world.person.listTasks({}),
      getBudget: () => world.person.getBudget(task),
      mailbox: () => world.person.mailbox(spec.session),
      inbox: () => world.person.inbox(),
      events: () => world.person.events(0, 100),
    };
    for (const [name, read] of Object.entries(reads)) {
      disk.hangs = true;
      const written = refused(orch.notifyParent({ type: 'progress', message: name }), 'store_full');
      await quiet();
      const seen = refused(read(), 'store_full');
      expect(await pending(seen), name).toBe(true);
      disk.hangs = false;
      disk.fail();
      await Promise.all([written, seen]);
    }
  });

  test('[WAK4.2] stops nobody: an agent whose report was undone is still at work', async () => {
    const { world: opened, disk, arm } = await failing('task');
    await using world = opened;
    await world.plan({ a: [] });
    const a = world.worker('a');
    disk.hangs = true;
    const report = refused(a.orch.reportCompletion({ status: 'success', output: 'done' }), 'store_full');
    await quiet();
    arm();
    await a.says('one more thing');
    await report;
    await world.advance(1_000);
    expect(a.stops).toEqual([]);
    expect(await a.reports('done')).toEqual({ accepted: true });
  });

  test('[WAK4.2] acknowledges nothing: the same spawn again makes the child that was undone', async () => {
    const { world: opened, disk, arm } = await failing('task');
    await using world = opened;
    await world.plan({ a: [] });
    const { orch } = world.worker('a');
    const spawn = () => orch.spawnSubtask({ prompt: 'child', key: 'once' }, { blocking: false });
    disk.hangs = true;
    const first = refused(spawn(), 'store_full');
    await quiet();
    arm();
    const { task } = await spawn();
    await first;
    expect(await world.state(task)).toBe('running');
  });
});
