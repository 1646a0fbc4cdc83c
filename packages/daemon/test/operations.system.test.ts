import { describe, expect, test } from 'vitest';
import type { Delivery, ReveilleError, TaskId } from '@reveille/protocol';
import { until } from './house.ts';
import { InProcess, OverHttp, type Door, type InsideOptions } from './inside.ts';

const DOORS: Record<string, (options?: InsideOptions) => Promise<Door>> = {
  'in process': (options) => InProcess.open(options),
  'over HTTP': (options) => OverHttp.open(options),
};

const failure = async (call: Promise<unknown>): Promise<Pick<ReveilleError, 'code' | 'message' | 'data'>> => {
  try {
    await call;
  } catch (error) {
    const { code, message, data } = error as ReveilleError;
    return { code, message, data };
  }
  throw new Error('it should have been refused');
};

/** A plan with one task that is being worked on. */
async function atWork(door: Door) {
  const { plan, tasks } = await door.person.savePlan(
    { name: 'p', tasks: [{ id: 'a', prompt: 'Do a.' }] },
    { start: true },
  );
  const puppet = await door.stage.at(tasks[0]!.task.id);
  return { plan, task: puppet.spec.task.id, puppet, self: door.worker(puppet) };
}

describe.each(Object.entries(DOORS))('every operation, %s', (_, open) => {
  test('[DMN1.30] plans: saved, listed, added to, started, paused, resumed, cancelled', async () => {
    await using door = await open();
    const { person } = door;
    const saved = await person.savePlan({ name: 'p', tasks: [{ id: 'a', prompt: 'A' }] });
    expect(saved).toMatchObject({ plan: { state: 'draft', name: 'p' }, tasks: [{ task: { key: 'a' } }] });
    const { id } = saved.plan;
    expect(await person.addPlanTask(id, { id: 'b', prompt: 'B', dependencies: ['a'] })).toMatchObject({
      task: { key: 'b', state: 'pending' },
      run: null,
      end: null,
    });
    expect(await person.startPlan(id)).toMatchObject({ id, state: 'active' });
    expect(await person.pausePlan(id)).toMatchObject({ state: 'paused' });
    expect(await person.resumePlan(id)).toMatchObject({ state: 'active' });
    expect(await person.listPlans()).toMatchObject([{ id }]);
    await person.cancelPlan(id, 'no longer wanted');
    await until(async () => (await person.getPlan(id)).plan.state === 'cancelled');
    expect((await person.getPlan(id)).tasks).toHaveLength(2);
  });

  test('[DMN1.30] the backends, the default one first', async () => {
    await using door = await open();
    const backends = await door.person.backends();
    expect(backends[0]).toEqual({ name: 'scripted', isDefault: true });
    expect(backends.filter(({ isDefault }) => isDefault)).toHaveLength(1);
    const { self } = await atWork(door);
    expect(await self.backends()).toEqual(backends);
  });

  test('[DMN1.30] a plan that is wrong is told all of it, with the places', async () => {
    await using door = await open();
    const plan = { name: '', tasks: [{ id: 'a', prompt: 'A', dependencies: ['b'], agent: 'codr' }] };
    const refused = await failure(door.person.savePlan(plan));
    expect(refused.code).toBe('invalid_input');
    const places = (refused.data['problems'] as { at: string }[]).map(({ at }) => at);
    expect(places.toSorted()).toEqual(['name', 'tasks[0].agent', 'tasks[0].dependencies[0]']);
    expect(await door.person.listPlans()).toEqual([]);
  });

  test('[DMN1.30] a task: deployed, paused, resumed, interrupted, completed, cancelled, tried again, reviewed', async () => {
    await using door = await open();
    const { person, stage } = door;
    const tasks = [
      { id: 'a', prompt: 'A' },
      { id: 'b', prompt: 'B' },
      { id: 'c', prompt: 'C', review: 'person' as const },
    ];
    const saved = await person.savePlan({ name: 'p', tasks });
    const [a, b, c] = ['a', 'b', 'c'].map((key) => saved.tasks.find(({ task }) => task.key === key)!.task.id);
    expect(await person.deployTask(a!)).toMatchObject({ task: { id: a } });
    const puppet = await stage.at(a!);
    expect(await person.pauseWorker(a!)).toMatchObject({ worker: 'paused' });
    expect(await person.resumeWorker(a!)).toMatchObject({ task: { id: a } });
    await stage.at(a!);
    expect(await person.interruptWorker(a!)).toMatchObject({ task: { id: a } });
    expect(await person.completeTask(a!, 'enough')).toMatchObject({
      task: { state: 'completed' },
      end: { output: 'enough' },
    });
    expect(puppet.spec.task.id).toBe(a);
    await person.startPlan(saved.plan.id);
    await stage.at(b!);
    await person.cancelTask(b!, 'not this one');
    await until(async () => (await person.getTask(b!)).task.state === 'cancelled');
    expect(await person.retryTask(b!)).toMatchObject({ task: { id: b } });
    const reviewed = await stage.at(c!);
    expect(await door.worker(reviewed).reportCompletion({ status: 'success', output: 'see' })).toEqual({
      accepted: true,
    });
    expect(await person.getTask(c!)).toMatchObject({ task: { state: 'review' } });
    expect(await person.reviewTask({ task: c!, verdict: 'approve' })).toMatchObject({
      task: { state: 'completed' },
    });
    expect(await person.listTasks({ plan: saved.plan.id, open: false })).toHaveLength(2);
  });

  test('[DMN1.30] a chat delegates: it waits for a child, is asked by it, answers, and gets the result', async () => {
    await using door = await open();
    const { self, id } = await door.session('chat');
    const [spawned] = await self.spawnSubtasks([{ prompt: 'Look.', key: 'k', agentType: '@reviewer' }]);
    expect(await self.spawnSubtasks([{ prompt: 'Look.', key: 'k' }])).toEqual([spawned]);
    const child = await door.stage.at(spawned!.task);
    const waiting = self.awaitSubtasks({ taskIds: [spawned!.task], timeoutMs: 600_000 });
    const asked = await door
      .worker(child)
      .notifyParent({ type: 'question', message: 'Which?', options: ['x', 'y'] });
    expect(await waiting).toMatchObject({
      done: false,
      why: 'needs_you',
      open: [spawned!.task],
      deliveries: [{}],
    });
    expect(await self.answer({ request: asked.request!, answer: 'x' })).toMatchObject({ state: 'answered' });
    const again = self.awaitSubtasks({ taskIds: [spawned!.task], timeoutMs: 600_000 });
    await door
      .worker(child)
      .reportCompletion({ status: 'success', output: 'It is fine.', structured: { n: 1 } });
    const ended = await again;
    expect(ended).toMatchObject({ done: true, why: 'ended', open: [] });
    expect(ended.deliveries).toMatchObject([
      {
        message: { kind: 'end', to: id },
        end: { status: 'success', output: 'It is fine.', structured: { n: 1 } },
      },
    ]);
    expect(ended.deliveries[0]!.text).toContain('It is fine.');
    expect(await self.checkUpdates()).toEqual([]);
    expect(await self.mailbox(id)).toMatchObject([{ kind: 'question', state: 'read' }, { kind: 'end' }]);
  });

  test('[DMN1.30] a spawn blocks as long as its caller has patience', async () => {
    await using door = await open();
    const { self } = await door.session('chat');
    const first = await self.spawnSubtask({ prompt: 'Slow.' }, { patienceMs: 0 });
    expect(first).toMatchObject({ state: 'running' });
    const second = self.spawnSubtask({ prompt: 'Quick.', name: 'quick' }, { patienceMs: 600_000 });
    await until(() =>
      door.stage.puppets.some(({ spec, turns }) => spec.task.name === 'quick' && turns.length > 0),
    );
    const puppet = door.stage.puppets.find(({ spec }) => spec.task.name === 'quick')!;
    await door.worker(puppet).reportCompletion({ status: 'failed', output: 'no', error: 'cannot' });
    expect(await second).toMatchObject({ state: 'ended', delivery: { end: { status: 'failed' } } });
    const third = await self.spawnSubtask({ prompt: 'Alone.' }, { blocking: false });
    expect(third.state).toBe('running');
    expect(await self.checkUpdates({ taskIds: [first.task] })).toEqual([]);
  });

  test('[DMN1.30] mail: sent, seen by whom it concerns, refused to others', async () => {
    await using door = await open();
    const { person } = door;
    const { task, self } = await atWork(door);
    const message = await person.sendMessage({ to: task, message: 'Hurry.', key: 'h' });
    expect(await person.sendMessage({ to: task, message: 'Hurry.', key: 'h' })).toBe(message);
    expect(await self.checkUpdates()).toMatchObject([{ message: { id: message, kind: 'words' } }]);
    expect(await person.getMessage(message)).toMatchObject({ id: message, state: 'delivered' });
    const stranger = await door.session('stranger');
    expect(await failure(stranger.self.getMessage(message))).toMatchObject({ code: 'not_allowed' });
    expect(await failure(stranger.self.sendMessage({ to: task, message: 'Me too.' }))).toMatchObject({
      code: 'not_allowed',
    });
    expect(await failure(stranger.self.cancelTask(task))).toMatchObject({ code: 'not_allowed' });
    expect(await self.notifyParent({ type: 'approval_request', message: 'May I?' })).toMatchObject({
      message: null,
    });
    expect(await person.inbox()).toMatchObject([{ kind: 'approval', text: 'May I?', with: null }]);
  });

  test('[DMN1.30] a report that cannot be taken says why; one that comes twice is refused', async () => {
    await using door = await open();
    const { self, puppet } = await atWork(door);
    const [child] = await self.spawnSubtasks([
      {
        prompt: 'Help.',
        resultSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      },
    ]);
    expect(await self.reportCompletion({ status: 'success', output: 'done' })).toEqual({
      accepted: false,
      code: 'open_children',
      open: [child!.task],
    });
    const helper = door.worker(await door.stage.at(child!.task));
    expect(await helper.reportCompletion({ status: 'success', output: '', structured: {} })).toMatchObject({
      accepted: false,
      code: 'invalid_result',
    });
    await helper.reportCompletion({ status: 'success', output: 'here', structured: { n: 1 } });
    expect(await self.reportCompletion({ status: 'success', output: 'done' })).toMatchObject({
      accepted: false,
      code: 'unread_ends',
      deliveries: [{ end: { output: 'here' } }],
    });
    expect(await self.reportCompletion({ status: 'success', output: 'done' })).toEqual({ accepted: true });
    expect(await failure(self.reportCompletion({ status: 'success', output: 'again' }))).toMatchObject({
      code: 'stale_caller',
    });
    expect(await failure(self.spawnSubtasks([{ prompt: 'More.' }]))).toMatchObject({
      code: 'stale_caller',
      data: { run: puppet.spec.run },
    });
  });

  test('[DMN1.30] limits and unknown things are refused with what is known', async () => {
    await using door = await open({ flags: { 'engine.children.total': '2' } });
    const { self } = await door.session('chat');
    expect(await failure(self.spawnSubtask({ prompt: 'x', agentType: 'revewer' }))).toMatchObject({
      code: 'unknown_agent',
      data: { known: expect.arrayContaining(['reviewer']) },
    });
    const three = Array.from({ length: 3 }, () => ({ prompt: 'x' }));
    expect(await failure(self.spawnSubtasks(three))).toMatchObject({
      code: 'limit_reached',
      data: { limit: 'children in all' },
    });
    expect(await failure(self.spawnSubtasks([]))).toMatchObject({ code: 'invalid_input' });
    expect(await failure(door.person.getTask('task_nobody'))).toMatchObject({ code: 'not_found' });
    expect(await failure(door.person.getTask('run_1' as TaskId))).toMatchObject({
      code: 'invalid_input',
      data: { problems: [{ at: 'input', problem: 'expected an id like "task_…", got "run_1"' }] },
    });
    expect(await failure(door.person.spawnSubtask({ prompt: 'x' }))).toMatchObject({ code: 'not_allowed' });
    expect(await failure(self.spawnSubtask({ prompt: '' }))).toMatchObject({
      code: 'invalid_input',
      data: { problems: [{ at: 'prompt' }] },
    });
    expect(await failure(door.person.diffTask('task_nobody'))).toMatchObject({ code: 'not_found' });
  });

  test('[DMN1.30] budgets are raised, trees and everything are stopped', async () => {
    await using door = await open();
    const { person } = door;
    const { task, plan } = await atWork(door);
    expect(await person.raiseBudget(task, { tokens: 10 })).toBeUndefined();
    expect((await person.getTask(task)).task.budget).toBe(task);
    expect(await person.stop({ scope: 'tree', task }, 'enough')).toEqual({ stopped: 1 });
    await until(async () => (await person.getTask(task)).task.state === 'cancelled');
    await person.retryTask(task);
    expect(await person.stop({ scope: 'all' }, 'enough')).toMatchObject({ stopped: expect.any(Number) });
    await until(async () => (await person.getPlan(plan.id)).plan.state === 'cancelled');
  });

  test('[DMN1.30] sessions open and end; events say what happened', async () => {
    await using door = await open();
    const { person } = door;
    const session = await person.openSession('terminal', 'here', { repository: '/nowhere' });
    expect(session).toMatchObject({ kind: 'terminal', name: 'here', repository: '/nowhere', state: 'open' });
    expect(await person.mailbox(session.id)).toEqual([]);
    expect(await person.endSession(session.id)).toBeUndefined();
    const events = await person.events(0, 1_000);
    expect(events.map(({ number }) => number)).toEqual(events.map((_, i) => i + 1));
    expect(await person.events(events.length, 10)).toEqual([]);
    expect(await person.events(0, 1)).toEqual(events.slice(0, 1));
  });

  test('[DMN1.30][DMN1.33] an attached receiver is woken, and one that throws is not lost what it threw at', async () => {
    await using door = await open();
    const { self, id } = await door.session('chat');
    const got: Delivery[] = [];
    const detach = await self.attach(id, async (deliveries) => void got.push(...deliveries));
    const first = await door.person.sendMessage({ to: id, message: 'one' });
    await until(() => got.length === 1);
    await until(async () => (await self.getMessage(first)).state === 'read');
    await detach();
    const second = await door.person.sendMessage({ to: id, message: 'two' });
    expect(await self.getMessage(second)).toMatchObject({ state: 'queued' });
    let thrown = 0;
    const leave = await self.attach(id, async () => {
      thrown++;
      throw new Error('not now');
    });
    await until(async () => (await self.getMessage(second)).maybeSeen === 1);
    expect(thrown).toBe(1);
    expect(await self.getMessage(second)).toMatchObject({ state: 'queued' });
    await leave();
    expect(await self.checkUpdates()).toMatchObject([{ message: { id: second } }]);
    expect(got.map(({ message }) => message.id)).toEqual([first]);
  });

  test('[DMN1.32] a call that is given up leaves what it waited for in the mailbox', async () => {
    await using door = await open();
    const { self } = await door.session('chat');
    const [child] = await self.spawnSubtasks([{ prompt: 'x' }]);
    const puppet = await door.stage.at(child!.task);
    const given = new AbortController();
    const waiting = failure(self.awaitSubtasks({ taskIds: [child!.task] }, { signal: given.signal }));
    given.abort();
    expect(await waiting).toMatchObject({ code: 'aborted' });
    await door.worker(puppet).reportCompletion({ status: 'success', output: 'late' });
    expect(await self.checkUpdates()).toMatchObject([{ end: { output: 'late' } }]);
  });
});

