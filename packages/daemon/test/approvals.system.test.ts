import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer, withModelScript, type ModelScript } from '@reveille/model-server';
import type { Client, Request, TaskView } from '@reveille/protocol';
import { Trust } from '@reveille/worktrees';
import { expect, test } from 'vitest';
import { repositoryItem } from '../src/config/repository.ts';
import { AcpHouse, play, report } from './acp-house.ts';
import { until } from './house.ts';
import { hasSandbox } from '../../../test/sandbox.ts';

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

test.skipIf(!hasSandbox)(
  '[INB2.40] the built-in agent asks for exactly what would run, does it once, and is kept from what is denied',
  async () => {
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
  },
);

test.skipIf(!hasSandbox)(
  '[INB2.41] an agent that speaks the protocol is held to the same rules: its own tools, its client’s hands, ours',
  async () => {
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
  },
);

test.skipIf(!hasSandbox)(
  '[INB2.41] a rule about files holds by whatever road a path leads there',
  async () => {
    await using house = new AcpHouse({ approvals: APPROVALS });
    const client = await house.connect();
    const roads: Record<string, unknown>[] = [
      { file_path: 'a/../secret/a' },
      { file_path: 'to-secret/a' },
      { file_path: 'nested/up/../a' },
      { file_path: '/proc/self/cwd/secret/a' },
      { uri: 'file:///proc/self/cwd/secret/%61' },
      { edits: [{ AbsolutePath: 'secret/a' }] },
      { arguments: '{"file": {"path": "secret/a"}}' },
      { cwd: 'secret/a', path: 'secret/a' },
      { patch: '*** Begin Patch\n*** Update File: secret/a\n' },
    ];
    const view = await house.run(
      client,
      play([
        {
          do: 'sh',
          command: 'mkdir -p secret/in a nested; ln -s secret to-secret; ln -s ../secret/in nested/up',
        },
        ...roads.map((input, i) => ({
          do: 'permission',
          title: 'Edit',
          kind: 'edit',
          input,
          else: [{ do: 'edit', path: `refused-${i}`, content: 'x' }],
        })),
        {
          do: 'permission',
          title: 'Edit',
          kind: 'edit',
          input: { file_path: 'a/b' },
          else: [{ do: 'edit', path: 'refused-free', content: 'x' }],
        },
        report('done'),
      ]),
    );
    await ended(client, view);
    const { files } = await client.diffTask(view.task.id);
    const refused = files.map(({ path }) => path).filter((path) => path.startsWith('refused'));
    expect(refused).toEqual(roads.map((_, i) => `refused-${i}`));
  },
);

test.skipIf(!hasSandbox)(
  '[INB2.41] what its client is to run counts with all its words and the variables it sets',
  async () => {
    await using house = new AcpHouse({ approvals: APPROVALS });
    const client = await house.connect();
    const terminal = { command: 'git', args: ['-c', 'alias.x=!ls', 'x'], env: [{ name: 'A', value: 'b c' }] };
    const view = await house.run(
      client,
      play([
        { do: 'client', method: 'terminal/create', params: terminal },
        { do: 'client', method: 'terminal/wait_for_exit', params: { terminalId: 'terminal-1' } },
        report('done'),
      ]),
    );
    const request = await asked(client, view);
    expect(request.action?.command).toBe("A='b c' git -c 'alias.x=!ls' x");
    await client.answer({ request: request.id, answer: 'deny' });
    await ended(client, view);
  },
);

test('[INB2.43] a yes is for the files that the command names, as they were shown: changed, it is asked again', async () => {
  await using house = new AcpHouse({ approvals: { rules: [{ command: 'sh*', verdict: 'ask' }] } });
  const client = await house.connect();
  const view = await house.run(
    client,
    play([
      { do: 'call', tool: 'create_file', args: { path: 'build.sh', content: 'echo harmless > one.txt\n' } },
      { do: 'call', tool: 'run_command', args: { command: 'sh build.sh' } },
      { do: 'permission', title: 'build', kind: 'execute', input: { command: 'sh build.sh' } },
      report('done'),
    ]),
  );
  const swap = async (request: Request, content: string): Promise<Request> => {
    expect(request.text).toContain('build.sh, ');
    writeFileSync(join(request.action!.where!, 'build.sh'), content);
    await client.answer({ request: request.id, answer: 'approve' });
    await until(async () => (await asked(client, view)).id !== request.id);
    return asked(client, view);
  };
  const first = await asked(client, view);
  expect(first.text).toContain('echo harmless > one.txt');
  const second = await swap(first, 'echo SWAPPED > two.txt\n');
  expect(second.text).toContain('echo SWAPPED > two.txt');
  expect(second.action?.files).toMatchObject([
    { path: 'build.sh', text: 'echo SWAPPED > two.txt\n', cut: false },
  ]);
  await client.answer({ request: second.id, answer: 'deny' });
  await until(async () => (await asked(client, view)).id !== second.id);
  // A vendor's own shell is answered only if the files are the same then.
  const third = await asked(client, view);
  const fourth = await swap(third, 'echo AGAIN\n');
  await client.answer({ request: fourth.id, answer: 'approve' });
  await ended(client, view);
  const { files } = await client.diffTask(view.task.id);
  expect(files.map(({ path }) => path)).toEqual(['build.sh']);
});

