import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer, withModelScript, type ModelServer, type ModelStep } from '@reveille/model-server';
import type { Plan, Request, TaskView } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { House, ended, until } from './house.ts';

const MODEL = 'claude-sonnet-4-5';

const houseWith = (model: ModelServer): House =>
  new House({
    REVEILLE_BACKENDS_BUILTIN_PROVIDER: 'anthropic',
    REVEILLE_BACKENDS_BUILTIN_MODEL: MODEL,
    REVEILLE_BACKENDS_BUILTIN_BASE_URL: model.url,
    REVEILLE_BACKENDS_BUILTIN_API_KEY_ENV: 'SHOP_KEY',
    REVEILLE_ENGINE_STEER: 'false',
    SHOP_KEY: 'sk-ant-scripted',
  });

const report = (output: string): ModelStep => ({
  call: 'a2a_subtask_complete',
  input: { status: 'success', output },
});

/** One task, which makes a file when it is let. */
function goal(): string {
  const work = withModelScript('Make the sign.', {
    steps: [
      { hold: 'sign', call: 'create_file', input: { path: 'SIGN', content: 'Open\n' } },
      report('made it'),
    ],
  });
  const tasks = [{ id: 'sign', description: work, agent: 'builtin:coder' }];
  return withModelScript('Our shop needs a sign.', {
    steps: [
      { call: 'orchestrator_save_plan', input: { name: 'The sign', tasks, autoStart: true } },
      { say: 'It is made.' },
    ],
    onMail: [{ when: 'every task completed', steps: [report('The sign hangs.')] }],
  });
}

test('[CLI1.95] a goal is shown as a plan, approved at another door, seen through, and comes home', async () => {
  await using model = await startModelServer();
  await using house = houseWith(model);
  house.git('config', 'user.name', 'Ann');
  house.git('config', 'user.email', 'ann@example.invalid');
  // Here what agents write is to be seen.
  writeFileSync(join(house.repository, '.git', 'info', 'exclude'), '');
  model.release('sign');
  let approved: Promise<{ request: Request }> | undefined;
  const { code, out } = await house.run(['run', goal(), '--backend', 'builtin'], {
    wrote: (text) => {
      const request = /asks you[\s\S]*\(reveille inbox (req_\w+)\)/.exec(text)?.[1];
      if (request) approved ??= house.json('approve', request);
    },
  });
  expect((await approved)?.request).toMatchObject({ kind: 'plan', state: 'answered' });
  expect({ code, out }).toMatchObject({ code: 0 });
  expect(out).toMatch(/Start the plan "The sign"[\s\S]*The sign hangs\./);
  const plan = /reveille integrate (plan_\w+)/.exec(out)?.[1] ?? '';
  expect(await house.json('integrate', plan)).toMatchObject({ merged: true });
  expect(house.git('ls-files').trim()).toBe('SIGN');
});

test('[CLI1.96] with --yes nothing is asked; Ctrl-C leaves it, and attach comes back to its end', async () => {
  await using model = await startModelServer();
  await using house = houseWith(model);
  const child = house.start(['run', goal(), '-y', '-b', 'builtin']);
  let lines = 0;
  const leaving = ended(child, (out) => (lines = out.split('\n').length));
  // It has begun to watch: beneath the id there is something that happened.
  await until(() => model.held('sign') === 1 && lines > 2);
  expect(child.kill('SIGINT')).toBe(true);
  const left = await leaving;
  const id = /^(task_\w+)/.exec(left.out)?.[1] ?? '';
  expect(left).toMatchObject({
    code: 130,
    err: `\nStill running; \`reveille attach ${id}\` comes back.\n`,
  });
  expect((await house.json<{ requests: Request[] }>('inbox')).requests).toEqual([]);
  const back = house.run(['attach']);
  model.release('sign');
  const { code, out } = await back;
  expect({ code, out }).toMatchObject({ code: 0 });
  expect(out).toContain('The sign hangs.');
  const { plans } = await house.json<{ plans: Plan[] }>('plan', 'status');
  expect(plans).toMatchObject([{ name: 'The sign', state: 'completed' }]);
});

