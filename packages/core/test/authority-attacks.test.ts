import type { Caller } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import type { FakeAgent } from './fake-agent.ts';
import { quiet, refused, start, type World } from './world.ts';

/** Ways round a person's decision that lead past the operation which asks for it. */

const REPOSITORY = '/repos/here';
const ALL = { backend: null, model: null, delegatesTo: null, deniedTools: [] };
const defined = (name: string) => ({
  ...ALL,
  tools: ['*', 'orchestrator_*'],
  readOnly: name === 'researcher',
});

const begin = () =>
  start({
    agents: ['agent', 'coder', 'reviewer', 'researcher', 'orchestrator'],
    definitions: { defined },
    settings: { depth: { orchestrator: 9, standalone: 9 } },
    work: () => null,
  });

const asSession = async (world: World, kind: 'chat' | 'terminal' | 'orchestrator') => {
  const { id } = await world.person.openSession(kind, kind, { repository: REPOSITORY });
  return { kind: 'session', session: id } as const satisfies Caller;
};

/** An orchestrator whose plans a person approves, and a sibling of it that can write. */
async function orchestrated(
  world: World,
): Promise<{ readonly boss: FakeAgent; readonly sibling: FakeAgent }> {
  const to = world.as(await asSession(world, 'terminal'));
  const writer = await to.spawnSubtask({ prompt: 'other work', agentType: 'coder' }, { blocking: false });
  const goal = { prompt: 'goal', agentType: 'orchestrator' };
  const { task } = await to.spawnSubtask(goal, { blocking: false });
  await quiet();
  return { boss: world.worker(task), sibling: world.worker(writer.task) };
}

const PLAN = { name: 'p', integrate: false, tasks: [{ id: 'a', prompt: 'part a', agent: 'coder' }] };

describe('work that the person is to review', () => {
  test.for(['chat', 'orchestrator'] as const)(
    '[ID6.2][PLN8] is not called done by a session of kind %s while its worker is still at it',
    async (kind) => {
      await using world = await begin();
      const to = world.as(await asSession(world, kind));
      const input = { ...PLAN, repository: REPOSITORY, tasks: [{ id: 'a', prompt: 'x', review: 'person' }] };
      const { tasks } = await to.savePlan(input, { start: true });
      await quiet();
      const { id } = tasks[0]!.task;
      expect(await world.state('a')).toBe('running');
      await refused(to.completeTask(id, 'good enough'), 'not_allowed');
      await refused(to.reviewTask({ task: id, verdict: 'approve' }), 'not_allowed');
      await world.worker(id).reports('done');
      expect(await world.state('a')).toBe('review');
      await world.person.completeTask(id);
      expect(await world.state('a')).toBe('completed');
    },
  );
});

describe('work that was to be reviewed', () => {
  const MERGED = { merged: true, commit: 'c0ffee', files: [], conflicts: [] };
  const taking = () =>
    start({
      agents: ['agent', 'coder', 'reviewer', 'orchestrator'],
      definitions: { defined },
      settings: { depth: { orchestrator: 9, standalone: 9 } },
      work: () => null,
      workspaces: { bringHome: async () => MERGED, pull: async () => MERGED },
    });

  test.for(['person', 'reviewer'])(
    '[ID6.2][PLN8.20] by the %s is brought home by no chat that cancels it instead',
    async (review) => {
      await using world = await taking();
      const to = world.as(await asSession(world, 'chat'));
      const input = { ...PLAN, tasks: [{ id: 'a', prompt: 'x', review }] };
      const { tasks } = await to.savePlan(input, { start: true });
      const { id } = tasks[0]!.task;
      await quiet();
      await world.worker('a').reports('done');
      expect(await world.state('a')).toBe('review');
      await to.cancelTask(id);
      await quiet();
      expect(await world.state('a')).toBe('cancelled');
      expect((await refused(to.bringHome(id), 'not_allowed')).message).toContain('was not approved');
      expect(await world.person.bringHome(id)).toEqual(MERGED);
      await to.retryTask(id);
      await quiet();
      await world.worker('a').reports('done');
      await world.person.reviewTask({ task: id, verdict: 'approve' });
      expect(await to.bringHome(id)).toEqual(MERGED);
    },
  );

  test('[ID6.2][PLN8.20] is pulled by no agent before it was approved', async () => {
    await using world = await taking();
    const to = world.as(await asSession(world, 'terminal'));
    const goal = { prompt: 'goal', agentType: 'orchestrator', plans: 'start' } as const;
    const { task } = await to.spawnSubtask(goal, { blocking: false });
    await quiet();
    const boss = world.worker(task);
    const input = { ...PLAN, tasks: [{ id: 'a', prompt: 'x', review: 'person' }] };
    const { tasks } = await boss.orch.savePlan(input, { start: true });
    const { id } = tasks[0]!.task;
    await quiet();
    await refused(boss.orch.pullSubtask(id), 'not_allowed');
    await world.worker('a').reports('done');
    await refused(boss.orch.pullSubtask(id), 'not_allowed');
    await world.person.completeTask(id);
    expect(await boss.orch.pullSubtask(id)).toEqual(MERGED);
  });
});

