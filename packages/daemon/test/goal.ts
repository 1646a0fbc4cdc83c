import { withModelScript, type ModelServer, type ModelStep } from '@reveille/model-server';
import type { Client, PlanView, Request, TaskId } from '@reveille/protocol';
import { expect } from 'vitest';
import { until } from './house.ts';

/**
 * A goal and all that comes of it, told to a model that follows scripts: a plan, its approval, two workers at once, a
 * question that the orchestrator answers, a failure that it decides about, an approval that it leaves to the person,
 * completion and integration. The same on every backend.
 */
export interface Goal {
  readonly client: Client;
  readonly model: ModelServer;
  readonly repository: string;
  /** What the orchestrator and its workers run on. */
  readonly backend: string;
  /** A step that makes a file, in the backend's own words. */
  readonly make: (path: string) => ModelStep;
  /** Whom the plan first gives a task that it cannot do, and what the orchestrator then says. */
  readonly wrong: { readonly agent?: string; readonly model?: string };
  readonly instead: string;
}

const report = (output: string): ModelStep => ({
  call: 'a2a_subtask_complete',
  input: { status: 'success', output },
});

const notify = (type: string, message: string): ModelStep => ({
  call: 'a2a_notify_parent',
  input: { type, message },
});

const answer = (request: string, words: string): ModelStep => ({
  call: 'orchestrator_answer',
  input: { requestId: `\${/${request}/}`, answer: words },
});

/** Long enough that what is quoted of it holds nothing of its script. */
const words = (task: string): string => `${task} ${'Make it well, and say what you did. '.repeat(10)}`;

function planOf({ backend, make, wrong }: Goal): object {
  const agent = `${backend}:coder`;
  const left = withModelScript(words('Make the left half.'), {
    steps: [{ hold: 'left', ...notify('question', 'Which colour?') }, { say: 'I wait.' }],
    onMail: [{ when: 'answers your request', steps: [make('left.txt'), report('the left half is blue')] }],
  });
  const right = withModelScript(words('Make the right half.'), {
    steps: [{ hold: 'right', ...make('right.txt') }, report('the right half is there')],
  });
  const sign = withModelScript(words('Put the halves together.'), {
    steps: [{ hold: 'sign', ...notify('approval_request', 'May I hang it up?') }, { say: 'I wait.' }],
    onMail: [{ when: 'answers your request', steps: [make('sign.txt'), report('it hangs')] }],
  });
  return {
    name: 'The sign',
    description: 'A sign for the shop.',
    tasks: [
      { id: 'left', description: left, agent },
      { id: 'right', description: right, agent, ...wrong },
      { id: 'sign', description: sign, agent, dependencies: ['left', 'right'] },
    ],
  };
}

const goalOf = (goal: Goal): string =>
  withModelScript('Our shop needs a sign.', {
    steps: [
      { call: 'a2a_list_specialists', input: {} },
      { call: 'orchestrator_save_plan', input: planOf(goal) as Record<string, unknown> },
      { call: 'orchestrator_start_plan', input: { planId: '${/(plan_\\w+)/}' } },
      { say: 'I wait for your approval.' },
    ],
    onMail: [
      {
        when: 'it ended: failed',
        steps: [
          answer('Decide about it with request (req_\\w+)', goal.instead),
          { say: 'Another one is at it.' },
        ],
      },
      { when: 'asks you (answer', steps: [answer('request (req_\\w+)\\)', 'blue'), { say: 'Blue.' }] },
      {
        when: 'wants your approval',
        steps: [answer('request (req_\\w+)\\)', 'pass on'), { say: 'That is for the person.' }],
      },
      { when: 'every task completed', steps: [report('The sign hangs.')] },
    ],
  });

/** Plays it to its end; what a person does in it, this does. */
export async function play(goal: Goal): Promise<{ plan: PlanView; task: TaskId }> {
  const { client, model, backend, repository } = goal;
  const grant = await client.grantSession({ kind: 'terminal', name: 'terminal', repository });
  const input = { prompt: goalOf(goal), agentType: `${backend}:orchestrator`, name: 'the goal' };
  const { task } = await client.as(grant.credential).spawnSubtask(input, { blocking: false });

  const rests = async (): Promise<void> => {
    await until(async () => {
      const view = await client.getTask(task);
      // Whoever ended has something to say about it.
      expect(view.end, JSON.stringify(view.end)).toBeNull();
      return view.task.state === 'waiting' && view.run?.turn === null;
    });
  };
  const asked = async (kind: Request['kind']): Promise<Request> => {
    const find = async () => (await client.inbox()).find((request) => request.kind === kind);
    await until(async () => (await find()) !== undefined);
    return (await find())!;
  };

  const shown = await asked('plan');
  expect(shown.text).toMatch(/The sign[\s\S]*- left [\s\S]*- right [\s\S]*- sign \(.* after left, right\)/);
  expect((await client.getPlan(shown.plan!)).plan.state).toBe('draft');
  await rests();
  await client.answer({ request: shown.id, answer: 'approve' });

  const plan = (): Promise<PlanView> => client.getPlan(shown.plan!);
  const part = async (key: string) => (await plan()).tasks.find((view) => view.task.key === key)!;
  const done = (key: string): Promise<unknown> =>
    until(async () => (await part(key)).task.state === 'completed');
  // Two at once: one asks nothing yet, the other has failed and is tried again as the orchestrator said.
  await until(() => model.held('left') === 1 && model.held('right') === 1);
  expect((await part('right')).task.attempts).toBe(2);
  await rests();
  model.release('left');
  await done('left');
  await rests();
  model.release('right');
  await done('right');
  await until(() => model.held('sign') === 1);
  await rests();
  model.release('sign');
  const approval = await asked('approval');
  expect(approval).toMatchObject({ text: 'May I hang it up?', task: (await part('sign')).task.id });
  await rests();
  await client.answer({ request: approval.id, answer: 'approve' });
  await until(async () => (await client.getTask(task)).end !== null);
  expect((await client.getTask(task)).end).toMatchObject({ status: 'success', output: 'The sign hangs.' });
  return { plan: await plan(), task };
}
