import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PassThrough } from 'node:stream';
import { withScript } from '@reveille/executors';
import type { Plan, TaskView } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { House } from './house.ts';

const SCRIPT = withScript('Look.', {
  steps: [{ do: 'edit', path: 'made.txt', content: 'x' }, { do: 'report' }],
});
const SPAWN = ['spawn', '-a', 'scripted:coder', SCRIPT];

/** A checkout with two uncommitted files, and a plan in a place that does not count. */
function dirtyHouse(): House {
  const house = new House();
  writeFileSync(join(house.repository, '.git', 'info', 'exclude'), '');
  house.write('a.txt', 'mine\n');
  house.write('b.txt', 'mine\n');
  house.write('.reveille/plan.yaml', house.planText('Dirty', { it: { steps: [{ do: 'report' }] } }));
  return house;
}

const tasksOf = async (house: House): Promise<TaskView[]> =>
  (await house.json<{ tasks: TaskView[] }>('status', '--all')).tasks;
const plansOf = async (house: House): Promise<Plan[]> =>
  (await house.json<{ plans: Plan[] }>('plan', 'status')).plans;

test('[WKT3.91] where nobody can be asked nothing is created, and the error names the files and the flag', async () => {
  await using house = dirtyHouse();
  const words =
    '2 uncommitted files (a.txt, b.txt). Commit or stash them, or run with --dirty head or --dirty snapshot.';
  for (const args of [SPAWN, ['plan', 'run', '.reveille/plan.yaml'], ['run', '-b', 'scripted', SCRIPT]]) {
    const { code, err } = await house.run(args);
    expect({ code, err }, args[0]).toMatchObject({ code: 5, err: expect.stringContaining(words) });
    expect(err).not.toContain('invalid');
  }
  const json = await house.run([...SPAWN, '--json'], { typed: () => undefined });
  expect(JSON.parse(json.out)).toMatchObject({ error: { code: 'dirty_checkout', data: { count: 2 } } });
  const typo = await house.run([...SPAWN, '--dirty', 'had']);
  expect(typo).toMatchObject({ code: 2, err: expect.stringContaining('head, snapshot or fail') });
  expect(await tasksOf(house)).toEqual([]);
  expect(await plansOf(house)).toEqual([]);
});

test('[WKT3.91] --dirty starts from the last commit, or from a snapshot, and says so', async () => {
  await using house = dirtyHouse();
  const { code, err } = await house.run([...SPAWN, '--dirty', 'snapshot', '--name', 'with']);
  expect({ code, err }).toEqual({
    code: 0,
    err: 'Note: 2 uncommitted files (a.txt, b.txt) are part of what it starts from.\n',
  });
  expect(house.git('show', 'reveille/tasks/with:a.txt')).toBe('mine\n');
  const plan = await house.run(['plan', 'run', '--dirty', 'head', '.reveille/plan.yaml']);
  expect(plan.code, plan.out + plan.err).toBe(0);
  expect(plan.err).toContain('are left out: it starts from the last commit.');
  expect(house.git('ls-tree', '-r', '--name-only', 'reveille/Dirty/it')).not.toContain('a.txt');
  expect((await house.run(['run', '-b', 'scripted', '--dirty', 'head', '--detach', SCRIPT])).code).toBe(0);
});

test('[WKT3.90] a person is asked, until the answer is a choice', async () => {
  await using house = dirtyHouse();
  let keyboard: PassThrough | undefined;
  let refused = false;
  const ran = await house.run([...SPAWN, '--name', 'it'], {
    typed: (typing) => {
      keyboard = typing;
      typing.write('four\r');
    },
    wrote: (out) => {
      if (refused || !/Answer 1, 2 or 3\.\n.*Which/s.test(out)) return;
      refused = true;
      keyboard?.write('snapshot\r');
    },
  });
  expect(ran.code, ran.out + ran.err).toBe(0);
  expect(ran.out).toContain('You have 2 uncommitted files (a.txt, b.txt). Choose what becomes of them:');
  expect(ran.out).toContain('1  start from the last commit, without them (--dirty head)');
  expect(ran.out).toContain('Answer 1, 2 or 3.');
  expect(house.git('show', 'reveille/tasks/it:a.txt')).toBe('mine\n');
});

test.each([
  ['Enter', '\r', 5],
  ['3', '3\r', 5],
  ['Ctrl-C', '\u0003', 130],
  ['the end of the input', null, 130],
])('[WKT3.90] %s starts nothing', async (_, keys, code) => {
  await using house = dirtyHouse();
  const ran = await house.run(['plan', 'run', '.reveille/plan.yaml'], {
    typed: (typing) => (keys === null ? typing.end() : typing.write(keys)),
  });
  expect(ran.code, ran.out + ran.err).toBe(code);
  expect(await plansOf(house)).toEqual([]);
});
