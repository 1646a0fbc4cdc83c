import type { PlanInput, PlanView, RequestId, TaskId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import type { FakeAgent } from './fake-agent.ts';
import { quiet, refused, start, type Chat, type World, type WorldOptions } from './world.ts';

const AGENTS = ['agent', 'coder', 'reviewer', 'researcher', 'tester', 'orchestrator'];

interface Scene {
  readonly world: World;
  readonly terminal: Chat;
  readonly boss: FakeAgent;
  readonly task: TaskId;
}

/** A person gives a goal in a terminal; the orchestrator is at work on it. */
async function goal(options: WorldOptions = {}, plans?: 'ask' | 'start'): Promise<Scene> {
  const world = await start({ agents: AGENTS, ...options });
  const terminal = await world.chat('terminal', 'terminal');
  const more = { agentType: 'orchestrator', ...(plans ? { plans } : {}) };
  const task = await terminal.spawns('ship it', more);
  return { world, terminal, boss: world.worker(task), task };
}

type Tasks = Record<string, readonly string[]>;

const planOf = (tasks: Tasks): PlanInput => ({
  name: 'the plan',
  tasks: Object.entries(tasks).map(([id, dependencies]) => ({
    id,
    prompt: `do ${id}`,
    dependencies: [...dependencies],
  })),
});

/** With a plan under way, and nothing to do for itself. */
async function resting(tasks: Tasks, options: WorldOptions = {}): Promise<Scene & { plan: PlanView }> {
  const scene = await goal(options, 'start');
  const plan = await scene.boss.orch.savePlan(planOf(tasks), { start: true });
  await quiet();
  await scene.boss.ends('it runs');
  expect(scene.boss.open).toBeNull();
  return { ...scene, plan };
}

const inbox = async (world: World): Promise<[string, RequestId][]> =>
  (await world.person.inbox()).map(({ kind, id }) => [kind, id]);

describe('the table of what wakes it', () => {
  const unwoken = async ({ boss, world, task }: Scene): Promise<void> => {
    await quiet();
    await world.advance(20_000);
    expect(boss.turns).toHaveLength(1);
    expect((await world.person.getTask(task)).task).toMatchObject({
      state: 'waiting',
      waitingOn: 'children',
    });
  };

  test.for(['progress', 'info'] as const)(
    '[ORC1.1] status (%s): no; it comes along with the next turn',
    async (type) => {
      const scene = await resting({ a: [], b: [] });
      await using world = scene.world;
      await world.worker('a').orch.notifyParent({ type, message: 'half of it' });
      await unwoken(scene);
      expect(await world.mail(scene.boss.spec.session, type)).toMatchObject([
        { state: 'queued', quiet: true },
      ]);
      const request = await world.worker('b').asks('which?');
      await quiet();
      expect(scene.boss.turns).toHaveLength(2);
      expect(scene.boss.last.text).toContain('half of it');
      expect(scene.boss.last.text).toContain(request);
    },
  );

  test('[ORC1.2] a question: yes, with the event, the plan, the workers and the choices', async () => {
    const { world: opened, boss, plan } = await resting({ a: [], b: ['a'] });
    await using world = opened;
    const request = await world.worker('a').asks('tabs or spaces?');
    await world.worker('a').ends();
    expect(boss.turns).toHaveLength(2);
    expect(boss.last.text).toMatch(/asks you[\s\S]*tabs or spaces\?/);
    expect(boss.last.text).toContain(`Plan ${plan.plan.id} "the plan" is active`);
    expect(boss.last.text).toMatch(/- "a" task_\w+ @scripted:agent: running/);
    expect(boss.last.text).toMatch(/- "b" task_\w+ @scripted:agent: pending/);
    expect(boss.last.text).toMatch(new RegExp(`- ${request} question of "a": tabs or spaces\\?`));
    await boss.orch.answer({ request, answer: 'spaces' });
    await quiet();
    expect(world.worker('a').last.text).toContain('spaces');
  });

  test('[ORC1.3] an error: yes; one that is tried again by itself: no', async () => {
    const { world: opened, boss, ...rest } = await resting({ a: [], b: [] });
    await using world = opened;
    await world.worker('a').fails('overload');
    await unwoken({ world, boss, ...rest });
    expect(await world.mail(boss.spec.session, 'error')).toMatchObject([{ quiet: true }]);
    await world.worker('b').orch.notifyParent({ type: 'error', message: 'the disk is full' });
    await quiet();
    expect(boss.turns).toHaveLength(2);
    expect(boss.last.text).toMatch(/the disk is full[\s\S]*overload/);
  });

  test('[ORC1.4] a failure: yes, and it decides about it with a choice', async () => {
    const { world: opened, boss } = await resting({ a: [], b: ['a'] });
    await using world = opened;
    await world.worker('a').fails('refusal');
    await quiet();
    expect(boss.turns).toHaveLength(2);
    expect(boss.last.text).toMatch(
      /it ended: failed\. Its response:[\s\S]*Decide about it with request (req_\w+): retry/,
    );
    expect(boss.last.text).toMatch(/- "b" task_\w+ @scripted:agent: blocked/);
    expect(boss.last.text).toMatch(
      /failure of "a": [^\n]* → 1\. retry \| 2\. retry with: <[^>]*> [^|]*\| 3\. cancel [^|]*\| 4\. details/,
    );
    expect(await inbox(world)).toEqual([]);
    const request = /request (req_\w+)/.exec(boss.last.text)![1] as RequestId;
    await boss.orch.answer({ request, answer: 'retry' });
    await quiet();
    expect(await world.task('a')).toMatchObject({ task: { state: 'running', attempts: 2 } });
    expect(await world.state('b')).toBe('pending');
  });

  test('[ORC1.5] an end that frees a task, that blocks one, and the last one: yes; any other: no', async () => {
    const scene = await resting({ a: [], b: [], c: ['a', 'b'], d: [], e: ['d'] });
    await using world = scene.world;
    const { boss } = scene;
    await world.worker('a').reports('a is done');
    await unwoken(scene);
    await world.worker('b').reports('b is done');
    expect(boss.turns).toHaveLength(2);
    expect(boss.last.text).toMatch(/a is done[\s\S]*b is done/);
    await boss.ends();
    await world.person.cancelTask(world.worker('d').task);
    await quiet();
    expect(boss.turns).toHaveLength(3);
    expect(boss.last.text).toMatch(/it ended: cancelled[\s\S]*"e" task_\w+ @scripted:agent: blocked/);
    await boss.ends();
    await world.worker('c').reports('c is done');
    expect(boss.turns).toHaveLength(4);
    expect(boss.last.text).toContain('is failed (nothing more can run: 1 cancelled, 1 blocked)');
  });

  test('[ORC1.5] the end of a subtask of its own, which is in no plan: yes', async () => {
    const scene = await resting({ a: [] });
    await using world = scene.world;
    const { boss } = scene;
    await scene.world.worker('a').asks('which?');
    expect(boss.turns).toHaveLength(2);
    await boss.spawns('look it up');
    await boss.ends();
    await world.worker('look it up').reports('it is blue');
    expect(boss.turns).toHaveLength(3);
    expect(boss.last.text).toContain('it is blue');
  });

  test('[ORC1.6] an approval request: yes; the answer to it goes to who asked, and wakes nobody else', async () => {
    const scene = await resting({ a: [], b: [] });
    await using world = scene.world;
    const { boss } = scene;
    const request = await world.worker('a').asks('may I publish it?', 'approval_request');
    await world.worker('a').ends();
    expect(boss.turns).toHaveLength(2);
    await boss.orch.answer({ request, answer: 'pass on' });
    await boss.ends();
    expect(await inbox(world)).toEqual([['approval', request]]);
    await world.person.answer({ request, answer: 'approve' });
    await quiet();
    expect(world.worker('a').last.text).toContain('approve');
    expect(boss.turns).toHaveLength(2);
    expect(await world.mail(boss.spec.session, 'answer')).toEqual([]);
  });

  test('[ORC1.7] a worker that does the same again and again: yes', async () => {
    const { world: opened, boss } = await resting({ a: [] });
    await using world = opened;
    for (let i = 0; i < 5; i++) await world.worker('a').calls('read_file', { digest: 'the same' });
    await quiet();
    expect(boss.turns).toHaveLength(2);
    expect(boss.last.text).toContain('called read_file with the same arguments 5 times in a row');
  });

  test('[ORC1.7] a task that waits for its decision: a review, and what an idle worker says', async () => {
    const { world: opened, boss } = await goal({}, 'start');
    await using world = opened;
    const tasks = [
      { id: 'a', prompt: 'x', review: 'owner' as const },
      { id: 'b', prompt: 'y' },
    ];
    await boss.orch.savePlan({ name: 'p', tasks }, { start: true });
    await quiet();
    await boss.ends();
    await world.worker('a').reports('look at it');
    expect(boss.last.text).toContain('look at it');
    const request = /(req_\w+) review of "a"/.exec(boss.last.text)![1] as RequestId;
    await boss.orch.answer({ request, answer: 'approve' });
    await boss.ends();
    expect(await world.state('a')).toBe('completed');
    const turns = boss.turns.length;
    await world.worker('b').ends();
    await world.worker('b').ends('I am stuck in the mud');
    expect(boss.turns).toHaveLength(turns + 1);
    expect(boss.last.text).toContain('I am stuck in the mud');
  });

  test('[ORC1.9] a worker that is stuck or in a loop: yes, and it stays as it is', async () => {
    const { world: opened, boss } = await resting({ a: [], b: [] });
    await using world = opened;
    for (let i = 0; i < 5; i++) await world.worker('a').calls('read', { digest: 'the same', news: true });
    expect(boss.turns).toHaveLength(2);
    expect(boss.last.text).toContain('called read with the same arguments 5 times in a row');
    await boss.ends();
    await world.worker('a').calls('read', { digest: 'another', news: true });
    await world.advance(200_000);
    await world.worker('a').says('still here');
    await world.advance(102_000);
    expect(boss.last.text).toContain('no sign of life for 300 s');
    expect(await world.states('a', 'b')).toEqual(['running', 'running']);
  });

  test('[ORC1.8] a worker, a chat and a terminal are told everything, as ever', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child');
    await parent.ends();
    await world.worker('child').orch.notifyParent({ type: 'progress', message: 'half of it' });
    await quiet();
    expect(parent.last.text).toContain('half of it');
  });
});

