// The faults of the earlier system, as listed in test/FAULTS.md: each test would fail on an engine that has the fault.
import type { Delivery } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { pending, product, quiet, refused, start } from './world.ts';

const outputs = (deliveries: readonly Delivery[]) => deliveries.map((delivery) => delivery.end?.output);

describe('completion', () => {
  test('[B1] a blocking spawn returns when the child reports', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const call = world.worker('a').orch.spawnSubtask({ prompt: 'help' });
    await quiet();
    await world.worker('help').reports('here you are');
    expect(await call).toMatchObject({
      state: 'ended',
      delivery: { end: { status: 'success', output: 'here you are' } },
    });
  });

  test('[B2] a child that works for an hour under a waiting parent is neither interrupted nor failed', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const child = await world.worker('a').spawns('long work');
    const call = world.worker('a').orch.awaitSubtasks({ taskIds: [child], timeoutMs: 7_200_000 });
    for (let minute = 0; minute < 60; minute++) {
      await world.advance(60_000);
      await world.worker('long work').says(`minute ${minute}`);
    }
    expect(world.worker('long work').interrupts).toBe(0);
    expect(await world.state('long work')).toBe('running');
    expect(await pending(call)).toBe(true);
    await world.worker('long work').reports('finished');
    expect(outputs((await call).deliveries)).toEqual(['finished']);
  });

  test('[B3] a health warning fails nobody and names the child, not the parent', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('loop');
    for (let i = 0; i < 5; i++) await world.worker('loop').calls('read', { digest: 'same' });
    await world.advance(300_000);
    expect(await world.states('a', 'loop')).toEqual(['running', 'running']);
    const [warning] = await world.ownersMail('loop', 'health');
    expect(warning).toMatchObject({ from: { kind: 'task', task: world.worker('loop').task } });
    expect(warning?.text).not.toContain('[object');
  });

  test('[B4] a report needs no id, so it cannot miss: it ends the very task of its run', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const child = await world.worker('a').spawns('child');
    expect(await world.worker('child').reports('result')).toEqual({ accepted: true });
    expect(await world.person.getTask(child)).toMatchObject({
      task: { state: 'completed' },
      end: { output: 'result' },
    });
  });

  test('[B11] completing a worker by hand completes its task, keeps its last words and starts its dependents', async () => {
    await using world = await start();
    await world.plan({ a: [], b: ['a'] });
    const a = world.worker('a');
    await a.ends('my answer');
    await world.person.completeTask(a.task);
    await quiet();
    expect(await world.task('a')).toMatchObject({
      task: { state: 'completed' },
      end: { cause: 'completed_by_owner', output: 'my answer' },
    });
    expect(a.alive).toBe(false);
    expect(world.working).toEqual(['b']);
  });

  test('[B15] the first end is the whole end: output, structured result and files reach the parent', async () => {
    const files = [{ path: 'src/a.ts', insertions: 3, deletions: 1 }];
    await using world = await start({
      work: (task) => product(`/w/${task.name}`, `b/${task.name}`, files),
    });
    await world.plan({ a: [] });
    const call = world.worker('a').orch.spawnSubtask({ prompt: 'child' });
    await quiet();
    await world.worker('child').reports('the answer', { structured: { n: 1 } });
    const result = await call;
    expect(result).toMatchObject({
      delivery: {
        end: {
          output: 'the answer',
          structured: { n: 1 },
          work: { worktree: '/w/child', branch: 'b/child', files },
        },
      },
    });
  });

  test('[B17] await sees every end, however many ids, as soon as the last one ends', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const spawned = await a.orch.spawnSubtasks(['x', 'y', 'z'].map((prompt) => ({ prompt })));
    const ids = spawned.map(({ task }) => task);
    const call = a.orch.awaitSubtasks({ taskIds: ids });
    await quiet();
    for (const name of ['z', 'x', 'y']) {
      expect(await pending(call)).toBe(true);
      await world.worker(name).reports(`from ${name}`);
    }
    expect(await call).toMatchObject({ done: true, open: [], why: 'ended' });
    expect(outputs((await call).deliveries)).toEqual(['from z', 'from x', 'from y']);
  });

  test('[B19] an emergency stop changes nothing that has ended, and tells nobody again', async () => {
    await using world = await start();
    const view = await world.plan({ a: [], b: [] });
    await world.worker('a').reports('kept');
    const before = await world.ownersMail('a', 'end');
    await world.person.stop({ scope: 'all' }, 'enough');
    await quiet();
    expect(await world.task('a')).toMatchObject({ task: { state: 'completed' }, end: { output: 'kept' } });
    expect(await world.state('b')).toBe('cancelled');
    const after = await world.mail(view.plan.owner, 'end');
    expect(after.filter((message) => message.task === world.worker('a').task)).toEqual(before);
    await refused(world.person.cancelTask(world.worker('a').task), 'wrong_state');
  });

  test('[B21] one completion is one message, whatever else happens', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const child = await a.spawns('child');
    const agent = world.worker('child');
    await agent.reports();
    await refused(agent.orch.reportCompletion({ status: 'success', output: 'again' }), 'stale_caller');
    agent.hears({ type: 'exited', detail: 'late' });
    await world.advance(20_000);
    expect(await world.mail(a.spec.session, 'end')).toHaveLength(1);
    expect((await a.orch.checkUpdates()).map((delivery) => delivery.message.task)).toEqual([child]);
    expect(await a.orch.checkUpdates()).toEqual([]);
  });

  test('[B28] a plan task that is retried tells its owner as the first time', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [] });
    await world.worker('a').reports('no', { status: 'failed' });
    await world.person.retryTask(world.worker('a').task);
    await quiet();
    await world.worker('a').reports('yes');
    const ends = await world.mail(plan.owner, 'end');
    expect(ends.map((message) => message.key)).toHaveLength(2);
    expect(new Set(ends.map((message) => message.run)).size).toBe(2);
  });
});

