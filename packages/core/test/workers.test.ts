import type { Task } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { decide } from '../src/decide.ts';
import { markTakenOver, pause, resume } from '../src/pausing.ts';
import { product, quiet, refused, start } from './world.ts';

describe('the states of a worker', () => {
  test('[WKT6.94] taking over a worker that reports at the same moment never writes to its ended run', async () => {
    for (let steps = 0; steps < 12; steps++) {
      await using world = await start({ work: () => null });
      await world.plan({ a: [] }, { integrate: false });
      const a = world.worker('a');
      const taking = world.person.takeOver(a.task).then(
        () => 'asked',
        (error: Error) => error.message,
      );
      for (let step = 0; step < steps; step++) await Promise.resolve();
      const reporting = a.orch.reportCompletion({ status: 'success', output: 'done' }).catch(() => null);
      const [taken] = await Promise.all([taking, reporting]);
      await quiet();
      expect(taken).toMatch(/^asked$|^Task "a" \(task_\w+\) is completed: no worker is at it\.$/);
      const about = (await world.events()).filter(({ run }) => run === a.spec.run).map(({ type }) => type);
      expect(about.slice(about.indexOf('run.ended'))).not.toContain('run.paused');
    }
  });

  test('[WRK1] created → running ⇄ idle → completed, and back to running by a retry', async () => {
    await using world = await start();
    await world.plan({ before: [], a: ['before'] });
    const worker = async () => (await world.task('a')).worker;
    expect(await worker()).toBe('created');
    await world.worker('before').reports();
    expect(await worker()).toBe('running');
    await world.worker('a').spawns('child');
    await world.worker('a').ends();
    expect(await worker()).toBe('idle');
    await world.worker('child').reports();
    expect(await worker()).toBe('running');
    await world.worker('a').reports('no', { status: 'failed' });
    expect(await worker()).toBe('failed');
    await world.person.retryTask(world.worker('a').task);
    await quiet();
    expect(await worker()).toBe('running');
    await world.worker('a').reports();
    expect(await worker()).toBe('completed');
  });

  test('[WRK1] a cancelled one too', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.person.cancelTask(world.worker('a').task);
    await quiet();
    expect((await world.task('a')).worker).toBe('cancelled');
    await world.person.retryTask(world.worker('a').task);
    await quiet();
    expect((await world.task('a')).worker).toBe('running');
  });
});

test('[WRK1.15] a refusal names the task or the plan by its name, with its id', async () => {
  await using world = await start({ work: () => product('/w', 'b', []), integrates: true });
  const { plan } = await world.plan({ a: [], b: [] });
  await world.worker('a').reports();
  const { person } = world;
  const a = world.worker('a').task;
  const refusals = {
    'only a failed or cancelled task can be tried again': () => person.retryTask(a),
    'no worker is at it': () => person.pauseWorker(a),
    'reads no messages': () => person.sendMessage({ to: a, message: 'x' }),
    'nobody is at work on it': () => person.swapWorker(a, { agent: '@puppet:coder' }),
  };
  for (const [words, act] of Object.entries(refusals)) {
    const said = await act().then(String, String);
    expect(said, words).toContain(`"a" (${a})`);
    expect(said).toContain(words);
  }
  // The person asks for the plan: its integration is not what they know.
  expect(await person.bringHome(plan.id).then(String, String)).toContain(
    `Plan "${plan.name}" (${plan.id}) is active, and its branches are not merged yet`,
  );
  await person.cancelPlan(plan.id);
  expect(await person.pausePlan(plan.id).then(String, String)).toContain(
    `Plan "${plan.name}" (${plan.id}) is cancelled`,
  );
});

