import type { ModelStep } from '@reveille/model-server';
import { expect } from 'vitest';
import { until } from '../house.ts';
import { Parent, report, task, type WakeHouse } from './house.ts';

const answerOf = (name: string, child: number): string =>
  `the answer of ${name} ${child} is ${child * child + 7}.`;
/** Long enough that nobody who cuts answers gets past it. */
const LONG = 20_000;

interface Burst {
  readonly backend: string;
  readonly children: number;
}

/** A parent that hands out so many tasks at once and rests until it has heard of all of them. */
export function fanOut(name: string, children: number, hold = name): ModelStep[] {
  const numbers = Array.from({ length: children }, (_, i) => i);
  const subtasks = numbers.map((child) => ({
    agentType: 'builtin:coder',
    key: `${name}-${child}`,
    prompt: task({
      steps: [{ hold, ...report(`${'x'.repeat(child === 0 ? LONG : 0)}${answerOf(name, child)}`) }],
    }),
  }));
  return [
    { call: 'a2a_spawn_parallel_subtasks', input: { subtasks } },
    ...numbers.map((child) => ({ say: 'I wait.', until: answerOf(name, child) })),
    report(`heard of all ${children}`),
  ];
}

/** All end while their parent rests: it is woken by itself, and has each end once, in full. */
export async function burst(house: WakeHouse, { backend, children }: Burst): Promise<void> {
  const client = await house.connect();
  const name = `${backend}-${children}`;
  const parent = await house.parent(client, backend, fanOut(name, children));
  await until(() => house.model.held(name) === children);
  await parent.rests(client);
  house.model.release(name);
  expect(await parent.ended(client)).toMatchObject({ status: 'success', output: `heard of all ${children}` });
  await expectOnce(house, parent, { name, children });
}

/** Every end is in the mailbox once and read, and the model was told it once, in full. */
export async function expectOnce(
  house: WakeHouse,
  parent: Parent,
  { name, children }: { readonly name: string; readonly children: number },
): Promise<void> {
  const client = await house.connect();
  const ends = await parent.ends(client);
  expect(ends).toHaveLength(children);
  expect(new Set(ends.map(({ task: child }) => child)).size).toBe(children);
  expect(ends.filter(({ state }) => state !== 'read')).toEqual([]);
  const told = Array.from({ length: children }, (_, child) => parent.times(answerOf(name, child)));
  expect(told).toEqual(told.map(() => 1));
  expect(parent.heard).toContain(`${'x'.repeat(LONG)}${answerOf(name, 0)}`);
}

/** Two end, the third does not: the parent hears of the two at once, not when the last has ended. */
export async function straggler(house: WakeHouse, backend: string): Promise<void> {
  const client = await house.connect();
  const [quick, slow] = [`${backend}-quick`, `${backend}-slow`];
  const [, ...rest] = fanOut(quick, 2);
  const both = [...fanOut(quick, 2).slice(0, 1), ...fanOut(slow, 1).slice(0, 1)];
  const steps = [...both, ...rest.slice(0, -1), ...fanOut(slow, 1).slice(1)];
  const parent = await house.parent(client, backend, steps);
  await until(() => house.model.held(quick) === 2 && house.model.held(slow) === 1);
  house.model.release(quick);
  await until(() => parent.times(answerOf(quick, 0)) === 1 && parent.times(answerOf(quick, 1)) === 1);
  expect(house.model.held(slow)).toBe(1);
  house.model.release(slow);
  expect(await parent.ended(client)).toMatchObject({ status: 'success' });
  expect(parent.times(answerOf(slow, 0))).toBe(1);
}
