import type { Script } from '@reveille/executors';
import type { PlanId, TaskId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { rig } from './rig.ts';

/** Long enough that what is asked meanwhile is asked meanwhile. */
const builds: Script = async (agent) => {
  await agent.work(10_000);
  await agent.report('success', `built: ${agent.task.prompt}`);
};
interface Plan {
  readonly planId: PlanId;
  readonly state: string;
  readonly tasks: { readonly taskId: TaskId; readonly id: string; readonly state: string }[];
}
const PLAN = {
  name: 'Dark mode',
  description: 'for tired eyes',
  tasks: [
    { id: 'switch', description: 'Add the switch', dependencies: ['tokens'], agent: 'coder' },
    {
      id: 'tokens',
      description: 'Introduce tokens',
      agent: 'coder',
      priority: 'high',
      targetFiles: ['theme.ts'],
    },
  ],
};

describe('plans', () => {
  test('[TOL2.16] a plan is saved as a draft, with its tasks and their ids', async () => {
    await using world = await rig({ scripts: { coder: builds } });
    const chat = await world.chat();
    const result = await chat.call('orchestrator_save_plan', PLAN);
    expect(result.structured).toMatchObject({
      name: 'Dark mode',
      state: 'draft',
      tasks: [{ id: 'switch' }, { id: 'tokens' }],
    });
    expect(result.text).toContain('orchestrator_start_plan');
    const { planId } = result.structured as unknown as Plan;
    const { plan, tasks } = await world.person.getPlan(planId);
    expect(plan).toMatchObject({ owner: chat.session, description: 'for tired eyes' });
    expect(tasks.map(({ task }) => [task.prompt, task.priority])).toEqual([
      ['Add the switch', 'normal'],
      ['Introduce tokens', 'high'],
    ]);
  });

  test('[TOL2.16] a plan about a repository is about the caller’s own', async () => {
    await using world = await rig();
    const chat = await world.chat({ repository: '/repo', repositoryOf: '/repo' });
    const { planId } = await chat.get<Plan>('orchestrator_save_plan', { ...PLAN, integrate: false });
    expect((await world.person.getPlan(planId)).plan.repository).toBe('/repo');
    const told = await chat.call('orchestrator_save_plan', { ...PLAN, repository: '/etc' });
    expect(told.text).toContain('repository: is not a parameter');
  });

  test('[TOL2.16] all that is wrong with a plan is said at once, and nothing is saved', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const result = await chat.call('orchestrator_save_plan', {
      name: 'bad',
      tasks: [
        { id: 'a', description: 'x', dependencies: ['zzz'] },
        { id: 'b', description: 'y', agent: 'nobody' },
        { id: 'b', description: 'z', dependencies: ['b'] },
        { id: ' ', description: '', targetFiles: [''] },
        { id: 'c', description: 'x', dependencies: ['d'] },
        { id: 'd', description: 'x', dependencies: ['c'] },
      ],
    });
    expect(result).toMatchObject({ isError: true, error: { code: 'invalid_input' } });
    for (const word of ['zzz', 'nobody', 'tasks[2]', 'tasks[3].id', 'tasks[3].description', 'cycle'])
      expect(result.text).toContain(word);
    expect(await world.person.listPlans()).toEqual([]);
  });

  test('[TOL2.18] start, pause and resume do what they say', async () => {
    await using world = await rig({ scripts: { coder: builds } });
    const chat = await world.chat();
    const { planId } = await chat.get<Plan>('orchestrator_save_plan', PLAN);
    expect(await chat.get('orchestrator_start_plan', { planId })).toMatchObject({ state: 'active' });
    expect(await chat.get('orchestrator_pause_plan', { planId })).toMatchObject({ state: 'paused' });
    expect(await chat.get('orchestrator_resume_plan', { planId })).toMatchObject({ state: 'active' });
    await world.pass(60_000);
    expect((await world.person.getPlan(planId)).plan.state).toBe('completed');
    const again = await chat.call('orchestrator_start_plan', { planId });
    expect(again.error?.code).toBe('wrong_state');
  });

  test('[TOL2.18] a plan of somebody else is not touched', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const other = await world.chat();
    const { planId } = await chat.get<Plan>('orchestrator_save_plan', PLAN);
    expect((await other.call('orchestrator_start_plan', { planId })).error?.code).toBe('not_allowed');
    expect((await world.person.getPlan(planId)).plan.state).toBe('draft');
  });

  test('[TOL2.17] a task is added to the caller’s only open plan, after others by either of their names', async () => {
    await using world = await rig();
    const chat = await world.chat();
    expect((await chat.call('orchestrator_add_plan_task', { description: 'x' })).text).toContain(
      'you have none',
    );
    const { planId, tasks } = await chat.get<Plan>('orchestrator_save_plan', PLAN);
    await chat.get('orchestrator_add_plan_task', {
      description: 'Write it up',
      dependencies: ['switch', tasks[1]!.taskId],
    });
    const view = await world.person.getPlan(planId);
    const added = view.tasks.find(({ task }) => task.prompt === 'Write it up')!.task;
    expect(added.key).toBe('task-3');
    expect(added.dependencies.toSorted()).toEqual(tasks.map(({ taskId }) => taskId).toSorted());
    await chat.get('orchestrator_save_plan', { ...PLAN, name: 'Another' });
    const which = await chat.call('orchestrator_add_plan_task', { description: 'y' });
    expect(which.text).toMatch(/Say which plan[^]*Dark mode[^]*Another/);
  });
});

