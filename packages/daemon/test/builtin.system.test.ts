import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  startModelServer,
  withModelScript,
  type ModelScript,
  type ModelServer,
  type ModelStep,
} from '@reveille/model-server';
import type { Client, PlanId } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { House, until } from './house.ts';
import { MODEL, asking } from './model.ts';
import { makeShop } from './shop.ts';
import { hasSandbox } from '../../../test/sandbox.ts';

const KEY = 'sk-ant-a-secret-that-nobody-may-see';

const prompt = (script: ModelScript): string => withModelScript('Do what is written.', script);
const report = (output: string): ModelStep => ({
  call: 'a2a_subtask_complete',
  input: { status: 'success', output },
});
const create = (path: string): ModelStep => ({ call: 'create_file', input: { path, content: `${path}\n` } });
const spawn = (script: ModelScript): ModelStep => ({
  call: 'a2a_spawn_subtask',
  input: { agentType: 'builtin:coder', prompt: prompt(script), blocking: false },
});
const pull = (task: string): ModelStep => ({ call: 'a2a_pull_subtask_changes', input: { taskId: task } });

/** A house whose daemon has a model, and a repository beside it. */
function houseWith(server: ModelServer, key = KEY): House {
  const house = new House(asking(server, key));
  makeShop(rootOf(house));
  return house;
}

const rootOf = ({ folder }: House): string => join(folder, 'shop');

const git = (house: House, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], {
    cwd: rootOf(house),
    encoding: 'utf8',
  }).trimEnd();

async function startPlan(client: Client, house: House, script: ModelScript): Promise<PlanId> {
  const tasks = [{ id: 'one', prompt: prompt(script), agent: 'builtin:coder' }];
  const { plan } = await client.savePlan({ name: 'shop', repository: rootOf(house), tasks }, { start: true });
  return plan.id;
}

async function completed(client: Client, plan: PlanId): Promise<void> {
  await until(async () => (await client.getPlan(plan)).plan.state !== 'active');
  const view = await client.getPlan(plan);
  const ends = view.tasks.map(({ task: { name, why }, end }) => [name, why, end?.output, end?.error]);
  expect(view.plan.state, JSON.stringify(ends)).toBe('completed');
}

test.skipIf(!hasSandbox)(
  '[EXE1.71] a worker on a model of ours edits, commits, spawns, is woken busy and idle, reports, and its work comes home',
  async () => {
    await using server = await startModelServer({ key: KEY, models: [MODEL] });
    await using house = houseWith(server);
    const client = await house.connect();
    const commit =
      'git add -A && git -c user.name=W -c user.email=w@example.com commit -qm "by its own hand"';
    const plan = await startPlan(client, house, {
      steps: [
        { think: 'First the file.', say: 'I begin.', ...create('own.txt') },
        { call: 'run_command', input: { command: commit } },
        spawn({ steps: [{ hold: 'busy', ...create('busy.txt') }, report('made busy.txt')] }),
        create('meanwhile.txt'),
        { call: 'list_directory', input: { path: '.' }, until: 'made busy.txt', repeat: 2_000 },
        { say: 'I rest.', until: 'made busy.txt' },
        pull('${/(task_\\w+)\\) received/}'),
        spawn({ steps: [{ hold: 'idle', ...create('idle.txt') }, report('made idle.txt')] }),
        { say: 'I wait.' },
      ],
      onMail: [
        { when: 'made idle.txt', steps: [pull('${/(task_\\w+)\\) received/}'), report('all is there')] },
      ],
    });
    await until(() => server.held('busy') === 1);
    server.release('busy');
    await until(() => server.held('idle') === 1);
    const worker = async () => (await client.getPlan(plan)).tasks.find(({ task }) => task.name === 'one')!;
    await until(async () => (await worker()).task.state === 'waiting');
    server.release('idle');
    await completed(client, plan);
    const { run, end } = await worker();
    expect(end).toMatchObject({ status: 'success', output: 'all is there', cause: 'report' });
    // On a machine that stood still it may have got the first end only after its turn.
    expect([2, 3]).toContain(run?.turns);
    expect(run?.used.tokens).toBeGreaterThan(0);
    expect(await client.bringHome(plan)).toMatchObject({ merged: true });
    const made = ['README.md', 'busy.txt', 'idle.txt', 'meanwhile.txt', 'own.txt'];
    expect(git(house, 'ls-files').split('\n')).toEqual(made);
    expect(git(house, 'log', '--format=%s')).toContain('by its own hand');
    expect(server.requests[0]?.tools).toContain('a2a_spawn_subtask');
    expect(server.requests[0]?.tools).not.toContain('orchestrator_save_plan');
    expect(JSON.stringify(server.requests[0]?.body['system'])).toContain('coder');
  },
);

test('[EXE1.72] rate-limited it is tried again; killed with its daemon in the middle of a turn it goes on', async () => {
  await using server = await startModelServer({ key: KEY, models: [MODEL] });
  await using house = houseWith(server);
  let client = await house.connect();
  const plan = await startPlan(client, house, {
    steps: [
      { fail: 'rate_limit', times: 2, retryAfterS: 0 },
      create('before.txt'),
      { hold: 'gate', ...create('after.txt') },
      report('went on'),
    ],
  });
  await until(() => server.held('gate') === 1);
  await house.kill();
  await until(() => server.held('gate') === 0);
  server.release('gate');
  client = await house.connect();
  await completed(client, plan);
  expect(await client.bringHome(plan)).toMatchObject({ merged: true });
  expect(git(house, 'ls-files').split('\n')).toEqual(['README.md', 'after.txt', 'before.txt']);
  const last = server.requests.at(-1)!.messages.map(({ text }) => text);
  expect(last.filter((text) => text.includes('reveille-model'))).toHaveLength(1);
  expect(last.join('\n')).toContain('You were interrupted and go on');
});

test('[EXE1.73] a wrong key fails its task with what to set, its parent is told, and nobody can read the key anywhere', async () => {
  await using server = await startModelServer({ key: 'another', models: [MODEL] });
  await using house = houseWith(server);
  const client = await house.connect();
  const child = { prompt: prompt({ steps: [report('never')] }), agentType: 'builtin:coder' };
  const parent = { steps: [{ do: 'spawn', tasks: [child] }], whenWoken: [{ do: 'report', output: 'heard' }] };
  const words = `Delegate.\n\n\`\`\`reveille-script\n${JSON.stringify(parent)}\n\`\`\``;
  const { plan, tasks } = await client.savePlan(
    {
      name: 'shop',
      repository: rootOf(house),
      tasks: [{ id: 'one', prompt: words, agent: 'scripted:coder' }],
    },
    { start: true },
  );
  await completed(client, plan.id);
  const mail = await client.mailbox(tasks[0]!.task.session);
  expect(mail.filter(({ kind }) => kind === 'end')).toHaveLength(1);
  const children = await client.listTasks({ owner: tasks[0]!.task.session });
  expect(children[0]?.end).toMatchObject({ status: 'failed', error: { class: 'auth' } });
  expect(children[0]?.end?.error?.message).toMatch(/The key in SHOP_KEY was refused.*401/);
  await house.kill('SIGTERM');
  const said = [house.place.log, house.place.startLog, house.place.database]
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
  expect(said).not.toContain('a-secret-that-nobody');
});
