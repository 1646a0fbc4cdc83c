import { TASK_STATES, isTerminal, type TaskState } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { mayMove } from '../src/task-table.ts';
import { product, quiet, refused, start } from './world.ts';

/** PLN2, written down once more by hand. `review ⇄ running` goes by way of ready: the report ended the run. */
const ALLOWED = new Set([
  'pending ready',
  'pending blocked',
  'pending cancelled',
  'blocked pending',
  'blocked cancelled',
  'ready running',
  'ready cancelled',
  'running waiting',
  'running review',
  'running completed',
  'running failed',
  'running cancelled',
  'waiting running',
  'waiting review',
  'waiting completed',
  'waiting failed',
  'waiting cancelled',
  'review ready',
  'review completed',
  'review failed',
  'review cancelled',
  'failed pending',
  'failed ready',
  'cancelled pending',
  'cancelled ready',
]);

describe('the table', () => {
  test('[PLN2] has every transition of the rule and no other', () => {
    const moves = TASK_STATES.flatMap((from) =>
      TASK_STATES.filter((to) => mayMove(from, to)).map((to) => `${from} ${to}`),
    );
    expect(new Set(moves)).toEqual(ALLOWED);
  });

  test('[PLN2] nothing leaves completed; failed and cancelled are left only towards another try', () => {
    const from = (state: TaskState) => TASK_STATES.filter((to) => mayMove(state, to));
    expect(from('completed')).toEqual([]);
    for (const state of ['failed', 'cancelled'] as const) expect(from(state)).toEqual(['pending', 'ready']);
  });

  test('[PLN2] every state can be reached from pending, and an end from every state', () => {
    const reach = (start: TaskState): Set<TaskState> => {
      const seen = new Set([start]);
      for (const state of seen) for (const to of TASK_STATES) if (mayMove(state, to)) seen.add(to);
      return seen;
    };
    expect(reach('pending')).toEqual(new Set(TASK_STATES));
    for (const state of TASK_STATES) expect([...reach(state)].some(isTerminal)).toBe(true);
  });
});