describe('messages', () => {
  test('[B5] words for a parent reach the parent, whatever its children do', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('one');
    await parent.spawns('two');
    await parent.ends();
    await world.person.sendMessage({ to: parent.task, message: 'hello parent' });
    await quiet();
    expect(parent.last.text).toContain('hello parent');
    for (const name of ['one', 'two']) expect(world.worker(name).turns).toHaveLength(1);
  });

  test('[B12] two messages during one turn both arrive', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await world.person.sendMessage({ to: a.task, message: 'first' });
    await world.person.sendMessage({ to: a.task, message: 'second' });
    await a.ends();
    expect(a.last.text).toMatch(/first[\s\S]*second/);
    expect(a.turns).toHaveLength(2);
  });

  test('[B16] what a chat spawned reaches the chat: by wake-up, by await, or when it comes back', async () => {
    await using world = await start();
    const chat = await world.chat();
    await chat.attach();
    await chat.spawns('one');
    await world.worker('one').reports('1');
    expect(outputs(chat.given.flat())).toEqual(['1']);
    await chat.detach();
    const two = await chat.spawns('two');
    const call = chat.orch.awaitSubtasks({ taskIds: [two] });
    await quiet();
    await world.worker('two').reports('2');
    expect(outputs((await call).deliveries)).toEqual(['2']);
    await chat.spawns('three');
    await world.worker('three').reports('3');
    await chat.attach();
    expect(outputs(chat.given.at(-1) ?? [])).toEqual(['3']);
  });

  test('[B20] an approval reaches its asker, and nothing else waits for it', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('asker');
    await parent.spawns('other');
    await parent.ends();
    const asker = world.worker('asker');
    const request = await asker.asks('may I push?', 'approval_request');
    await asker.ends();
    await world.worker('other').reports('not held up');
    expect(parent.last.text).toContain('may I push?');
    await parent.orch.answer({ request, answer: 'yes' });
    await quiet();
    expect(asker.last.text).toContain('approve');
    expect(await world.state('asker')).toBe('running');
    await parent.ends();
    expect(parent.turns.map((turn) => turn.text).join('\n')).toContain('not held up');
  });

  test('[B29] a mailbox nobody reads holds up no other; a receiver that fails loses nothing; a successor stays', async () => {
    await using world = await start();
    const away = await world.chat('chat', 'away');
    const here = await world.chat('chat', 'here');
    let fail = true;
    await here.attach(async () => {
      if (fail) throw new Error('receiver broke');
    });
    await away.spawns('for away');
    await here.spawns('for here');
    await world.worker('for away').reports('a');
    await world.worker('for here').reports('h');
    expect((await away.mail('end')).map((message) => message.state)).toEqual(['queued']);
    expect((await here.mail('end')).map((message) => message.state)).toEqual(['queued']);
    fail = false;
    await here.attach();
    expect(here.given.at(-1)?.[0]?.text).toContain('may have seen it');
    expect((await here.mail('end')).map((message) => message.state)).toEqual(['read']);
    expect(world.clock.pending, 'only the tick').toBe(1);
  });

  test('[B29] of two connections of one session the newer one stays when the older leaves', async () => {
    await using world = await start();
    const chat = await world.chat();
    const old = await chat.orch.attach(chat.id, async () => undefined);
    await chat.attach();
    await old();
    await chat.spawns('child');
    await world.worker('child').reports('for the newer');
    expect(outputs(chat.given.flat())).toEqual(['for the newer']);
  });

  test('[B30] an idle parent has the end in hand with no time passing, a busy one at the end of its turn', async () => {
    await using world = await start();
    await world.plan({ idle: [], busy: [] });
    const [idle, busy] = [world.worker('idle'), world.worker('busy')];
    await idle.spawns('of idle');
    await idle.ends();
    await busy.spawns('of busy');
    const before = world.clock.mono();
    await world.worker('of idle').reports('now');
    await world.worker('of busy').reports('later');
    expect(idle.last.text).toContain('now');
    expect(world.clock.mono()).toBe(before);
    expect([busy.interrupts, busy.turns.length]).toEqual([0, 1]);
    await busy.ends();
    expect(busy.last.text).toContain('later');
  });

  test('[B33] after a restart a worker really works: it has an agent, its mail and its health', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').says('at it');
    world.crash();
    await world.restart();
    const a = world.worker('a');
    expect(a.alive && a.open !== null).toBe(true);
    await world.person.sendMessage({ to: a.task, message: 'still there?' });
    await a.ends();
    expect(a.last.text).toContain('still there?');
    await a.reports('yes');
    expect(await world.state('a')).toBe('completed');
  });
});

