import type { Change, Outcome } from '@reveille/core';
import { ReveilleError, type TaskId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { Retries } from '../src/context.ts';
import { FakeClock } from './fake-clock.ts';
import { pending, quiet, refused, start, type World } from './world.ts';

/** A plan task with children that wait to be told what to do. */
async function family(names: string[], options: Parameters<typeof start>[0] = {}) {
  const world = await start(options);
  await world.plan({ parent: [] });
  const parent = world.worker('parent');
  const ids: Record<string, TaskId> = {};
  for (const name of names) ids[name] = await parent.spawns(name);
  return { world, parent, ids };
}

const outputs = (result: { deliveries: readonly { end: { output: string } | null }[] }) =>
  result.deliveries.map((delivery) => delivery.end?.output);
const report = (world: World, name: string) => world.worker(name).reports(`from ${name}`);

/** Calls once, when mail has been taken for a call and whoever took it does not know yet. */
function onTaken({ store }: World, act: () => void): void {
  const commit = store.commit.bind(store);
  const armed = async (change: Change): Promise<Outcome> => {
    const outcome = await commit(change);
    if (change.writes.some(({ doc }) => 'taken' in doc && doc.taken?.by === 'call')) {
      Object.assign(store, { commit });
      act();
    }
    return outcome;
  };
  Object.assign(store, { commit: armed });
}

describe('await', () => {
  test('[SUB4] any: returns with the first end; the others come later', async () => {
    const { world, parent, ids } = await family(['x', 'y']);
    await using _ = world;
    const call = parent.orch.awaitSubtasks({ taskIds: Object.values(ids), mode: 'any' });
    await quiet();
    await report(world, 'y');
    const first = await call;
    expect(first).toMatchObject({ done: true, why: 'ended', open: [ids['x']] });
    expect(outputs(first)).toEqual(['from y']);
    await parent.ends();
    await report(world, 'x');
    expect(parent.last.text).toContain('from x');
    expect(parent.last.text).not.toContain('from y');
  });

  test('[SUB4] all: returns with the last end, and with all of them', async () => {
    const { world, parent, ids } = await family(['x', 'y']);
    await using _ = world;
    await report(world, 'x');
    const call = parent.orch.awaitSubtasks({ taskIds: Object.values(ids) });
    expect(await pending(call)).toBe(true);
    await report(world, 'y');
    expect(outputs(await call)).toEqual(['from x', 'from y']);
    await parent.ends();
    expect(parent.turns.flatMap((turn) => turn.text).join()).not.toContain('from x');
  });

  test('[SUB4] on time-out it says what is open and gives what has ended; nothing of it comes again', async () => {
    const { world, parent, ids } = await family(['x', 'y']);
    await using _ = world;
    const call = parent.orch.awaitSubtasks({ taskIds: Object.values(ids), timeoutMs: 10_000 });
    await quiet();
    await report(world, 'x');
    await world.advance(9_999);
    expect(await pending(call)).toBe(true);
    await world.advance(1);
    const result = await call;
    expect(result).toMatchObject({ done: false, why: 'timeout', open: [ids['y']] });
    expect(outputs(result)).toEqual(['from x']);
    const again = parent.orch.awaitSubtasks({ taskIds: Object.values(ids) });
    await quiet();
    await report(world, 'y');
    expect(outputs(await again)).toEqual(['from y']);
  });

  test('[SUB4] a time-out of nothing answers at once', async () => {
    const { world, parent, ids } = await family(['x']);
    await using _ = world;
    expect(await parent.orch.awaitSubtasks({ taskIds: [ids['x']!], timeoutMs: 0 })).toMatchObject({
      done: false,
      why: 'timeout',
    });
    expect(world.clock.pending).toBe(1);
  });

  test('[SUB4] one that is given up takes nothing with it', async () => {
    const { world, parent, ids } = await family(['x']);
    await using _ = world;
    const giveUp = new AbortController();
    const call = parent.orch.awaitSubtasks({ taskIds: [ids['x']!] }, { signal: giveUp.signal });
    await quiet();
    giveUp.abort();
    await refused(call, 'aborted');
    await report(world, 'x');
    await parent.ends();
    expect(parent.last.text).toContain('from x');
    const late = parent.orch.awaitSubtasks({ taskIds: [ids['x']!] }, { signal: AbortSignal.abort() });
    await refused(late, 'aborted');
  });

  test('[SUB4] given up in the very moment of the end: the end stays in the mailbox', async () => {
    const { world, parent, ids } = await family(['x']);
    await using _ = world;
    const giveUp = new AbortController();
    const call = parent.orch.awaitSubtasks({ taskIds: [ids['x']!] }, { signal: giveUp.signal });
    await quiet();
    const ended = world.worker('x').orch.reportCompletion({ status: 'success', output: 'from x' });
    giveUp.abort();
    await Promise.allSettled([call, ended]);
    await quiet();
    await parent.ends();
    const everywhere = parent.turns.map((turn) => turn.text).join();
    expect(everywhere.split('from x')).toHaveLength(2);
  });

  test('[SUB4] given up before the end: whoever asks next gets it, however late the engine comes to it', async () => {
    const { world, parent, ids } = await family(['x']);
    await using _ = world;
    const giveUp = new AbortController();
    const taskIds = [ids['x']!];
    const call = parent.orch.awaitSubtasks({ taskIds }, { signal: giveUp.signal });
    await quiet();
    giveUp.abort();
    const ended = world.worker('x').orch.reportCompletion({ status: 'success', output: 'from x' });
    const again = parent.orch.awaitSubtasks({ taskIds });
    await Promise.all([refused(call, 'aborted'), ended]);
    expect(await again).toMatchObject({
      deliveries: [{ end: { output: 'from x' }, message: { maybeSeen: 0 } }],
    });
  });

  test('[SUB4] given up while its look takes the end: whoever asks next gets it, unmarked', async () => {
    const { world, parent, ids } = await family(['x']);
    await using _ = world;
    const giveUp = new AbortController();
    const options = { signal: giveUp.signal };
    const call = refused(parent.orch.awaitSubtasks({ taskIds: [ids['x']!] }, options), 'aborted');
    await quiet();
    onTaken(world, () => giveUp.abort());
    await report(world, 'x');
    await call;
    expect(await parent.orch.checkUpdates()).toMatchObject([
      { end: { output: 'from x' }, message: { maybeSeen: 0 } },
    ]);
  });

  test('[SUB5] what cannot be read when it is to be handed over is handed over by the next call, unmarked', async () => {
    const { world, parent } = await family(['x']);
    await using _ = world;
    await report(world, 'x');
    const get = world.store.get.bind(world.store);
    const broken = () => Promise.reject(new ReveilleError('store_failed', 'The disk does not answer.'));
    onTaken(world, () => Object.assign(world.store, { get: broken }));
    const call = refused(parent.orch.checkUpdates(), 'store_failed');
    await quiet();
    Object.assign(world.store, { get });
    await call;
    await world.advance(5_000);
    await quiet();
    expect(await parent.orch.checkUpdates()).toMatchObject([
      { end: { output: 'from x' }, message: { maybeSeen: 0 } },
    ]);
  });

  test('[SUB4] two at once each get their own, and none gets the other’s', async () => {
    const { world, parent, ids } = await family(['x', 'y']);
    await using _ = world;
    const forX = parent.orch.awaitSubtasks({ taskIds: [ids['x']!] });
    const forY = parent.orch.awaitSubtasks({ taskIds: [ids['y']!] });
    await quiet();
    await report(world, 'y');
    expect(outputs(await forY)).toEqual(['from y']);
    expect(await pending(forX)).toBe(true);
    await report(world, 'x');
    expect(outputs(await forX)).toEqual(['from x']);
  });

  test('[SUB4] two for the same child: both return, one has the end', async () => {
    const { world, parent, ids } = await family(['x']);
    await using _ = world;
    const calls = [1, 2].map(() => parent.orch.awaitSubtasks({ taskIds: [ids['x']!] }));
    await quiet();
    await report(world, 'x');
    const results = await Promise.all(calls);
    expect(results.map((result) => result.done)).toEqual([true, true]);
    expect(results.flatMap(outputs)).toEqual(['from x']);
  });

  test('[SUB4] only for own children, of ids that are ids', async () => {
    const { world, parent, ids } = await family(['x']);
    await using _ = world;
    const { orch } = world.worker('x');
    await refused(orch.awaitSubtasks({ taskIds: [ids['x']!] }), 'not_allowed');
    await refused(orch.awaitSubtasks({ taskIds: [parent.task] }), 'not_allowed');
    await refused(parent.orch.awaitSubtasks({ taskIds: ['task_zzz'] }), 'not_found');
    await refused(
      parent.orch.awaitSubtasks({ taskIds: [parent.spec.run as unknown as TaskId] }),
      'invalid_input',
    );
    await refused(parent.orch.awaitSubtasks({ taskIds: [] }), 'invalid_input');
    await refused(world.person.awaitSubtasks({ taskIds: [ids['x']!] }), 'not_allowed');
  });

  test('[SUB4] a call that waits when the engine stops is told so; the end waits', async () => {
    const world = await start();
    const chat = await world.chat();
    const child = await chat.spawns('child');
    const call = chat.orch.awaitSubtasks({ taskIds: [child] });
    const told = refused(call, 'stopping');
    await quiet();
    await world[Symbol.asyncDispose]();
    await told;
  });

  test('[SUB4] a steering backend does not steal what a call waits for', async () => {
    const { world, parent, ids } = await family(['x', 'y'], { steers: true });
    await using _ = world;
    const call = parent.orch.awaitSubtasks({ taskIds: [ids['x']!] });
    await quiet();
    await report(world, 'y');
    await report(world, 'x');
    expect(outputs(await call)).toEqual(['from x']);
    expect(parent.steered.map((input) => input.text).join()).toContain('from y');
    expect(parent.steered.map((input) => input.text).join()).not.toContain('from x');
  });
});

describe('check updates', () => {
  test('[SUB5] takes what there is; with a filter, only that, and the rest stays', async () => {
    const { world, parent, ids } = await family(['x', 'y', 'z']);
    await using _ = world;
    for (const name of ['x', 'y']) await report(world, name);
    const filtered = await parent.orch.checkUpdates({ taskIds: [ids['y']!, ids['z']!] });
    expect(outputs({ deliveries: filtered })).toEqual(['from y']);
    expect((await world.mail(parent.spec.session, 'end')).map((message) => message.state)).toEqual([
      'queued',
      'delivered',
    ]);
    expect(outputs({ deliveries: await parent.orch.checkUpdates() })).toEqual(['from x']);
    expect(await parent.orch.checkUpdates()).toEqual([]);
  });

  test('[SUB5] an empty filter takes nothing', async () => {
    const { world, parent } = await family(['x']);
    await using _ = world;
    await report(world, 'x');
    expect(await parent.orch.checkUpdates({ taskIds: [] })).toEqual([]);
    expect(await parent.orch.checkUpdates()).toHaveLength(1);
  });
});

describe('a blocking spawn', () => {
  test('[SUB2] returns the result, which is not delivered again', async () => {
    const { world, parent } = await family([]);
    await using _ = world;
    const call = parent.orch.spawnSubtask({ prompt: 'x' });
    await quiet();
    await report(world, 'x');
    expect(await call).toMatchObject({ state: 'ended', delivery: { end: { output: 'from x' } } });
    await parent.ends();
    expect(parent.turns.map((turn) => turn.text).join()).not.toContain('from x');
  });

  test('[SUB2] when patience ends it says that the child runs, and the result comes by mailbox, once', async () => {
    const { world, parent } = await family([]);
    await using _ = world;
    const call = parent.orch.spawnSubtask({ prompt: 'x' });
    await quiet();
    await world.advance(49_999);
    expect(await pending(call)).toBe(true);
    await world.advance(1);
    expect(await call).toMatchObject({ state: 'running' });
    const short = parent.orch.spawnSubtask({ prompt: 'y' }, { patienceMs: 2_000 });
    await quiet();
    await world.advance(2_000);
    expect(await short).toMatchObject({ state: 'running' });
    await parent.ends();
    await report(world, 'x');
    expect(
      parent.turns
        .map((turn) => turn.text)
        .join()
        .split('from x'),
    ).toHaveLength(2);
  });

  test('[SUB2] a child’s question, or its wish for approval, ends the wait with it', async () => {
    const { world, parent } = await family([]);
    await using _ = world;
    for (const [name, type] of [
      ['x', 'question'],
      ['y', 'approval_request'],
    ] as const) {
      const call = parent.orch.spawnSubtask({ prompt: name });
      await quiet();
      const request = await world.worker(name).asks(`${name} wants to know`, type);
      const result = await call;
      expect(result).toMatchObject({ state: 'needs_you', deliveries: [{ message: { request } }] });
      await world.worker(name).ends();
      await parent.orch.answer({ request, answer: type === 'question' ? 'go ahead' : 'approve: go ahead' });
      await quiet();
      expect(world.worker(name).last.text).toContain('go ahead');
      const rest = parent.orch.awaitSubtasks({ taskIds: [world.worker(name).task] });
      await quiet();
      await report(world, name);
      expect(outputs(await rest)).toEqual([`from ${name}`]);
    }
  });

  test('[SUB2][LIM2] a parent that waits in a call holds no slot and is shown as waiting', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    const call = parent.orch.spawnSubtask({ prompt: 'x' });
    await quiet();
    expect(world.working).toEqual(['parent', 'x']);
    expect((await world.task('parent')).task).toMatchObject({ state: 'waiting', waitingOn: 'children' });
    await report(world, 'x');
    await call;
    expect(await world.state('parent')).toBe('running');
  });

  test('[SUB2] a child that failed, or was cancelled, is a result too', async () => {
    const { world, parent } = await family([]);
    await using _ = world;
    const failed = parent.orch.spawnSubtask({ prompt: 'x' });
    await quiet();
    await world.worker('x').reports('no', { status: 'failed' });
    expect(await failed).toMatchObject({ state: 'ended', delivery: { end: { status: 'failed' } } });
    const cancelled = parent.orch.spawnSubtask({ prompt: 'y' });
    await quiet();
    await world.person.cancelTask(world.worker('y').task, 'no');
    expect(await cancelled).toMatchObject({ state: 'ended', delivery: { end: { status: 'cancelled' } } });
  });

  test('[SUB2] a caller that is cancelled while it waits gets no answer but that', async () => {
    const { world, parent } = await family([]);
    await using _ = world;
    const call = parent.orch.spawnSubtask({ prompt: 'x' }, { signal: parent.life.signal });
    const told = call.then(
      () => 'answered',
      (error: { code: string }) => error.code,
    );
    await quiet();
    await world.person.cancelTask(parent.task);
    await quiet();
    expect(['stale_caller', 'aborted']).toContain(await told);
    expect(await world.states('parent', 'x')).toEqual(['cancelled', 'cancelled']);
  });

  test('[SUB2] a caller whose agent dies while it waits: the end goes to its next life', async () => {
    const { world, parent } = await family([]);
    await using _ = world;
    const call = parent.orch.spawnSubtask({ prompt: 'x' }, { signal: parent.life.signal });
    call.catch(() => undefined);
    await quiet();
    await parent.dies();
    await report(world, 'x');
    await world.advance(5_000);
    expect(world.worker('parent')).not.toBe(parent);
    expect(world.worker('parent').last.text).toContain('from x');
  });
});

// That the waiting calls use it, seed 2116 of the simulation's corpus shows: there each retry comes at its own moment.
test('[WAK4.3] retries that cause each other do not multiply: one of a name waits at a time', async () => {
  const clock = new FakeClock();
  const retries = new Retries(clock);
  let looks = 0;
  const look = (): void => {
    looks++;
    for (let call = 0; call < 3; call++) retries.later(look, 'look:session_1');
  };
  look();
  await clock.advance(10_500);
  expect(looks).toBe(11);
  retries.close();
});
