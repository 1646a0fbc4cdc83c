import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Client, TaskView } from '@reveille/protocol';
import { broughtBy, findRepository, includeItem, Trust } from '@reveille/worktrees';
import { expect, test } from 'vitest';
import { House, until } from './house.ts';
import { makeShop, script, type Shop } from './shop.ts';

/** Runs a plan of one task to its end, and answers with how the task ended. */
async function runIn(client: Client, root: string, name: string): Promise<TaskView> {
  const prompt = script({ do: 'edit', path: 'made.txt', content: name }, { do: 'report', output: 'made' });
  const { plan } = await client.savePlan(
    { name, repository: root, tasks: [{ id: 'a', prompt }] },
    { start: true },
  );
  await until(async () => (await client.getPlan(plan.id)).plan.state !== 'active');
  const { tasks } = await client.getPlan(plan.id);
  const task = tasks.find((each) => each.task.key === 'a');
  if (!task) throw new Error('there is no task');
  return task;
}

/** Why nothing comes of a plan, whether it is not taken or its task fails. */
async function refusalIn(client: Client, root: string, name: string): Promise<string | undefined> {
  try {
    const { task, end } = await runIn(client, root, name);
    return task.state === 'failed' ? end?.error?.message : undefined;
  } catch (error) {
    return String(error);
  }
}

const trustOf = (house: House): Trust => new Trust({ folder: join(house.place.home, 'trust') });

async function trustEverything(house: House, { root, gitDir }: Shop): Promise<void> {
  const brought = await broughtBy(await findRepository(root, { home: null }));
  await trustOf(house).grant(
    gitDir,
    brought.map(({ item }) => item),
  );
}

test('[BND6][CFG1.9] an archive that borrows objects from a folder of keys, or of another repository, gets neither', async () => {
  await using house = new House();
  const keys = join(house.folder, 'home/.ssh');
  mkdirSync(keys, { recursive: true });
  writeFileSync(join(keys, 'id'), 'KEY');
  const own = makeShop(join(house.folder, 'private'));
  const shop = makeShop(join(house.folder, 'archive'));
  const client = await house.connect();
  const borrow = (from: string): void => shop.write('.git/objects/info/alternates', `${from}\n`);

  borrow(keys);
  expect(await refusalIn(client, shop.root, 'keys')).toMatch(/names .*\.ssh to borrow .* which is refused/);
  borrow(house.place.home);
  expect(await refusalIn(client, shop.root, 'state')).toMatch(/which is refused/);

  borrow(join(own.gitDir, 'objects'));
  expect(await refusalIn(client, shop.root, 'private')).toMatch(
    /borrows objects from .*private.*reveille init/,
  );
  expect(existsSync(`${shop.root}.worktrees`)).toBe(false);

  await trustEverything(house, shop);
  expect((await runIn(client, shop.root, 'trusted')).task.state).toBe('completed');
  const third = makeShop(join(house.folder, 'third'));
  borrow(`${join(own.gitDir, 'objects')}\n${join(third.gitDir, 'objects')}`);
  expect(await refusalIn(client, shop.root, 'changed')).toMatch(/borrows objects from .*third/);
});

test('[BND6][CFG1.9] an archive whose logs are links to a file of the person does not have lines put into it', async () => {
  await using house = new House();
  mkdirSync(join(house.folder, 'home'), { recursive: true });
  const startup = join(house.folder, 'home/.bashrc');
  writeFileSync(startup, 'mine\n');
  const shop = makeShop(join(house.folder, 'archive'));
  shop.git('config', 'user.name', 'x; touch evil #');
  mkdirSync(join(shop.gitDir, 'logs/refs/heads/reveille/linked'), { recursive: true });
  symlinkSync(startup, join(shop.gitDir, 'logs/refs/heads/reveille/linked/a'));
  const client = await house.connect();
  const refusal = await refusalIn(client, shop.root, 'linked');
  expect(readFileSync(startup, 'utf8')).toBe('mine\n');
  expect(refusal).toMatch(/follows no link in a git directory/);
});