describe('control', () => {
  test('[B6] a grandchild is deeper than a child, and a chat does not get the orchestrator’s depth', async () => {
    await using world = await start();
    await world.plan({ top: [] });
    await world.worker('top').spawns('child');
    const tooDeep = await refused(
      world.worker('child').orch.spawnSubtask({ prompt: 'grandchild' }),
      'limit_reached',
    );
    expect(tooDeep.message).toMatch(/depth would be 3, the limit is 2/);
    const chat = await world.chat();
    await chat.spawns('of chat');
    const standalone = await refused(
      world.worker('of chat').orch.spawnSubtask({ prompt: 'deeper' }),
      'limit_reached',
    );
    expect(standalone.message).toMatch(/depth would be 2, the limit is 1/);
  });

  test('[B8] what was paused can be resumed', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await world.person.pauseWorker(a.task);
    await quiet();
    expect((await world.task('a')).worker).toBe('paused');
    await world.person.resumeWorker(a.task);
    await quiet();
    expect((await world.task('a')).worker).toBe('running');
    await a.reports();
    expect(await world.state('a')).toBe('completed');
  });

  test('[B9] a cancelled worker’s agent is stopped before the task is shown as cancelled', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await world.person.cancelTask(a.task, 'no longer needed');
    await quiet();
    expect(a.alive).toBe(false);
    expect(a.stops).toEqual(['no longer needed']);
    expect(await world.task('a')).toMatchObject({
      task: { state: 'cancelled' },
      end: { status: 'cancelled' },
    });
    await refused(a.orch.notifyParent({ type: 'info', message: 'still here' }), 'stale_caller');
  });

  test('[B24] a failed task fails neither its plan nor the others; the block goes all the way down; a retry undoes it', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: [], b: ['a'], c: ['b'], other: [] });
    await world.worker('a').reports('broken', { status: 'failed' });
    expect(await world.states('b', 'c', 'other')).toEqual(['blocked', 'blocked', 'running']);
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('active');
    await world.worker('other').reports();
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('failed');
    await world.person.retryTask(world.worker('a').task);
    await quiet();
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('active');
    for (const name of ['a', 'b', 'c']) await world.worker(name).reports();
    expect((await world.person.getPlan(plan.id)).plan.state).toBe('completed');
  });

  test('[B25] a worker completes its task by its report and by nothing else; no worker completes another’s', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [] });
    const [a, b] = [world.worker('a'), world.worker('b')];
    await refused(a.orch.completeTask(a.task), 'not_allowed');
    await refused(a.orch.completeTask(b.task), 'not_allowed');
    await refused(a.orch.cancelTask(b.task), 'not_allowed');
    expect(await a.reports()).toEqual({ accepted: true });
  });

  test('[B27] a list of tasks without a filter has every task', async () => {
    await using world = await start();
    await world.plan({ a: [], b: ['a'] });
    const chat = await world.chat();
    await chat.spawns('of chat');
    await world.worker('a').spawns('of a');
    await world.worker('of chat').reports();
    const names = async (filter: { open?: boolean }) =>
      (await world.person.listTasks(filter)).map((view) => view.task.name).toSorted();
    expect(await names({})).toEqual(['a', 'b', 'of a', 'of chat']);
    expect(await names({ open: true })).toEqual(['a', 'b', 'of a']);
    expect(await names({ open: false })).toEqual(['of chat']);
  });
});

