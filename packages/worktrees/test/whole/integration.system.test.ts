import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from '@reveille/executors';
import type { PlanId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { hasSandbox } from '../sandbox/here.ts';
import { openShop, SHELL, write, type Part, type Shop } from '../../../../test/shop.ts';

const runs = (script: string, after: readonly string[] = []): Part => ({
  after,
  script: { steps: [{ do: 'edit', path: SHELL, content: script } satisfies Step, { do: 'report' }] },
});

/** Until it has ended, or waits for the person. */
async function ended(shop: Shop, plan: PlanId): Promise<string> {
  const asks = async (): Promise<boolean> => (await shop.person.inbox()).length > 0;
  const view = await shop.until(plan, async ({ plan: { state } }) => state !== 'active' || (await asks()));
  const [asked] = await shop.person.inbox();
  expect(asked?.text, await shop.story()).toBeUndefined();
  return view.plan.state;
}

async function branchOf(shop: Shop, plan: PlanId): Promise<string> {
  const { end } = await shop.task(plan, 'integration');
  expect(end, await shop.story()).toMatchObject({ status: 'success' });
  return end!.work!.branch;
}

test('[PLN6.20] what was merged stays in the integration when a merged .gitignore matches it', async () => {
  await using shop = await openShop();
  const plan = await shop.plan({
    data: runs('echo 1,2 > report.csv; git add -A; git commit -qm data'),
    ignore: runs('echo "*.csv" > .gitignore'),
    forced: runs(
      'echo f > forced.log; echo "*.log" >> src/.gitignore; git add -f forced.log; git commit -qm f',
    ),
  });
  expect(await ended(shop, plan), await shop.story()).toBe('completed');
  const branch = await branchOf(shop, plan);
  expect(shop.files(branch)).toEqual(expect.arrayContaining(['.gitignore', 'report.csv', 'forced.log']));
  expect(await shop.person.bringHome(plan)).toMatchObject({ merged: true });
  expect([existsSync(join(shop.root, 'report.csv')), shop.git('status', '--porcelain')]).toEqual([true, '']);
});

test('[PLN6.20] a file that is tracked though it is ignored is merged, changed and renamed, as git does', async () => {
  await using shop = await openShop();
  write(shop.root, { '.gitignore': '*.gen\n', 'k.gen': '1\n2\n3\n4\n5\n' });
  shop.git('add', '-f', '-A');
  shop.git('commit', '-qm', 'generated');
  const plan = await shop.plan({
    x: runs('sed -i s/5/five/ k.gen'),
    y: runs('git mv k.gen k2.gen; git commit -qm renamed'),
    z: runs('sed -i s/1/one/ k2.gen', ['y']),
  });
  expect(await ended(shop, plan), await shop.story()).toBe('completed');
  const branch = await branchOf(shop, plan);
  expect(shop.files(branch)).toEqual(['.gitignore', 'README.md', 'k2.gen', 'src/a.txt']);
  expect(shop.git('show', `${branch}:k2.gen`)).toBe('one\n2\n3\n4\nfive');
});

test('[PLN6.21] what a check writes, commits or builds over a merged file is not in the integration', async () => {
  await using shop = await openShop();
  const verify = [
    'mkdir -p dist && echo built > dist/app.js && echo litter > litter.txt && echo more >> README.md',
    'git add -A && git -c user.name=v -c user.email=v@v commit -qm check || true',
  ].join(' && ');
  const plan = await shop.plan(
    {
      a: runs('echo dist/ > .gitignore; echo a > a.txt'),
      b: runs('mkdir dist; echo shipped > dist/app.js; git add -f dist; git commit -qm ship', ['a']),
    },
    { verify },
  );
  expect(await ended(shop, plan), await shop.story()).toBe('completed');
  const branch = await branchOf(shop, plan);
  const [tip] = shop.git('log', '-1', '--format=%H', branch).split('\n');
  expect(shop.files(branch)).toEqual(['.gitignore', 'README.md', 'a.txt', 'dist/app.js', 'src/a.txt']);
  expect([shop.git('show', `${branch}:dist/app.js`), shop.git('show', `${branch}:README.md`)]).toEqual([
    'shipped',
    'a shop',
  ]);
  expect((await shop.task(plan, 'b')).end!.work!.commit).toBe(tip);
  expect(shop.git('fsck', '--strict', '--no-dangling')).toBe('');
});

// Without a sandbox a change of the checkout while a run is open stops the run.
test.skipIf(!hasSandbox)(
  '[PLN6.22] a base that was rewritten while the plan ran is told, with what comes back',
  async () => {
    await using shop = await openShop();
    write(shop.root, { z: 'z\n' });
    shop.git('add', '-A');
    shop.git('commit', '-qm', 'dropped later');
    const plan = await shop.plan({
      a: {
        script: {
          steps: [
            { do: 'edit', path: 'a.txt', content: 'a' },
            { do: 'ask', text: 'Well?' },
            { do: 'report' },
          ],
        },
      },
    });
    await shop.until(plan, async () => (await shop.person.inbox()).length > 0);
    shop.git('reset', '-q', '--hard', 'HEAD~1');
    write(shop.root, { q: 'q\n' });
    shop.git('add', '-A');
    shop.git('commit', '-qm', 'rewritten');
    const [question] = await shop.person.inbox();
    await shop.person.answer({ request: question!.id, answer: 'go on' });
    await shop.until(plan);
    const branch = await branchOf(shop, plan);
    expect(shop.files(branch)).toEqual(['README.md', 'a.txt', 'q', 'src/a.txt', 'z']);
    const { output } = (await shop.task(plan, 'integration')).end!;
    expect(output).toMatch(/^Merged: a\. The base is another one .*dropped later/);
  },
);

test('[WKT6.57] what is not part of the work, or is taken in another way, is named in the end of the run', async () => {
  await using shop = await openShop();
  const plan = await shop.plan({
    a: runs('echo a > a.txt; mkdir "git~1"; echo x > "git~1/x"; git init -q inner; echo y > inner/y'),
  });
  expect(await ended(shop, plan), await shop.story()).toBe('completed');
  const { work } = (await shop.task(plan, 'a')).end!;
  expect(work!.files.map(({ path }) => path)).toEqual(['a.txt', 'inner/y']);
  expect(work!.notices!.join('\n')).toMatch(/inner\/ is a repository of its own/);
  expect(work!.notices!.join('\n')).toMatch(/git~1\/x has a name that git does not take/);
});

const CONFLICT: Record<string, Part> = {
  left: runs('sed -i s/two/LEFT/ src/a.txt; echo left > left.txt'),
  right: runs('sed -i s/two/RIGHT/ src/a.txt; echo right > right.txt; rm README.md'),
};
const MERGE = 'git merge -q $THEIRS || true';
const SOLVE = 'printf "one\\nLEFT and RIGHT\\nthree\\n" > src/a.txt; git add -A; git commit -qm solved';
const PROPER = `${MERGE}; ${SOLVE}`;
const BAD: Record<string, { script: string; why: RegExp }> = {
  'does nothing': { script: 'true', why: /does not have what was to be merged/ },
  'commits one side': {
    script: 'git merge -q -s ours $THEIRS',
    why: /do not conflict.*README\.md, right\.txt/,
  },
  'copies the files': {
    script:
      'git checkout -q $THEIRS -- right.txt; git rm -q README.md; echo x > src/a.txt; git commit -qam copied',
    why: /does not have what was to be merged/,
  },
  'takes the other side': {
    script: 'git reset -q --hard $THEIRS',
    why: /does not have what was merged before/,
  },
  'drops a file': { script: `${PROPER}; git rm -q right.txt; git commit -qm drop`, why: /right\.txt/ },
  reverts: { script: `${PROPER}; git revert -m 1 --no-edit HEAD >/dev/null`, why: /README\.md, right\.txt/ },
  'leaves markers': {
    script: `${MERGE}; git add -A; git commit -qm marked`,
    why: /conflict markers: src\/a\.txt/,
  },
  'does not commit the merge': { script: MERGE, why: /does not have what was to be merged/ },
};

describe.each(Object.entries(BAD))('a resolver that %s', (_, { script, why }) => {
  test('[PLN6.23][PLN6.24] does not count: the next one is told what is missing, and then the person', async () => {
    const told: string[] = [];
    await using shop = await openShop({ settings: { onConflict: 'resolve' }, resolver: () => script });
    const plan = await shop.plan(CONFLICT);
    await shop.until(plan, async () => (await shop.person.inbox()).length > 0);
    const resolvers = (await shop.person.listTasks({})).filter(({ task }) => task.name === 'resolve right');
    expect(resolvers, await shop.story()).toHaveLength(2);
    for (const { task } of resolvers) told.push(task.prompt);
    const [question] = await shop.person.inbox();
    expect(question!.text).toMatch(why);
    expect(told.filter((prompt) => why.test(prompt))).toHaveLength(1);
    // Nothing of it is in the branch, and nothing says that it is.
    const { branch } = await shop.worktrees.diff((await shop.task(plan, 'integration')).task);
    expect(shop.files(branch)).not.toContain('right.txt');
    const right = (await shop.task(plan, 'right')).end!.work!.commit!;
    expect(shop.git('branch', '--list', branch, '--contains', right)).toBe('');
  });
});

test('[PLN6.23] a resolver that merges properly counts, also after one that did not, and also when a person asked for it', async () => {
  for (const onConflict of ['resolve', 'ask'] as const) {
    let asked = 0;
    await using shop = await openShop({
      settings: { onConflict },
      resolver: () => (asked++ === 0 ? 'true' : PROPER),
    });
    const plan = await shop.plan(CONFLICT);
    if (onConflict === 'ask') {
      await shop.until(plan, async () => (await shop.person.inbox()).length > 0);
      const [question] = await shop.person.inbox();
      const answer = question!.options.find((option) => option.startsWith('resolve'))!;
      await shop.person.answer({ request: question!.id, answer });
    }
    expect(await ended(shop, plan), await shop.story()).toBe('completed');
    const branch = await branchOf(shop, plan);
    expect(asked).toBe(2);
    expect(shop.files(branch)).toEqual(['left.txt', 'right.txt', 'src/a.txt']);
    expect(shop.git('show', `${branch}:src/a.txt`)).toBe('one\nLEFT and RIGHT\nthree');
  }
});

test('[PLN6.21] a resolver does not start from what the check of the step before wrote', async () => {
  await using shop = await openShop({ settings: { onConflict: 'resolve' }, resolver: () => PROPER });
  const plan = await shop.plan(CONFLICT, { verify: 'echo litter > litter.txt' });
  expect(await ended(shop, plan), await shop.story()).toBe('completed');
  expect(shop.files(await branchOf(shop, plan))).toEqual(['left.txt', 'right.txt', 'src/a.txt']);
});

test('[PLN6.25] who mends what merges and fails the check may change it, and not take it back', async () => {
  for (const [script, state] of [
    [`${MERGE}; echo good > bad.txt; git commit -qam mended`, 'completed'],
    [`${MERGE}; git rm -q bad.txt; git commit -qm removed`, 'active'],
  ] as const) {
    await using shop = await openShop({ settings: { onConflict: 'resolve' }, resolver: () => script });
    const plan = await shop.plan(
      { a: runs('echo a > a.txt'), b: runs('echo bad > bad.txt', ['a']) },
      { verify: 'test ! -e bad.txt || grep good bad.txt' },
    );
    const view = await shop.until(
      plan,
      async ({ plan: { state: now } }) => now !== 'active' || (await shop.person.inbox()).length > 0,
    );
    expect(view.plan.state, await shop.story()).toBe(state);
    if (state === 'active')
      expect((await shop.person.inbox())[0]?.text).toMatch(/taken back or removed: bad\.txt/);
  }
});
