import type { ModelScript, ModelStep } from '@reveille/model-server';
import type { Client, TaskView } from '@reveille/protocol';
import { expect } from 'vitest';
import { agentOf } from '../acp-house.ts';
import { report, task, until, type Parent, type WakeHouse } from './house.ts';

/** So that who says nothing is asked soon. A busy machine may make this too early, which only ends it sooner. */
export const IMPATIENT = {
  health: { inactiveAfterMs: 300, graceMs: 100, inquiryTimeoutMs: 3_000, stuckAfterMs: 2_000 },
};

interface Ending {
  readonly child: ModelScript;
  readonly backend?: string;
  /** What a person or a fault does meanwhile. */
  readonly meanwhile?: (scene: Scene) => Promise<void>;
  readonly status: readonly string[];
}

interface Scene {
  readonly house: WakeHouse;
  readonly client: Client;
  readonly parent: Parent;
  readonly hold: string;
  readonly child: TaskView;
}

/** However a child ends, or does not: its parent hears of it. */
const ENDINGS: Readonly<Record<string, (hold: string) => Ending>> = {
  failing: () => ({ child: { steps: [{ fail: 'auth' }] }, status: ['failed'] }),
  cancelled: (hold) => ({
    child: { steps: [{ hold, say: 'never' }] },
    async meanwhile({ house, client, child }) {
      await until(() => house.model.held(hold) === 1);
      await client.cancelTask(child.task.id);
    },
    status: ['cancelled'],
  }),
  empty: () => ({
    child: { steps: [{ empty: true, times: 10_000 }] },
    status: ['partial', 'failed'],
  }),
  hanging: () => ({
    child: { steps: [{ fail: 'hang' }] },
    // Nobody waits for it for ever: its parent is told, and may have it cancelled.
    async meanwhile({ client, parent, child }) {
      const told = new RegExp(`health about [^\n]*${child.task.id}[^\n]*\n[^\n]*\nno sign of life`);
      await until(() => told.test(parent.heard));
      await client.cancelTask(child.task.id);
    },
    status: ['cancelled'],
  }),
  killed: (hold) => ({
    child: { steps: [{ hold, ...report('after all') }] },
    backend: 'played',
    async meanwhile({ house, client, child }) {
      await until(() => house.model.held(hold) === 1);
      const { run } = await client.getTask(child.task.id);
      process.kill(agentOf(run!.id), 'SIGKILL');
      // What the dead one asked is answered to nobody; its next life asks again.
      house.model.release(hold);
    },
    status: ['success'],
  }),
};

/** What the child says that ends when its parent has heard of all others: until then the parent has one to wait for. */
const LAST = 'That was the last of them.';

/** All at once; nobody but the children's ends wakes the parent. */
export async function endings(house: WakeHouse, backend: string): Promise<void> {
  const client = await house.connect();
  const each = Object.entries(ENDINGS).map(([name, make]) => {
    const hold = `${backend} ${name}`;
    return { name, hold, words: `The ${name} one.`, ...make(hold) };
  });
  const subtasks = each.map(({ name, words, child, backend: other = 'builtin' }) => ({
    agentType: `${other}:coder`,
    key: name,
    prompt: task(child, words),
  }));
  const last = `${backend} last`;
  const lasting = {
    agentType: 'builtin:coder',
    key: 'last',
    prompt: task({ steps: [{ hold: last, ...report(LAST) }] }, 'The last one.'),
  };
  const parent = await house.parent(client, backend, [
    { call: 'a2a_spawn_parallel_subtasks', input: { subtasks: [...subtasks, lasting] } },
    { say: 'I wait.', until: LAST },
    report('heard'),
  ]);
  await until(async () => (await parent.children(client)).length === each.length + 1);
  const children = await parent.children(client);
  const childOf = (words: string): TaskView =>
    children.find(({ task: { prompt } }) => prompt.startsWith(words))!;
  const scenes = each.map(({ hold, words }) => ({ house, client, parent, hold, child: childOf(words) }));
  await Promise.all(each.map(async ({ meanwhile }, i) => meanwhile?.(scenes[i]!)));
  const timesToldOf = (words: string): number =>
    parent.heard.split('\n').filter((line) => line.includes(words) && line.includes('it ended: ')).length;
  await until(() => each.every(({ words }) => timesToldOf(words) > 0));
  house.model.release(last);
  expect(await parent.ended(client)).toMatchObject({ status: 'success', output: 'heard' });
  for (const { name, words, status } of each) {
    const { end } = await client.getTask(childOf(words).task.id);
    expect(status, name).toContain(end?.status);
    expect(timesToldOf(words), name).toBe(1);
  }
  expect([parent.times('after all'), parent.times(LAST)]).toEqual([1, 1]);
  const ends = await parent.ends(client);
  expect(ends.map(({ state }) => state)).toEqual(children.map(() => 'read'));
  expect(new Set(ends.map((end) => end.task))).toEqual(new Set(children.map((child) => child.task.id)));
}

