import type { Orchestrator, PlanId, RunId, SessionId, TaskId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { quiet, refused, start } from './world.ts';

describe('who calls', () => {
  test('[ID3] is the credential, not an argument: a run cannot speak for another session', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [] });
    const [a, b] = [world.worker('a'), world.worker('b')];
    const forged = world.as({ kind: 'worker', session: b.spec.session, run: a.spec.run, epoch: 1 });
    await refused(forged.reportCompletion({ status: 'success', output: 'not mine' }), 'stale_caller');
    await refused(
      world.as({ kind: 'worker', session: a.spec.session, run: 'run_none', epoch: 1 }).checkUpdates(),
      'stale_caller',
    );
    await refused(a.orch.mailbox(b.spec.session), 'not_allowed');
    await refused(
      a.orch.attach(b.spec.session, async () => undefined),
      'not_allowed',
    );
    expect(await world.states('a', 'b')).toEqual(['running', 'running']);
  });

  test('[ID3] dies with the run: completed, failed, cancelled or gone on elsewhere', async () => {
    await using world = await start();
    await world.plan({ done: [], failed: [], cancelled: [] });
    const [done, failed, cancelled] = ['done', 'failed', 'cancelled'].map((name) => world.worker(name));
    await done!.reports();
    await failed!.fails('auth');
    await world.person.cancelTask(cancelled!.task);
    await quiet();
    for (const agent of [done!, failed!, cancelled!]) {
      await refused(agent.orch.spawnSubtask({ prompt: 'x' }), 'stale_caller');
      await refused(agent.orch.notifyParent({ type: 'info', message: 'x' }), 'stale_caller');
    }
    await world.person.retryTask(failed!.task);
    await quiet();
    await refused(failed!.orch.checkUpdates(), 'stale_caller');
  });

  test('[ID3] a person has no mailbox of tasks to report on, a chat no parent', async () => {
    await using world = await start();
    const chat = await world.chat();
    await refused(chat.orch.reportCompletion({ status: 'success', output: 'x' }), 'not_allowed');
    await refused(chat.orch.notifyParent({ type: 'info', message: 'x' }), 'not_allowed');
    await refused(world.person.checkUpdates(), 'not_allowed');
    await refused(world.person.spawnSubtask({ prompt: 'x' }), 'not_allowed');
    await refused(
      world.as({ kind: 'session', session: 'session_none' }).spawnSubtask({ prompt: 'x' }),
      'unauthorized',
    );
  });
});