test('[BND5.9][CFG1.9] commands in the config of a repository do not run until they are trusted', async () => {
  await using house = new House();
  const shop = makeShop(join(house.folder, 'archive'));
  const ran = join(house.folder, 'ran');
  shop.git('config', 'filter.evil.clean', `touch ${ran}; cat`);
  shop.write('.git/info/attributes', '* filter=evil\n');
  // Git looks into a file whose time is another.
  const touch = (seconds: number): void => utimesSync(join(shop.root, 'README.md'), seconds, seconds);
  touch(1_000);
  const client = await house.connect();
  expect(await refusalIn(client, shop.root, 'untrusted')).toMatch(
    /filter\.evil\.clean=touch .*reveille init/,
  );
  expect(existsSync(ran)).toBe(false);
  await trustEverything(house, shop);
  touch(2_000);
  expect((await runIn(client, shop.root, 'trusted')).task.state).toBe('completed');
  expect(existsSync(ran)).toBe(true);
});

test('[BND5.10][CFG1.9] a folder of worktrees that came with a repository is not used until it is trusted', async () => {
  await using house = new House();
  const shop = makeShop(join(house.folder, 'archive'));
  const victim = makeShop(join(house.folder, 'victim'));
  const record = { version: 1, name: '../victim', kind: 'clone', branch: 'b', start: 'HEAD', task: 't' };
  const trash = `${shop.root}.worktrees/.reveille/.trash/a`;
  mkdirSync(trash, { recursive: true });
  chmodSync(`${shop.root}.worktrees`, 0o700);
  writeFileSync(join(trash, 'checkout.json'), JSON.stringify(record));
  const client = await house.connect();
  expect(await refusalIn(client, shop.root, 'shipped')).toMatch(
    /may have come with the repository.*reveille init/,
  );
  expect(existsSync(join(victim.root, 'README.md'))).toBe(true);

  renameSync(`${shop.root}.worktrees`, join(house.folder, 'kept'));
  symlinkSync(join(house.folder, 'home'), `${shop.root}.worktrees`);
  expect(await refusalIn(client, shop.root, 'linked')).toMatch(/it is a link/);

  const fine = makeShop(join(house.folder, 'fine'));
  expect((await runIn(client, fine.root, 'first')).task.state).toBe('completed');
  await house.kill('SIGTERM');
  const again = await house.connect();
  expect((await runIn(again, fine.root, 'second')).task.state).toBe('completed');
});

test('[BND5.8][CFG1.9] files that .worktreeinclude names are copied once it is trusted, until it changes', async () => {
  await using house = new House();
  const shop = makeShop(join(house.folder, 'shop'));
  const include = '*.pem\n';
  shop.write('.gitignore', '*.pem\n*.key\n');
  shop.write('.worktreeinclude', include);
  shop.git('add', '-A');
  shop.git('commit', '-q', '-m', 'include');
  shop.write('k.pem', 'PEM');
  shop.write('k.key', 'KEY');
  const client = await house.connect();
  const has = async (name: string, file: string): Promise<boolean> => {
    const { end } = await runIn(client, shop.root, name);
    return existsSync(join(end?.work?.worktree ?? '/nowhere', file));
  };
  expect(await has('untrusted', 'k.pem')).toBe(false);
  expect(house.log).toContainEqual(
    expect.objectContaining({ level: 'warn', path: join(shop.root, '.worktreeinclude') }),
  );
  await trustOf(house).grant(shop.gitDir, [includeItem(include)]);
  expect(await has('trusted', 'k.pem')).toBe(true);
  shop.write('.worktreeinclude', `${include}*.key\n`);
  shop.git('commit', '-qam', 'more');
  expect(await has('changed', 'k.pem')).toBe(false);
});

test('[BND6.10][CFG1.9] a plan for a repository in a worktree, or in the daemon’s own folder, does not start', async () => {
  await using house = new House();
  const shop = makeShop(join(house.folder, 'shop'));
  const client = await house.connect();
  const { end } = await runIn(client, shop.root, 'one');
  const nested = makeShop(join(end?.work?.worktree ?? '', 'n'));
  const own = makeShop(join(house.place.home, 'n'));
  for (const [root, words] of [
    [nested.root, /worktree that Reveille made/],
    [own.root, /Reveille's own folder/],
  ] as const)
    expect(await refusalIn(client, root, 'two')).toMatch(words);
});