describe('the operations, in every state', () => {
  const reach: { readonly [S in TaskState]: (world: Awaited<ReturnType<typeof start>>) => Promise<void> } = {
    pending: async () => undefined,
    blocked: async (world) => void (await world.worker('before').reports('no', { status: 'failed' })),
    ready: async (world) => {
      await world.person.pausePlan((await world.task('it')).task.plan!);
      await world.worker('before').reports();
    },
    running: async (world) => void (await world.worker('before').reports()),
    waiting: async (world) => {
      await world.worker('before').reports();
      await world.worker('it').asks('what now?');
      await world.worker('it').ends();
    },
    review: async (world) => {
      await world.worker('before').reports();
      await world.worker('it').reports('half', { status: 'partial' });
    },
    completed: async (world) => {
      await world.worker('before').reports();
      await world.worker('it').reports();
    },
    failed: async (world) => {
      await world.worker('before').reports();
      await world.worker('it').reports('no', { status: 'failed' });
    },
    cancelled: async (world) => {
      await world.worker('before').reports();
      await world.person.cancelTask(world.worker('it').task);
      await quiet();
    },
  };
  const ALLOWS: { readonly [S in TaskState]: readonly string[] } = {
    pending: ['cancel'],
    blocked: ['cancel'],
    ready: ['cancel', 'deploy'],
    running: ['cancel', 'complete', 'pause', 'interrupt'],
    waiting: ['cancel', 'complete', 'pause', 'interrupt'],
    review: ['cancel', 'complete', 'review'],
    completed: [],
    failed: ['retry'],
    cancelled: ['retry'],
  };

  test.for(TASK_STATES)('[PLN2][WRK1] %s allows exactly what makes sense', async (state) => {
    for (const operation of [
      'cancel',
      'complete',
      'retry',
      'deploy',
      'review',
      'pause',
      'resume',
      'interrupt',
    ]) {
      await using world = await start();
      await world.plan({ before: [], it: ['before'] });
      await reach[state](world);
      const { task } = await world.task('it');
      expect(task.state).toBe(state);
      const { person } = world;
      const call = {
        cancel: () => person.cancelTask(task.id),
        complete: () => person.completeTask(task.id),
        retry: () => person.retryTask(task.id),
        deploy: () => person.deployTask(task.id),
        review: () => person.reviewTask({ task: task.id, verdict: 'approve' }),
        pause: () => person.pauseWorker(task.id),
        resume: () => person.resumeWorker(task.id),
        interrupt: () => person.interruptWorker(task.id),
      }[operation]!();
      if (ALLOWS[state].includes(operation)) {
        await call;
        continue;
      }
      const before = await world.store.lastEvent();
      await refused(call, 'wrong_state');
      expect(await world.store.lastEvent(), `${operation} of a task that is ${state}`).toBe(before);
      expect((await world.task('it')).task).toEqual(task);
    }
  });

  test('[PLN2] waiting says on what', async () => {
    await using world = await start();
    await world.plan({ children: [], call: [], answer: [], approval: [], backoff: [], paused: [] });
    const on = async (name: string) => {
      const { task } = await world.task(name);
      return [task.state, task.waitingOn];
    };
    await world.worker('children').spawns('child');
    await world.worker('children').ends();
    expect(await on('children')).toEqual(['waiting', 'children']);
    const caller = world.worker('call');
    const call = caller.orch.spawnSubtask({ prompt: 'other child' }, { signal: caller.life.signal });
    call.catch(() => undefined);
    await quiet();
    expect(await on('call')).toEqual(['waiting', 'children']);
    await world.worker('answer').asks('which?');
    await world.worker('answer').ends();
    expect(await on('answer')).toEqual(['waiting', 'answer']);
    await world.worker('approval').asks('may I?', 'approval_request');
    await world.worker('approval').ends();
    expect(await on('approval')).toEqual(['waiting', 'approval']);
    await world.worker('backoff').fails('network', 'no route');
    expect(await on('backoff')).toEqual(['waiting', 'backoff']);
    await world.person.pauseWorker(world.worker('paused').task);
    await quiet();
    expect(await on('paused')).toEqual(['waiting', 'paused']);
  });

  test('[PLN2] a run’s end never changes, whatever happens to its task afterwards', async () => {
    await using world = await start();
    await world.plan({ a: [] });
    const first = world.worker('a');
    await first.reports('no', { status: 'failed' });
    const before = await world.store.get('run', first.spec.run);
    await world.person.retryTask(first.task);
    await quiet();
    await world.worker('a').reports('yes');
    expect((await world.store.get('run', first.spec.run))?.doc.end).toEqual(before?.doc.end);
    expect((await world.task('a')).run?.attempt).toBe(2);
  });
});

test('[PLN2][MBX3] cancelled before it began, retried and cancelled again in the same moment: two ends, both told', async () => {
  await using world = await start();
  const { plan, tasks } = await world.person.savePlan({ name: 'p', tasks: [{ id: 'a', prompt: 'x' }] });
  const { id } = tasks[0]!.task;
  await world.person.cancelTask(id);
  await world.person.retryTask(id);
  await world.person.cancelTask(id);
  expect(await world.mail(plan.owner, 'end')).toHaveLength(2);
});