describe('pause and resume', () => {
  test('[WRK1] pause stops the turn; mail waits; resume goes on with all of it', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.says('working');
    await a.spawns('child');
    await world.person.pauseWorker(a.task);
    await quiet();
    expect([a.interrupts, a.open, (await world.task('a')).worker]).toEqual([1, null, 'paused']);
    await world.person.sendMessage({ to: a.task, message: 'words in between' });
    await world.worker('child').reports('child in between');
    await world.advance(60_000);
    expect(a.turns).toHaveLength(1);
    await world.person.resumeWorker(a.task);
    await quiet();
    expect(a.turns).toHaveLength(2);
    for (const part of ['words in between', 'child in between', 'You were paused'])
      expect(a.last.text).toContain(part);
    expect((await world.task('a')).worker).toBe('running');
  });

  test('[WKT6.96] a worker cannot end its task while a person is in its worktree, whatever still runs of it', async () => {
    await using world = await start({ work: () => null });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await world.person.takeOver(a.task);
    await quiet();
    expect(await world.person.takeOver(a.task)).toMatchObject({ ready: true });
    const report = { status: 'success', output: 'done' } as const;
    const { message } = await refused(a.orch.reportCompletion(report), 'wrong_state');
    expect(message).toContain('person works in your worktree');
    expect(await world.state('a')).toBe('waiting');
    await world.person.resumeWorker(a.task);
    await quiet();
    await a.reports();
    expect(await world.state('a')).toBe('completed');
  });

  test('[WKT6.90] who takes a worktree over gets it when the turn has stopped; whoever gets it back is told what was changed', async () => {
    await using world = await start({ work: () => null });
    await world.plan({ a: [] });
    const a = world.worker('a');
    a.heedsInterrupt = false;
    expect(await world.person.takeOver(a.task)).toEqual({ ready: false });
    await a.ends('there');
    const taken = { ready: true, worktree: `/trees/${a.task}`, branch: 'a' };
    expect(await world.person.takeOver(a.task)).toEqual(taken);
    expect(await world.person.takeOver(a.task)).toEqual(taken);
    expect((await world.task('a')).run?.takenOver).toMatchObject({ by: 'person', commit: 'checkpoint of a' });
    await world.person.resumeWorker(a.task);
    await quiet();
    expect(a.last.text).toContain('person worked in your worktree and changed "by-hand.ts" (+2 −1).');
    expect((await world.task('a')).run?.takenOver).toBeUndefined();
    await refused(a.orch.takeOver(a.task), 'not_allowed');
    await a.reports();
    await refused(world.person.takeOver(a.task), 'wrong_state');
  });

  test('[WKT6.92] who was taken over is told so even if it was paused again before it went on', async () => {
    await using world = await start({ work: () => null });
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.says('working');
    await world.person.pauseWorker(a.task);
    await quiet();
    const { context } = world.engine;
    await decide(context, async (tx) => {
      const task = (): Promise<Task> => tx.need('task', a.task);
      await resume(tx, context, await task(), null);
      await pause(tx, a.task);
      await markTakenOver(tx, a.task, { by: 'person', commit: 'checkpoint of a' });
    });
    await world.person.resumeWorker(a.task);
    await quiet();
    expect(a.last.text).toContain('person worked in your worktree and changed "by-hand.ts"');
  });

  test('[WRK1] a message that was handed over and not seen before the pause is given again after it', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await world.person.sendMessage({ to: a.task, message: 'hello' });
    await a.ends();
    expect(await world.mail(a.spec.session, 'words')).toMatchObject([{ state: 'delivered' }]);
    await world.person.pauseWorker(a.task);
    await quiet();
    expect(await world.mail(a.spec.session, 'words')).toMatchObject([{ state: 'queued' }]);
    await world.person.resumeWorker(a.task);
    await quiet();
    expect(a.last.text).toContain('hello');
  });

  test('[WRK1] a paused worker stays paused over a restart and starts nothing', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').says('working');
    await world.person.pauseWorker(world.worker('a').task);
    await quiet();
    world.crash();
    await world.restart();
    await world.person.sendMessage({ to: world.worker('a').task, message: 'while paused' });
    await world.advance(60_000);
    expect((await world.task('a')).worker).toBe('paused');
    expect(world.working).toEqual([]);
    await world.person.resumeWorker(world.worker('a').task);
    await quiet();
    expect(world.worker('a').last.text).toContain('while paused');
  });

  test('[WRK1] one that does not heed the interrupt is paused when its turn ends', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    a.heedsInterrupt = false;
    await world.person.pauseWorker(a.task);
    await world.person.sendMessage({ to: a.task, message: 'later' });
    await a.says('just a moment');
    await a.ends('there');
    expect([(await world.task('a')).worker, a.turns.length]).toEqual(['paused', 1]);
    await world.person.resumeWorker(a.task);
    await quiet();
    expect(a.last.text).toContain('later');
  });

  test('[WRK1] pause, resume, pause, resume: each does what it says', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.says('working');
    for (let round = 0; round < 3; round++) {
      await world.person.pauseWorker(a.task);
      await quiet();
      expect((await world.task('a')).worker).toBe('paused');
      await world.person.resumeWorker(a.task);
      await quiet();
      expect((await world.task('a')).worker).toBe('running');
      await a.says('on it');
    }
    await refused(world.person.resumeWorker(a.task), 'wrong_state');
  });

  test('[WRK1] a paused worker can be cancelled and completed', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [] });
    for (const name of ['a', 'b']) await world.person.pauseWorker(world.worker(name).task);
    await quiet();
    await world.person.cancelTask(world.worker('a').task);
    await world.person.completeTask(world.worker('b').task, 'good enough');
    await quiet();
    expect(await world.states('a', 'b')).toEqual(['cancelled', 'completed']);
  });
});

