import { startModelServer } from '@reveille/model-server';
import { expect, test } from 'vitest';
import { play } from './goal.ts';
import { House } from './house.ts';
import { MODEL, asking } from './model.ts';
import { makeShop } from './shop.ts';

test('[ORC1.90] a goal becomes a plan, is approved, worked on at once, asked and decided about, and comes home', async () => {
  await using model = await startModelServer({ models: [MODEL] });
  await using house = new House({
    ...asking(model),
    // What it is told begins a turn, which the script can tell apart.
    REVEILLE_ENGINE_STEER: 'false',
  });
  const shop = makeShop(`${house.folder}/shop`);
  const client = await house.connect();
  const { plan, task } = await play({
    client,
    model,
    repository: shop.root,
    backend: 'builtin',
    make: (path) => ({ call: 'create_file', input: { path, content: `${path}\n` } }),
    wrong: { model: 'a-model-that-is-gone' },
    instead: `retry with model ${MODEL}`,
  });
  expect(plan.plan).toMatchObject({ state: 'completed', why: 'every task completed' });
  expect(await client.inbox()).toEqual([]);
  // Its own tools, and no hand that writes.
  const offered = model.requests.find(({ tools }) => tools.includes('orchestrator_save_plan'))!.tools;
  expect(offered).toContain('read_file');
  expect(offered).not.toContain('create_file');
  expect((await client.getTask(task)).end?.work?.files ?? []).toEqual([]);
  expect(await client.bringHome(plan.plan.id)).toMatchObject({ merged: true });
  expect(shop.git('ls-files').split('\n')).toEqual(['README.md', 'left.txt', 'right.txt', 'sign.txt']);
});
