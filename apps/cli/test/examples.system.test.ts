import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PlanView, Request } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { House, until } from './house.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));

interface Example {
  readonly file: string;
  readonly name: string;
  readonly branch: string;
  readonly inputs?: readonly string[];
  /** What the plan asks, by task, and what it is told. */
  readonly answers?: Readonly<Record<string, string>>;
  /** What is in the checkout in the end. */
  readonly files: Readonly<Record<string, string>>;
}

const ALL: readonly Example[] = [
  {
    file: 'hello.yaml',
    name: 'Hello',
    branch: 'Hello',
    inputs: ['--input', 'who=all of you'],
    files: { 'hello.md': 'Hello, all of you!\n', 'manners.md': 'It was polite.\n' },
  },
  {
    file: 'fan-out.yaml',
    name: 'Fan out',
    branch: 'Fan-out',
    files: {
      'clock.md': 'it only goes forwards\n',
      'parser.md': '31 of 31 pass\n',
      'printer.md': '12 of 12 pass\n',
      'summary.md': 'Ready to ship.\n',
    },
  },
  {
    file: 'question.yaml',
    name: 'Release 2.4.0',
    branch: 'Release-2.4.0',
    inputs: ['--input', 'version=2.4.0'],
    answers: { notes: 'short' },
    files: { 'NOTES.md': 'What is new in 2.4.0.\n', RELEASED: '2.4.0\n', VERSION: '2.4.0\n' },
  },
  {
    file: 'review.yaml',
    name: 'Review',
    branch: 'Review',
    files: { 'poem.md': 'Roses are red.\nThe tests are too.\n', 'printed.md': 'It is printed.\n' },
  },
];

test.for(ALL)('[PLN1.29] $file runs as it is, leaves commits, and comes home', async (example) => {
  await using house = new House();
  // Here what agents write is to be seen.
  writeFileSync(join(house.repository, '.git', 'info', 'exclude'), '');
  const { file, name, inputs = [], answers = {}, files } = example;
  const { plan } = await house.json<PlanView>('plan', 'run', `${EXAMPLES}/${file}`, ...inputs, '--detach');
  for (const [task, answer] of Object.entries(answers)) {
    await until(async () => (await house.json<{ requests: Request[] }>('inbox')).requests.length > 0);
    await house.json('answer', task, answer);
  }
  const { code, out } = await house.run(['attach', plan.id]);
  expect({ code, out }).toMatchObject({ code: 0 });
  expect(house.git('status', '--porcelain')).toBe('');
  const listed = (branch: string): string[] =>
    house.git('ls-tree', '-r', '--name-only', branch).split('\n').filter(Boolean);
  const expected = Object.keys(files).map((path) => `reveille-example/${path}`);
  expect(listed(`reveille/${example.branch}/integration`)).toEqual(expected);
  expect(listed('main')).toEqual([]);
  expect(await house.json('integrate', name)).toMatchObject({ merged: true });
  expect(listed('main')).toEqual(expected);
  for (const [path, text] of Object.entries(files))
    expect(readFileSync(join(house.repository, 'reveille-example', path), 'utf8')).toBe(text);
  expect(Number(house.git('rev-list', '--count', 'main'))).toBeGreaterThan(expected.length);
});