const spawn = (script: ModelScript): ModelStep => ({
  call: 'a2a_spawn_subtask',
  input: { agentType: 'builtin:coder', key: 'child', prompt: task(script), blocking: false },
});
const heard = (words: string): ModelStep[] => [{ say: 'I wait.', until: words }, report('heard')];
const DONE = 'the child is done';

/** Its own process dies while it rests and its child works: it comes back, and is told once. */
export async function parentKilled(house: WakeHouse, backend: string): Promise<void> {
  const client = await house.connect();
  const hold = `${backend} parent killed`;
  const child = spawn({ steps: [{ hold, ...report(DONE) }] });
  const parent = await house.parent(client, backend, [child, ...heard(DONE)]);
  await until(() => house.model.held(hold) === 1);
  await parent.rests(client);
  const { run } = await client.getTask(parent.view.task.id);
  house.killAgentOf(run!.id);
  house.model.release(hold);
  await expectToldOnce(client, parent);
}

/**
 * The daemon is killed, and everything with it. Of one parent the child is at work then; of the other it has ended, but the
 * parent is busy and has not heard of it: nobody has the result but the daemon that dies.
 */
export async function daemonKilled(house: WakeHouse, backend: string): Promise<void> {
  const [before, between] = [`${backend} before`, `${backend} between`];
  const first = await house.connect();
  const working = spawn({ steps: [{ hold: before, ...report(DONE) }] });
  const ended = spawn({ steps: [report(DONE)] });
  const resting = await house.parent(first, backend, [working, ...heard(DONE)]);
  const busy = await house.parent(first, backend, [ended, { hold: between, say: 'Hm.' }, ...heard(DONE)]);
  await until(() => house.model.held(before) === 1);
  await resting.rests(first);
  await until(async () => house.model.held(between) === 1 && (await busy.ends(first)).length === 1);
  await house.kill();
  house.model.release(between);
  const client = await house.connect();
  // Its next life asks again.
  await until(() => house.model.held(before) === 1);
  house.model.release(before);
  await expectToldOnce(client, resting);
  await expectToldOnce(client, busy);
}

async function expectToldOnce(client: Client, parent: Parent): Promise<void> {
  expect(await parent.ended(client)).toMatchObject({ status: 'success', output: 'heard' });
  expect((await parent.ends(client)).map(({ state }) => state)).toEqual(['read']);
  // An agent that begins anew spawns again under the same key, and is given the end once more by that, which says so (SUB1.1).
  const beganAnew = parent.heard.includes('Look at what is there before you go on');
  const isGivenAgain = parent.heard.matchAll(GIVEN_AGAIN).some(([, words]) => words === DONE);
  const times = parent.times(DONE);
  expect(times > 1 && beganAnew && isGivenAgain ? times - 1 : times).toBe(1);
}

const GIVEN_AGAIN = /\(given again: you may have seen it before\)\n<reveille-data \S+>\n(.*)/g;
