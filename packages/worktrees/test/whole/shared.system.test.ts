import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from '@reveille/executors';
import type { Task } from '@reveille/protocol';
import { expect, test, vi } from 'vitest';
import { openShop, type Shop } from '../../../../test/shop.ts';

const edit = (path: string): Step => ({ do: 'edit', path, content: path });

async function named(shop: Shop, name: string): Promise<Task> {
  const found = (await shop.person.listTasks({})).find(({ task }) => task.name === name);
  if (!found) throw new Error(`there is no task ${name}`);
  return found.task;
}

test('[WKT2.1] a child that shares works in the worktree of its parent, who does not write there until it ends', async () => {
  await using shop = await openShop();
  const guest = {
    prompt: 'guest',
    name: 'guest',
    isolation: 'shared' as const,
    script: { steps: [edit('guest.txt'), { do: 'ask', text: 'go on?' } as const, { do: 'report' } as const] },
  };
  const plan = await shop.plan({
    host: {
      script: {
        steps: [edit('before.txt'), { do: 'spawn', tasks: [guest] }],
        whenWoken: [edit('after.txt'), { do: 'report' }],
      },
    },
  });
  // It has asked its parent, and waits.
  await shop.until(plan, async () => {
    const tasks = await shop.person.listTasks({});
    return tasks.some(({ task }) => task.name === 'guest' && task.state === 'waiting');
  });
  const [host, child] = [await named(shop, 'host'), await named(shop, 'guest')];
  const { worktrees } = shop;
  const checkout = await worktrees.checkoutOf(host);
  expect(await worktrees.checkoutOf(child)).toMatchObject({ path: checkout!.path });
  for (const name of ['before.txt', 'guest.txt'])
    expect(readFileSync(join(checkout!.path, name), 'utf8')).toBe(name);
  expect([worktrees.mayWrite(host), worktrees.mayWrite(child)]).toEqual([false, true]);
  expect(existsSync(join(shop.root, 'guest.txt'))).toBe(false);

  await shop.person.cancelTask(child.id, 'enough');
  expect((await shop.until(plan)).plan.state, await shop.story()).toBe('completed');
  // It is given back when its agent is gone, which may be after its parent has heard of its end.
  await vi.waitUntil(() => worktrees.mayWrite(host), { timeout: 60_000 });
  const { branch } = (await shop.task(plan, 'host')).end!.work!;
  expect(shop.files(branch)).toEqual(expect.arrayContaining(['after.txt', 'before.txt', 'guest.txt']));
  // It had no worktree and no branch of its own.
  expect(shop.git('branch', '--list', '*guest*')).toBe('');
});

test('[WKT2.2] what is shared is shared on: a guest of a guest works in the same worktree, and its own child starts from there', async () => {
  await using shop = await openShop({ depth: 3 });
  const report: Step = { do: 'report' };
  const own = { prompt: 'own', name: 'own', script: { steps: [edit('own.txt'), report] } };
  const inner = {
    prompt: 'inner',
    name: 'inner',
    isolation: 'shared' as const,
    script: { steps: [edit('inner.txt'), report] },
  };
  const outer = {
    prompt: 'outer',
    name: 'outer',
    isolation: 'shared' as const,
    script: {
      steps: [
        edit('outer.txt'),
        { do: 'delegate' as const, task: inner },
        { do: 'delegate' as const, task: own },
        { do: 'pull' as const },
        report,
      ],
    },
  };
  const plan = await shop.plan({
    host: { script: { steps: [edit('host.txt'), { do: 'delegate', task: outer }, report] } },
  });
  expect((await shop.until(plan)).plan.state, await shop.story()).toBe('completed');
  const { branch } = (await shop.task(plan, 'host')).end!.work!;
  const made = ['host.txt', 'inner.txt', 'outer.txt', 'own.txt'];
  expect(shop.files(branch), await shop.story()).toEqual(expect.arrayContaining(made));
  const child = (await shop.person.listTasks({})).find(({ task }) => task.name === 'own')!;
  expect(child.end!.work!.files.map(({ path }) => path)).toEqual(['own.txt']);
});
