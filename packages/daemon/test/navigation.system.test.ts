import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { loadConfig, openLog } from '@reveille/daemon';
import { expect, test } from 'vitest';
import { standardParts } from '../src/compose/standard.ts';
import { until } from './house.ts';
import { OverHttp } from './inside.ts';

const FILES = {
  'tsconfig.json': '{ "compilerOptions": { "strict": true }, "include": ["src"] }\n',
  'src/price.ts': '/** What it costs. */\nexport const priceOf = (weight: number): number => weight * 2;\n',
  'src/shop.ts': "import { priceOf } from './price';\nexport const total = priceOf(3);\n",
};

function makeRepository(root: string): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], { cwd: root });
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-q', '-m', 'first');
}

/** A daemon as it is in production, but for the agents, which the test plays. */
async function openHouse(flags: (folder: string) => Record<string, string> = () => ({})) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-nav-')));
  const house = new OverHttp();
  const { config } = loadConfig({ flags: flags(folder) });
  const log = openLog({ path: house.place.log, ...config.logs });
  const { executors: _, ...parts } = await standardParts({
    config,
    place: house.place,
    log,
    url: 'http://127.0.0.1:9',
  });
  await house.begin({ parts });
  const mcp = new McpClient({ name: 'test', version: '1' });
  return {
    folder,
    house,
    mcp,
    async [Symbol.asyncDispose]() {
      await mcp.close();
      await house[Symbol.asyncDispose]();
      log[Symbol.dispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A plan with one task on a made repository, and a way to call tools as its worker. */
async function openWorker({ folder, house, mcp }: Awaited<ReturnType<typeof openHouse>>) {
  const root = join(folder, 'shop');
  mkdirSync(root, { recursive: true });
  makeRepository(root);
  const { plan } = await house.person.savePlan(
    { name: 'p', repository: root, tasks: [{ id: 'a', prompt: 'x', agent: 'coder' }] },
    { start: true },
  );
  await until(() => (house.stage.puppets[0]?.turns.length ?? 0) > 0);
  const puppet = house.stage.puppets[0]!;
  const headers = { authorization: `Bearer ${house.credentialOf(puppet)}` };
  await mcp.connect(
    new StreamableHTTPClientTransport(new URL(`${house.url}/mcp`), { requestInit: { headers } }),
  );
  const call = async (name: string, input: Record<string, unknown>) => {
    const { structuredContent, content } = await mcp.callTool({ name, arguments: input });
    return { data: structuredContent as Record<string, unknown>, text: JSON.stringify(content) };
  };
  /** Asked until the server has loaded: on a slow machine that takes longer than a client waits. */
  const usages = async (input: Record<string, unknown>) => {
    for (;;) {
      const answer = await call('find_usages', { ...input, waitMs: 30_000 });
      if (!answer.text.includes('still loading')) return answer;
    }
  };
  return { plan, call, usages };
}

test('[NAV1.10] a worker navigates its own worktree over MCP, sees its own edits, and its record says how it looked things up', async () => {
  await using world = await openHouse();
  const { plan, call, usages } = await openWorker(world);
  const { house, mcp } = world;
  const { tools } = await mcp.listTools();
  const names = ['navigate_to_symbol', 'find_usages', 'explore_module', 'document_outline', 'type_of'];
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
  const ask = { symbolName: 'priceOf', definitionFile: 'src/price.ts' };
  const found = await usages(ask);
  expect(found.data, found.text).toMatchObject({ found: 'semantic', complete: true, total: 2 });
  await call('create_file', { path: 'src/more.ts', content: "import { priceOf } from './price';\n" });
  expect((await usages(ask)).data).toMatchObject({ found: 'semantic', total: 3 });
  const searched = await call('search_text', { pattern: 'priceOf' });
  expect(searched.text).toContain('navigate_to_symbol');
  await call('a2a_subtask_complete', { status: 'success', output: 'done' });
  await until(async () => (await house.person.getPlan(plan.id)).tasks[0]?.task.state === 'completed');
  const [view] = (await house.person.getPlan(plan.id)).tasks;
  const counts = view?.run?.counts;
  expect(counts).toMatchObject({ search: 1, spawns: 0, specialists: 0, suggestions: 0 });
  expect(counts?.navigation).toBeGreaterThanOrEqual(2);
});

test('[NAV1.12] a server that is installed in the repository, which the sandbox hides, is started from a copy', async () => {
  await using world = await openHouse((folder) => {
    const server = join(folder, 'shop', 'tools', 'server.mjs');
    return { 'navigation.servers': JSON.stringify({ go: [server] }) };
  });
  const tools = join(world.folder, 'shop', 'tools');
  mkdirSync(tools, { recursive: true });
  copyFileSync(
    new URL('../../navigation/test/scripted-server.mjs', import.meta.url),
    join(tools, 'server.mjs'),
  );
  const { call, usages } = await openWorker(world);
  await call('create_file', { path: 'a.go', content: 'package a\n\nfunc Good() { Good() }\n' });
  const found = await usages({ symbolName: 'Good', definitionFile: 'a.go' });
  expect(found.data, found.text).toMatchObject({ found: 'semantic' });
});
