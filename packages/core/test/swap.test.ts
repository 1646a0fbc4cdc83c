import { describe, expect, test } from 'vitest';
import { quiet, refused, start } from './world.ts';

describe('another agent goes on', () => {
  test('[WRK1.10] the one at work is stopped; the next has the same run, mailbox, children and checkout, the task anew and what was done', async () => {
    await using world = await start({ work: () => null });
    await world.plan({ a: [] });
    const before = world.worker('a');
    await before.says('half of it is done');
    await before.spawns('child');
    await world.person.sendMessage({ to: before.task, message: 'mind the gap' });
    await world.person.swapWorker(before.task, { agent: 'claude:coder', model: 'opus' });
    await quiet();
    const after = world.worker('a');
    expect(after).not.toBe(before);
    expect(before.alive).toBe(false);
    expect(after.spec).toMatchObject({
      run: before.spec.run,
      session: before.spec.session,
      agent: { backend: 'claude', name: 'coder' },
      resume: null,
      workspace: { path: `/trees/${before.task}` },
    });
    expect(after.spec.epoch).toBe(before.spec.epoch + 1);
    const { text } = after.last;
    for (const part of ['You take this task over from @scripted:agent', 'mind the gap', 'child'])
      expect(text).toContain(part);
    // It was not interrupted, and how long the other one was at it is nothing that it needs to know.
    expect(text).not.toMatch(/You were interrupted|Go on where you were|turns/);
    expect(text.indexOf(world.worker('a').spec.task.prompt)).toBeGreaterThanOrEqual(0);
    await refused(before.orch.reportCompletion({ status: 'success', output: 'late' }), 'stale_caller');
    await world.worker('child').reports('from the child');
    await after.ends();
    expect(after.last.text).toContain('from the child');
    await after.reports('all of it');
    expect(await world.task('a')).toMatchObject({ end: { status: 'success', output: 'all of it' } });
    expect((await world.task('a')).task.attempts).toBe(1);
  });

  test('[WRK1.11] one that rests, is paused, or has not begun is swapped too', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    await world.plan({ a: [], b: ['a'] });
    const a = world.worker('a');
    const request = await a.asks('which?');
    await a.ends();
    await world.person.swapWorker(a.task, { agent: 'coder' });
    await quiet();
    expect(world.worker('a').spec.agent.name).toBe('coder');
    await world.person.pauseWorker(a.task);
    await quiet();
    await world.person.swapWorker(a.task, { model: 'opus' });
    await world.advance(60_000);
    expect(world.working).toEqual([]);
    await world.person.answer({ request, answer: 'the left one' });
    await world.person.resumeWorker(a.task);
    await quiet();
    expect(world.worker('a').last.text).toContain('the left one');
    expect(await world.task('a')).toMatchObject({ task: { model: 'opus', agent: { name: 'coder' } } });
    const b = (await world.task('b')).task;
    await world.person.swapWorker(b.id, { agent: 'claude:reviewer' });
    await world.worker('a').reports();
    expect(world.worker('b').spec.agent).toEqual({ backend: 'claude', name: 'reviewer' });
  });

  test('[WRK1.12] a crash before the old one was stopped leaves nobody beside the new one', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const before = world.worker('a');
    await before.says('working');
    await world.person.swapWorker(before.task, { agent: 'claude:coder' });
    world.crash();
    await world.restart();
    await quiet();
    expect(before.alive).toBe(false);
    expect(world.worker('a').spec).toMatchObject({ agent: { backend: 'claude' }, resume: null });
    expect(world.worker('a').last.text).toContain('You take this task over');
  });

  test('[WRK1.14] one that was to go on where another agent reported begins anew, and is told the task', async () => {
    await using world = await start({ settings: { concurrency: 1 } });
    await world.plan({ a: { review: 'person' }, b: ['a'], c: [] });
    const before = world.worker('a');
    await before.reports('v1');
    await world.worker('c').says('holds the slot');
    await world.person.reviewTask({ task: before.task, verdict: 'changes', comment: 'add tests' });
    await world.person.swapWorker(before.task, { agent: 'claude:coder' });
    await world.worker('c').reports();
    const after = world.worker('a');
    expect(after.spec).toMatchObject({ agent: { backend: 'claude', name: 'coder' }, resume: null });
    for (const part of [after.spec.task.prompt, 'add tests']) expect(after.last.text).toContain(part);
    await after.reports('v2');
    await world.person.reviewTask({ task: before.task, verdict: 'changes', comment: 'more tests' });
    await quiet();
    // The same one again has what it had.
    expect(world.worker('a').spec.resume).toBe(`history of ${after.spec.run}`);
  });

  test('[WRK1.13] not of what has ended, not to nobody, and not by itself', async () => {
    await using world = await start();
    await world.plan({ a: [], b: [] });
    const a = world.worker('a');
    await refused(world.person.swapWorker(a.task, {}), 'invalid_input');
    expect(
      (await refused(world.person.swapWorker(a.task, { agent: 'kodder' }), 'unknown_agent')).message,
    ).toContain('coder');
    await refused(a.orch.swapWorker(a.task, { agent: 'coder' }), 'not_allowed');
    await a.reports();
    await refused(world.person.swapWorker(a.task, { agent: 'coder' }), 'wrong_state');
  });
});
