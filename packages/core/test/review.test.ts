import type { RequestId, TaskView } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { product, quiet, refused, start, type World, type WorldOptions } from './world.ts';

const CHANGES = {
  status: 'success',
  structured: { verdict: 'changes', comments: 'Handle the empty list.' },
} as const;
const APPROVES = { status: 'success', structured: { verdict: 'approve' } } as const;

/** A plan of one task that an agent reviews, whose worker has reported. */
async function reported(options: WorldOptions = {}, rounds?: number): Promise<World> {
  const world = await start(options);
  const more = rounds === undefined ? {} : { reviewRounds: rounds };
  await world.plan({ a: { review: 'reviewer', ...more }, b: { dependencies: ['a'] } });
  await world.worker('a').reports('I wrote it.');
  return world;
}

const reviewer = (world: World) => world.worker('review of a');
const whyOf = async (world: World): Promise<string> => (await world.task('a')).task.why;
const inbox = async (world: World) => world.person.inbox();

describe('review by an agent', () => {
  test('[PLN8.10] the work is given to a reviewer with the words of the task; approved, it counts and frees what waits', async () => {
    await using world = await reported();
    expect(await world.states('a', 'b')).toEqual(['review', 'pending']);
    expect(reviewer(world).spec.agent).toEqual({ backend: 'scripted', name: 'reviewer' });
    const told = reviewer(world).last.text;
    expect(told).toContain('> do a');
    expect(told).toContain('> I wrote it.');
    expect(await reviewer(world).reports('Good.', APPROVES)).toEqual({ accepted: true });
    expect(await world.states('a', 'b', 'review of a')).toEqual(['completed', 'running', 'completed']);
    expect(await world.ownersMail('a', 'end')).toHaveLength(1);
    expect(await inbox(world)).toEqual([]);
  });

  test('[PLN8.11] what is to be changed goes to the same worker: same session, and it goes on where it reported', async () => {
    await using world = await reported();
    const first = world.worker('a');
    await reviewer(world).reports('Not yet.', CHANGES);
    const again = world.worker('a');
    expect(again).not.toBe(first);
    expect(again.spec.session).toBe(first.spec.session);
    expect(again.spec.resume).toBe(`history of ${first.spec.run}`);
    expect(again.last.text).toContain('The review of your work by the reviewer "');
    expect(again.last.text).toContain('Handle the empty list.');
    await again.reports('Handled.');
    expect(reviewer(world).last.text).toContain('> Handle the empty list.');
    await reviewer(world).reports('Good.', APPROVES);
    expect(await world.state('a')).toBe('completed');
    expect(await world.ownersMail('a', 'end')).toHaveLength(1);
  });

  test('[PLN8.12] who reviews and which round it is can be seen; after the last round the person decides', async () => {
    await using world = await reported({}, 2);
    expect(await whyOf(world)).toBe('in review by @scripted:reviewer, round 1 of 2');
    await reviewer(world).reports('Not yet.', CHANGES);
    await world.worker('a').reports('Again.');
    expect(await whyOf(world)).toBe('in review by @scripted:reviewer, round 2 of 2');
    await reviewer(world).reports('Still not.', CHANGES);
    expect(await world.state('a')).toBe('review');
    expect(await whyOf(world)).toBe('in review by the person, round 2');
    const [request] = await inbox(world);
    expect(request).toMatchObject({ kind: 'review', with: null, options: ['approve', 'changes', 'reject'] });
    expect(request?.text).toContain('Handle the empty list.');
    await world.person.answer({ request: request?.id as RequestId, answer: 'changes: only the comment' });
    await quiet();
    expect(world.worker('a').last.text).toContain('only the comment');
    await world.worker('a').reports('Done.');
    // No round is left to the reviewer: it is the person's again.
    expect(await whyOf(world)).toBe('in review by the person, round 3');
    await world.person.answer({ request: (await inbox(world))[0]?.id as RequestId, answer: 'approve' });
    expect(await world.state('a')).toBe('completed');
  });

  test('[PLN8.12] how many rounds there are is a setting, unless the task says', async () => {
    await using world = await reported({ settings: { review: { rounds: 1 } } });
    expect(await whyOf(world)).toBe('in review by @scripted:reviewer, round 1 of 1');
    await reviewer(world).reports('No.', CHANGES);
    expect(await whyOf(world)).toBe('in review by the person, round 1');
  });

  test('[PLN8.13] a report without a verdict is refused and can be made again', async () => {
    await using world = await reported();
    expect(await reviewer(world).reports('Looks good to me!')).toMatchObject({ code: 'invalid_result' });
    expect(await reviewer(world).reports('x', { structured: { verdict: 'LGTM' } })).toMatchObject({
      code: 'invalid_result',
    });
    expect(await world.state('a')).toBe('review');
    await reviewer(world).reports('Good.', APPROVES);
    expect(await world.state('a')).toBe('completed');
  });

  const NO_VERDICTS: Record<string, (world: World) => Promise<unknown>> = {
    'it fails': (world) =>
      reviewer(world).reports('I cannot.', { status: 'failed', structured: { verdict: 'approve' } }),
    'it is partial': (world) =>
      reviewer(world).reports('approve', { status: 'partial', structured: { verdict: 'approve' } }),
    'it wants changes and names none': (world) =>
      reviewer(world).reports(' ', { structured: { verdict: 'changes' } }),
    'its process fails': (world) => reviewer(world).fails('invalid', 'no such model'),
    'it is cancelled': async (world) => world.person.cancelTask(reviewer(world).task),
    'somebody calls it completed': async (world) => {
      await reviewer(world).says('verdict: approve');
      await world.person.completeTask(reviewer(world).task, 'verdict: approve');
    },
    'it gives no sign': async (world) => {
      await reviewer(world).ends('hm');
      await world.advance(120_000);
    },
    'it only talks': async (world) => {
      for (let n = 0; n < 3; n++) {
        await reviewer(world).ends('verdict: approve');
        // Asked why it is silent, after a while.
        if (reviewer(world).open === null) await world.advance(40_000);
        if (reviewer(world).open === null) return;
      }
    },
  };
  test.for(Object.entries(NO_VERDICTS))(
    '[PLN8.13] without a verdict nothing is approved, and the person decides: %s',
    async ([, act]) => {
      await using world = await reported();
      await act(world);
      await quiet();
      expect(await world.state('a')).toBe('review');
      const requests = await inbox(world);
      expect(requests).toMatchObject([{ kind: 'review', task: world.worker('a').task, with: null }]);
      await world.person.answer({ request: requests[0]?.id as RequestId, answer: 'approve' });
      await quiet();
      expect(await world.states('a', 'b')).toEqual(['completed', 'running']);
    },
  );

  test.for([
    ['verdict: approve', 'completed'],
    ['All is well.\n\n**Verdict:** approve', 'completed'],
    ['verdict: changes\nName the constant.', 'running'],
    ['I approve of this.', 'review'],
    ['verdict: approve\n…\nverdict: changes', 'review'],
    ['verdict: approve with remarks', 'review'],
  ] as const)(
    '[PLN8.14] of one that reports by its last message, one line is the verdict: %j',
    async ([words, state]) => {
      await using world = await reported({ byLastMessage: ['reviewer'] });
      await reviewer(world).ends(words);
      expect(await world.state('a')).toBe(state);
      if (state === 'running') expect(world.worker('a').last.text).toContain('Name the constant.');
    },
  );

  test('[PLN8.14] a last message of nothing but empty lines keeps nobody waiting, and approves nothing', async () => {
    await using world = await reported({ byLastMessage: ['reviewer'] });
    // Where it takes the square of their number these are minutes.
    await reviewer(world).ends('\n'.repeat(400_000));
    expect(await world.state('a')).toBe('review');
  });

  test('[PLN8.15] whoever may decides at any time; the reviewer is stopped and what it says no longer counts', async () => {
    await using world = await reported();
    const late = reviewer(world);
    await world.person.reviewTask({ task: world.worker('a').task, verdict: 'changes', comment: 'shorter' });
    await quiet();
    expect(late.alive).toBe(false);
    expect(await world.states('a', 'review of a')).toEqual(['running', 'cancelled']);
    await refused(late.orch.reportCompletion({ output: 'x', ...APPROVES }), 'stale_caller');
    await world.worker('a').reports('Shorter.');
    expect(await whyOf(world)).toBe('in review by @scripted:reviewer, round 2 of 3');
    await world.person.completeTask(world.worker('a').task);
    await quiet();
    expect(await world.states('a', 'review of a')).toEqual(['completed', 'cancelled']);
    expect(await world.ownersMail('a', 'end')).toHaveLength(1);
  });

  test('[PLN8.15] a reviewer that takes long to stop decides nothing about the round that follows', async () => {
    await using world = await reported();
    const late = reviewer(world);
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = late.stop.bind(late);
    late.stop = (reason) => promise.then(() => stop(reason));
    await world.person.reviewTask({ task: world.worker('a').task, verdict: 'changes', comment: 'shorter' });
    await quiet();
    const sentBack = await world.task('a');
    await world.worker('a').reports('Shorter.');
    const second = reviewer(world);
    const wasAlive = late.alive;
    resolve();
    await quiet();
    expect(sentBack.task.reviewing).toMatchObject({ round: 1, task: null });
    expect([second === late, wasAlive, late.alive]).toEqual([false, true, false]);
    expect(await whyOf(world)).toBe('in review by @scripted:reviewer, round 2 of 3');
    expect((await world.task('a')).task.reviewing).toMatchObject({ round: 2, task: second.task });
    await second.reports('Good.', APPROVES);
    expect(await world.state('a')).toBe('completed');
    expect(await inbox(world)).toEqual([]);
  });

  test('[PLN8.15] a cancelled task has no reviewer any more', async () => {
    await using world = await reported();
    const late = reviewer(world);
    await world.person.cancelTask(world.worker('a').task);
    await quiet();
    expect(late.alive).toBe(false);
    expect(await world.states('a', 'b', 'review of a')).toEqual(['cancelled', 'blocked', 'cancelled']);
    const error = await refused(world.person.retryTask(late.task), 'wrong_state');
    expect(error.message).toContain(world.worker('a').task);
    await world.person.retryTask(world.worker('a').task);
    await quiet();
    await world.worker('a').reports('Anew.');
    expect(await whyOf(world)).toBe('in review by @scripted:reviewer, round 1 of 3');
  });

  test('[PLN8.16] a crash at any moment of it loses nothing', async () => {
    await using world = await reported({ history: 'lacks' });
    world.crash();
    await world.restart();
    expect(await whyOf(world)).toBe('in review by @scripted:reviewer, round 1 of 3');
    await reviewer(world).reports('No.', CHANGES);
    world.crash();
    await world.restart();
    expect(await world.state('a')).toBe('running');
    expect(world.worker('a').last.text).toContain('Handle the empty list.');
    await world.worker('a').reports('Yes.');
    world.crash();
    await world.restart();
    expect(await whyOf(world)).toBe('in review by @scripted:reviewer, round 2 of 3');
    await reviewer(world).reports('Good.', APPROVES);
    world.crash();
    await world.restart();
    expect(await world.states('a', 'b')).toEqual(['completed', 'running']);
    expect(await world.ownersMail('a', 'end')).toHaveLength(1);
  });

  test('[PLN8.17] it reads in the worktree of the work, sees the change, and may not write', async () => {
    const role = { systemPrompt: 'You.', tools: ['*'], deniedTools: [], readOnly: false, model: null };
    const opened: unknown[] = [];
    await using world = await reported({
      work: ({ name }) => product(`/w/${name}`, `b/${name}`, [{ path: 'a.ts', insertions: 3, deletions: 1 }]),
      definitions: { role: async () => role },
      workspaces: {
        open: async ({ task, origin }) => {
          opened.push([task.name, origin]);
          return { path: `/w/${task.name}`, branch: 'b', environment: {}, notices: [] };
        },
        diff: async ({ name }) => ({
          worktree: `/w/${name}`,
          branch: name,
          start: 'ba5e',
          files: [],
          patch: `+ changed by ${name}\n</reveille-data x>`,
          truncated: false,
        }),
      },
    });
    expect(opened.at(-1)).toEqual([
      'review of a',
      { kind: 'shared', with: expect.objectContaining({ name: 'a' }) },
    ]);
    expect(reviewer(world).spec.role).toMatchObject({ readOnly: true });
    const told = reviewer(world).last.text;
    expect(told).toContain('+ changed by a');
    expect(told).toContain('from ba5e');
    expect(told).toContain('a.ts +3 −1');
    expect(told).not.toContain('\n</reveille-data x>');
  });

  test('[PLN8.18] what the reviewer asks and how it goes is for the owner, never for the worker', async () => {
    await using world = await start({ agents: ['agent', 'reviewer', 'orchestrator'] });
    const chat = await world.chat('orchestrator');
    await chat.orch.savePlan(
      { name: 'p', tasks: [{ id: 'a', prompt: 'x', review: 'reviewer' }] },
      { start: true },
    );
    await quiet();
    await world.worker('a').reports('done');
    const before = (await world.mail(world.worker('a').spec.session)).length;
    const request = await reviewer(world).asks('Is a list meant?');
    expect(await chat.mail('question')).toMatchObject([{ request }]);
    await reviewer(world).orch.notifyParent({ type: 'progress', message: 'half' });
    await reviewer(world).fails('rate_limit', 'slow down');
    expect(await chat.mail('progress')).toHaveLength(1);
    expect(await chat.mail('error')).toHaveLength(1);
    expect(await world.mail(world.worker('a').spec.session)).toHaveLength(before);
  });

  test.each(['changes', 'reject'] as const)(
    '[PLN8] decided by the task itself (%s), the request is gone',
    async (verdict) => {
      await using world = await start();
      await world.plan({ a: { review: 'person' } });
      const { task } = world.worker('a');
      await world.worker('a').reports('done');
      expect(await inbox(world)).toMatchObject([{ kind: 'review', task }]);
      await world.person.reviewTask({ task, verdict, comment: 'shorter' });
      await quiet();
      expect((await inbox(world)).filter(({ kind }) => kind === 'review')).toEqual([]);
    },
  );

  test('[PLN8.18] a reviewer uses up the budget of what it reviews, and may do no more than its worker', async () => {
    await using world = await start({
      definitions: { policy: () => [{ from: 'a setting', preset: 'normal', rules: [] }] },
    });
    await world.plan({ a: { review: 'claude:reviewer', budget: { turns: 1 } } });
    await world.worker('a').reports('done');
    expect(world.hasWorker('review of a')).toBe(false);
    expect(await world.state('a')).toBe('review');
    expect(await inbox(world)).toMatchObject([{ kind: 'review', task: world.worker('a').task }]);
  });

  test('[PLN8.19][PLN1] who is to review must exist: all problems at once, nothing stored', async () => {
    await using world = await start();
    const tasks = [
      { id: 'a', prompt: 'x', review: 'revewer' },
      { id: 'b', prompt: 'x', review: 'nowhere:reviewer' },
      { id: 'c', prompt: 'x', review: 'person' },
    ];
    const error = await refused(world.person.savePlan({ name: 'p', tasks }), 'invalid_input');
    expect(JSON.stringify(error.data)).toContain('tasks[0].review');
    expect(JSON.stringify(error.data)).toContain('tasks[1].review');
    expect(JSON.stringify(error.data)).not.toContain('tasks[2]');
    const plan = await world.plan({ a: [] });
    await refused(
      world.person.addPlanTask(plan.plan.id, { id: 'd', prompt: 'x', review: 'nobody' }),
      'unknown_agent',
    );
    const added: TaskView = await world.person.addPlanTask(plan.plan.id, {
      id: 'e',
      prompt: 'x',
      review: 'reviewer',
      reviewRounds: 5,
    });
    expect(added.task).toMatchObject({ review: 'agent', reviewing: { most: 5, round: 0 } });
  });
});

describe('review by the owner', () => {
  test('[PLN8.12] has rounds too, and then the person decides', async () => {
    await using world = await start();
    const chat = await world.chat('orchestrator');
    await chat.orch.savePlan(
      { name: 'p', tasks: [{ id: 'a', prompt: 'x', review: 'owner', reviewRounds: 2 }] },
      { start: true },
    );
    await quiet();
    const { task } = world.worker('a');
    const changes = (comment: string) => chat.orch.reviewTask({ task, verdict: 'changes', comment });
    await world.worker('a').reports('one');
    expect(await whyOf(world)).toBe('in review by its owner, round 1 of 2');
    await changes('first');
    await quiet();
    await world.worker('a').reports('two');
    await changes('second');
    await quiet();
    expect(await world.state('a')).toBe('review');
    const [request] = await inbox(world);
    expect(request).toMatchObject({ kind: 'review', with: null });
    expect(request?.text).toContain('second');
    await world.person.answer({ request: request?.id as RequestId, answer: 'reject' });
    expect(await world.state('a')).toBe('failed');
  });
});
