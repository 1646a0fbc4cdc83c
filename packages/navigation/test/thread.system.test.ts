import { expect, test } from 'vitest';
import { Thread } from '../src/thread.ts';

const open = (options: { patienceMs?: number; idleMs?: number } = {}) =>
  new Thread<{ readonly act: string }>({
    program: new URL('./thread-program.ts', import.meta.url),
    name: 'It',
    ...options,
  });

test('[NAV3.28] questions are answered in their order, and one that fails is alone', async () => {
  await using thread = open();
  const answers = ['one', 'fail', 'two'].map((act) => thread.ask({ act }));
  const [one, failed, two] = await Promise.allSettled(answers);
  expect(one).toMatchObject({ value: 'one' });
  expect(failed).toMatchObject({ reason: { code: 'internal', message: 'It: it failed' } });
  expect(two).toMatchObject({ value: 'two' });
});

test.for([
  ['hang', 'limit_reached', 'It took too long.'],
  ['exit', 'internal', 'It has stopped.'],
] as const)('[NAV3.28] a thread that must be begun anew (%s) loses one question only', async (given) => {
  const [act, code, message] = given;
  await using thread = open({ patienceMs: 3_000 });
  const asked = ['one', act, 'two', act, 'three'].map((each) => thread.ask({ act: each }));
  const [one, first, two, second, three] = await Promise.allSettled(asked);
  for (const lost of [first, second]) expect(lost).toMatchObject({ reason: { code, message } });
  expect([one, two, three]).toMatchObject([{ value: 'one' }, { value: 'two' }, { value: 'three' }]);
});

test('[NAV3.28] patience counts for each question, not for all that wait', async () => {
  await using thread = open({ patienceMs: 3_000 });
  const all = Array.from({ length: 80 }, () => thread.ask({ act: 'rest' }));
  expect(new Set(await Promise.all(all))).toEqual(new Set(['rest']));
});

test('[NAV3.28] one that nobody asks is ended, and there again for the next question', async () => {
  await using thread = open({ idleMs: 10 });
  const workers = () => process.getActiveResourcesInfo().filter((each) => each === 'Worker').length;
  expect(await thread.ask({ act: 'one' })).toBe('one');
  await expect.poll(workers).toBe(0);
  expect(await thread.ask({ act: 'two' })).toBe('two');
});

test('[NAV3.28] once closed it answers nobody, whoever waits is told, and nothing is begun', async () => {
  const thread = open();
  const waiting = Promise.allSettled([thread.ask({ act: 'hang' }), thread.ask({ act: 'one' })]);
  await thread[Symbol.asyncDispose]();
  const stopped = { code: 'internal', message: 'It has stopped.' };
  expect(await waiting).toMatchObject([{ reason: stopped }, { reason: stopped }]);
  await expect(thread.ask({ act: 'one' })).rejects.toMatchObject(stopped);
});
