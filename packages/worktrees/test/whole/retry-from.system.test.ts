import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from '@reveille/executors';
import { expect, test } from 'vitest';
import { openShop } from '../../../../test/shop.ts';

/** An attempt that writes a file of its own and, but for the last one, fails. */
const attempt = (number: number, last = false): Step[] => [
  { do: 'edit', path: `${number}.txt`, content: `made by attempt ${number}`, attempt: number },
  { do: 'report', status: last ? 'success' : 'failed', output: `attempt ${number}`, attempt: number },
];

test('[WKT6.93] a retry begins in a snapshot, or in what was left; nothing of what was there is lost', async () => {
  await using shop = await openShop();
  const plan = await shop.plan({
    a: { script: { steps: [...attempt(1), ...attempt(2), ...attempt(3), ...attempt(4, true)] } },
  });
  const ended = async (): Promise<string> => (await shop.until(plan)).plan.state;
  const work = async () => (await shop.task(plan, 'a')).end!.work!;
  const made = async (): Promise<string[]> => (await work()).files.map(({ path }) => path);
  expect(await ended()).toBe('failed');
  const { id } = (await shop.task(plan, 'a')).task;
  await shop.person.retryTask(id);
  expect(await ended()).toBe('failed');
  expect(await made()).toEqual(['2.txt']);

  const [first] = await shop.person.snapshots(id);
  await shop.person.retryTask(id, { from: first!.ref });
  expect(await ended()).toBe('failed');
  expect(await made()).toEqual(['1.txt', '3.txt']);
  const second = (await shop.person.snapshots(id)).find(({ ref }) =>
    shop.git('ls-tree', '--name-only', ref).includes('2.txt'),
  );
  expect(shop.git('show', `${second!.ref}:2.txt`)).toBe('made by attempt 2');

  await shop.person.retryTask(id, { from: 'last' });
  expect(await ended(), await shop.story()).toBe('completed');
  expect(await made()).toEqual(['1.txt', '3.txt', '4.txt']);
  const { branch } = (await shop.task(plan, 'integration')).end!.work!;
  expect(shop.files(branch)).toEqual(expect.arrayContaining(['1.txt', '3.txt', '4.txt']));
  expect(shop.files(branch)).not.toContain('2.txt');
});

test('[WKT6.93] what was left and then discarded is the newest snapshot', async () => {
  await using shop = await openShop();
  const plan = await shop.plan({ a: { script: { steps: [...attempt(1), ...attempt(2, true)] } } });
  expect((await shop.until(plan)).plan.state).toBe('failed');
  const { task, end } = await shop.task(plan, 'a');
  await shop.person.discardTask(task.id);
  // Also if somebody deletes what was left of it.
  rmSync(end!.work!.worktree, { recursive: true, force: true });
  await shop.person.retryTask(task.id, { from: 'last' });
  expect((await shop.until(plan)).plan.state, await shop.story()).toBe('completed');
  const { worktree } = (await shop.task(plan, 'a')).end!.work!;
  expect(readFileSync(join(worktree, '1.txt'), 'utf8')).toBe('made by attempt 1');
  expect(existsSync(join(worktree, '2.txt'))).toBe(true);
});
