import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { placeOf } from '@reveille/daemon/connect';
import { expect, test } from 'vitest';
import { House } from './house.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const AGENT = join(ROOT, 'packages/executors/test/acp/scripted-agent.ts');

/** A person who has an agent of which nothing is known. */
function houseWithAgent(): House {
  const house = new House();
  const played = {
    command: [process.execPath, AGENT],
    env: { NODE_NO_WARNINGS: '1' },
    reads: [join(ROOT, 'packages'), join(ROOT, 'node_modules')],
  };
  const { home } = placeOf(house.env);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(
    join(home, 'config.yaml'),
    JSON.stringify({ acp: { custom: { played }, initializeMs: 600_000 } }),
  );
  return house;
}

const play = (...steps: readonly object[]): string =>
  `do it\n\n\`\`\`acp-script\n${JSON.stringify({ steps })}\n\`\`\``;
const report = { do: 'call', tool: 'a2a_subtask_complete', args: { status: 'success', output: 'done' } };

test('[LIM1.31] what a limit cannot do is said before, and what was overrun after, also if all went well', async () => {
  await using house = houseWithAgent();
  // It says what it used with its last word, when its task is done.
  const prompt = play({ do: 'usage', usage: { totalTokens: 15_269 } }, report);
  const args = ['--agent', 'played:coder', '--budget', 'tokens=2000', '--name', 'spender', prompt];
  const { code, out, err } = await house.run(['spawn', ...args]);
  expect({ code, err }).toMatchObject({
    code: 0,
    err: expect.stringContaining('Note: Nobody knows when played says what it used'),
  });
  expect(out).toContain('Over budget: spender used 15269 of 2000 tokens.');
  const plan = house.write(
    'p.yaml',
    JSON.stringify({ name: 'p', integrate: false, tasks: [{ id: 'a', agent: 'played:coder', prompt }] }),
  );
  const ran = await house.run(['plan', 'run', plan, '--budget', 'tokens=2000']);
  expect(ran.err).toContain('Note: Nobody knows when played');
  expect(ran.out).toMatch(/Over budget: a used 15269 of 2000 tokens of plan_\w+\./);
  const status = await house.run(['plan', 'status', 'p']);
  expect(status.out).toMatch(/Over budget: a used 15269 of 2000 tokens/);
  const budget = await house.run(['budget', 'spender']);
  expect(budget.out).toContain('15269 of 2000, 13269 over');
});

test('[LIM1.31] a run that was stopped by an estimate says so, and goes on with what a person writes', async () => {
  await using house = houseWithAgent();
  const calls = Array.from({ length: 30 }, (_, i) => ({ do: 'sh', command: `echo ${i} >> n.txt` }));
  const args = [
    '--agent',
    'played:coder',
    '--budget',
    'tokens=50k',
    '--name',
    'talker',
    play(...calls, report),
  ];
  const { code, out } = await house.run(['spawn', ...args]);
  expect(code).toBe(1);
  expect(out).toMatch(/0 of 50000 used, \d+ over \(\d+ of it estimated\)/);
  const budget = await house.run(['budget', 'talker']);
  expect(budget.out).toMatch(/tokens {3}\d+ of 50000, \d+ over, \d+ of it estimated/);
  expect(budget.out).toMatch(/≈\d+k tokens/);
  const { requests } = await house.json<{ requests: { id: string; kind: string }[] }>('inbox');
  const item = requests.find(({ kind }) => kind === 'budget')!;
  const raised = await house.run(['answer', item.id, 'raise', 'tokens=10m', 'minutes=60']);
  expect(raised.code).toBe(0);
  expect((await house.run(['attach', 'talker'])).out).toContain('done');
});
