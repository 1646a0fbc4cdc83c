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