describe('tasks of plans', () => {
  test('[TOL2.19] the overview shows plans, tasks, states and why', async () => {
    await using world = await rig();
    const chat = await world.chat();
    expect((await chat.call('orchestrator_list_workers')).text).toBe(
      'There are no plans, and no task is open.',
    );
    const plan = { name: 'p', tasks: [{ id: 'a', description: 'x', agent: 'holder' }], autoStart: true };
    const { planId, tasks } = await chat.get<Plan>('orchestrator_save_plan', plan);
    await world.running(tasks[0]!.taskId);
    const all = await chat.call('orchestrator_list_workers');
    expect(all.structured).toMatchObject({
      plans: [{ planId, state: 'active' }],
      tasks: [{ state: 'running', worker: 'running' }],
      left: 0,
    });
    expect(all.text).toContain('@scripted:holder: running since 20');
    expect(await chat.get('orchestrator_list_workers', { planId })).toMatchObject({ plans: [{ planId }] });
  });

  test('[TOL2.19] the overview of very many tasks is cut and says how many more there are', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const tasks = Array.from({ length: 230 }, (_, i) => ({ id: `t${i}`, description: 'x' }));
    await chat.get('orchestrator_save_plan', { name: 'many', tasks });
    const { text, structured } = await chat.call('orchestrator_list_workers');
    expect(structured).toMatchObject({ left: 30 });
    expect(text.length).toBeLessThanOrEqual(25_000);
  });

  test('[TOL2.20] a task of a draft is started by hand, the next one if none is named', async () => {
    await using world = await rig({ scripts: { coder: builds } });
    const chat = await world.chat();
    expect((await chat.call('orchestrator_deploy_task')).error?.code).toBe('wrong_state');
    const { tasks } = await chat.get<Plan>('orchestrator_save_plan', PLAN);
    expect(await chat.get('orchestrator_deploy_task')).toMatchObject({ taskId: tasks[1]!.taskId });
    const early = await chat.call('orchestrator_deploy_task', { taskId: tasks[0]!.taskId });
    expect(early).toMatchObject({ isError: true, error: { code: 'wrong_state' } });
    await world.pass(60_000);
    await chat.get('orchestrator_deploy_task', { taskId: tasks[0]!.taskId });
  });

  test('[TOL2.21] the owner calls a task completed', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const plan = { name: 'p', tasks: [{ id: 'a', description: 'x', agent: 'holder' }], autoStart: true };
    const { tasks } = await chat.get<Plan>('orchestrator_save_plan', plan);
    const { taskId } = tasks[0]!;
    await world.running(taskId);
    const stranger = await world.worker();
    expect((await stranger.call('orchestrator_complete_task', { taskId })).error?.code).toBe('not_allowed');
    expect(await chat.get('orchestrator_complete_task', { taskId, output: 'good enough' })).toMatchObject({
      state: 'completed',
    });
    expect((await world.person.getTask(taskId)).end?.output).toBe('good enough');
  });

  test('[TOL2.22][TOL2.23] a task is cancelled, and tried again', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const plan = { name: 'p', tasks: [{ id: 'a', description: 'x', agent: 'holder' }], autoStart: true };
    const { taskId } = (await chat.get<Plan>('orchestrator_save_plan', plan)).tasks[0]!;
    await world.running(taskId);
    expect((await chat.call('orchestrator_retry_task', { taskId })).error?.code).toBe('wrong_state');
    await chat.get('orchestrator_cancel_task', { taskId, reason: 'not now' });
    await world.pass(1_000);
    expect((await world.person.getTask(taskId)).task.state).toBe('cancelled');
    await chat.get('orchestrator_retry_task', { taskId });
    expect((await world.running(taskId)).task.attempts).toBe(2);
  });

  test('[TOL2.24] a question of a plan’s worker is answered once', async () => {
    const asks: Script = async (agent) => {
      await agent.report('success', `got ${await agent.ask('which?')}`);
    };
    await using world = await rig({ scripts: { asks } });
    const chat = await world.chat();
    const plan = { name: 'p', tasks: [{ id: 'a', description: 'x', agent: 'asks' }], autoStart: true };
    const { taskId } = (await chat.get<Plan>('orchestrator_save_plan', plan)).tasks[0]!;
    await world.pass(1_000);
    const mail = await chat.call('a2a_check_updates');
    const { updates } = mail.structured as { updates: { requestId: string }[] };
    const { requestId } = updates[0]!;
    expect(mail.text).toContain(`orchestrator_answer {"requestId":"${requestId}"`);
    await chat.get('orchestrator_answer', { requestId, answer: 'this one' });
    const twice = await chat.call('orchestrator_answer', { requestId, answer: 'no, that' });
    expect(twice.error?.code).toBe('already_answered');
    await world.pass(1_000);
    expect((await world.person.getTask(taskId)).end?.output).toBe('got this one');
  });
});

