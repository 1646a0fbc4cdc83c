import { startModelServer, withModelScript, type ModelStep } from '@reveille/model-server';
import type { Client, TaskId, TaskView } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { House, until } from './house.ts';
import { MODEL, asking } from './model.ts';
import { makeShop } from './shop.ts';

const report = (output: string, structured?: object): ModelStep => ({
  call: 'a2a_subtask_complete',
  input: { status: 'success', output, ...(structured ? { structured } : {}) },
});
const make = (path: string, content: string): ModelStep => ({
  call: 'create_file',
  input: { path, content },
});

/** After its first report it goes on when it is told what to change. */
const WORKER = withModelScript('Make a sign that says OPEN.', {
  steps: [
    make('sign.txt', 'OPNE\n'),
    report('The sign is there.'),
    make('second.txt', 'OPEN\n'),
    report('There is a second one.'),
  ],
});

/** The reviewer of a task that is at work on its round. Nobody can write a script into its prompt: it is told one. */
async function reviewerOf(client: Client, task: TaskId, round: number): Promise<TaskView> {
  let found: TaskView | undefined;
  await until(async () => {
    const at = (await client.getTask(task)).task.reviewing;
    if (at?.round !== round || at.task === null) return false;
    found = await client.getTask(at.task);
    return found.task.state !== 'ready';
  });
  return found!;
}

test('[PLN8.80] on the built-in loop: a reviewer sees the change, has it changed by the same worker, and approves', async () => {
  await using model = await startModelServer({ models: [MODEL] });
  await using house = new House({
    ...asking(model),
    REVEILLE_ENGINE_STEER: 'false',
    // However long it takes until the reviewer is told what to say.
    REVEILLE_ENGINE_HEALTH_INACTIVE_AFTER_MS: '6000000',
  });
  const shop = makeShop(`${house.folder}/shop`);
  const client = await house.connect();
  const tasks = [{ id: 'sign', agent: 'builtin:coder', prompt: WORKER, review: 'builtin:reviewer' }];
  const view = await client.savePlan({ name: 'p', repository: shop.root, tasks }, { start: true });
  const { id, session } = view.tasks[0]!.task;

  const first = await reviewerOf(client, id, 1);
  expect((await client.getTask(id)).task).toMatchObject({
    state: 'review',
    why: 'in review by @builtin:reviewer, round 1 of 3',
  });
  const changes = { verdict: 'changes', comments: 'It says OPNE.' };
  await client.sendMessage({
    to: first.task.id,
    message: withModelScript('Say it.', {
      steps: [{ call: 'read_file', input: { path: 'sign.txt' } }, report('A slip.', changes)],
    }),
  });
  const second = await reviewerOf(client, id, 2);
  expect((await client.getTask(first.task.id)).task.state).toBe('completed');
  const told = model.requests.flatMap(({ messages }) => messages.map(({ text }) => text));
  expect(told.some((text) => text.includes('The change under review') && text.includes('+OPNE'))).toBe(true);
  expect(told.some((text) => text.includes('asks for changes') && text.includes('It says OPNE.'))).toBe(true);
  // Whoever reviews has no hand that writes.
  const offered = model.requests.filter(({ messages }) =>
    messages.some(({ text }) => text.includes('The change under review')),
  );
  for (const { tools } of offered) expect(tools).not.toContain('create_file');
  await client.sendMessage({
    to: second.task.id,
    message: withModelScript('Say it.', { steps: [report('Good.', { verdict: 'approve' })] }),
  });
  await until(async () => (await client.getPlan(view.plan.id)).plan.state === 'completed');
  const done = await client.getTask(id);
  expect(done.task).toMatchObject({ state: 'completed', session, attempts: 2 });
  expect(done.end?.work?.files.map(({ path }) => path)).toEqual(['second.txt', 'sign.txt']);
  expect(await client.inbox()).toEqual([]);
});