describe('interrupt and message', () => {
  test('[WRK1] interrupt ends the turn and keeps the worker, its mail and its children', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await a.says('working');
    await a.spawns('child');
    await world.person.interruptWorker(a.task);
    await quiet();
    expect([a.alive, a.open, a.interrupts]).toEqual([true, null, 1]);
    expect(await world.states('a', 'child')).toEqual(['waiting', 'running']);
    await world.person.sendMessage({ to: a.task, message: 'do this instead' });
    await quiet();
    expect(a.last.text).toContain('do this instead');
  });

  test('[WRK1] what was in its hands when it was interrupted, unseen, is given again', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    await world.person.sendMessage({ to: a.task, message: 'precious' });
    await a.ends();
    await world.person.interruptWorker(a.task);
    await quiet();
    const given = a.turns.filter((turn) => turn.text.includes('precious'));
    expect(given).toHaveLength(2);
    expect(given[1]?.text).toContain('may have seen it before');
  });

  test('[WRK1] an interrupt between two turns does nothing', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    await world.worker('a').spawns('child');
    await world.worker('a').ends();
    await world.person.interruptWorker(world.worker('a').task);
    await quiet();
    expect(world.worker('a').interrupts).toBe(0);
  });

  test('[WRK1] the worker that is completed by its owner is stopped; its unread mail stays on record', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    const child = await parent.spawns('child');
    await parent.orch.sendMessage({ to: child, message: 'never read' });
    await parent.orch.completeTask(child, 'I have what I need');
    await quiet();
    expect(world.worker('child').alive).toBe(false);
    expect(await world.mail(world.worker('child').spec.session, 'words')).toMatchObject([{ state: 'dead' }]);
    expect((await world.task('child')).end).toMatchObject({
      status: 'success',
      output: 'I have what I need',
    });
  });
});

test('[ID2] every task has an owner session; what a person starts is owned by the person’s terminal session', async () => {
  await using world = await start();
  const { plan } = await world.plan({ a: [] });
  const again = await world.plan({ b: [] });
  expect(again.plan.owner).toBe(plan.owner);
  expect((await world.store.get('session', plan.owner))?.doc).toMatchObject({
    kind: 'terminal',
    state: 'open',
  });
  const child = await world.worker('a').spawns('child');
  expect((await world.person.getTask(child)).task.owner).toBe(world.worker('a').spec.session);
  for (const kind of ['chat', 'terminal', 'orchestrator'] as const) {
    const chat = await world.chat(kind);
    expect((await world.person.getTask(await chat.spawns(kind))).task.owner).toBe(chat.id);
  }
});