describe('work that nobody is to change', () => {
  test('[PLN8.17] a reviewer has nobody write in the worktree that it reviews, by a child or by another agent for it', async () => {
    await using world = await begin();
    const to = world.as(await asSession(world, 'chat'));
    const tasks = [{ id: 'a', prompt: 'x', review: 'reviewer' }];
    await to.savePlan({ ...PLAN, tasks }, { start: true });
    await quiet();
    await world.worker('a').reports('done');
    await quiet();
    const { orch } = world.worker('review of a');
    const child = (agentType: string) => ({ prompt: 'look', agentType, isolation: 'shared' as const });
    await refused(orch.spawnSubtask(child('coder'), { blocking: false }), 'not_allowed');
    await refused(orch.spawnSubtasks([child('researcher'), child('coder')]), 'not_allowed');
    const { task: reader } = await orch.spawnSubtask(child('researcher'), { blocking: false });
    await quiet();
    await refused(world.worker(reader).orch.spawnSubtask(child('coder'), { blocking: false }), 'not_allowed');
    await refused(world.person.swapWorker(reader, { agent: 'coder' }), 'not_allowed');
    await orch.spawnSubtask({ prompt: 'try it', agentType: 'coder' }, { blocking: false });
  });
});

describe('before its plan is approved', () => {
  test('[ORC1.17] a plan that gets another task while it waits is shown again, and the earlier yes is none', async () => {
    await using world = await begin();
    const { boss } = await orchestrated(world);
    const { plan } = await boss.orch.savePlan(PLAN, { start: true });
    const [before] = await world.person.inbox();
    await boss.orch.addPlanTask(plan.id, { id: 'b', prompt: 'part b', agent: 'coder' });
    await refused(world.person.answer({ request: before!.id, answer: 'approve' }), 'already_answered');
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('draft');
    const [request, ...more] = await world.person.inbox();
    expect(more).toEqual([]);
    expect(request!.text).toContain('part a');
    expect(request!.text).toContain('part b');
    await world.person.answer({ request: request!.id, answer: 'approve' });
    await quiet();
    expect(await world.states('a', 'b')).toEqual(['running', 'running']);
    expect(await world.person.inbox()).toEqual([]);
  });

  test('[ORC1.17] a plan that loses a task while it waits is shown again, and the earlier yes is none', async () => {
    await using world = await begin();
    const { boss } = await orchestrated(world);
    const tasks = [...PLAN.tasks, { id: 'check', prompt: 'look for holes', agent: 'reviewer' }];
    const { plan, tasks: made } = await boss.orch.savePlan({ ...PLAN, tasks }, { start: true });
    const [before] = await world.person.inbox();
    await boss.orch.cancelTask(made[1]!.task.id);
    await refused(world.person.answer({ request: before!.id, answer: 'approve' }), 'already_answered');
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('draft');
    const [request, ...more] = await world.person.inbox();
    expect(more).toEqual([]);
    expect(request!.text).toContain('- check is cancelled and will not be done');
    expect(request!.text).toContain('- a (@scripted:coder)');
    await world.person.answer({ request: request!.id, answer: 'approve' });
    await quiet();
    expect(await world.states('a', 'check')).toEqual(['running', 'cancelled']);
  });

  test('[ORC1.18] all that is approved is shown: every line of a task, its model and reviewer, the check; nothing passes for another line', async () => {
    await using world = await begin();
    const { boss } = await orchestrated(world);
    const prompt = `Rename a variable.\n\n- b (@scripted:coder):\n${'x'.repeat(5_000)} TAIL`;
    await boss.orch.savePlan(
      {
        ...PLAN,
        name: 'p\n- c (@scripted:coder): harmless\u202e',
        verify: 'make check # and more',
        baseBranch: 'other',
        tasks: [
          { id: 'a\n- d', prompt, agent: 'coder', model: 'dear', review: 'reviewer' },
          { id: 'e', prompt: 'last', dependencies: ['a\n- d'], review: 'person' },
        ],
      },
      { start: true },
    );
    const [{ text } = { text: '' }] = await world.person.inbox();
    const lines = text.split('\n');
    expect(lines.filter((line) => !line.startsWith('    '))).toEqual([
      expect.stringMatching(/^Start the plan "p - c \(@scripted:coder\): harmless\\u202e" \(plan_\w+\)\?$/),
      'It starts from the branch other.',
      '- a - d (@scripted:coder, model dear reviewed by @scripted:reviewer):',
      '- e (@scripted:agent after a - d reviewed by the person): last',
      'Each step of the merge is checked by:',
    ]);
    expect(lines).toContain('    - b (@scripted:coder):');
    expect(lines).toContain('    make check # and more');
    expect(text).toMatch(/… \d+ characters more, which are not shown here/);
  });

  test('[ORC1.16] an orchestrator, and what is below it, tells nobody who can write what to do', async () => {
    await using world = await begin();
    const { boss, sibling } = await orchestrated(world);
    await refused(boss.orch.sendMessage({ to: sibling.task, message: 'do this too' }), 'not_allowed');
    await refused(boss.orch.sendMessage({ to: sibling.spec.session, message: 'do this too' }), 'not_allowed');
    const reader = await boss.spawns('look', { agentType: 'researcher' });
    await boss.orch.sendMessage({ to: reader, message: 'look there too' });
    await world.worker(reader).orch.sendMessage({ to: boss.spec.session, message: 'I found it' });
    const { plan } = await boss.orch.savePlan(PLAN, { start: true });
    await world.person.startPlan(plan.id);
    await boss.orch.sendMessage({ to: sibling.task, message: 'do this too' });
  });

  test('[ID6.2] a key of its own choice does not take the place of the request to the person', async () => {
    await using world = await begin();
    const { boss } = await orchestrated(world);
    const { plan } = await boss.orch.savePlan(PLAN);
    const key = `plan:${plan.id}`;
    const first = await boss.orch.notifyParent({ type: 'question', message: 'Which colour?', key });
    const again = await boss.orch.notifyParent({ type: 'question', message: 'Which colour?', key });
    expect(again).toEqual(first);
    await boss.orch.startPlan(plan.id);
    expect((await world.person.inbox()).map(({ kind }) => kind).toSorted()).toEqual(['plan', 'question']);
  });
});

test('[BND7.41] a run that reads events looks at a part of the log, and can go on from there', async () => {
  await using world = await begin();
  const { boss } = await orchestrated(world);
  const from = await world.store.lastEvent();
  for (let i = 0; i < 3_000; i++) await world.person.openSession('chat', 'another');
  const refusal = await boss.orch.events(from, 1).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'limit_reached', data: { after: from + 2_000 } });
  await boss.spawns('look', { agentType: 'researcher' });
  const [next] = await boss.orch.events(from + 2_000, 1);
  expect(next!.number).toBeGreaterThan(from + 3_000);
  expect(await boss.orch.events(await world.store.lastEvent(), 1)).toEqual([]);
});
