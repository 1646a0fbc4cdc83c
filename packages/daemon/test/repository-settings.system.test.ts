import { join } from 'node:path';
import type { Client, PlanView } from '@reveille/protocol';
import { Trust } from '@reveille/worktrees';
import { expect, test } from 'vitest';
import { repositoryItem } from '../src/config/repository.ts';
import { House, until } from './house.ts';
import { makeShop, script, type Shop } from './shop.ts';

/** Runs a plan of one task to its end. */
async function runIn(client: Client, { root }: Shop, name: string): Promise<PlanView> {
  const prompt = script({ do: 'edit', path: 'made.txt', content: name }, { do: 'report', output: 'made' });
  const { plan } = await client.savePlan(
    { name, repository: root, tasks: [{ id: 'a', prompt }] },
    { start: true },
  );
  await until(async () => (await client.getPlan(plan.id)).plan.state !== 'active');
  return client.getPlan(plan.id);
}

const filesOf = ({ git }: Shop, name: string): string[] =>
  git('ls-tree', '--name-only', `reveille/${name}/a`).split('\n');

const SETUP = 'worktrees:\n  setup:\n    command: echo set up > ready.txt\n';

test('[CFG1.8] each repository by what it says itself, once that is trusted, from the next task on', async () => {
  await using house = new House();
  const one = makeShop(join(house.folder, 'one'));
  const two = makeShop(join(house.folder, 'two'));
  const trust = new Trust({ folder: join(house.place.home, 'trust') });
  one.write('.reveille/config.yaml', SETUP);
  const client = await house.connect();

  expect((await runIn(client, one, 'untrusted')).plan.state).toBe('completed');
  expect(filesOf(one, 'untrusted')).toEqual(['README.md', 'made.txt']);
  expect(house.log).toContainEqual(
    expect.objectContaining({ path: join(one.root, '.reveille/config.yaml'), level: 'warn' }),
  );

  await trust.grant(one.gitDir, [repositoryItem(SETUP)]);
  expect((await runIn(client, one, 'trusted')).plan.state).toBe('completed');
  expect(filesOf(one, 'trusted')).toEqual(['README.md', 'made.txt', 'ready.txt']);
  expect((await runIn(client, two, 'other')).plan.state).toBe('completed');
  expect(filesOf(two, 'other')).toEqual(['README.md', 'made.txt']);

  one.write('.reveille/config.yaml', SETUP.replace('set up', 'changed'));
  expect((await runIn(client, one, 'changed')).plan.state).toBe('completed');
  expect(filesOf(one, 'changed')).toEqual(['README.md', 'made.txt']);
});

test('[CFG1.8] what a trusted file may not say refuses its work with the place, and nobody else’s', async () => {
  await using house = new House();
  const one = makeShop(join(house.folder, 'one'));
  const two = makeShop(join(house.folder, 'two'));
  const content = 'sandbox:\n  mode: off\n';
  one.write('.reveille/config.yaml', content);
  await new Trust({ folder: join(house.place.home, 'trust') }).grant(one.gitDir, [repositoryItem(content)]);
  const client = await house.connect();
  await expect(runIn(client, one, 'wrong')).rejects.toThrow(
    '.reveille/config.yaml:2:9: sandbox.mode: a repository can only',
  );
  expect(await client.listPlans()).toEqual([]);
  expect((await runIn(client, two, 'right')).plan.state).toBe('completed');
});
