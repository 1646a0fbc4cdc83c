import { ERROR_CLASSES } from '@reveille/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maxTries, retryDelay } from '../src/retry.ts';
import { quiet, start } from './world.ts';

const TRANSIENT = ['rate_limit', 'overload', 'network', 'crash', 'workspace'] as const;

test.for(ERROR_CLASSES)('[HLT5] %s is tried again or not, by its class', async (errorClass) => {
  await using world = await start();
  const { plan } = await world.plan({ a: [] });
  await world.worker('a').fails(errorClass, 'what happened');
  const transient = (TRANSIENT as readonly string[]).includes(errorClass);
  expect(await world.state('a')).toBe(transient ? 'waiting' : 'failed');
  if (transient) {
    expect((await world.task('a')).task).toMatchObject({
      waitingOn: 'backoff',
      why: expect.stringContaining('what happened'),
    });
    expect(await world.mail(plan.owner, 'error')).toHaveLength(1);
  } else {
    expect((await world.task('a')).end).toMatchObject({
      status: errorClass === 'budget' ? 'partial' : 'failed',
      error: { class: errorClass, message: 'what happened' },
    });
    expect(await world.mail(plan.owner, 'end')).toHaveLength(1);
  }
});

test('[HLT5] pauses grow and are never more than a bound; jitter is half to the whole', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...TRANSIENT),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (errorClass, chance) => {
        const delays = Array.from({ length: maxTries(errorClass) }, (_, faults) =>
          retryDelay(errorClass, faults, { random: { next: () => chance, id: () => '' } }),
        );
        const full = delays.map((_, faults) =>
          retryDelay(errorClass, faults, { random: { next: () => 1 - Number.EPSILON, id: () => '' } })!,
        );
        for (const [i, delay] of delays.entries()) {
          expect(delay).toBeGreaterThanOrEqual(Math.floor(full[i]! / 2));
          expect(delay).toBeLessThanOrEqual(full[i]!);
          expect(full[i]!).toBeLessThanOrEqual(300_000);
          if (i > 0) expect(full[i]!).toBeGreaterThanOrEqual(full[i - 1]!);
        }
        expect(full.at(-1)!).toBeGreaterThan(full[0]!);
        expect(
          retryDelay(errorClass, maxTries(errorClass), { random: { next: () => chance, id: () => '' } }),
        ).toBeNull();
      },
    ),
  );
});

test('[HLT5][ID4] the owner sees attempt n of m; it is the same run under the next epoch each time; then it fails', async () => {
  await using world = await start();
  const { plan } = await world.plan({ a: [] });
  const { run } = world.worker('a').spec;
  const epochs: number[] = [];
  for (let life = 0; life <= maxTries('network'); life++) {
    epochs.push(world.worker('a').spec.epoch);
    expect(world.worker('a').spec.run).toBe(run);
    await world.worker('a').fails('network', 'no route');
    await world.advance(61_000);
  }
  expect(epochs).toEqual([1, 2, 3, 4, 5, 6]);
  const told = (await world.mail(plan.owner, 'error')).map(
    (message) => /attempt \d+ of \d+/.exec(message.text)?.[0],
  );
  expect(told).toEqual([2, 3, 4, 5, 6].map((n) => `attempt ${n} of 6`));
  expect(await world.task('a')).toMatchObject({
    task: { state: 'failed', attempts: 1 },
    end: { error: { class: 'network' } },
  });
});

test('[HLT5.1] without room on the machine it is tried again until there is some; the owner is told once', async () => {
  await using world = await start();
  const { plan } = await world.plan({ a: [] });
  const { run } = world.worker('a').spec;
  for (let life = 0; life < 20; life++) {
    expect(world.worker('a').spec).toMatchObject({ run, epoch: life + 1 });
    world
      .worker('a')
      .hears({ type: 'failed', class: 'workspace', message: 'the disk is full', scarce: true });
    world.worker('a').kill();
    await quiet();
    expect((await world.task('a')).task).toMatchObject({
      state: 'waiting',
      waitingOn: 'backoff',
      why: 'workspace: the disk is full',
    });
    await world.advance(61_000);
  }
  const told = (await world.mail(plan.owner, 'error')).map(({ text }) => text);
  expect(told).toEqual(['workspace: the disk is full; it goes on by itself when the machine has room']);
  await world.worker('a').reports();
  expect(await world.state('a')).toBe('completed');
});

test('[HLT5] the next try is not made before its time', async () => {
  await using world = await start({ chance: () => 0 });
  await world.plan({ a: [] });
  await world.worker('a').fails('rate_limit');
  await world.advance(14_000);
  expect(world.agents).toHaveLength(1);
  await world.advance(2_000);
  expect(world.agents).toHaveLength(2);
  expect(await world.state('a')).toBe('running');
});

test('[HLT5] whoever refused may say when to come back: it is not asked again before', async () => {
  await using world = await start({ chance: () => 0 });
  await world.plan({ a: [] });
  const { report } = world.worker('a').spec;
  report({ type: 'failed', class: 'overload', message: 'full', retryAfterMs: 90_000 });
  await quiet();
  await world.advance(89_000);
  expect(world.agents).toHaveLength(1);
  await world.advance(2_000);
  expect(world.agents).toHaveLength(2);
  world.worker('a').spec.report({ type: 'failed', class: 'auth', message: 'no', retryAfterMs: 1 });
  await quiet();
  expect((await world.task('a')).end?.error).toEqual({ class: 'auth', message: 'no' });
});

test('[HLT5] a turn that ended well forgives the faults before it', async () => {
  await using world = await start();
  await world.plan({ a: [] });
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < maxTries('crash'); i++) {
      await world.worker('a').dies();
      await world.advance(31_000);
    }
    await world.worker('a').spawns(`child ${round}`);
    await world.worker('a').ends();
    await world.worker(`child ${round}`).reports();
  }
  expect(await world.state('a')).toBe('running');
});

test('[HLT5] a wait for the next try holds no slot and survives a restart', async () => {
  await using world = await start({ settings: { concurrency: 1 } });
  await world.plan({ a: [], b: [] });
  await world.worker('a').fails('rate_limit');
  expect(world.working).toEqual(['b']);
  world.crash();
  await world.restart();
  await world.worker('b').reports();
  await world.advance(60_000);
  await world.worker('a').reports('made it');
  expect(await world.state('a')).toBe('completed');
});

test('[HLT5] a retry by hand is a new run; the end of the first and of the second both arrive', async () => {
  await using world = await start();
  await world.plan({ parent: [] });
  const parent = world.worker('parent');
  const child = await parent.spawns('child');
  await parent.ends();
  await world.worker('child').fails('auth', 'first end');
  await parent.orch.retryTask(child);
  await quiet();
  await parent.ends();
  await world.worker('child').reports('second end');
  const all = parent.turns.map((turn) => turn.text).join();
  for (const words of ['first end', 'second end']) expect(all.split(words)).toHaveLength(2);
});

test('[HLT4] a process that died while its run had reason to rest is no fault: the next message starts it', async () => {
  await using world = await start();
  const { plan } = await world.plan({ a: [] });
  await world.worker('a').spawns('child');
  await world.worker('a').ends();
  await world.worker('a').dies();
  await world.advance(3_600);
  expect(await world.mail(plan.owner, 'error')).toEqual([]);
  await world.worker('child').reports('hello');
  expect(world.worker('a').last.text).toContain('hello');
});