describe('agents and skills', () => {
  test('[TOL2.1] agents are listed by filter, with the backends', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const names = async (input: unknown): Promise<string[]> =>
      (await chat.get<{ agents: { name: string }[] }>('a2a_list_agents', input)).agents.map(
        ({ name }) => name,
      );
    expect(await names({})).toEqual(['agent', 'coder', 'reviewer', 'house-style']);
    expect(await names({ filter: 'specialists' })).toEqual(['reviewer', 'house-style']);
    expect(await names({ filter: 'custom' })).toEqual(['house-style']);
    expect((await chat.call('a2a_list_agents')).text).toMatch(
      /@reviewer \(reads only\)[^]*Backends[^]*scripted/,
    );
  });

  test('[TOL2.2] specialists are listed, and those that fit a task are named first with the reason', async () => {
    await using world = await rig();
    const chat = await world.chat();
    const fit = await chat.call('a2a_list_specialists', { task: 'review the parser' });
    expect(fit.structured).toMatchObject({ suggestions: [{ name: 'reviewer', score: 3 }] });
    expect(fit.text).toContain('- @reviewer (3): triggers: review');
    expect((await chat.call('a2a_list_specialists', { task: 'bake' })).text).toContain('choose by hand');
    expect((await chat.get<{ specialists: unknown[] }>('a2a_list_specialists')).specialists).toHaveLength(2);
  });

  test('[TOL2.34] a skill is listed and loaded, with one of its files on request', async () => {
    await using world = await rig();
    const chat = await world.chat();
    expect((await chat.call('load_skill')).text).toContain('- releasing: How a release is made.');
    expect((await chat.call('load_skill', { skillId: 'releasing' })).text).toBe(
      'Tag it.\n\nFurther files of this skill: notes.md',
    );
    expect(await chat.get('load_skill', { skillId: 'releasing', file: 'notes.md' })).toMatchObject({
      text: 'notes.md',
    });
  });
});
