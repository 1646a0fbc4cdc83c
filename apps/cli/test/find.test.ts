import { isReveilleError, type PlanView } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { findEither, findPlan, findRequest, findTask } from '../src/find.ts';
import { scripted, testEngine } from './engine.ts';

const failure = async (found: Promise<unknown>): Promise<{ code: string; message: string }> => {
  const error = await found.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!isReveilleError(error)) throw new Error(`this should have failed: ${String(error)}`);
  return { code: error.code, message: error.message };
};

test('[CLI1.10] by id, by the beginning of it, by name in any case, and as plan/task', async () => {
  await using test = await testEngine();
  const { plan, tasks } = await test.run({
    name: 'My Plan',
    tasks: [scripted('a', {}, { name: 'First thing' })],
  });
  const task = tasks[0]!.task.id;
  const { person } = test;
  for (const name of [plan.id, plan.id.slice(0, 16), plan.id.slice(5, 17), 'My Plan', 'my plan'])
    expect((await findPlan(person, name)).id, name).toBe(plan.id);
  for (const name of [
    task,
    task.slice(0, -1),
    task.slice(5, -1),
    'a',
    'First thing',
    'first THING',
    'my plan/a',
    `${plan.id}/First thing`,
  ])
    expect((await findTask(person, name)).task.id, name).toBe(task);
  expect((await findEither(person, 'my plan')).plan?.id).toBe(plan.id);
  expect((await findEither(person, 'my plan/a')).task?.task.id).toBe(task);
  expect((await findEither(person, 'a')).task?.task.id).toBe(task);
});

test('[CLI1.10] of several of one name the only one that runs is meant, else the newest, which is said; two that run are named', async () => {
  await using test = await testEngine();
  const { person } = test;
  const plan = { name: 'Twice', tasks: [scripted('a', {})] };
  const [first, second] = [await test.run(plan), await test.run(plan)];
  const notes: string[] = [];
  const from = { repository: null, note: (text: string) => void notes.push(text) };
  expect((await findPlan(person, 'twice', from)).id).toBe(second.plan.id);
  expect((await findEither(person, 'twice', from)).plan?.id).toBe(second.plan.id);
  expect(notes.pop()).toMatch(/^2 plans are called "twice"; /);
  expect((await findTask(person, 'a', from)).task.plan).toBe(second.plan.id);
  expect((await findTask(person, 'twice/a', from)).task.plan).toBe(second.plan.id);
  expect(notes[0]).toMatch(
    new RegExp(
      `^2 plans are called "twice"; this is about the newest, ${second.plan.id} \\(completed, .* ago\\)\\.$`,
    ),
  );
  expect(notes[1]).toMatch(/^2 tasks are called "a"; /);
  // The ids of one moment begin alike.
  expect((await failure(findPlan(person, first.plan.id.slice(0, 9)))).code).toBe('invalid_input');
  const third = await person.savePlan(plan);
  expect((await findPlan(person, 'Twice')).id).toBe(third.plan.id);
  expect((await findTask(person, 'a')).task.plan).toBe(third.plan.id);
  expect((await findTask(person, `${first.plan.id}/a`)).task.plan).toBe(first.plan.id);
  const fourth = await person.savePlan(plan);
  const both = await failure(findPlan(person, 'twice'));
  expect(both.code).toBe('invalid_input');
  expect(both.message).toMatch(/^"twice" could be 2 plans\. Say which by its id:\n/);
  expect(both.message).toContain(`  ${third.plan.id} (draft, `);
  expect(both.message).toContain(`  ${fourth.plan.id} (draft, `);
  expect(both.message).not.toContain(first.plan.id);
});

test('[CLI1.10] what is of the repository one is in is meant rather than what is of another', async () => {
  await using test = await testEngine();
  const { person } = test;
  const of = (repository: string) =>
    person.savePlan({ name: 'Same', repository, tasks: [scripted('a', {})] });
  const [here, there] = [await of('/here'), await of('/there')];
  const note = (text: string): never => expect.fail(text);
  const from = { repository: '/here', note };
  expect((await findPlan(person, 'same', from)).id).toBe(here.plan.id);
  expect((await findTask(person, 'a', from)).task.plan).toBe(here.plan.id);
  expect((await findEither(person, 'same', from)).plan?.id).toBe(here.plan.id);
  expect((await findPlan(person, there.plan.id, from)).id).toBe(there.plan.id);
  expect((await failure(findPlan(person, 'same'))).code).toBe('invalid_input');
});

