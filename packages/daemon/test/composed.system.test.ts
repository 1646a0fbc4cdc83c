import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { House, until } from './house.ts';
import { makeShop, script } from './shop.ts';

test('[DMN1.90] the whole of it: a plan on a repository runs in worktrees, also over a kill -9 of the daemon, and comes home', async () => {
  await using house = new House();
  const { root, git } = makeShop(join(house.folder, 'shop'));
  let client = await house.connect();
  const task = (name: string, ...more: object[]) => ({
    id: name,
    prompt: script({ do: 'edit', path: `${name}.txt`, content: name }, ...more, {
      do: 'report',
      output: `made ${name}`,
    }),
  });
  const { plan } = await client.savePlan(
    {
      name: 'shop',
      repository: root,
      tasks: [task('a'), { ...task('b', { do: 'work', ms: 300 }), dependencies: ['a'] }],
    },
    { start: true },
  );
  await until(async () =>
    (await client.getPlan(plan.id)).tasks.some(({ task: { state } }) => state === 'completed'),
  );
  await house.kill();
  client = await house.connect();
  await until(async () => (await client.getPlan(plan.id)).plan.state !== 'active');
  const view = await client.getPlan(plan.id);
  expect(view.plan.state, JSON.stringify(view.tasks.map(({ task: { name, why } }) => [name, why]))).toBe(
    'completed',
  );
  expect(await client.bringHome(plan.id)).toMatchObject({ merged: true });
  expect(git('ls-files').split('\n')).toEqual(['README.md', 'a.txt', 'b.txt']);
});

test('[DMN1.97] at the start, snapshots that are older than the setting says are dropped', async () => {
  await using house = new House();
  const { root, git } = makeShop(join(house.folder, 'shop'));
  const client = await house.connect();
  const prompt = script({ do: 'edit', path: 'a.txt', content: 'a' }, { do: 'report' });
  const { plan } = await client.savePlan(
    { name: 'shop', repository: root, tasks: [{ id: 'a', prompt }] },
    { start: true },
  );
  await until(async () => (await client.getPlan(plan.id)).plan.state === 'completed');
  const { tasks } = await client.getPlan(plan.id);
  await client.discardTask(tasks.find(({ task }) => task.name === 'a')!.task.id);
  const snapshots = (): string => git('for-each-ref', '--format=%(refname)', 'refs/reveille/snapshots');
  expect(snapshots()).toBe('refs/reveille/snapshots/shop-a/1');
  await house.kill();
  house.env['REVEILLE_WORKTREES_SNAPSHOTS_DAYS'] = '0';
  await house.connect();
  await until(() => snapshots() === '');
});

test('[DMN1.93] at the start, worktrees that belong to no task are told and left alone', async () => {
  await using house = new House();
  const { root } = makeShop(join(house.folder, 'shop'));
  const client = await house.connect();
  const prompt = script({ do: 'edit', path: 'a.txt', content: 'a' }, { do: 'report' });
  const { plan } = await client.savePlan(
    { name: 'shop', repository: root, tasks: [{ id: 'a', prompt }] },
    { start: true },
  );
  await until(async () => (await client.getPlan(plan.id)).plan.state === 'completed');
  await house.kill();
  const stray = join(`${root}.worktrees`, 'stray');
  mkdirSync(stray);
  await house.connect();
  const said = (): Record<string, unknown>[] =>
    house.said('a worktree that belongs to no task, or is not where it should be; it is left as it is');
  await until(() => said().length > 0);
  expect(said()).toEqual([expect.objectContaining({ path: stray, why: 'no_record' })]);
  expect(existsSync(stray)).toBe(true);
});

test('[DMN1.91] the agents of a repository count when they are trusted, and its own tools are served over MCP', async () => {
  await using house = new House();
  const { root, write } = makeShop(join(house.folder, 'shop'));
  const definition = '---\nname: sweeper\ndescription: Sweeps.\ntools: [read_file]\n---\nSweep.\n';
  write('.reveille/agents/sweeper.agent.md', definition);
  const client = await house.connect();
  const plan = { name: 'p', repository: root, tasks: [{ id: 'a', prompt: 'x', agent: 'sweeper' }] };
  await expect(client.savePlan(plan)).rejects.toMatchObject({ code: 'invalid_input' });

  const mcp = new McpClient({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${house.lock.token}` };
  await mcp.connect(
    new StreamableHTTPClientTransport(new URL(`${house.url}/mcp`), { requestInit: { headers } }),
  );
  try {
    const { tools } = await mcp.listTools();
    expect(tools.map(({ name }) => name)).toContain('orchestrator_save_plan');
    const listed = await mcp.callTool({ name: 'a2a_list_agents', arguments: {} });
    expect(JSON.stringify(listed.content)).toContain('reviewer');
  } finally {
    await mcp.close();
  }
});
