import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Watch } from '../../src/watch.ts';
import { makeWorld, type World } from '../work/world.ts';
import { openShop, write } from '../../../../test/shop.ts';

const NOTHING = { script: { steps: [{ do: 'report', output: 'nothing to do' } as const] } };

test('[BND3.81] the person’s own work between two runs is not blamed on the next agent', async () => {
  await using shop = await openShop({ settings: { sandbox: 'off', dirty: 'head' } });
  const first = await shop.plan({ a: NOTHING });
  expect((await shop.until(first)).plan.state, await shop.story()).toBe('completed');
  shop.git('branch', 'planted');
  write(shop.root, { 'README.md': 'rewritten\n', 'new.txt': 'new\n' });
  shop.git('add', 'new.txt');
  shop.git('config', 'core.abbrev', '12');
  const second = await shop.plan({ a: NOTHING });
  expect((await shop.until(second)).plan.state, await shop.story()).toBe('completed');
  shop.git('branch', '-D', 'planted');
  const third = await shop.plan({ a: NOTHING });
  expect((await shop.until(third)).plan.state, await shop.story()).toBe('completed');
});

test('[BND3.81] after the person’s own work an escape of the next agent is still found, and nothing else is named', async () => {
  await using shop = await openShop({
    settings: { sandbox: 'off', dirty: 'head' },
    write: (root, path, content) => writeFileSync(join(root, path), content),
  });
  const first = await shop.plan({ a: NOTHING });
  expect((await shop.until(first)).plan.state, await shop.story()).toBe('completed');
  write(shop.root, { 'README.md': 'rewritten\n' });
  const edits = [{ do: 'edit', path: 'src/a.txt', content: 'mine now\n' } as const];
  const second = await shop.plan({ a: { script: { steps: [...edits, ...NOTHING.script.steps] } } });
  expect((await shop.until(second)).plan.state).toBe('failed');
  const { error } = (await shop.task(second, 'a')).end!;
  expect(error).toMatchObject({ class: 'escape', message: expect.stringContaining('src/a.txt was changed') });
  expect(error?.message).not.toContain('README.md');
});

const watchOf = (): Watch => new Watch({ audits: () => true, branchPrefix: 'reveille/' });

async function overlapping(world: World) {
  const watch = watchOf();
  const { repository, home } = world;
  return {
    home,
    begin: (run: string) => watch.begin(repository, run),
    escapes: (run: string) => watch.escapesOf(repository, run),
    end: (run: string) => watch.end(repository, run),
  };
}

test('[BND3.82] of runs that overlap, each that was open when the checkout changed is stopped, and no other', async () => {
  using world = await makeWorld();
  const { home, begin, escapes, end } = await overlapping(world);
  await begin('a');
  await begin('b');
  home.write({ 'a.txt': 'changed\n' });
  await begin('late');
  expect(await escapes('b')).toEqual(['a.txt was changed']);
  expect(await escapes('a')).toEqual(['a.txt was changed']);
  expect(await escapes('late')).toEqual([]);
  for (const run of ['a', 'b']) expect(await end(run)).toEqual([]);
  home.write({ 'src/b.txt': 'changed\n' });
  expect(await escapes('late')).toEqual(['src/b.txt was changed']);
  expect(await end('late')).toEqual([]);
  home.write({ 'person.txt': 'mine\n' });
  await begin('next');
  expect(await escapes('next')).toEqual([]);
});

test('[BND3.83] a change after the last look and before the agent is gone is told with its end', async () => {
  using world = await makeWorld();
  const { home, begin, escapes, end } = await overlapping(world);
  await begin('a');
  expect(await escapes('a')).toEqual([]);
  home.write({ 'a.txt': 'changed\n' });
  expect(await end('a')).toEqual(['a.txt was changed']);
});