test('[INB2.43] a yes is for every file that is named, by way of folders and links too; what cannot be shown is said', async () => {
  const rules = ['*run*', 'cat*'].map((command) => ({ command, verdict: 'ask' }));
  await using house = new AcpHouse({ approvals: { rules } });
  const client = await house.connect();
  const many = Array.from({ length: 25 }, (_, i) => `f${i}.sh`);
  const create = (path: string, content: string) => ({
    do: 'call' as const,
    tool: 'create_file',
    args: { path, content },
  });
  const run = (command: string) => ({ do: 'call' as const, tool: 'run_command', args: { command } });
  const view = await house.run(
    client,
    play([
      create('a/b/run.sh', 'echo deep\n'),
      create('real.sh', 'echo real\n'),
      create('.npmrc', '//r/:_authToken=LOGIN\n'),
      ...many.map((path) => create(path, `echo ${path}\n`)),
      run('ln -s real.sh run.sh'),
      run('cd a && cd b && sh run.sh'),
      run('sh run.sh'),
      run(`cat ${many.join(' ')}`),
      run('npm run x'),
      run('sh run*.sh; sh /tmp/run.sh; sh ../run.sh'),
      report('done'),
    ]),
  );
  const first = await asked(client, view);
  await client.answer({ request: first.id, answer: 'approve' });
  let last = first;
  const nextRequest = async (): Promise<Request> => {
    await until(async () => (await asked(client, view)).id !== last.id);
    return (last = await asked(client, view));
  };
  const swapped = async (file: string, content: string): Promise<Request> => {
    const before = await nextRequest();
    expect(before.action?.files?.map(({ path }) => path)).toContain(file);
    writeFileSync(join(before.action!.where!, file), content);
    await client.answer({ request: before.id, answer: 'approve' });
    return nextRequest();
  };
  for (const file of ['a/b/run.sh', 'real.sh', 'f24.sh', '.npmrc']) {
    const again = await swapped(file, 'echo SWAPPED\n');
    // Of the first twenty files the text is shown, but of none that holds logins.
    if (file === '.npmrc') expect(again.text).not.toContain('SWAPPED');
    else if (file !== 'f24.sh') expect(again.text).toContain('echo SWAPPED');
    await client.answer({ request: again.id, answer: 'deny' });
  }
  const { text, action } = await nextRequest();
  expect(action?.unknownFiles).toEqual(['run*.sh', '/tmp/run.sh', '../run.sh']);
  expect(text).toMatch(/not shown, and may change after you approve:\n +run\*\.sh/);
  await client.answer({ request: last.id, answer: 'deny' });
  await ended(client, view);
});

test('[INB2.44] one write is asked about once: the edit, and not the same content that is then written through the client', async () => {
  await using house = new AcpHouse({ approvals: { preset: 'careful' } });
  const client = await house.connect();
  const edit = (path: string, newText: string, kind = 'edit') => ({
    do: 'permission' as const,
    title: 'edit',
    kind,
    input: { filepath: path },
    content: [{ type: 'diff', path, oldText: '', newText }],
  });
  const write = (path: string, content: string) => ({
    do: 'client' as const,
    method: 'fs/write_text_file',
    params: { path, content },
  });
  const view = await house.run(
    client,
    play([
      edit('a.txt', 'one\n'),
      write('a.txt', 'one\n'),
      // A call that brings content is a write, also if it says that it only reads.
      edit('c.txt', 'one\n', 'read'),
      // A second time, another content and another file are other writes.
      write('a.txt', 'one\n'),
      write('a.txt', 'two\n'),
      write('b.txt', 'one\n'),
      report('done'),
    ]),
  );
  const seen: string[] = [];
  for (let i = 0; i < 5; i++) {
    const request = await asked(client, view);
    seen.push(`${request.action?.tool} ${request.action?.paths.join()}`);
    expect(request.text).toContain(i === 3 ? 'two' : 'one');
    await client.answer({ request: request.id, answer: i === 0 ? 'approve' : 'deny' });
    if (i < 4) await until(async () => (await asked(client, view)).id !== request.id);
  }
  await ended(client, view);
  expect(seen).toEqual([
    'edit_file a.txt',
    'edit_file c.txt',
    'create_file a.txt',
    'create_file a.txt',
    'create_file b.txt',
  ]);
  const { files } = await client.diffTask(view.task.id);
  expect(files.map(({ path }) => path)).toEqual(['a.txt']);
});

test.skipIf(!hasSandbox)(
  '[INB2.42] a trusted repository and a definition take away and give nothing; what contradicts itself is said',
  async () => {
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
    expect(request.text).toContain('"careful" in the definition of strict');
    await client.answer({ request: request.id, answer: 'deny' });
    await ended(client, tasks[0]!);
    const trust = new Trust({ folder: join(house.place.home, 'trust') });
    await trust.grant(join(house.root, '.git'), [repositoryItem(content)]);
    // The settings of the checkout are read before anything is created.
    await expect(house.run(client, steps)).rejects.toThrow(
      /approvals\.preset: a repository can only make this stricter[\s\S]*contradicts rule 1/,
    );
  },
);