describe('its plan', () => {
  test('[ORC1.10] is shown to the person first: a draft starts when it is approved, from any door, and it is told', async () => {
    const { world: opened, boss, task } = await goal();
    await using world = opened;
    const { plan } = await boss.orch.savePlan(planOf({ a: [], b: ['a'] }), { start: true });
    expect(plan.state).toBe('draft');
    expect(await boss.orch.startPlan(plan.id)).toMatchObject({ state: 'draft', why: /approval/ });
    await boss.ends('waiting for you');
    const [request, ...others] = await world.person.inbox();
    expect(others).toEqual([]);
    expect(request).toMatchObject({ kind: 'plan', plan: plan.id, options: ['approve', 'changes', 'cancel'] });
    expect(request!.text).toMatch(
      /the plan[\s\S]*- a \(@scripted:agent\): do a\n- b \(@scripted:agent after a\): do b/,
    );
    expect((await world.person.getTask(task)).task).toMatchObject({
      state: 'waiting',
      waitingOn: 'approval',
    });
    await refused(boss.orch.answer({ request: request!.id, answer: 'approve' }), 'not_allowed');
    expect(world.working).toEqual([]);
    await world.person.answer({ request: request!.id, answer: 'Approve' });
    await quiet();
    expect(world.working).toContain('a');
    expect(boss.last.text).toMatch(/a person answers[\s\S]*has been started/);
    await refused(world.person.answer({ request: request!.id, answer: 'cancel' }), 'already_answered');
  });

  test('[ORC1.10] cannot be started task by task instead; a person who starts it has approved it', async () => {
    const { world: opened, boss } = await goal();
    await using world = opened;
    const { plan, tasks } = await boss.orch.savePlan(planOf({ a: [] }));
    await refused(boss.orch.deployTask(tasks[0]!.task.id), 'not_allowed');
    await boss.orch.startPlan(plan.id);
    await refused(boss.orch.deployTask(tasks[0]!.task.id), 'not_allowed');
    await boss.ends();
    await world.person.startPlan(plan.id);
    await quiet();
    expect(await world.person.inbox()).toEqual([]);
    expect(boss.last.text).toContain('has been started');
    expect(world.working).toContain('a');
  });

  test('[ORC1.11] what is to be different goes back to it, and the draft is gone; dropped, the goal goes too', async () => {
    const { world: opened, boss, task } = await goal();
    await using world = opened;
    const first = await boss.orch.savePlan(planOf({ a: [] }), { start: true });
    await boss.ends();
    const ask = async (): Promise<RequestId> => (await world.person.inbox())[0]!.id;
    await world.person.answer({ request: await ask(), answer: 'changes: two tasks, please' });
    await quiet();
    expect(boss.last.text).toMatch(/draft is gone[\s\S]*two tasks, please/);
    expect((await world.person.getPlan(first.plan.id)).plan.state).toBe('cancelled');
    const second = await boss.orch.savePlan(planOf({ a: [], b: [] }), { start: true });
    await boss.ends();
    await world.person.answer({ request: await ask(), answer: 'cancel' });
    await quiet();
    expect((await world.person.getPlan(second.plan.id)).plan.state).toBe('cancelled');
    expect((await world.person.getTask(task)).task.state).toBe('cancelled');
    expect(world.hasWorker(task)).toBe(false);
  });

  test('[ORC1.15] that was not approved cannot be tried again, or added to, by whoever made it; one that was can', async () => {
    const { world: opened, boss } = await goal();
    await using world = opened;
    const first = await boss.orch.savePlan(planOf({ a: [] }), { start: true });
    await world.person.answer({ request: (await world.person.inbox())[0]!.id, answer: 'changes: less' });
    const own = await boss.orch.savePlan(planOf({ b: [] }));
    await boss.orch.cancelPlan(own.plan.id);
    for (const { plan, tasks } of [first, own]) {
      const { id } = tasks[0]!.task;
      await refused(boss.orch.retryTask(id), 'not_allowed');
      await refused(boss.orch.retryTask(id, { agent: 'coder' }), 'not_allowed');
      await refused(boss.orch.addPlanTask(plan.id, { id: 'c', prompt: 'do c' }), 'not_allowed');
    }
    expect(world.working).not.toContain('a');
    const second = await boss.orch.savePlan(planOf({ d: [], e: ['d'] }), { start: true });
    await world.person.answer({ request: (await world.person.inbox())[0]!.id, answer: 'approve' });
    await boss.orch.cancelPlan(second.plan.id);
    await quiet();
    await boss.orch.retryTask(second.tasks[0]!.task.id);
    await quiet();
    expect(world.working).toContain('d');
    await world.person.retryTask(first.tasks[0]!.task.id);
    await quiet();
    expect(world.working).toContain('a');
  });

  test('[ORC1.12] has tasks of depth 1 that may delegate once more; of those it may act on what is its own alone', async () => {
    const { world: opened, boss } = await resting({ a: [] });
    await using world = opened;
    await world.plan({ stranger: [] });
    expect((await world.task('a')).task.depth).toBe(1);
    await world.worker('a').spawns('below');
    await refused(boss.orch.cancelTask(world.worker('stranger').task), 'not_allowed');
    await refused(boss.orch.stop({ scope: 'all' }, 'all'), 'not_allowed');
    await boss.orch.cancelTask(world.worker('a').task);
  });

  test('[ORC1.13] it cannot report while its plan is under way, and ends with it', async () => {
    const { world: opened, boss, task, plan } = await resting({ a: [] });
    await using world = opened;
    const early = await boss.orch.reportCompletion({ status: 'success', output: 'all done' });
    expect(early).toMatchObject({ accepted: false, code: 'open_children', open: [plan.tasks[0]!.task.id] });
    await world.worker('a').reports('done');
    expect(boss.last.text).toContain('is completed (every task completed)');
    await boss.reports('shipped');
    expect(await world.person.getTask(task)).toMatchObject({
      task: { state: 'completed' },
      end: { output: 'shipped' },
    });
  });

  test('[ORC1.14] cancelled, it takes its plan with it, draft or running', async () => {
    const { world: opened, task, plan } = await resting({ a: [], b: ['a'] });
    await using world = opened;
    await world.person.cancelTask(task);
    await quiet();
    expect((await world.person.getPlan(plan.plan.id)).plan.state).toBe('cancelled');
    expect(await world.states('a', 'b')).toEqual(['cancelled', 'cancelled']);
    expect(world.working).toEqual([]);
  });

  test('[ORC1.14] and what was added to it, or tried again, while it was being stopped', async () => {
    const { world: opened, task, boss, plan } = await resting({ a: [], b: ['a'] });
    await using world = opened;
    await world.person.cancelTask(plan.tasks[0]!.task.id);
    await quiet();
    const { promise: stopped, resolve: stops } = Promise.withResolvers<void>();
    boss.stop = () => stopped.then(() => boss.kill());
    await world.person.cancelTask(task);
    await world.person.addPlanTask(plan.plan.id, { id: 'c', prompt: 'do c', dependencies: ['a'] });
    await world.person.retryTask(plan.tasks[1]!.task.id);
    expect(await world.states(task, 'b', 'c')).toEqual(['running', 'blocked', 'blocked']);
    stops();
    await quiet();
    expect(await world.states(task, 'b', 'c')).toEqual(['cancelled', 'cancelled', 'cancelled']);
  });

  test('[ORC1.14] and nobody else is asked what they asked it', async () => {
    await using world = await start({ agents: AGENTS });
    const chat = await world.chat('terminal');
    const task = await chat.spawns('ship it', { agentType: 'orchestrator', plans: 'start' });
    await world.worker(task).orch.savePlan(planOf({ a: [] }), { start: true });
    await quiet();
    await world.worker(task).ends('it runs');
    const request = await world.worker('a').asks('which colour?');
    await world.worker('a').ends();
    await world.worker(task).ends('let me think');
    world.crash();
    await world.restart();
    await world.person.cancelTask(task);
    expect(await world.states(task, 'a')).toEqual(['cancelled', 'cancelled']);
    expect((await world.store.get('request', request))?.doc.state).toBe('closed');
    expect(await chat.mail('question')).toEqual([]);
  });
});

