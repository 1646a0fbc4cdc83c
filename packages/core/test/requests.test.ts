import type { RequestId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { quiet, refused, start } from './world.ts';

const FIVE_MINUTES = 300_000;

describe('up the tree', () => {
  test('[INB2] the same words once more are the same request; as another kind they are another', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const a = world.worker('a');
    const question = await a.asks('the tests as well?');
    expect(await a.asks('the tests as well?')).toBe(question);
    const others = [
      await a.asks('the tests as well?', 'approval_request'),
      await a.asks('the docs as well?'),
    ];
    expect(new Set([question, ...others]).size).toBe(3);
    const { request } = await a.orch.notifyParent({
      type: 'question',
      message: 'the tests as well?',
      options: ['approve', 'deny'],
    });
    expect([question, ...others]).not.toContain(request);
  });

  test('[INB2] a question suspends the run and goes to the parent; the answer comes as a message and wakes it', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child');
    const child = world.worker('child');
    const request = await child.asks('tabs or spaces?');
    await child.ends();
    expect((await world.task('child')).task).toMatchObject({ state: 'waiting', waitingOn: 'answer' });
    await parent.ends();
    expect(parent.last.text).toMatch(new RegExp(`${request}[\\s\\S]*tabs or spaces`));
    const answered = await parent.orch.answer({ request, answer: 'spaces' });
    await quiet();
    expect(answered).toMatchObject({
      state: 'answered',
      answer: { text: 'spaces', by: parent.spec.session },
    });
    expect(child.last.text).toContain('spaces');
    expect(await world.state('child')).toBe('running');
  });

  test('[INB2] who does not answer in five minutes passes it on: parent, orchestrator, person', async () => {
    await using world = await start();
    const orchestrator = await world.chat('orchestrator');
    await orchestrator.attach();
    await orchestrator.orch.savePlan({ name: 'p', tasks: [{ id: 'parent', prompt: 'x' }] }, { start: true });
    await quiet();
    const parent = world.worker('parent');
    await parent.spawns('child');
    const request = await world.worker('child').asks('may I?', 'approval_request');
    await world.worker('child').ends();
    const holder = async () => (await world.store.get('request', request))?.doc.with;
    expect(await holder()).toBe(parent.spec.session);
    await world.advance(FIVE_MINUTES - 5_000);
    expect(await holder()).toBe(parent.spec.session);
    await world.advance(10_000);
    expect(await holder()).toBe(orchestrator.id);
    expect(orchestrator.given.flat().map((delivery) => delivery.message.kind)).toContain('approval_request');
    // The parent is silent all the time, which is in the inbox by now.
    const approvals = async () => (await world.person.inbox()).filter(({ kind }) => kind === 'approval');
    expect(await approvals()).toEqual([]);
    await world.advance(FIVE_MINUTES + 5_000);
    expect(await holder()).toBeNull();
    expect((await approvals()).map((item) => item.id)).toEqual([request]);
    await world.person.answer({ request, answer: 'yes' });
    await quiet();
    expect(world.worker('child').last.text).toMatch(/a person answers[\s\S]*approve/);
  });

  test('[INB2] whose five minutes begin when it is on disk', async () => {
    let disk = Promise.resolve();
    await using world = await start({ sync: () => disk });
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child');
    await world.advance(4_000);
    const { promise, resolve } = Promise.withResolvers<void>();
    disk = promise;
    const asked = world.worker('child').orch.notifyParent({ type: 'question', message: 'which?' });
    await quiet();
    // A sweep comes by meanwhile.
    await world.advance(4_000);
    disk = Promise.resolve();
    resolve();
    const { request } = await asked;
    const holder = async () => (await world.store.get('request', request ?? ''))?.doc.with;
    await world.advance(FIVE_MINUTES - 1_000);
    expect(await holder()).toBe(parent.spec.session);
    await world.advance(6_000);
    expect(await holder()).toBeNull();
  });

  test('[INB2] of a task that a person owns it goes to the inbox at once, and waits there for ever', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const request = await world.worker('a').asks('which colour?');
    await world.worker('a').ends();
    expect(await world.person.inbox()).toMatchObject([{ id: request, with: null }]);
    await world.advance(FIVE_MINUTES * 20);
    expect(await world.person.inbox()).toHaveLength(1);
    expect(await world.state('a')).toBe('waiting');
  });

  test('[INB2] only by setting a person’s item expires, to deny', async () => {
    await using world = await start({ settings: { requests: { expireAfterMs: 60_000 } } });
    await world.plan({ a: [] });
    const request = await world.worker('a').asks('may I?', 'approval_request');
    await world.worker('a').ends();
    await world.advance(50_000);
    expect(await world.person.inbox()).toHaveLength(1);
    await world.advance(15_000);
    expect(await world.person.inbox()).toEqual([]);
    expect(world.worker('a').last.text).toContain('denied');
    await refused(world.person.answer({ request, answer: 'yes' }), 'already_answered');
  });

  test('[INB2] the five minutes go on over a restart', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    await world.worker('parent').spawns('child');
    const request = await world.worker('child').asks('hm?');
    await world.advance(200_000);
    world.crash();
    await world.restart();
    await world.advance(110_000);
    expect((await world.person.inbox()).map((item) => item.id)).toEqual([request]);
  });
});

