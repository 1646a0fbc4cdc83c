import type { ModelStep } from '@reveille/model-server';
import { expect } from 'vitest';
import { report, task, until, type Parent, type WakeHouse } from './house.ts';

const answerOf = (name: string, child: number): string =>
  `the answer of ${name} ${child} is ${child * child + 7}.`;
/** Long enough that nobody who cuts answers gets past it. */
const LONG = 20_000;

interface Bursts {
  readonly backend: string;
  readonly sizes: readonly number[];
}

/** A parent that hands out so many tasks at once and rests until it has heard of all of them. */
function fanOut(name: string, children: number, hold = name): ModelStep[] {
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

/** One after the other, all of each end while their parent rests: it is woken by itself, and has each end once, in full. */
export async function bursts(house: WakeHouse, { backend, sizes }: Bursts): Promise<void> {
  const client = await house.connect();
  const each = sizes.map((children) => ({ name: `${backend}-${children}`, children }));
  const steps = each.flatMap(({ name, children }) => fanOut(name, children).slice(0, -1));
  const parent = await house.parent(client, backend, [...steps, report('heard of all')]);
  for (const { name, children } of each) {
    await until(() => house.model.held(name) === children);
    await parent.rests(client);
    house.model.release(name);
  }
  expect(await parent.ended(client)).toMatchObject({ status: 'success', output: 'heard of all' });
  const ends = await parent.ends(client);
  const all = sizes.reduce((sum, size) => sum + size, 0);
  expect(ends.map(({ state }) => state)).toEqual(Array.from({ length: all }, () => 'read'));
  expect(new Set(ends.map(({ task: child }) => child)).size).toBe(all);
  for (const one of each) expectToldOnce(parent, one);
}

/** The model was told every end once, in full. */
function expectToldOnce(
  parent: Parent,
  { name, children }: { readonly name: string; readonly children: number },
): void {
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
