import type { Executor } from '@reveille/core';
import type { PlanInput } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { pending, quiet, refused, start, type World } from './world.ts';

describe('spawn', () => {
  test('[SUB1][MBX2] the child, its session, its link and its offer are one change', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const before = await world.store.lastEvent();
    const id = await world.worker('a').spawns('child', { agentType: '@claude:reviewer', key: 'k' });
    const { task } = await world.person.getTask(id);
    expect(task).toMatchObject({
      owner: world.worker('a').spec.session,
      agent: { backend: 'claude', name: 'reviewer' },
      depth: 2,
      plan: null,
    });
    const [created] = await world.person.events(before, 1);
    expect(created).toMatchObject({ type: 'task.created', task: id, session: task.session });
  });

  test('[SUB1] the same key again returns the same child, also after it ended, also in one call', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const { orch } = world.worker('a');
    const first = await world.worker('a').spawns('child', { key: 'once' });
    expect(await world.worker('a').spawns('child', { key: 'once' })).toBe(first);
    await world.worker('child').reports('done');
    expect(await orch.spawnSubtask({ prompt: 'child', key: 'once' })).toMatchObject({
      state: 'ended',
      task: first,
    });
    const twins = await orch.spawnSubtasks([
      { prompt: 'x', key: 'twin' },
      { prompt: 'x', key: 'twin' },
    ]);
    expect(twins[0]).toBe(twins[1]);
    const at = await Promise.all(
      [1, 2, 3].map(() => orch.spawnSubtask({ prompt: 'y', key: 'race' }, { blocking: false })),
    );
    expect(new Set(at.map((result) => result.task)).size).toBe(1);
    expect(
      (await world.person.listTasks({ owner: world.worker('a').spec.session })).map((view) => view.task.key),
    ).toEqual(['once', 'twin', 'race']);
  });

  test('[SUB1.1] the same key of a child that has ended returns how it ended, whether its end was read or not', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const { orch } = world.worker('a');
    const first = await world.worker('a').spawns('kid', { key: 'k' });
    await world.worker('kid').reports('no', { status: 'failed', error: 'disk is full' });
    const how = {
      state: 'ended',
      task: first,
      delivery: { end: { status: 'failed', error: { message: 'disk is full' } } },
    };
    const kid = { prompt: 'kid', key: 'k' };
    const fresh = await orch.spawnSubtask(kid, { blocking: false });
    expect(fresh).toMatchObject(how);
    expect(JSON.stringify(fresh)).not.toContain('given again');
    for (const options of [{ blocking: false }, { patienceMs: 10 }]) {
      const again = await orch.spawnSubtask(kid, options);
      expect(again).toMatchObject(how);
      expect(JSON.stringify(again)).toContain('given again: you may have seen it before');
    }
    expect(await orch.spawnSubtasks([kid])).toEqual([{ task: first, ended: 'failed' }]);
    await orch.retryTask(first);
    expect(await orch.spawnSubtask(kid, { blocking: false })).toEqual({ state: 'running', task: first });
  });

  test('[SUB1.2] target files that overlap within one call warn too', async () => {
    await using world = await start();
    const chat = await world.chat();
    const spawned = await chat.orch.spawnSubtasks([
      { prompt: 'one', name: 'one', targetFiles: ['src/add.ts'] },
      { prompt: 'two', targetFiles: ['other.ts'] },
      { prompt: 'three', targetFiles: ['./src/add.ts'] },
    ]);
    expect(spawned.map(({ warning }) => warning)).toEqual([
      undefined,
      undefined,
      expect.stringMatching(/^"one" \(task_\w+\) also works on src\/add\.ts; expect to merge\.$/),
    ]);
  });

  test('[SUB1.3] a chat has no worktree to share: it is told so, and nothing is made', async () => {
    await using world = await start();
    const chat = await world.chat();
    const error = await refused(
      chat.orch.spawnSubtask({ prompt: 'x', isolation: 'shared' }),
      'invalid_input',
    );
    expect(error.message).toContain('Leave `isolation` out');
    expect(await world.person.listTasks({ owner: chat.id })).toEqual([]);
  });

  test('[SUB1] the key is the parent’s own: another parent’s child of that key is another', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [] });
    const one = await world.worker('a').spawns('child', { key: 'k' });
    expect(await world.worker('b').spawns('child', { key: 'k' })).not.toBe(one);
  });

  test('[SUB1] a spawn that is refused leaves nothing behind, not even the others of its call', async () => {
    await using world = await start({ settings: { children: { open: 2 } } });
    await world.plan({ a: [] });
    const before = await world.store.lastEvent();
    const { orch } = world.worker('a');
    await refused(orch.spawnSubtasks([{ prompt: '1' }, { prompt: '2' }, { prompt: '3' }]), 'limit_reached');
    await refused(
      orch.spawnSubtasks([{ prompt: '1' }, { prompt: '2', agentType: 'nobody' }]),
      'unknown_agent',
    );
    await refused(orch.spawnSubtasks([{ prompt: '1' }, { prompt: '' }]), 'invalid_input');
    await refused(orch.spawnSubtasks([]), 'invalid_input');
    expect(await world.store.lastEvent()).toBe(before);
    expect(world.agents).toHaveLength(1);
  });

  test('[SUB1] overlapping target files warn and refuse nothing', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const { orch } = world.worker('a');
    const one = await orch.spawnSubtask({ prompt: 'one', targetFiles: ['src/x.ts'] }, { blocking: false });
    expect(one).not.toHaveProperty('warning');
    const two = await orch.spawnSubtask(
      { prompt: 'two', targetFiles: ['./src/x.ts', 'b'] },
      { blocking: false },
    );
    expect(two).toMatchObject({ state: 'running', warning: expect.stringContaining('src/x.ts') });
    const other = await orch.spawnSubtask({ prompt: 'three', targetFiles: ['c'] }, { blocking: false });
    expect(other).not.toHaveProperty('warning');
  });

  test('[SUB3] without blocking the ids come at once, and siblings run at once', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const ids = await world
      .worker('a')
      .orch.spawnSubtasks([{ prompt: 'x' }, { prompt: 'y' }, { prompt: 'z' }]);
    await quiet();
    expect(new Set(ids).size).toBe(3);
    expect(world.working).toEqual(['a', 'x', 'y', 'z']);
    expect(await world.worker('a').spawns('w')).toMatch(/^task_/);
  });

  test('[AGT1] the type is parsed at creation and is what the executor gets', async () => {
    await using world = await start();
    const chat = await world.chat();
    for (const [i, [agentType, backend, name]] of [
      ['coder', 'scripted', 'coder'],
      ['@coder', 'scripted', 'coder'],
      ['claude:reviewer', 'claude', 'reviewer'],
      ['@claude:reviewer', 'claude', 'reviewer'],
      [' @Claude:Reviewer ', 'claude', 'reviewer'],
    ].entries()) {
      await chat.spawns(`t${i}`, { agentType });
      expect(world.worker(`t${i}`).spec.agent).toEqual({ backend, name });
      expect((await world.task(`t${i}`)).task.agent).toEqual({ backend, name });
    }
  });

  test('[AGT2] what is no type, an unknown agent and an unknown backend are refused with what there is, nearest first', async () => {
    await using world = await start();
    const chat = await world.chat();
    const before = await world.store.lastEvent();
    const known = async (agentType: string) =>
      (await refused(chat.orch.spawnSubtask({ prompt: 'x', agentType }), 'unknown_agent')).data[
        'known'
      ] as string[];
    expect((await known('tster'))[0]).toBe('tester');
    expect((await known('@claude:resercher'))[0]).toBe('researcher');
    expect((await known('claud:coder'))[0]).toBe('claude');
    expect((await known('coder!'))[0]).toBe('coder');
    expect(await world.store.lastEvent()).toBe(before);
  });

  /** Every way to name an agent for work. */
  const waysToName = async (world: World, type: string, first = (): unknown => null) => {
    const chat = await world.chat();
    const { plan } = await world.plan({ a: { agent: '@claude:coder' } });
    const running = world.worker('a').task;
    const task = { id: 'x', prompt: 'x', agent: type };
    const save = (tasks: PlanInput['tasks']) => world.person.savePlan({ name: 'p', tasks });
    first();
    const before = await world.store.lastEvent();
    const ways: Record<string, () => Promise<unknown>> = {
      spawn: () => chat.orch.spawnSubtask({ prompt: 'x', agentType: type }),
      'spawn several': () =>
        chat.orch.spawnSubtasks([{ prompt: 'script' }, { prompt: 'x', agentType: type }]),
      plan: () => save([task]),
      review: () => save([{ id: 'x', prompt: 'script', review: type }]),
      add: () => world.person.addPlanTask(plan.id, task),
      swap: () => world.person.swapWorker(running, { agent: type }),
    };
    const said: Record<string, string> = {};
    for (const [name, way] of Object.entries(ways))
      said[name] = await way().then(
        () => 'accepted',
        (error: Error) => error.message,
      );
    expect(await world.store.lastEvent()).toBe(before);
    return said;
  };

  test('[AGT2.1] a backend that is known but cannot be used is refused everywhere, with what is missing', async () => {
    const usable = ['scripted', 'claude'];
    await using world = await start({ usable });
    const said = await waysToName(world, 'claude:coder', () => usable.pop());
    expect(Object.keys(said)).toHaveLength(6);
    for (const [way, words] of Object.entries(said))
      expect(words, way).toContain(
        'the backend "claude" cannot be used here: its SDK is not installed; there are: scripted',
      );
  });

  test('[AGT2.2] work that a backend cannot do is refused everywhere, with the backends that can', async () => {
    const refuses: Executor['refuses'] = ({ prompt, reviews }) =>
      prompt === 'script' && !reviews ? null : 'there is no script';
    await using world = await start({ refuses });
    const said = await waysToName(world, 'scripted:coder');
    expect(Object.keys(said)).toHaveLength(6);
    for (const [way, words] of Object.entries(said))
      expect(words, way).toContain(
        '@scripted:coder cannot do this: there is no script; on other backends there are: claude:coder',
      );
    const chat = await world.chat();
    await chat.orch.spawnSubtask({ prompt: 'script' }, { blocking: false });
  });

  test('[AGT3] no type given is the default, never the parent’s', async () => {
    await using world = await start();
    await world.plan({ a: { agent: '@claude:coder' } });
    await world.worker('a').spawns('child');
    expect(world.worker('child').spec.agent).toEqual({ backend: 'scripted', name: 'agent' });
  });
});