describe('review', () => {
  test('[PLN8] a task that asks for review is not completed before it is approved', async () => {
    await using world = await start();
    const { plan } = await world.plan({ a: { review: 'person' }, b: ['a'] });
    await world.worker('a').reports('please look');
    expect(await world.states('a', 'b')).toEqual(['review', 'pending']);
    expect(await world.person.inbox()).toMatchObject([{ kind: 'review', task: world.worker('a').task }]);
    expect(await world.mail(plan.owner, 'end')).toEqual([]);
    await world.person.reviewTask({ task: world.worker('a').task, verdict: 'approve' });
    await quiet();
    expect(await world.states('a', 'b')).toEqual(['completed', 'running']);
    expect(await world.person.inbox()).toEqual([]);
    expect(await world.mail(plan.owner, 'end')).toHaveLength(1);
  });

  test('[INB3.15] a request for review shows the report and the files, and says why it is asked if nobody asked for it', async () => {
    await using world = await start({
      work: () => product('/w', 'b', [{ path: 'src/a.ts', insertions: 2, deletions: 1 }]),
    });
    await world.plan({ a: { review: 'person' }, part: [], silent: [] }, { integrate: false });
    await world.worker('a').reports('my work');
    await world.worker('part').reports('half of it', { status: 'partial' });
    const silent = world.worker('silent');
    for (const words of ['hm', 'nothing to add']) await silent.ends(words);
    await world.advance(35_000);
    await silent.ends('I think that is all.');
    const texts = (await world.person.inbox()).map(({ text }) => text);
    const files = 'Files changed: 1, on the branch b\n  src/a.ts +2 −1';
    expect(texts).toEqual([
      `Its report (success): my work\n${files}`,
      `Nobody asked for this review, but it reported that a part of it is done.\nIts report (partial): half of it\n${files}`,
      `Nobody asked for this review, but it ended without a report.\nIts last words (partial): I think that is all.\n${files}`,
    ]);
    expect((await world.task('a')).task.why).toBe('in review by the person, round 1');
    expect((await world.task('silent')).task.why).toBe(
      'in review by the person, round 1, because it ended without a report',
    );
  });

  test('[PLN8] what is to be changed goes to the same worker session as a message, and the next report to review again', async () => {
    await using world = await start();
    await world.plan({ a: { review: 'person' } });
    const first = world.worker('a');
    await first.reports('v1');
    await world.person.reviewTask({ task: first.task, verdict: 'changes', comment: 'add tests' });
    await quiet();
    const second = world.worker('a');
    expect(second).not.toBe(first);
    expect(second.spec.session).toBe(first.spec.session);
    expect(second.last.text).toContain('add tests');
    await second.reports('v2');
    expect(await world.state('a')).toBe('review');
    await world.person.reviewTask({ task: first.task, verdict: 'changes', comment: 'more tests' });
    await quiet();
    expect(world.worker('a').last.text).toContain('more tests');
  });

  test('[PLN8] an agent that owns the plan reviews; it is woken with the answer, and a rejection fails the task', async () => {
    await using world = await start();
    const orchestrator = await world.chat('orchestrator');
    await orchestrator.attach();
    const tasks = [{ id: 'a', prompt: 'x', review: 'owner' as const }];
    await orchestrator.orch.savePlan({ name: 'p', tasks }, { start: true });
    await quiet();
    await world.worker('a').reports('my work');
    expect(
      orchestrator.given.flat().map((delivery) => [delivery.message.kind, delivery.end?.output]),
    ).toEqual([['review', 'my work']]);
    await orchestrator.orch.reviewTask({
      task: world.worker('a').task,
      verdict: 'reject',
      comment: 'useless',
    });
    await quiet();
    expect((await world.task('a')).task).toMatchObject({
      state: 'failed',
      why: expect.stringContaining('useless'),
    });
  });

  test('[PLN8] answering the request is the same as reviewing', async () => {
    await using world = await start();
    await world.plan({ yes: { review: 'person' }, no: { review: 'person' }, again: { review: 'person' } });
    for (const name of ['yes', 'no', 'again']) await world.worker(name).reports();
    const inbox = await world.person.inbox();
    const request = (name: string) => inbox.find((item) => item.task === world.worker(name).task)!.id;
    await world.person.answer({ request: request('yes'), answer: 'approve' });
    await world.person.answer({ request: request('no'), answer: 'reject' });
    await world.person.answer({ request: request('again'), answer: 'changes: rename the function' });
    await quiet();
    expect(await world.states('yes', 'no', 'again')).toEqual(['completed', 'failed', 'running']);
    expect(world.worker('again').last.text).toContain('rename the function');
  });

  test('[PLN8] a worker cannot approve itself', async () => {
    await using world = await start();
    await world.plan({ a: { review: 'person' }, b: [] });
    const { task } = world.worker('a');
    await world.worker('a').reports();
    await refused(world.worker('a').orch.reviewTask({ task, verdict: 'approve' }), 'stale_caller');
    await refused(world.worker('b').orch.reviewTask({ task, verdict: 'approve' }), 'not_allowed');
  });
});
