import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer, withModelScript, type ModelScript } from '@reveille/model-server';
import type { Client, Request, TaskView } from '@reveille/protocol';
import { Trust } from '@reveille/worktrees';
import { expect, test } from 'vitest';
import { repositoryItem } from '../src/config/repository.ts';
import { AcpHouse, play, report } from './acp-house.ts';
import { until } from './house.ts';

const MODEL = 'claude-sonnet-4-5';
const KEY = 'sk-ant-nobody-may-see';
const APPROVALS = {
  rules: [
    { command: 'git tag*', verdict: 'ask' },
    { path: 'secret/**', verdict: 'deny' },
  ],
};

async function asked(client: Client, { task }: TaskView): Promise<Request> {
  let found: Request | undefined;
  await until(async () => {
    found = (await client.inbox()).find((request) => request.task === task.id && request.kind === 'approval');
    return found !== undefined;
  });
  return found!;
}

const ended = (client: Client, { task }: TaskView): Promise<void> =>
  until(async () => ['completed', 'failed'].includes((await client.getTask(task.id)).task.state));

test('[INB2.40] the built-in agent asks for exactly what would run, does it once, and is kept from what is denied', async () => {
  await using server = await startModelServer({ key: KEY, models: [MODEL] });
  await using house = new AcpHouse({
    approvals: APPROVALS,
    backends: {
      builtin: { provider: 'anthropic', model: MODEL, baseUrl: server.url, apiKeyEnv: 'SHOP_KEY' },
    },
  });
  house.env['SHOP_KEY'] = KEY;
  const client = await house.connect();
  const tag = { call: 'run_command', input: { command: 'git tag v1 && echo tagged' } };
  const script: ModelScript = {
    steps: [
      { call: 'create_file', input: { path: 'secret/key', content: 'x' } },
      tag,
      tag,
      { call: 'run_command', input: { command: 'git tag' } },
      { call: 'a2a_subtask_complete', input: { status: 'success', output: 'done' } },
    ],
  };
  const prompt = withModelScript('Do what is written.', script);
  const plan = {
    name: 'shop',
    repository: house.root,
    integrate: false,
    tasks: [{ id: 'one', prompt, agent: 'builtin:coder' }],
  };
  const { tasks } = await client.savePlan(plan, { start: true });
  const view = tasks[0]!;
  const first = await asked(client, view);
  const { worktree } = await client.diffTask(view.task.id);
  expect(first.action).toMatchObject({ command: 'git tag v1 && echo tagged', where: worktree, held: true });
  expect(first.text).toContain('git tag v1 && echo tagged');
  await client.answer({ request: first.id, answer: 'approve' });
  // The very same again is another request.
  await until(async () => (await asked(client, view)).id !== first.id);
  await client.answer({ request: (await asked(client, view)).id, answer: 'deny: once is enough' });
  await until(async () => (await asked(client, view)).action?.command === 'git tag');
  await client.answer({ request: (await asked(client, view)).id, answer: 'approve' });
  await ended(client, view);
  const results = JSON.stringify(server.requests.at(-1)?.body);
  expect(results).toContain('rule 2 of your settings');
  expect(results).toContain('tagged');
  expect(results).toContain('once is enough');
  expect((await client.getTask(view.task.id)).end).toMatchObject({ status: 'success', output: 'done' });
});

test('[INB2.41] an agent that speaks the protocol is held to the same rules: its own tools, its client’s hands, ours', async () => {
  await using house = new AcpHouse({ approvals: APPROVALS });
  const client = await house.connect();
  const view = await house.run(
    client,
    play([
      { do: 'permission', title: 'build', kind: 'execute', input: { command: 'make' } },
      { do: 'permission', title: 'Tag it', kind: 'execute', input: { command: 'git tag v2' } },
      { do: 'permission', title: 'Edit', kind: 'edit', input: { file_path: 'secret/a' } },
      { do: 'client', method: 'fs/write_text_file', params: { path: 'secret/b', content: 'x' } },
      { do: 'client', method: 'fs/write_text_file', params: { path: 'open.txt', content: 'x' } },
      { do: 'call', tool: 'create_file', args: { path: 'secret/c', content: 'x' } },
      report('done'),
    ]),
  );
  const request = await asked(client, view);
  expect(request.action).toMatchObject({ command: 'git tag v2', tool: 'run_command' });
  await client.answer({ request: request.id, answer: 'approve' });
  await ended(client, view);
  const { files } = await client.diffTask(view.task.id);
  expect(files.map(({ path }) => path)).toEqual(['open.txt']);
});

test('[INB2.42] a trusted repository and a definition take away and give nothing; what contradicts itself is said', async () => {
  await using house = new AcpHouse({ approvals: { preset: 'normal' } });
  mkdirSync(join(house.root, '.reveille'));
  const content =
    'approvals:\n  preset: trusting\n  rules:\n    - { command: make, verdict: ask }\n    - { command: make, verdict: auto }\n';
  writeFileSync(join(house.root, '.reveille', 'config.yaml'), content);
  house.git('add', '-A');
  house.git('commit', '-q', '-m', 'settings');
  const home = join(house.env['HOME']!, '.reveille', 'agents');
  mkdirSync(home, { recursive: true });
  const definition = '---\nname: strict\ndescription: Careful.\napprovals: careful\n---\nBe careful.\n';
  writeFileSync(join(home, 'strict.agent.md'), definition);
  const client = await house.connect();
  const steps = play([
    { do: 'permission', title: 'build', kind: 'execute', input: { command: 'make' } },
    report('done'),
  ]);
  // Not trusted, the repository has no say; its own definition still has.
  const plain = await house.run(client, steps);
  await ended(client, plain);
  expect(await client.inbox()).toEqual([]);
  const { tasks } = await client.savePlan(
    {
      name: 'q',
      repository: house.root,
      integrate: false,
      tasks: [{ id: 'a', agent: 'played:strict', prompt: steps }],
    },
    { start: true },
  );
  const request = await asked(client, tasks[0]!);
  expect(request.text).toContain('"careful" the definition of strict');
  await client.answer({ request: request.id, answer: 'deny' });
  await ended(client, tasks[0]!);
  const trust = new Trust({ folder: join(house.place.home, 'trust') });
  await trust.grant(join(house.root, '.git'), [repositoryItem(content)]);
  const refused = await house.run(client, steps);
  await ended(client, refused);
  const { end } = await client.getTask(refused.task.id);
  expect(end?.error?.message).toMatch(
    /approvals\.preset: a repository can only make this stricter[\s\S]*contradicts rule 1/,
  );
});