describe('report', () => {
  test('[SUB6] the report ends the run: the agent is stopped and further calls are refused', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    expect(await a.reports('result', { structured: [1] })).toEqual({ accepted: true });
    expect(a.alive).toBe(false);
    expect(await world.task('a')).toMatchObject({
      task: { state: 'completed' },
      end: { status: 'success', cause: 'report', output: 'result', structured: [1] },
    });
    await refused(a.orch.spawnSubtask({ prompt: 'more' }), 'stale_caller');
    await refused(a.orch.checkUpdates(), 'stale_caller');
  });

  test('[SUB6] it is refused while children are open, and says which; given up, they are cancelled', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const child = await a.spawns('child');
    expect(await a.reports()).toEqual({ accepted: false, code: 'open_children', open: [child] });
    expect(await world.state('a')).toBe('running');
    expect(await a.reports('never mind', { giveUpChildren: true })).toEqual({ accepted: true });
    expect(await world.states('a', 'child')).toEqual(['completed', 'cancelled']);
    expect(world.worker('child').alive).toBe(false);
  });

  test('[SUB6] children that are given up are cancelled, and say so, also where orphans are handed up', async () => {
    await using world = await start({ settings: { orphans: 'hand_up' } });
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    await world.worker('a').reports('never mind', { giveUpChildren: true });
    expect((await world.task('child')).task).toMatchObject({
      state: 'cancelled',
      why: expect.stringContaining('given up by its parent'),
    });
  });

  test('[SUB6] it is refused while ends of children are unread, and returns them', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.spawns('child');
    await world.worker('child').reports('do not miss this');
    const first = await a.reports();
    expect(first).toMatchObject({
      accepted: false,
      code: 'unread_ends',
      deliveries: [{ end: { output: 'do not miss this' } }],
    });
    expect(await a.reports()).toEqual({ accepted: true });
    expect(await world.mail(a.spec.session, 'end')).toMatchObject([{ state: 'read' }]);
  });

  /** A parent in its turn, and the end of its child, which waits for its next pause. */
  async function offered({ canWithdraw }: { readonly canWithdraw: boolean }) {
    const world = await start({ steers: true });
    await world.plan({ a: [] });
    const a = world.worker('a');
    a.waitsForPause = true;
    a.canWithdraw = canWithdraw;
    await a.spawns('child');
    await world.worker('child').reports('do not miss this');
    return { opened: world, a };
  }

  test('[SUB6.1] what waits for its next pause is called back by its report, and given once', async () => {
    const { opened, a } = await offered({ canWithdraw: true });
    await using world = opened;
    const refused = await a.reports();
    expect(refused).toMatchObject({ accepted: false, code: 'unread_ends', deliveries: [{ message: {} }] });
    expect(JSON.stringify(refused)).not.toContain('may have seen');
    a.pause(true);
    await quiet();
    expect(a.steered).toEqual([]);
    // What comes now is offered as before.
    await world.person.sendMessage({ to: a.task, message: 'one thing more' });
    await quiet();
    a.pause(true);
    await quiet();
    expect(a.steered).toHaveLength(1);
    expect(await a.reports()).toEqual({ accepted: true });
  });

  test('[SUB6.1] what it takes while its report is judged is not given again, and comes before the report', async () => {
    const { opened, a } = await offered({ canWithdraw: false });
    await using world = opened;
    const reporting = a.orch.reportCompletion({ status: 'success', output: 'too early' });
    await quiet();
    a.pause(true);
    expect(await reporting).toEqual({ accepted: false, code: 'unread_ends', deliveries: [] });
    expect(a.steered[0]?.text).toContain('do not miss this');
    expect(await a.reports()).toEqual({ accepted: true });
    expect(await world.mail(a.spec.session, 'end')).toMatchObject([{ state: 'read', maybeSeen: 0 }]);
  });

  test('[SUB6.1] a report is not kept waiting by an agent that is stopped', async () => {
    const { opened, a } = await offered({ canWithdraw: false });
    await using world = opened;
    const reporting = refused(a.orch.reportCompletion({ status: 'success', output: 'late' }), 'stale_caller');
    await quiet();
    await world.person.cancelTask(a.task);
    await reporting;
  });

  test('[SUB6] a structured result is checked against the schema its parent gave', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    await world.worker('a').spawns('child', { resultSchema: schema });
    const child = world.worker('child');
    const wrong = await child.reports('x', { structured: { n: 'three' } });
    expect(wrong).toMatchObject({
      accepted: false,
      code: 'invalid_result',
      problems: [expect.stringContaining('n')],
    });
    expect(await child.reports('x')).toMatchObject({ accepted: false, code: 'invalid_result' });
    expect(await child.reports('x', { structured: { n: 3 } })).toEqual({ accepted: true });
  });

  test('[SUB6] a failure need not fit the schema', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('child', { resultSchema: { type: 'object', required: ['n'] } });
    expect(await world.worker('child').reports('cannot', { status: 'failed' })).toEqual({ accepted: true });
    expect(await world.state('child')).toBe('failed');
  });

  test('[SUB6] partial completes a subtask and sends a plan task to review', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    await world.worker('child').reports('half', { status: 'partial' });
    await world.worker('a').ends();
    await world.worker('a').reports('three quarters', { status: 'partial' });
    expect(await world.states('a', 'child')).toEqual(['review', 'completed']);
    expect((await world.task('child')).end?.status).toBe('partial');
  });

  test('[SUB6] an agent whose definition says so reports by its last message', async () => {
    await using world = await start({ byLastMessage: ['researcher'] });
    await world.plan({ a: [] });
    const call = world.worker('a').orch.spawnSubtask({ prompt: 'look it up', agentType: 'researcher' });
    await quiet();
    await world.worker('look it up').ends('it is 42');
    expect(await call).toMatchObject({
      state: 'ended',
      delivery: { end: { status: 'success', cause: 'last_message', output: 'it is 42' } },
    });
  });

  test('[SUB6] only a worker reports, and only of sizes that can be kept', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await refused(world.person.reportCompletion({ status: 'success', output: 'x' }), 'not_allowed');
    const error = await refused(
      world.worker('a').orch.reportCompletion({ status: 'success', output: 'x'.repeat(10_000_000) }),
      'invalid_input',
    );
    expect(error.message.length).toBeLessThan(500);
    expect(await world.state('a')).toBe('running');
  });
});

