import type { Caller, SessionId, TaskId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { quiet, refused, start, type World, type WorldOptions } from './world.ts';

/** Ways of an agent round the limits of spawning: plans, and further attempts. */

const REPOSITORY = '/repos/here';
const defined = () => ({
  backend: null,
  model: null,
  delegatesTo: null,
  deniedTools: [],
  tools: ['*', 'orchestrator_*'],
  readOnly: false,
});

const begin = (settings: WorldOptions['settings'] = {}, more: WorldOptions = {}) =>
  start({
    agents: ['agent', 'coder', 'orchestrator'],
    definitions: { defined },
    settings: { depth: { orchestrator: 9, standalone: 9 }, ...settings },
    work: () => null,
    ...more,
  });

async function session(world: World, kind: 'chat' | 'terminal'): Promise<Caller> {
  const { id } = await world.person.openSession(kind, kind, { repository: REPOSITORY });
  return { kind: 'session', session: id };
}

const planOf = (count: number, name = 'p') => ({
  name,
  integrate: false,
  tasks: Array.from({ length: count }, (_, i) => ({ id: `${name}${i}`, prompt: `part ${name}${i}` })),
});

async function worker(world: World, more: object = {}) {
  const to = world.as(await session(world, 'terminal'));
  const { task } = await to.spawnSubtask({ prompt: 'work', ...more }, { blocking: false });
  await quiet();
  return world.worker(task);
}

describe('the tasks of a plan that an agent makes', () => {
  const limits = { children: { total: 3, open: 20, perMinute: 60, planned: 5 } };

  test('[LIM1.82] are children of a worker: saved or added, it has no more of them than of others', async () => {
    await using world = await begin(limits);
    const { orch } = await worker(world);
    await refused(orch.savePlan(planOf(4)), 'limit_reached');
    expect(await orch.listPlans()).toEqual([]);
    const { plan } = await orch.savePlan(planOf(2));
    await orch.addPlanTask(plan.id, { id: 'more', prompt: 'x' });
    await refused(orch.addPlanTask(plan.id, { id: 'another', prompt: 'x' }), 'limit_reached');
    await refused(orch.spawnSubtask({ prompt: 'x' }, { blocking: false }), 'limit_reached');
  });

  test('[LIM1.82] are bounded for an orchestrator too, over all its plans, and leave its spawns alone', async () => {
    await using world = await begin(limits);
    const { orch } = await worker(world, { agentType: 'orchestrator', plans: 'start' });
    const { plan } = await orch.savePlan(planOf(3, 'one'));
    const error = await refused(orch.savePlan(planOf(3, 'two')), 'limit_reached');
    expect(error.data).toMatchObject({ value: 6, max: 5 });
    await orch.cancelPlan(plan.id);
    await orch.savePlan(planOf(2, 'three'));
    await refused(orch.savePlan(planOf(1, 'four')), 'limit_reached');
    await orch.spawnSubtask({ prompt: 'x' }, { blocking: false });
  });

  test('[LIM1.82] are none of a person’s or a chat’s business: these plan what they like', async () => {
    await using world = await begin(limits);
    await world.person.savePlan(planOf(9));
    await world.as(await session(world, 'chat')).savePlan(planOf(9));
  });

  test('[LIM1.82] come out of the spawns of its budget, all of them or none', async () => {
    await using world = await begin();
    const { orch, task } = await worker(world, { budget: { spawns: 3 } });
    await refused(orch.savePlan(planOf(4)), 'budget_exhausted');
    const { plan } = await orch.savePlan(planOf(2), { start: true });
    await orch.addPlanTask(plan.id, { id: 'more', prompt: 'x' });
    await refused(orch.spawnSubtask({ prompt: 'x' }, { blocking: false }), 'budget_exhausted');
    expect((await orch.getBudget(task)).chain[0]).toMatchObject({ used: { spawns: 3 } });
  });

  test('[SUB6.2] are something it waits for: its report is refused until they have ended, or are given up', async () => {
    await using world = await begin();
    const { orch, task } = await worker(world);
    await orch.savePlan(planOf(2), { start: true });
    await quiet();
    const report = { status: 'success', output: 'x' } as const;
    expect(await orch.reportCompletion(report)).toMatchObject({ accepted: false, code: 'open_children' });
    expect(await orch.reportCompletion({ ...report, giveUpChildren: true })).toEqual({ accepted: true });
    await quiet();
    expect(await world.state(task)).toBe('completed');
    expect(await world.person.listTasks({ open: true })).toEqual([]);
  });
});

describe('long messages of a run', () => {
  const LONG = 'x'.repeat(900_000);

  test('[BND7.43] are refused while two million characters of them wait unread; short ones and those of others arrive', async () => {
    await using world = await begin();
    const chat = await session(world, 'chat');
    const [one, other] = await world
      .as(chat)
      .spawnSubtasks([{ prompt: 'one' }, { prompt: 'other' }])
      .then((spawned) => quiet().then(() => spawned.map(({ task }) => world.worker(task).orch)));
    for (const type of ['error', 'info'] as const) await one!.notifyParent({ type, message: LONG });
    for (const type of ['error', 'info', 'progress'] as const)
      expect((await refused(one!.notifyParent({ type, message: LONG }), 'limit_reached')).message).toContain(
        'a file of your worktree',
      );
    const to = (chat as { session: SessionId }).session;
    await refused(one!.sendMessage({ to, message: LONG }), 'limit_reached');
    await one!.notifyParent({ type: 'error', message: 'short' });
    await other!.notifyParent({ type: 'error', message: LONG });
    await world.person.sendMessage({ to, message: LONG });
    expect(await world.as(chat).checkUpdates()).toHaveLength(5);
    // What was handed over counts until a sign of life shows that it was read.
    await world.as(chat).checkUpdates();
    await one!.notifyParent({ type: 'error', message: LONG });
  });

  test('[BND7.43] are refused with another attempt too, which is not made then', async () => {
    await using world = await begin();
    const { orch } = await worker(world);
    const { task } = await orch.spawnSubtask({ prompt: 'child' }, { blocking: false });
    for (let i = 0; i < 2; i++) await orch.sendMessage({ to: task, message: LONG });
    await orch.cancelTask(task);
    await quiet();
    await refused(orch.retryTask(task, { message: LONG }), 'limit_reached');
    expect(await world.state(task)).toBe('cancelled');
    await orch.retryTask(task, { message: 'short' });
  });
});

describe('another attempt at what has ended', () => {
  /** So many children of a chat that were cancelled. */
  async function cancelled(world: World, count: number) {
    const chat = world.as(await session(world, 'chat'));
    const tasks: TaskId[] = [];
    for (let i = 0; i < count; i++) {
      const { task } = await chat.spawnSubtask({ prompt: `part ${i}` }, { blocking: false });
      await quiet();
      await chat.cancelTask(task);
      await quiet();
      tasks.push(task);
    }
    return { chat, tasks };
  }

  test('[LIM1.81] takes the room of a child: no more are open at once than a session may have', async () => {
    await using world = await begin({ children: { total: 9, open: 2, perMinute: 60, planned: 9 } });
    const { chat, tasks } = await cancelled(world, 3);
    const [first, second, third] = tasks as [TaskId, TaskId, TaskId];
    await chat.retryTask(first);
    await chat.retryTask(second);
    await refused(chat.retryTask(third), 'limit_reached');
    expect(await world.state(third)).toBe('cancelled');
    await chat.cancelTask(first);
    await quiet();
    await chat.retryTask(third);
    await quiet();
    expect(await chat.listTasks({ open: true })).toHaveLength(2);
  });

  test('[LIM1.81] counts as a start: an agent starts no more in a minute by trying again, a person does', async () => {
    await using world = await begin({ children: { total: 9, open: 9, perMinute: 3, planned: 9 } });
    const { chat, tasks } = await cancelled(world, 2);
    const [first, second] = tasks as [TaskId, TaskId];
    await chat.retryTask(first);
    await refused(chat.retryTask(second), 'limit_reached');
    await refused(chat.spawnSubtask({ prompt: 'x' }, { blocking: false }), 'limit_reached');
    await world.person.retryTask(second);
    await world.advance(60_000);
    await chat.cancelTask(first);
    await quiet();
    await chat.retryTask(first);
  });
});