describe('one answer', () => {
  test('[INB2] the first counts; a later one is refused kindly and changes nothing', async () => {
    await using world = await start();
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    await parent.spawns('child');
    const child = world.worker('child');
    const request = await child.asks('left or right?');
    await child.ends();
    await parent.orch.answer({ request, answer: 'left' });
    await quiet();
    const before = await world.store.lastEvent();
    const late = await refused(world.person.answer({ request, answer: 'right' }), 'already_answered');
    expect(late.message).toMatch(/no longer needs an answer.*left.*Nothing was changed/s);
    expect(await world.store.lastEvent()).toBe(before);
    await quiet();
    expect(child.turns.map((turn) => turn.text).join()).not.toContain('right?\nright');
    expect(await world.mail(child.spec.session, 'answer')).toHaveLength(1);
  });

  test('[INB2] two answers at once: one wins', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const request = await world.worker('a').asks('?');
    const answers = await Promise.allSettled(
      ['x', 'y'].map((answer) => world.person.answer({ request, answer })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'rejected']);
    expect(await world.mail(world.worker('a').spec.session, 'answer')).toHaveLength(1);
  });

  test('[INB2] it closes with its run', async () => {
    await using world = await start();
    await world.plan({ reports: [], cancelled: [], fails: [] });
    const ids: RequestId[] = [];
    for (const name of ['reports', 'cancelled', 'fails']) ids.push(await world.worker(name).asks(`${name}?`));
    await world.worker('reports').reports('found out myself');
    await world.person.cancelTask(world.worker('cancelled').task);
    await world.worker('fails').fails('auth');
    await quiet();
    // Of those that are left there is only the failure itself.
    expect((await world.person.inbox()).map(({ kind }) => kind)).toEqual(['failure']);
    for (const request of ids)
      await refused(world.person.answer({ request, answer: 'too late' }), 'already_answered');
  });

  test('[INB2] it stays open over a crash and over a fault that is tried again', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const request = await world.worker('a').asks('still there?');
    await world.worker('a').fails('network');
    world.crash();
    await world.restart();
    await world.advance(60_000);
    expect((await world.person.inbox()).map((item) => item.id)).toEqual([request]);
    await world.person.answer({ request, answer: 'yes, here' });
    await quiet();
    if (!world.worker('a').last.text.includes('yes, here')) await world.worker('a').ends();
    expect(world.worker('a').last.text).toContain('yes, here');
  });

  test('[INB2] only who holds it, one above, the orchestrator or a person answers: not the asker, not a sibling', async () => {
    await using world = await start();
    await world.plan({ parent: [], stranger: [] });
    await world.worker('parent').spawns('asker');
    await world.worker('parent').spawns('sibling');
    const request = await world.worker('asker').asks('may I delete it?', 'approval_request');
    for (const name of ['asker', 'sibling', 'stranger']) {
      await refused(world.worker(name).orch.answer({ request, answer: 'yes' }), 'not_allowed');
    }
    await refused(world.person.answer({ request: 'req_nobody', answer: 'yes' }), 'not_found');
    await refused(world.person.answer({ request: 'task_x' as never, answer: 'yes' }), 'invalid_input');
    await world.worker('parent').orch.answer({ request, answer: 'no' });
  });
});