describe('scheduling and types', () => {
  test('[B22] a dependency may be named before its task, and one that does not exist is refused', async () => {
    await using world = await start();
    await world.plan({ last: ['first'], first: [] });
    expect(world.working).toEqual(['first']);
    await world.worker('first').reports();
    expect(world.working).toEqual(['last']);
    const error = await refused(world.plan({ a: ['frist'], first: [] }), 'invalid_input');
    expect(error.data['problems']).toEqual([
      { at: 'tasks[0].dependencies[0]', problem: expect.stringContaining('did you mean "first"') },
    ]);
  });

  test('[B23] no more turns run at once than the host allows, whatever is ready', async () => {
    await using world = await start({ settings: { concurrency: 2 } });
    await world.plan({ a: [], b: [], c: [], d: [] });
    expect(world.working).toEqual(['a', 'b']);
    await world.worker('b').reports();
    expect(world.working).toEqual(['a', 'c']);
  });

  test('[B31] an unknown agent is refused with the names there are, and becomes no generic one', async () => {
    await using world = await start();
    const chat = await world.chat();
    const before = await world.store.lastEvent();
    const error = await refused(
      chat.orch.spawnSubtask({ prompt: 'x', agentType: '@reviwer' }),
      'unknown_agent',
    );
    expect(error.message).toContain('reviewer');
    expect(error.data['known']).toMatchObject({ 0: 'reviewer' });
    await refused(world.plan({ a: { agent: 'claud:coder' } }), 'invalid_input');
    expect(await world.store.lastEvent()).toBe(before);
  });
});
