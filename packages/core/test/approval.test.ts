import { expect, test } from 'vitest';
import { quiet, start, type World } from './world.ts';

const asked = { text: 'may I push?', options: ['approve', 'deny'], key: 'push' };

function ask(world: World, name: string, signal = new AbortController().signal): Promise<string> {
  const { session, run, epoch } = world.worker(name).spec;
  return world.engine.approve({ kind: 'worker', session, run, epoch }, asked, signal);
}

test('[INB2.1] the answer is taken by whoever waits for it, and is no mail; meanwhile the run waits for approval', async () => {
  await using world = await start({ steers: true, settings: { concurrency: 1 } });
  await world.plan({ a: [], b: [] });
  const answer = ask(world, 'a');
  await quiet();
  expect((await world.task('a')).task).toMatchObject({ state: 'waiting', waitingOn: 'approval' });
  // It holds no slot: there is only one.
  expect(await world.state('b')).toBe('running');
  const [request] = await world.person.inbox();
  expect(request).toMatchObject({ kind: 'approval', text: 'may I push?', options: ['approve', 'deny'] });
  await world.person.answer({ request: request!.id, answer: 'approve' });
  expect(await answer).toBe('approve');
  await quiet();
  expect((await world.task('a')).task.state).toBe('running');
  const a = world.worker('a');
  expect(a.steered).toEqual([]);
  expect(await world.mail(a.spec.session, 'answer')).toMatchObject([{ state: 'read' }]);
  await a.ends();
  expect(
    a.turns
      .slice(1)
      .map(({ text }) => text)
      .join(),
  ).not.toContain('approve');
});

test('[INB2.1] the same wish again, while nobody answered, is the same request', async () => {
  await using world = await start();
  await world.plan({ a: [] });
  const answers = [ask(world, 'a'), ask(world, 'a')];
  await quiet();
  const inbox = await world.person.inbox();
  expect(inbox).toHaveLength(1);
  const given = Promise.race(answers);
  await world.person.answer({ request: inbox[0]!.id, answer: 'deny' });
  expect(await given).toBe('deny');
  await world.worker('a').reports('done');
  await quiet();
  expect((await Promise.allSettled(answers)).map(({ status }) => status).toSorted()).toEqual([
    'fulfilled',
    'rejected',
  ]);
});

test('[INB2.1] a wait that is given up closes the request, and the run goes on', async () => {
  await using world = await start();
  await world.plan({ a: [] });
  const giveUp = new AbortController();
  const answer = ask(world, 'a', giveUp.signal);
  const refusal = expect(answer).rejects.toMatchObject({ code: 'aborted' });
  await quiet();
  giveUp.abort();
  await refusal;
  expect(await world.person.inbox()).toEqual([]);
  expect((await world.task('a')).task.state).toBe('running');
});

test('[INB2.1] over a stop of the engine it stays, and its answer comes by mail', async () => {
  await using world = await start();
  await world.plan({ a: [] });
  const refusal = expect(ask(world, 'a')).rejects.toMatchObject({ code: 'stopping' });
  await quiet();
  await world.engine.stop();
  await refusal;
  await world.restart();
  await quiet();
  const [request] = await world.person.inbox();
  await world.person.answer({ request: request!.id, answer: 'approve' });
  await quiet();
  await world.worker('a').ends();
  expect(
    world
      .worker('a')
      .turns.map(({ text }) => text)
      .join(),
  ).toContain('approve');
});
