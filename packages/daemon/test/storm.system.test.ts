import { readFileSync } from 'node:fs';
import { DEFAULTS } from '@reveille/core';
import { withScript, type WrittenScript } from '@reveille/executors';
import type { Client, Message, TaskView } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { House, until } from './house.ts';

const PARENTS = 4;
const TIMES = 200;
const CHILD_TIMES = 40;
/** The goal is 200, which `npm run bench -- T` measures; here it is only to be bounded, whatever the machine does with memory. */
const MOST_MB = 300;

/** It spawns as fast as it can, so do its children, and so would theirs. */
const storm = (times: number, below: WrittenScript): WrittenScript => ({
  steps: [
    {
      do: 'storm',
      times,
      task: { prompt: `Storm ${times} times.`, agentType: 'scripted:coder', script: below },
    },
    { do: 'report', output: 'The storm is over.' },
  ],
});
const STORM = storm(TIMES, storm(CHILD_TIMES, { steps: [{ do: 'report' }] }));

const megabytes = (pid: number, field: 'VmRSS' | 'VmHWM'): number | null => {
  if (process.platform !== 'linux') return null;
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1]) / 1_024;
};

/** What `reveille status` asks for. */
const status = (client: Client): Promise<unknown> =>
  Promise.all([client.listPlans(), client.listTasks({ open: true }), client.inbox()]);

interface Storm {
  readonly spawned: number;
  readonly refused: number;
}

/** How each of those who told this session fared. */
async function toldTo(client: Client, session: Message['to']): Promise<Storm[]> {
  const mail = await client.mailbox(session);
  return mail.flatMap(({ kind, text }) => {
    const [, spawned, refused] = /^(\d+) spawned, (\d+) refused$/.exec(text) ?? [];
    return kind === 'info' && spawned ? [{ spawned: Number(spawned), refused: Number(refused) }] : [];
  });
}

test('[LIM1.21] a spawn storm ends in refusals; nothing is lost, everything ends, and the daemon answers and stays small', async () => {
  await using house = new House();
  const client = await house.connect();
  const tasks = Array.from({ length: PARENTS }, (_, i) => ({
    id: `parent-${i}`,
    agent: 'scripted:agent',
    prompt: withScript('Storm.', STORM),
  }));
  const { plan } = await client.savePlan({ name: 'storm', tasks }, { start: true });
  const { pid } = house.lock;
  const times: number[] = [];
  let most = 0;
  await until(async () => {
    const began = performance.now();
    await status(client);
    times.push(performance.now() - began);
    most = Math.max(most, megabytes(pid, 'VmRSS') ?? 0);
    return (await client.getPlan(plan.id)).plan.state !== 'active';
  });
  const view = await client.getPlan(plan.id);
  expect(view.plan).toMatchObject({ state: 'completed' });

  const parents = await toldTo(client, view.tasks[0]!.task.owner);
  expect(parents).toHaveLength(PARENTS);
  for (const { spawned, refused } of parents) {
    expect(spawned + refused).toBe(TIMES);
    expect(spawned).toBeGreaterThan(0);
    expect(spawned).toBeLessThanOrEqual(DEFAULTS.children.total);
  }
  const children: TaskView[] = [];
  for (const { task } of view.tasks) children.push(...(await client.listTasks({ owner: task.session })));
  expect(children).toHaveLength(parents.reduce((sum, { spawned }) => sum + spawned, 0));
  expect(new Set(children.map(({ task }) => task.state))).toEqual(new Set(['completed']));
  // Theirs are too deep, all of them.
  const below = (await Promise.all(view.tasks.map(({ task }) => toldTo(client, task.session)))).flat();
  expect(below.length).toBeGreaterThan(0);
  for (const each of below) expect(each).toEqual({ spawned: 0, refused: CHILD_TIMES });
  expect(await client.listTasks({ open: true })).toEqual([]);
  expect(house.said('an internal error')).toEqual([]);

  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    `${(sorted[Math.ceil(share * sorted.length) - 1] ?? 0).toFixed(0)} ms`;
  const refusals = [...parents, ...below].reduce((sum, { refused }) => sum + refused, 0);
  console.log(
    `${children.length} children, at least ${refusals} refusals; ${sorted.length} × status: p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}; ${most.toFixed(0)} MB at most`,
  );
  expect(most).toBeLessThan(MOST_MB);
});
