import { createCheckout, findRepository, WORKTREE_DEFAULTS } from '@reveille/worktrees';
import { expect, test } from 'vitest';
import { snapshot } from '../../src/work/snapshots.ts';
import { openShop, type Shop } from '../../../../test/shop.ts';

const DAY_MS = 86_400_000;

/** A task that is over and one that waits for an answer, with two snapshots each; and one of nobody we know. */
async function makeSnapshots(shop: Shop): Promise<void> {
  const edit = { do: 'edit', path: 'a.txt', content: 'a' } as const;
  const plan = await shop.plan({
    over: { script: { steps: [edit, { do: 'report' }] } },
    open: { script: { steps: [edit, { do: 'ask', text: 'go on?' }, { do: 'report' }] } },
  });
  await shop.until(plan, async () => {
    const { state } = (await shop.task(plan, 'over')).task;
    return state === 'completed' && (await shop.person.inbox()).length > 0;
  });
  for (const name of ['over', 'open']) {
    const checkout = await shop.worktrees.checkoutOf((await shop.task(plan, name)).task);
    for (const why of ['first', 'second']) await snapshot(checkout!, why);
  }
  const repository = await findRepository(shop.root, { home: null });
  const { checkout } = await createCheckout(repository, {
    plan: 'another',
    task: 'home',
    id: 'of another home',
    start: { commit: shop.git('rev-parse', 'HEAD') },
    author: { name: 'A', email: 'a@example.com' },
    settings: WORKTREE_DEFAULTS,
  });
  await snapshot(checkout, 'first');
}

const kept = (shop: Shop): string[] =>
  shop.git('for-each-ref', '--format=%(refname:lstrip=3) %(subject)', 'refs/reveille/snapshots').split('\n');

const after = async (shop: Shop, days: number): Promise<string[]> => {
  const tasks = (await shop.person.listTasks({})).map(({ task }) => task);
  await shop.worktrees.retain(tasks, Date.now() + days * DAY_MS);
  return kept(shop);
};

const OTHERS = ['another-home/1 first', 'shop-open/1 first', 'shop-open/2 second'];

test('[WKT6.44] old snapshots of tasks that are over go; those of open tasks and of strangers stay', async () => {
  await using shop = await openShop();
  await makeSnapshots(shop);
  const all = [...OTHERS, 'shop-over/1 first', 'shop-over/2 second'];
  expect(await after(shop, 89)).toEqual(all);
  expect(await after(shop, 91)).toEqual(OTHERS);
  expect(shop.warnings).toEqual([]);
});

test('[WKT6.44] of each worktree the newest stay, as many as the setting says; without an age all stay', async () => {
  for (const [snapshots, stay] of [
    [{ days: 10, newest: 1 }, ['shop-over/2 second']],
    [{ days: null, newest: 0 }, ['shop-over/1 first', 'shop-over/2 second']],
  ] as const) {
    await using shop = await openShop({ settings: { worktrees: { ...WORKTREE_DEFAULTS, snapshots } } });
    await makeSnapshots(shop);
    expect(await after(shop, 91)).toEqual([...OTHERS, ...stay]);
  }
});
