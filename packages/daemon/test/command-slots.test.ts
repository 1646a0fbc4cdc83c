import { expect, test } from 'vitest';
import { CommandSlots } from '../src/compose/command-slots.ts';

const never = new AbortController().signal;
const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  const open = {};
  const first = await Promise.race([
    promise.catch(() => null),
    new Promise((resolve) => setImmediate(() => resolve(open))),
  ]);
  return first !== open;
};

test('[BND7.36] eight commands of a worker run at once, more wait their turn, and no worker waits for another', async () => {
  const slots = new CommandSlots();
  const taken = await Promise.all(Array.from({ length: 8 }, () => slots.take('a', never)));
  const [ninth, tenth] = [slots.take('a', never), slots.take('a', never)];
  expect([await settled(ninth), await settled(tenth)]).toEqual([false, false]);
  expect(await settled(slots.take('b', never))).toBe(true);
  taken[3]![Symbol.dispose]();
  // One that comes now is behind those that wait.
  const late = slots.take('a', never);
  expect([await settled(ninth), await settled(tenth), await settled(late)]).toEqual([true, false, false]);
  (await ninth)[Symbol.dispose]();
  expect([await settled(tenth), await settled(late)]).toEqual([true, false]);
});

test('[BND7.36] a call that is given up while it waits takes no turn', async () => {
  const slots = new CommandSlots();
  const [first] = await Promise.all(Array.from({ length: 8 }, () => slots.take('a', never)));
  const call = new AbortController();
  const [given, next] = [slots.take('a', call.signal), slots.take('a', never)];
  call.abort();
  await expect(given).rejects.toMatchObject({ code: 'aborted' });
  await expect(slots.take('a', call.signal)).rejects.toMatchObject({ code: 'aborted' });
  first![Symbol.dispose]();
  expect(await settled(next)).toBe(true);
});