describe('who may do what', () => {
  const acts: Record<string, (orch: Orchestrator, task: TaskId) => Promise<unknown>> = {
    complete: (orch, task) => orch.completeTask(task),
    cancel: (orch, task) => orch.cancelTask(task),
    retry: (orch, task) => orch.retryTask(task),
    deploy: (orch, task) => orch.deployTask(task),
    review: (orch, task) => orch.reviewTask({ task, verdict: 'approve' }),
  };

  test.for(Object.keys(acts))(
    '[ID5] to %s a task: its owner, one above, the orchestrator, a person; not itself, a sibling, a child, a stranger',
    async (name) => {
      const act = acts[name]!;
      await using world = await start({ settings: { depth: { orchestrator: 9 } } });
      await world.plan({ top: [], stranger: [] });
      await world.worker('top').spawns('owner');
      const task = await world.worker('owner').spawns('it', { budget: { tokens: 100 } });
      await world.worker('owner').spawns('sibling');
      await world.worker('it').spawns('child');
      const chat = await world.chat();
      const before = await world.store.lastEvent();
      for (const who of ['it', 'sibling', 'child', 'stranger'])
        await refused(act(world.worker(who).orch, task), 'not_allowed');
      await refused(act(chat.orch, task), 'not_allowed');
      expect(await world.store.lastEvent()).toBe(before);
      const orchestrator = await world.chat('orchestrator');
      for (const orch of [
        world.worker('owner').orch,
        world.worker('top').orch,
        orchestrator.orch,
        world.person,
      ]) {
        const refusal = await act(orch, task).catch((error: { code: string }) => error.code);
        expect(refusal, 'allowed, whatever the state').not.toBe('not_allowed');
      }
    },
  );

  test('[ID5] to message: parent, children, siblings and below; not a stranger', async () => {
    await using world = await start({ settings: { depth: { orchestrator: 9 } } });
    await world.plan({ top: [], stranger: [] });
    await world.worker('top').spawns('me');
    await world.worker('top').spawns('sibling');
    await world.worker('me').spawns('child');
    await world.worker('child').spawns('grandchild');
    await world.worker('stranger').spawns('cousin');
    const { orch } = world.worker('me');
    const send = (name: string) => orch.sendMessage({ to: world.worker(name).task, message: 'hi' });
    for (const name of ['top', 'sibling', 'child', 'grandchild']) await send(name);
    for (const name of ['stranger', 'cousin']) await refused(send(name), 'not_allowed');
    await refused(
      world.worker('grandchild').orch.sendMessage({ to: world.worker('top').task, message: 'hi' }),
      'not_allowed',
    );
  });

  test('[ID6] what no tool does, no agent does: not even the owner of the task', async () => {
    await using world = await start({ settings: { depth: { orchestrator: 9 } } });
    await world.plan({ top: [] });
    const task = await world.worker('top').spawns('it', { budget: { tokens: 100 } });
    const { orch } = world.worker('top');
    await refused(orch.pauseWorker(task), 'not_allowed');
    await refused(orch.resumeWorker(task), 'not_allowed');
    await refused(orch.interruptWorker(task), 'not_allowed');
    await refused(orch.swapWorker(task, { agent: 'coder' }), 'not_allowed');
    await refused(orch.stop({ scope: 'tree', task }, 'x'), 'not_allowed');
    await refused(orch.raiseBudget(task, { tokens: 1e9 }), 'not_allowed');
    await refused(orch.bringHome(task), 'not_allowed');
    await refused(orch.takeOver(task), 'not_allowed');
  });

  test('[ID5] to stop everything: a person', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const chat = await world.chat();
    const stop = (orch: Orchestrator) => orch.stop({ scope: 'all' }, 'x');
    await refused(stop(world.worker('a').orch), 'not_allowed');
    await refused(stop(chat.orch), 'not_allowed');
    expect(await world.state('a')).toBe('running');
    await refused(stop((await world.chat('orchestrator')).orch), 'not_allowed');
    await stop(world.person);
  });

  test('[ID5] to change a plan: its owner, the orchestrator, a person', async () => {
    await using world = await start();
    const owner = await world.chat();
    const other = await world.chat();
    const { plan } = await owner.orch.savePlan({
      name: 'p',
      tasks: [{ id: 'a', prompt: 'x' }],
      budget: { tokens: 5 },
    });
    await refused(other.orch.startPlan(plan.id), 'not_allowed');
    await refused(other.orch.addPlanTask(plan.id, { id: 'b', prompt: 'x' }), 'not_allowed');
    await refused(other.orch.raiseBudget(plan.id, { tokens: 50 }), 'not_allowed');
    await refused(other.orch.stop({ scope: 'plan', plan: plan.id }, 'x'), 'not_allowed');
    await owner.orch.startPlan(plan.id);
    await quiet();
    await refused(world.worker('a').orch.cancelPlan(plan.id), 'not_allowed');
    await (await world.chat('orchestrator')).orch.pausePlan(plan.id);
    await world.person.resumePlan(plan.id);
  });

  test('[ID5] a worker opens no sessions', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await refused(world.worker('a').orch.openSession('orchestrator', 'me'), 'not_allowed');
  });
});