describe('arguments', () => {
  test('[DMN1.31] what the compiler would have refused in process is refused at the door, with its place', async () => {
    await using door = await OverHttp.open();
    const call = async (operation: string, body: unknown) => {
      const response = await fetch(`${door.url}/v1/op/${operation}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${door.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const { error } = (await response.json()) as {
        error: { code: string; data: { problems?: unknown[]; known?: string[] } };
      };
      return { status: response.status, code: error.code, ...error.data };
    };
    expect(await call('getTask', {})).toMatchObject({ status: 400, code: 'invalid_input' });
    expect(await call('getTask', ['task_1', 2])).toMatchObject({ status: 400, problems: [{ at: 'input' }] });
    expect(await call('getTask', [])).toMatchObject({ status: 400, problems: [{ at: 'input' }] });
    expect(await call('savePlan', [{}, { start: 'yes' }])).toMatchObject({
      problems: [{ at: 'argument 2, start' }],
    });
    expect(await call('savePlan', [])).toMatchObject({ status: 400, code: 'invalid_input' });
    expect(await call('listTasks', [{ plan: 7, extra: 1 }])).toMatchObject({
      problems: [{ at: 'plan' }, { at: 'input' }],
    });
    expect(await call('events', [-1, 'x'])).toMatchObject({
      problems: [{ at: 'input' }, { at: 'argument 2' }],
    });
    expect(await call('openSession', ['worker', 'me'])).toMatchObject({ status: 400 });
    expect(await call('spawnSubtasks', ['x'])).toMatchObject({ status: 400 });
    expect(await call('checkUpdates', [{ taskIds: ['x'] }])).toMatchObject({
      problems: [{ at: 'taskIds.0' }],
    });
    expect(await call('getTsk', ['task_1'])).toMatchObject({
      status: 404,
      code: 'not_found',
      known: expect.arrayContaining(['getTask']),
    });
    for (const name of ['constructor', '__proto__', 'toString', 'attach', 'host', 'caller'])
      expect(await call(name, []), name).toMatchObject({ status: 404 });
  });
});
