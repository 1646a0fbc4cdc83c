import type { ModelScript, ModelStep } from '@reveille/model-server';
import type { Client, Message } from '@reveille/protocol';
import { expect } from 'vitest';
import { agentOf } from '../acp-house.ts';
import { until } from '../house.ts';
import { report, task, type Parent, type WakeHouse } from './house.ts';

/** So that who says nothing is asked soon. A busy machine may make this too early, which only ends it sooner. */
export const IMPATIENT = {
  health: { inactiveAfterMs: 300, graceMs: 100, inquiryTimeoutMs: 3_000, stuckAfterMs: 2_000 },
};

const spawn = (script: ModelScript, backend = 'builtin'): ModelStep => ({
  call: 'a2a_spawn_subtask',
  input: { agentType: `${backend}:coder`, key: 'child', prompt: task(script), blocking: false },
});
const waitFor = (words: string): ModelStep => ({ say: 'I wait.', until: words });
const heard = (words: string): ModelStep[] => [waitFor(words), report('heard')];

interface Ending {
  readonly steps: readonly ModelStep[];
  /** What a person or a fault does meanwhile. */
  readonly meanwhile?: (house: WakeHouse, client: Client, parent: Parent) => Promise<void>;
  readonly status: readonly string[];
}

/** However a child ends, or does not: its parent hears of it. */
const ENDINGS: Readonly<Record<string, (hold: string) => Ending>> = {
  'its model refuses its key': () => ({
    steps: [spawn({ steps: [{ fail: 'auth' }] }), ...heard('it ended: failed')],
    status: ['failed'],
  }),
  'a person cancels it': (hold) => ({
    steps: [spawn({ steps: [{ hold, say: 'never' }] }), ...heard('it ended: cancelled')],
    async meanwhile(house, client, parent) {
      await until(() => house.model.held(hold) === 1);
      const [child] = await parent.children(client);
      await client.cancelTask(child!.task.id);
    },
    status: ['cancelled'],
  }),
  'its model says nothing at all': () => ({
    steps: [spawn({ steps: [{ empty: true, times: 10_000 }] }), ...heard('it ended: ')],
    status: ['partial', 'failed'],
  }),
  'its model does not answer': () => ({
    steps: [
      spawn({ steps: [{ fail: 'hang' }] }),
      waitFor('no sign of life'),
      { call: 'a2a_cancel_subtask', input: { taskId: '${/(task_\\w+) is running/}' } },
      ...heard('it ended: cancelled'),
    ],
    status: ['cancelled'],
  }),
  'its process is killed': (hold) => ({
    steps: [spawn({ steps: [{ hold, ...report('after all') }] }, 'played'), ...heard('after all')],
    async meanwhile(house, client, parent) {
      await until(() => house.model.held(hold) === 1);
      const [child] = await parent.children(client);
      process.kill(agentOf(child!.run!.id), 'SIGKILL');
      // What the dead one asked is answered to nobody; its next life asks again.
      house.model.release(hold);
    },
    status: ['success'],
  }),
};

/** Each ending in turn; nobody but the child's end wakes the parent. */
export async function endings(house: WakeHouse, backend: string): Promise<void> {
  const client = await house.connect();
  for (const [name, make] of Object.entries(ENDINGS)) {
    const { steps, meanwhile, status } = make(`${backend} ${name}`);
    const parent = await house.parent(client, backend, steps);
    await meanwhile?.(house, client, parent);
    expect(await parent.ended(client), name).toMatchObject({ status: 'success', output: 'heard' });
    const [child] = await parent.children(client);
    expect(status, name).toContain(child?.end?.status);
    await expectOneEnd(client, parent, name);
  }
}

async function expectOneEnd(client: Client, parent: Parent, name: string): Promise<void> {
  const ends = await parent.ends(client);
  expect(
    ends.map(({ state }: Message) => state),
    name,
  ).toEqual(['read']);
  expect(parent.times('it ended: '), name).toBe(1);
}

/** Its own process dies while it rests and its child works: it comes back, and is told once. */
export async function parentKilled(house: WakeHouse, backend: string): Promise<void> {
  const client = await house.connect();
  const hold = `${backend} parent killed`;
  const child = spawn({ steps: [{ hold, ...report('the child is done') }] });
  const parent = await house.parent(client, backend, [child, ...heard('the child is done')]);
  await until(() => house.model.held(hold) === 1);
  await parent.rests(client);
  const { run } = await client.getTask(parent.view.task.id);
  process.kill(agentOf(run!.id), 'SIGKILL');
  house.model.release(hold);
  expect(await parent.ended(client)).toMatchObject({ status: 'success', output: 'heard' });
  expect((await parent.ends(client)).map(({ state }) => state)).toEqual(['read']);
  expect(parent.times('the child is done')).toBe(1);
}

/** The daemon is killed, and everything with it, while the child works: the next one goes on with both. */
export async function daemonKilledBefore(house: WakeHouse, backend: string): Promise<void> {
  const hold = `${backend} daemon killed before`;
  const child = spawn({ steps: [{ hold, ...report('the child is done') }] });
  const parent = await house.parent(await house.connect(), backend, [child, ...heard('the child is done')]);
  await until(() => house.model.held(hold) === 1);
  await parent.rests(await house.connect());
  await house.kill();
  const client = await house.connect();
  await until(() => house.model.held(hold) === 1);
  house.model.release(hold);
  await expectToldOnce(client, parent);
}

/** The child has ended, its parent is busy and has not heard of it: nobody has the result but the daemon that dies. */
export async function daemonKilledBetween(house: WakeHouse, backend: string): Promise<void> {
  const hold = `${backend} daemon killed between`;
  const child = spawn({ steps: [report('the child is done')] });
  const busy: ModelStep = { hold, say: 'Hm.' };
  const before = await house.connect();
  const parent = await house.parent(before, backend, [child, busy, ...heard('the child is done')]);
  await until(async () => house.model.held(hold) === 1 && (await parent.ends(before)).length === 1);
  await house.kill();
  house.model.release(hold);
  await expectToldOnce(await house.connect(), parent);
}

async function expectToldOnce(client: Client, parent: Parent): Promise<void> {
  expect(await parent.ended(client)).toMatchObject({ status: 'success', output: 'heard' });
  expect((await parent.ends(client)).map(({ state }) => state)).toEqual(['read']);
  expect(parent.times('the child is done')).toBe(1);
}