describe('ids', () => {
  test('[ID1] one in the place of another, or none, is refused with what was expected, and changes nothing', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    const { run, session } = world.worker('a').spec;
    const { task } = world.worker('a');
    const before = await world.store.lastEvent();
    const { person } = world;
    const wrongTasks = [
      plan.id,
      run,
      session,
      'a',
      '',
      'task_',
      'task_ä',
      `task_${'x'.repeat(10_000_000)}`,
      'Task_1',
      null,
      7,
    ] as unknown as TaskId[];
    for (const wrong of wrongTasks) {
      for (const call of [
        person.getTask(wrong),
        person.cancelTask(wrong),
        person.retryTask(wrong),
        person.completeTask(wrong),
        person.deployTask(wrong),
        person.reviewTask({ task: wrong, verdict: 'approve' }),
        person.stop({ scope: 'tree', task: wrong }, 'x'),
      ]) {
        const error = await refused(call, 'invalid_input');
        expect(error.message).toContain('task_…');
        expect(error.message.length).toBeLessThan(500);
      }
    }
    for (const wrong of [task, run, session, 'plan_', undefined] as unknown as PlanId[]) {
      for (const call of [
        person.getPlan(wrong),
        person.startPlan(wrong),
        person.cancelPlan(wrong),
        person.addPlanTask(wrong, { id: 'x', prompt: 'x' }),
        person.stop({ scope: 'plan', plan: wrong }, 'x'),
      ]) {
        expect((await refused(call, 'invalid_input')).message).toContain('plan_…');
      }
    }
    for (const wrong of [task, run, 'x'] as unknown as SessionId[]) {
      for (const call of [
        person.mailbox(wrong),
        person.endSession(wrong),
        person.attach(wrong, async () => undefined),
      ]) {
        expect((await refused(call, 'invalid_input')).message).toContain('session_…');
      }
    }
    await refused(person.sendMessage({ to: run as unknown as TaskId, message: 'x' }), 'invalid_input');
    expect(await world.store.lastEvent()).toBe(before);
  });

  test('[ID1] an id that nothing has is not found', async () => {
    await using world = await start();
    const { person } = world;
    await refused(person.getTask('task_none'), 'not_found');
    await refused(person.cancelTask('task_none'), 'not_found');
    await refused(person.getPlan('plan_none'), 'not_found');
    await refused(person.startPlan('plan_none'), 'not_found');
    await refused(person.mailbox('session_none'), 'not_found');
    await refused(person.sendMessage({ to: 'session_none', message: 'x' }), 'not_found');
    await refused(person.stop({ scope: 'tree', task: 'task_none' }, 'x'), 'not_found');
  });

  test('[ID1] every id in every record has the prefix of its noun', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    await world.worker('child').asks('?');
    await world.worker('child').reports();
    await world.worker('a').ends();
    const noun = { plan: 'plan', task: 'task', run: 'run', session: 'session', request: 'req' } as const;
    for (const event of await world.events()) {
      for (const [key, prefix] of Object.entries(noun)) {
        const id = event[key as keyof typeof noun] as RunId | undefined;
        if (id !== undefined) expect(id).toMatch(new RegExp(`^${prefix}_[0-9a-z]+$`));
      }
      for (const id of event.messages ?? []) expect(id).toMatch(/^msg_[0-9a-z]+$/);
    }
  });
});

test('[ID6.1] a run reads what happens to the mailbox of its own session and of those below it, and of no other', async () => {
  await using world = await start({ settings: { maxUpdates: 2, depth: { orchestrator: 3 } } });
  await world.plan({ a: [], b: [] });
  const [a, b] = [world.worker('a'), world.worker('b')];
  await a.spawns('child');
  await world.worker('child').spawns('grandchild');
  await b.spawns('other');
  for (const name of ['child', 'grandchild', 'other'])
    for (let i = 0; i < 4; i++)
      await world.worker(name).orch.notifyParent({ type: 'progress', message: `${name} ${i}` });
  const folded = async (orch: Orchestrator) =>
    new Set(
      (await orch.events(0, 1_000))
        .filter(({ type }) => type === 'mailbox.folded')
        .map((event) => event.session),
    );
  const child = world.worker('child').spec.session;
  expect(await folded(world.person)).toEqual(new Set([a.spec.session, child, b.spec.session]));
  expect(await folded(a.orch)).toEqual(new Set([a.spec.session, child]));
  expect(await folded(world.worker('child').orch)).toEqual(new Set([child]));
  expect(await folded(b.orch)).toEqual(new Set([b.spec.session]));
});
