import type { Message, Plan, PlanView, Request, TaskView } from '@reveille/protocol';
import { withScript, type WrittenScript } from '@reveille/executors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { House, until } from './house.ts';

const SLOW: WrittenScript = { steps: [{ do: 'silent' }] };

describe('tasks and what waits for a person', () => {
  let house: House;
  beforeAll(() => {
    // So few that the fourth has to come from another session.
    house = new House({ REVEILLE_ENGINE_CHILDREN_TOTAL: '3' });
  });
  afterAll(() => house[Symbol.asyncDispose]());

  const spawn = async (name: string, script: WrittenScript): Promise<TaskView> => {
    const args = [
      'spawn',
      '--detach',
      '--name',
      name,
      '--agent',
      'scripted:agent',
      withScript('Do.', script),
      '--json',
    ];
    const { code, out, err } = await house.run(args);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return JSON.parse(out) as TaskView;
  };
  const state = async (name: string): Promise<string> =>
    (await house.json<TaskView>('status', name)).task.state;

  test('[CLI1.30] a task is shown to its end, with its whole report', async () => {
    const prompt = withScript('Say it.', { steps: [{ do: 'report', output: 'First line.\nSecond line.' }] });
    const { code, out, err } = await house.run(['spawn', '-a', 'scripted:coder', '-'], { input: prompt });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(
      /^task_\w+\n[^]* completed +.*\n\n@scripted:coder: success\nFirst line\.\nSecond line\.\n$/,
    );
    const failed = await house.run([
      'spawn',
      '--agent',
      'scripted:agent',
      withScript('Fail.', { steps: [{ do: 'fail', class: 'invalid', message: 'cannot' }] }),
    ]);
    expect(failed.code).toBe(1);
    expect(failed.out).toContain('@scripted:agent: failed\ncannot');
    const unknown = await house.run(['spawn', '--agent', 'codr', 'x']);
    expect(unknown).toMatchObject({ code: 2, out: '' });
    expect(unknown.err).toMatch(/^Refused: there is no agent "codr"; there are: coder, .*\n$/);
  });

  test('[CLI1.30] the tasks of a terminal are its session’s, and a full session is followed by another', async () => {
    const third = await spawn('third', { steps: [{ do: 'report' }] });
    const fourth = await spawn('fourth', { steps: [{ do: 'report' }] });
    const fifth = await spawn('fifth', { steps: [{ do: 'report' }] });
    expect(third.task.repository).toBe(house.repository);
    expect(fourth.task.owner).not.toBe(third.task.owner);
    expect(fifth.task.owner).toBe(fourth.task.owner);
  });

  test('[CLI1.31][CLI1.33] a worker is written to, paused, resumed, cancelled, tried again, and stopped with all below it', async () => {
    const { task } = await spawn('slow', SLOW);
    await until(async () => (await house.json<TaskView>('status', 'slow')).run?.turn);
    const { message } = await house.json<{ message: Message }>(
      'send',
      'slow',
      'hello',
      'there',
      '--key',
      'once',
    );
    expect(message).toMatchObject({ kind: 'words', text: 'hello there', from: { kind: 'person' } });
    expect(
      (await house.json<{ message: Message }>('send', task.id, 'again', '--key', 'once')).message.id,
    ).toBe(message.id);
    expect((await house.run(['send', 'slow', '-'], { input: 'from a pipe' })).out).toMatch(
      /^(Queued|Handed over) for slow \(msg_\w+\)\.\n$/,
    );
    expect((await house.run(['pause', 'slow'])).out).toBe('slow is paused.\n');
    await until(async () => (await state('slow')) === 'waiting');
    expect((await house.run(['resume', 'slow'])).out).toBe('slow goes on.\n');
    expect((await house.run(['resume', 'slow'])).code).toBe(5);
    await house.json('cancel', 'slow', 'no', 'longer', 'needed');
    await until(async () => (await state('slow')) === 'cancelled');
    expect((await house.json<TaskView>('status', 'slow')).task.why).toContain('no longer needed');
    expect(await house.run(['cancel', 'slow'])).toMatchObject({ code: 5 });
    expect((await house.run(['retry', 'slow'])).out).toBe('slow is tried again.\n');
    await until(async () => (await state('slow')) === 'running');
    expect(await house.json('stop', 'slow')).toEqual({ stopped: 1 });
    await until(async () => (await state('slow')) === 'cancelled');
    expect((await house.json<TaskView>('status', 'slow')).task.why).toContain('stopped by the person');
  });

  test('[CLI1.4] a task under way is given to another agent, which goes on with it', async () => {
    await spawn('swapped', SLOW);
    await until(async () => (await state('swapped')) === 'running');
    expect((await house.run(['swap', 'swapped'])).code).toBe(2);
    const { code, out } = await house.run(['swap', 'swapped', 'coder', '--model', 'big']);
    expect({ code, out }).toEqual({ code: 0, out: 'swapped goes to @scripted:coder, big.\n' });
    const now = await house.json<TaskView>('status', 'swapped');
    expect(now.task).toMatchObject({ agent: { name: 'coder' }, model: 'big', attempts: 1 });
    expect((await house.run(['cancel', 'swapped'])).code).toBe(0);
    await until(async () => (await state('swapped')) === 'cancelled');
    expect((await house.run(['swap', 'swapped', 'coder'])).code).toBe(5);
  });

  test('[CLI1.34] one command stops a plan, one everything', async () => {
    house.plan('One', { a: SLOW, b: SLOW });
    house.plan('Two', { c: SLOW });
    for (const name of ['One', 'Two'])
      expect((await house.run(['plan', 'run', `${name}.yaml`, '-d'])).code).toBe(0);
    await spawn('alone', SLOW);
    expect(await house.json('stop', 'One')).toEqual({ stopped: 2 });
    expect(await house.json('stop', '--all', '--why', 'enough')).toEqual({ stopped: 2 });
    await until(
      async () => (await house.json<{ plans: Plan[]; tasks: TaskView[] }>('status')).plans.length === 0,
    );
    await until(async () => (await state('alone')) === 'cancelled');
    expect((await house.run(['stop', '--all'])).out).toBe('Nothing ran.\n');
    expect((await house.run(['retry', 'Two'])).err).toMatch(
      /^"Two" is a plan; retry takes a task:\n {2}task_\w+ {2}c: cancelled\n$/,
    );
    expect((await house.run(['attach'])).err).toBe(
      'Nothing runs. `reveille status --all` lists what has ended.\n',
    );
  });

  test('[CLI1.32] approvals and reviews: approved, denied with a reason, sent back with what to change', async () => {
    const asks = (message: string): WrittenScript => ({
      steps: [
        { do: 'call', operation: 'notifyParent', args: [{ type: 'approval_request', message }] },
        { do: 'rest' },
        { do: 'report' },
      ],
    });
    house.plan('Approvals', { yes: asks('May I?'), no: asks('And I?') });
    await house.run(['plan', 'run', 'Approvals.yaml', '-d']);
    house.plan(
      'Reviews',
      {
        good: { steps: [{ do: 'report' }] },
        poor: { steps: [{ do: 'report' }] },
        bad: { steps: [{ do: 'report' }] },
      },
      { review: 'person' },
    );
    await house.run(['plan', 'run', 'Reviews.yaml', '-d']);
    const waiting = async (): Promise<Request[]> =>
      (await house.json<{ requests: Request[] }>('inbox')).requests.filter(({ kind }) => kind !== 'failure');
    await until(async () => (await waiting()).length === 5);
    expect((await house.run(['inbox', 'yes'])).out).toMatch(
      /^approval +.+ {2}yes {2}of Approvals\n {2}It asks in its own words: .+\n {2}May I\?\n {2}1\. approve.*\n {2}2\. deny.*\n {2}reveille answer req_\w+ 1\n$/,
    );
    expect(await house.json('approve', 'yes')).toMatchObject({ request: { answer: { text: 'approve' } } });
    expect(await house.json('deny', 'no', 'too', 'risky')).toMatchObject({
      request: { answer: { text: 'deny: too risky' } },
    });
    await house.json('approve', 'good');
    await house.json('deny', 'bad');
    await house.json('answer', 'poor', 'changes: say more');
    await until(async () => (await state('poor')) === 'review');
    expect((await waiting()).map(({ kind }) => kind)).toEqual(['review']);
    expect(await state('good')).toBe('completed');
    expect(await state('bad')).toBe('failed');
    expect((await house.json<TaskView>('status', 'poor')).task).toMatchObject({
      state: 'review',
      attempts: 2,
    });
    await house.json('approve', 'poor');
    expect((await house.run(['attach', 'Approvals'])).code).toBe(0);
    const { plan } = await house.json<PlanView>('plan', 'status', 'Reviews');
    expect(plan).toMatchObject({ state: 'failed', counts: { completed: 2, failed: 1 } });
    expect((await house.run(['approve', 'good'])).code).toBe(3);
  });
});

test('[CLI1.45] the daemon is started, found, asked and stopped', async () => {
  await using house = new House();
  const none = await house.run(['daemon', 'status']);
  expect(none).toEqual({ code: 7, out: 'No daemon runs: there is no lock file.\n', err: '' });
  expect((await house.run(['daemon', 'stop'])).out).toBe('No daemon ran.\n');
  const bad = await house.run(['daemon', 'start', '--set', 'engine.concurency=4']);
  expect(bad).toMatchObject({ code: 7, out: '' });
  expect(bad.err).toContain('there is no such setting; there is engine.concurrency');
  const { url, health } = await house.json<{ url: string; health: { pid: number } }>(
    'daemon',
    'start',
    '--set',
    'engine.concurrency=4',
  );
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await house.run(['daemon', 'start'])).out).toContain(`process ${health.pid},`);
  expect((await house.run(['daemon', 'status'])).code).toBe(0);
  expect(await house.json('daemon', 'stop')).toEqual({ stopped: true });
  expect((await house.run(['daemon', 'status', '--json'])).code).toBe(7);
});