test('[CLI1.97] a goal whose plan failed ends with 1, although its orchestrator ends well, and names what is not merged', async () => {
  await using model = await startModelServer();
  await using house = houseWith(model);
  house.git('config', 'user.name', 'Ann');
  house.git('config', 'user.email', 'ann@example.invalid');
  writeFileSync(join(house.repository, '.git', 'info', 'exclude'), '');
  const task = (id: string, steps: ModelStep[]) => ({
    id,
    description: withModelScript(`Do ${id}.`, { steps }),
    agent: 'builtin:coder',
  });
  const failed = { status: 'failed', output: '', error: 'no paint left' };
  const tasks = [
    task('good', [{ call: 'create_file', input: { path: 'SIGN', content: 'Open\n' } }, report('made it')]),
    task('bad', [{ call: 'a2a_subtask_complete', input: failed }]),
  ];
  const prompt = withModelScript('Our shop needs a sign.', {
    steps: [
      { call: 'orchestrator_save_plan', input: { name: 'The sign', tasks, autoStart: true } },
      { say: 'It is made.' },
    ],
    onMail: [{ when: 'no paint left', steps: [report('I see.')] }],
  });
  const { code, out } = await house.run(['run', prompt, '-y', '-b', 'builtin']);
  expect({ code, out }).toMatchObject({ code: 1 });
  expect(out).toContain('@builtin:orchestrator: success');
  expect(out).toMatch(/The plan "The sign" is (failed|cancelled): /);
  expect(out).toMatch(
    /Completed, but not merged:\n {2}good: 1 file on reveille\/The-sign\/good \(reveille integrate task_/,
  );
  const again = await house.run(['attach', /task_\w+/.exec(out)?.[0] ?? '']);
  expect(again.code).toBe(1);
});

test('[CLI1.92] what says nothing is refused before anything is started', async () => {
  await using house = new House({ REVEILLE_ENGINE_DEFAULT_BACKEND: 'scripted' });
  const refused = async (...args: string[]) => {
    const { code, err } = await house.run(['run', ...args]);
    return { code, err };
  };
  expect(await refused(' ')).toMatchObject({ code: 2, err: expect.stringContaining('Say what is to be') });
  expect(await refused('x', '--budget', 'money=3')).toMatchObject({
    code: 2,
    err: expect.stringContaining('usd=5'),
  });
  expect(await refused('x')).toMatchObject({
    code: 2,
    err: expect.stringContaining('a script in the prompt'),
  });
  const unknown = await refused('x', '--backend', 'nobody');
  expect(unknown.code).not.toBe(0);
  expect(unknown.err).toContain('there is no backend "nobody"');
  expect((await house.json<{ tasks: TaskView[] }>('status', '--all')).tasks).toEqual([]);
});

test('[CLI1.93] a failure in the inbox has its choices; details is a look, retry another attempt', async () => {
  await using house = new House();
  house.plan('Fails', { it: { steps: [{ do: 'report', status: 'failed', output: 'no such thing' }] } });
  expect((await house.run(['plan', 'run', 'Fails.yaml'])).code).toBe(1);
  const list = (await house.run(['inbox'])).out;
  expect(list).toMatch(
    /failure[\s\S]*no such thing[\s\S]*1\. retry\n[\s\S]*2\. retry with: <[\s\S]*3\. cancel/,
  );
  const { requests } = await house.json<{ requests: (Request & { choices: { id: string }[] })[] }>('inbox');
  expect(requests[0]?.choices.map(({ id }) => id)).toEqual(['retry', 'retry with', 'cancel', 'details']);
  expect((await house.run(['answer', 'it', 'details'])).out).toMatch(/It still waits:\n {2}1\. retry\n/);
  expect(await house.json('answer', 'it', 'Retry')).toMatchObject({ request: { state: 'answered' } });
  await until(async () => (await house.json<{ requests: Request[] }>('inbox')).requests.length === 1);
  expect(await house.json('answer', 'it', 'cancel')).toMatchObject({ request: { state: 'answered' } });
  const nothing = await house.run(['answer', requests[0]!.id, 'retry']);
  expect(nothing.code).not.toBe(0);
  expect(nothing.err).toContain('no longer needs an answer');
});