describe('cancel', () => {
  test('[SUB7] goes down the tree, and everybody above hears of it once', async () => {
    await using world = await start({ settings: { depth: { orchestrator: 4 } } });
    const { plan } = await world.plan({ top: [] });
    await world.worker('top').spawns('mid');
    await world.worker('mid').spawns('low');
    await world.worker('low').spawns('lowest');
    await world.person.cancelTask(world.worker('mid').task, 'wrong way');
    await quiet();
    expect(await world.states('top', 'mid', 'low', 'lowest')).toEqual([
      'running',
      'cancelled',
      'cancelled',
      'cancelled',
    ]);
    expect(world.working).toEqual(['top']);
    expect(await world.mail(world.worker('top').spec.session, 'end')).toHaveLength(1);
    expect(await world.mail(plan.owner, 'end')).toEqual([]);
    await world.worker('top').ends();
    expect(world.worker('top').last.text).toMatch(/ended: cancelled[\s\S]*wrong way/);
  });

  test('[SUB7][SUB1] a child that is handed up brings no key along: the new owner’s own are its own', async () => {
    await using world = await start({ settings: { orphans: 'hand_up', depth: { orchestrator: 3 } } });
    await world.plan({ top: [] });
    await world.worker('top').spawns('mid');
    const handed = await world.worker('mid').spawns('low', { key: 'k' });
    await world.worker('mid').fails('invalid');
    const { task } = await world.person.getTask(handed);
    expect(task.owner).toBe(world.worker('top').spec.session);
    expect(await world.worker('top').spawns('another', { key: 'k' })).not.toBe(handed);
  });

  test('[SUB7] a parent that rests, and one that has not begun, take their children along', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    await world.worker('a').ends();
    await world.worker('child').ends();
    const { task } = world.worker('a');
    await world.person.cancelTask(task);
    await quiet();
    expect(await world.states('a', 'child')).toEqual(['cancelled', 'cancelled']);
  });

  test('[SUB7][MBX6] also where children of a parent that ends are handed up: cancelled is not ended', async () => {
    await using world = await start({ settings: { orphans: 'hand_up' } });
    await world.plan({ parked: [], busy: [] });
    for (const name of ['parked', 'busy']) await world.worker(name).spawns(`child of ${name}`);
    await world.worker('parked').ends();
    await world.worker('parked').dies();
    for (const name of ['parked', 'busy']) await world.person.cancelTask(world.worker(name).task);
    await quiet();
    expect(await world.states('child of parked', 'child of busy')).toEqual(['cancelled', 'cancelled']);
  });

  test('[SUB7] a parent that is being cancelled can spawn nothing more', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const cancelled = world.person.cancelTask(a.task);
    const spawned = a.orch.spawnSubtask({ prompt: 'too late' }, { blocking: false });
    await cancelled;
    await refused(spawned, 'stale_caller');
    await quiet();
    expect(await world.person.listTasks({ open: true })).toEqual([]);
  });

  test('[SUB7] cancel and report at once: one of them wins, the other is refused', async () => {
    for (const reportFirst of [true, false]) {
      await using world = await start();
      const { plan } = await world.plan({ a: [] });
      const a = world.worker('a');
      const report = () => a.orch.reportCompletion({ status: 'success', output: 'x' });
      const cancel = () => world.person.cancelTask(a.task);
      const both = reportFirst ? [report(), cancel()] : [cancel(), report()];
      const [reported, wished] = await Promise.allSettled(reportFirst ? both : both.toReversed());
      const reportWon = reported?.status === 'fulfilled';
      expect(wished?.status).toBe(reportWon ? 'rejected' : 'fulfilled');
      await refused(reportWon ? cancel() : report(), reportWon ? 'wrong_state' : 'stale_caller');
      await quiet();
      expect(await world.state('a')).toBe(reportWon ? 'completed' : 'cancelled');
      expect(await world.mail(plan.owner, 'end')).toHaveLength(1);
    }
  });

  test('[SUB7] a child that waits in a call of its own is cancelled too', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    const child = world.worker('child');
    await child.asks('what next?');
    await child.ends();
    await world.person.cancelTask(world.worker('a').task);
    await quiet();
    expect(await world.states('a', 'child')).toEqual(['cancelled', 'cancelled']);
    expect(await pending(world.person.inbox())).toBe(false);
    expect(await world.person.inbox()).toEqual([]);
  });
});