describe('nothing is lost', () => {
  test('[ORC1.20] killed with its host it is resumed by what needs it, and not by what does not', async () => {
    const { world: opened, task } = await resting({ a: [], b: [] });
    await using world = opened;
    world.crash();
    await world.restart();
    await world.worker('a').orch.notifyParent({ type: 'progress', message: 'half' });
    await world.advance(20_000);
    expect(world.hasWorker(task)).toBe(false);
    await world.worker('b').asks('which?');
    await quiet();
    expect(world.hasWorker(task)).toBe(true);
    expect(world.worker(task).last.text).toMatch(/which\?[\s\S]*half/);
  });

  test('[ORC1.21] when it fails its plan goes on, what comes up goes to the person, and a retry finds all of it', async () => {
    const { world: opened, boss, task } = await resting({ a: [], b: [], c: [] });
    await using world = opened;
    await world.worker('a').asks('which colour?');
    await quiet();
    await boss.fails('auth');
    expect(await world.states('a', 'b', 'c')).toEqual(['running', 'running', 'running']);
    await world.worker('b').fails('auth');
    await quiet();
    await world.worker('c').reports('c is done');
    const kinds = async () => (await world.person.inbox()).map(({ kind }) => kind).toSorted();
    expect(await kinds()).toEqual(['failure', 'failure', 'question']);
    const own = (await world.person.inbox()).find((request) => request.task === task);
    await world.person.answer({ request: own!.id, answer: 'retry' });
    await quiet();
    const again = world.worker(task);
    expect(again).not.toBe(boss);
    expect(again.last.text).toMatch(/b[\s\S]*it ended: failed[\s\S]*c is done[\s\S]*# Where things stand/);
  });

  test('[ORC1.22] one that answers nonsense changes nothing: it is asked what it is about, and the person has it in the end', async () => {
    const { world: opened, boss, task } = await resting({ a: [] });
    await using world = opened;
    const request = await world.worker('a').asks('which?');
    await world.worker('a').ends();
    await boss.ends('Bananas are a fruit.');
    await refused(boss.orch.answer({ request: 'req_bananas', answer: 'x' }), 'not_found');
    await refused(boss.orch.retryTask(world.worker('a').task), 'wrong_state');
    expect((await world.person.getTask(task)).task.state).toBe('waiting');
    await world.advance(305_000);
    expect(await inbox(world)).toEqual([['question', request]]);
    await world.person.answer({ request, answer: 'the left one' });
    await quiet();
    expect(world.worker('a').last.text).toContain('the left one');
    const late = await refused(boss.orch.answer({ request, answer: 'bananas' }), 'already_answered');
    expect(late.message).toContain('the left one');
  });

  test('[ORC1.22] one that makes no plan is asked, and ends as it is, without one', async () => {
    const { world: opened, boss, task } = await goal();
    await using world = opened;
    await boss.ends('Bananas.');
    expect(boss.last.text).toContain('You appear to be idle');
    await boss.ends('Bananas!');
    await world.advance(35_000);
    await boss.ends('BANANAS');
    expect(await world.person.getTask(task)).toMatchObject({ end: { status: 'partial', output: 'BANANAS' } });
    expect(await world.person.listPlans()).toEqual([]);
  });
});

describe('without a model', () => {
  const settings = { orchestrator: 'policy' } as const;

  test('[ORC1.30] no orchestrator is started; faults are tried again by class, then the person is asked', async () => {
    await using world = await start({ agents: AGENTS, settings });
    const terminal = await world.chat('terminal');
    await refused(
      terminal.orch.spawnSubtask({ prompt: 'ship it', agentType: 'orchestrator' }, { blocking: false }),
      'not_allowed',
    );
    await world.plan({ a: [] });
    for (let attempt = 0; attempt < 6; attempt++) {
      expect(await world.person.inbox()).toEqual([]);
      await world.worker('a').fails('network');
      await world.advance(60_000);
    }
    expect(await world.person.inbox()).toMatchObject([
      { kind: 'failure', options: ['retry', 'retry with', 'cancel', 'details'] },
    ]);
  });
});

test('[MBX6] what a task of its plan leaves goes past one that has failed, to the next above that lives', async () => {
  const settings = { orphans: 'hand_up', depth: { orchestrator: 3 } } as const;
  const { world, boss, terminal, task } = await goal({ settings }, 'start');
  await using _ = world;
  await boss.orch.savePlan(planOf({ a: [] }), { start: true });
  await quiet();
  await world.worker('a').spawns('low');
  await boss.fails('auth', 'no key');
  await quiet();
  expect((await world.person.getTask(task)).task.state).toBe('failed');
  await world.worker('a').fails('auth', 'no key');
  expect((await world.task('low')).task.owner).toBe(terminal.id);
  await world.worker('low').reports('for whoever is left');
  expect(await terminal.mail('end')).toMatchObject([{ state: 'queued' }, { state: 'queued' }]);
});