test('[CLI1.10] a plan and a running task of one name are told apart by their letters, or both are named', async () => {
  await using test = await testEngine();
  const { person } = test;
  const slow = { steps: [{ do: 'ask', text: 'What?' } as const] };
  const waits = ({ tasks }: PlanView) => tasks.every(({ task }) => task.state === 'waiting');
  const { plan, tasks } = await test.run({ name: 'Tree', tasks: [scripted('tree', slow)] }, waits);
  expect((await findEither(person, 'tree')).task?.task.id).toBe(tasks[0]!.task.id);
  expect((await findEither(person, 'Tree')).plan?.id).toBe(plan.id);
  const same = await test.run({ name: 'leaf', tasks: [scripted('leaf', slow)] }, waits);
  const both = await failure(findEither(person, 'leaf'));
  expect(both.message).toMatch(/^"leaf" could be 2 plans or tasks\. Say which by its id:\n/);
  expect(both.message).toContain(`  ${same.plan.id} (active, `);
  expect(both.message).toContain(`  ${same.tasks[0]!.task.id} (waiting, `);
  await person.cancelPlan(same.plan.id);
  await test.until(same.plan.id);
  expect((await findEither(person, 'leaf')).plan?.id).toBe(same.plan.id);
});

test('[CLI1.10] what is only in another repository is said to be of that', async () => {
  await using test = await testEngine();
  const { person } = test;
  const { plan } = await person.savePlan({ name: 'Far', repository: '/there', tasks: [scripted('a', {})] });
  const notes: string[] = [];
  const from = { repository: '/here', note: (text: string) => void notes.push(text) };
  expect((await findEither(person, 'Far', from)).plan?.id).toBe(plan.id);
  expect((await findEither(person, plan.id, from)).plan?.id).toBe(plan.id);
  expect(notes).toEqual([`No plan of this repository is called "Far"; this is about ${plan.id} in /there.`]);
});

test('[CLI1.10] what does not exist is answered with the nearest', async () => {
  await using test = await testEngine();
  const { person } = test;
  expect((await failure(findPlan(person, 'x'))).message).toBe(
    'There is no plan "x". `reveille status --all` lists what there is.',
  );
  await test.run({ name: 'Release', tasks: [scripted('tests', {})] });
  expect(await failure(findTask(person, 'tets'))).toEqual({
    code: 'not_found',
    message: 'There is no task "tets". The nearest: "tests". `reveille status --all` lists what there is.',
  });
  expect((await failure(findEither(person, 'relaese'))).message).toContain(
    'There is no plan or task "relaese". The nearest: "Release".',
  );
  for (const text of [
    '',
    ' ',
    'task_',
    'task_000',
    '__proto__',
    '\u001b[2J',
    'x'.repeat(10_000),
    '/',
    'a/b/c',
    '-',
  ])
    expect((await failure(findEither(person, text))).code, text).toBe('not_found');
});

test('[CLI1.10] a request by its id, or by the task that asks, also as plan/task', async () => {
  await using test = await testEngine();
  const { person } = test;
  const asks = (id: string) => scripted(id, { steps: [{ do: 'ask', text: 'What?' }, { do: 'report' }] });
  await test.run({ name: 'P', tasks: [asks('one'), asks('two')] }, ({ tasks }) =>
    tasks.every(({ task }) => task.state === 'waiting'),
  );
  const [first] = await person.inbox();
  expect((await findRequest(person, first!.id)).id).toBe(first!.id);
  const { task } = await findTask(person, 'two');
  for (const name of ['two', 'P/two', task.id])
    expect((await findRequest(person, name)).task, name).toBe(task.id);
  expect((await failure(findRequest(person, 'twoo'))).message).toBe(
    'There is no request "twoo". The nearest: "two", "one". `reveille inbox` lists what there is.',
  );
  for (const name of ['P/three', 'Q/two'])
    expect((await failure(findRequest(person, name))).code, name).toBe('not_found');
});
