import type { ConflictNews, Findings, OpenSpec, Workspaces } from '@reveille/core';
import { ReveilleError, type DirtyPolicy, type Task, type TaskId } from '@reveille/protocol';
import { describe, expect, test } from 'vitest';
import { product, quiet, refused, start, type World } from './world.ts';

const work = (task: Task) => product(`/w/${task.name}`, `b/${task.name}`, []);

describe('where a run works', () => {
  test('[CHK1] a task with a repository gets a checkout, and is told where; one without has none', async () => {
    await using world = await start({ work });
    await world.plan({ a: [] });
    expect(world.worker('a').spec.workspace?.path).toBe(`/trees/${world.worker('a').task}`);
    expect(world.worker('a').last.text).toContain('You work in /trees/');
    await using bare = await start();
    await bare.plan({ a: [] });
    expect(bare.worker('a').spec.workspace).toBeNull();
  });

  test('[CHK2][PLN5] a dependent starts from what it depends on, a child from its parent at the spawn, the rest from the base', async () => {
    const opened: OpenSpec[] = [];
    await using world = await start({ work, workspaces: recording(opened) });
    await world.plan({ a: [], b: ['a'] }, { baseBranch: 'main' });
    const a = world.worker('a');
    await a.spawns('child');
    await a.spawns('guest', { isolation: 'shared' });
    await world.worker('child').reports('x');
    await world.worker('guest').reports('x');
    await a.orch.checkUpdates();
    await a.reports('done');
    const origins = opened.map(({ task, origin }) => [task.name, origin]);
    expect(origins).toEqual([
      ['a', { kind: 'base', branch: 'main', startsFrom: null }],
      ['child', { kind: 'checkpoint', commit: 'checkpoint of a' }],
      ['guest', { kind: 'shared', with: expect.objectContaining({ name: 'a' }) }],
      [
        'b',
        {
          kind: 'dependencies',
          branch: 'main',
          startsFrom: null,
          made: [{ task: expect.objectContaining({ name: 'a' }), commit: 'c0ffee' }],
        },
      ],
    ]);
  });

  test('[CHK3] a retry of what failed begins afresh; a review that asks for changes goes on with what is there', async () => {
    const opened: OpenSpec[] = [];
    await using world = await start({ workspaces: recording(opened) });
    await world.plan({ a: { review: 'person' } });
    await world.worker('a').reports('no', { status: 'failed' });
    await world.person.retryTask(world.worker('a').task);
    await quiet();
    await world.worker('a').reports('done');
    await world.person.reviewTask({ task: world.worker('a').task, verdict: 'changes', comment: 'more' });
    await quiet();
    expect(opened.map(({ fresh }) => fresh)).toEqual([false, true, false]);
  });

  test('[WKT3.82] what becomes of uncommitted changes is decided anew if the start of a draft says so', async () => {
    const asked: unknown[] = [];
    const inspect: Workspaces['inspect'] = async (_, { wanted }) => {
      asked.push(wanted);
      return { start: { snapshot: wanted === 'snapshot' ? 'c0ffee' : null }, files: [], count: 0 };
    };
    await using world = await start({ workspaces: { inspect } });
    const input = { name: 'p', repository: '/repos/a', tasks: [{ id: 'a', prompt: 'x' }] };
    const started = async (saved?: DirtyPolicy, wanted?: DirtyPolicy) => {
      asked.length = 0;
      const dirty = saved ? { dirty: saved } : {};
      const { plan } = await world.person.savePlan({ ...input, ...dirty });
      const { startsFrom } = await world.person.startPlan(plan.id, wanted ? { dirty: wanted } : {});
      return [[...asked], startsFrom];
    };
    expect(await started('snapshot')).toEqual([['snapshot'], { snapshot: 'c0ffee' }]);
    expect(await started('snapshot', 'head')).toEqual([['snapshot', 'head'], { snapshot: null }]);
    expect(await started()).toEqual([[null], { snapshot: null }]);
    expect(await started(undefined, 'snapshot')).toEqual([['snapshot'], { snapshot: 'c0ffee' }]);
    await world.person.stop({ scope: 'all' }, 'over');
    await quiet();
  });

  test('[WKT4.8] a checkout is opened as one to read for an agent that may not write', async () => {
    for (const readOnly of [true, false]) {
      const opened: OpenSpec[] = [];
      const role = async () => ({ systemPrompt: '', tools: [], deniedTools: [], readOnly, model: null });
      await using world = await start({ workspaces: recording(opened), definitions: { role } });
      await world.plan({ a: [] });
      expect(opened.map((spec) => spec.readOnly)).toEqual([readOnly]);
    }
  });

  test('[CHK4] what a person must mend fails the run at once; what may pass is tried again', async () => {
    let error: Error = new ReveilleError('dirty_checkout', 'a.ts is not committed');
    await using world = await start({
      workspaces: {
        open: async () => {
          throw error;
        },
      },
    });
    await world.plan({ a: [] });
    expect((await world.task('a')).end).toMatchObject({
      status: 'failed',
      error: { class: 'invalid', message: expect.stringContaining('a.ts is not committed') },
    });
    error = new ReveilleError('workspace_failed', 'the disk is full');
    await world.person.retryTask((await world.task('a')).task.id);
    await quiet();
    expect((await world.task('a')).task).toMatchObject({ state: 'waiting', waitingOn: 'backoff' });
    await world.advance(60_000);
    expect(await world.state('a')).toBe('failed');
  });

  test('[CHK4][HLT5.1] a checkout that cannot be made for want of room is made when there is some', async () => {
    let error: Error | null = new ReveilleError('workspace_failed', 'the disk is full', {
      data: { scarce: true },
    });
    await using world = await start({
      workspaces: {
        open: async () => {
          if (error) throw error;
          return { path: '/a', branch: 'a', environment: {}, notices: [] };
        },
      },
    });
    await world.plan({ a: [] });
    for (let minute = 0; minute < 10; minute++) await world.advance(60_000);
    expect((await world.task('a')).task).toMatchObject({ state: 'waiting', waitingOn: 'backoff' });
    error = null;
    await world.advance(61_000);
    expect(await world.state('a')).toBe('running');
  });

  test('[CHK4] a store that fails while the checkout is being opened fails nothing: it is opened when the store answers', async () => {
    let tries = 0;
    await using world = await start({
      workspaces: {
        open: async () => {
          if (tries++ === 0) throw new ReveilleError('store_failed', 'not now');
          return { path: '/a', branch: 'a', environment: {}, notices: [] };
        },
      },
    });
    await world.plan({ a: [] });
    await world.advance(5_000);
    expect(await world.state('a')).toBe('running');
    expect(world.hasWorker('a')).toBe(true);
    expect(tries).toBe(2);
    world.logs.length = 0;
  });

  test('[CHK4] a cancel breaks off a set-up that takes its time', async () => {
    await using world = await start({
      workspaces: {
        open: ({ signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
    });
    await world.plan({ a: [] });
    await world.person.cancelTask((await world.task('a')).task.id);
    await quiet();
    expect(await world.state('a')).toBe('cancelled');
  });
});

describe('what a run leaves', () => {
  test.for([
    ['a cancel', 'cancelled'],
    ['a limit', 'failed'],
    ['a crash past its tries', 'failed'],
    ['its owner', 'completed'],
    ['its last message', 'completed'],
  ] as const)('[CHK5] is in its end, if it ended by %s', async ([how, state]) => {
    await using world = await start({ work, byLastMessage: how === 'its last message' ? ['agent'] : [] });
    const budget = how === 'a limit' ? { budget: { tokens: 1 } } : {};
    await world.plan({ a: budget });
    const a = world.worker('a');
    if (how === 'a cancel') await world.person.cancelTask(a.task);
    if (how === 'a limit') a.spec.report({ type: 'usage', id: 'u', tokens: 5, usd: 0 });
    if (how === 'a crash past its tries') await a.fails('auth', 'no key');
    if (how === 'its owner') await world.person.completeTask(a.task);
    if (how === 'its last message') await a.ends('done');
    await quiet();
    expect(await world.task('a')).toMatchObject({ task: { state }, end: { work: { worktree: '/w/a' } } });
  });

  test('[CHK5] also of a run whose agent is parked, when its tree is cancelled', async () => {
    await using world = await start({ work });
    await world.plan({ a: [] });
    await world.worker('a').asks('what now?');
    await world.worker('a').ends();
    await world.worker('a').dies();
    await world.person.stop({ scope: 'all' }, 'enough');
    await quiet();
    expect((await world.task('a')).end).toMatchObject({ status: 'cancelled', work: { worktree: '/w/a' } });
  });

  test('[CHK6] one whose work cannot be taken has failed, and its end says where the work is', async () => {
    await using world = await start({
      workspaces: { collect: () => Promise.reject(new Error('disk full')) },
    });
    await world.plan({ a: [], b: ['a'] });
    await world.person.completeTask(world.worker('a').task);
    await quiet();
    expect((await world.task('a')).end).toMatchObject({
      status: 'failed',
      error: { class: 'workspace' },
      work: { commit: null, problem: expect.stringContaining('disk full') },
    });
    expect(await world.state('b')).toBe('blocked');
  });
});

describe('what a look finds', () => {
  const escape: Findings = { escapes: ['README.md was changed'], conflicts: [] };

  test('[CHK7][BND3] a person is told of it also if nothing can be collected any more', async () => {
    const full = async (): Promise<never> => {
      throw new Error('disk full');
    };
    await using world = await start({ workspaces: { look: async () => escape, collect: full } });
    await world.plan({ a: [] });
    await world.worker('a').ends();
    await quiet();
    expect(await world.task('a')).toMatchObject({
      task: { state: 'failed' },
      end: { error: { class: 'escape' } },
    });
    expect(await world.person.inbox()).toMatchObject([
      { kind: 'escape', text: expect.stringContaining('README.md was changed') },
    ]);
  });

  test.for(['its turn', 'its report'] as const)(
    '[CHK7][BND3] a run that got out is stopped after %s, and a person is told',
    async (when) => {
      await using world = await start({
        workspaces: {
          look: async () => escape,
          collect: async (task) => ({ work: work(task), findings: escape }),
        },
      });
      await world.plan({ a: [] });
      if (when === 'its turn') await world.worker('a').ends();
      else await world.worker('a').orch.reportCompletion({ status: 'success', output: 'done' });
      await quiet();
      expect(await world.task('a')).toMatchObject({
        task: { state: 'failed' },
        end: { error: { class: 'escape', message: expect.stringContaining('README.md was changed') } },
      });
      const inbox = await world.person.inbox();
      expect(inbox).toMatchObject([
        { kind: 'escape', text: expect.stringContaining('README.md was changed') },
      ]);
      await world.person.answer({ request: inbox[0]!.id, answer: 'seen' });
      expect(await world.person.inbox()).toEqual([]);
    },
  );

  test('[CHK7][BND3] what is found only when its agent is gone is told all the same', async () => {
    await using world = await start({ workspaces: { leave: async () => escape } });
    await world.plan({ a: [] });
    await world.worker('a').orch.reportCompletion({ status: 'success', output: 'done' });
    await quiet();
    expect(await world.state('a')).toBe('completed');
    expect(await world.person.inbox()).toMatchObject([
      { kind: 'escape', text: expect.stringContaining('README.md was changed') },
    ]);
  });

  test.for(['a look', 'a collection'] as const)(
    '[CHK7][BND3] what %s finds is told also if the run was ended by somebody else meanwhile',
    async (which) => {
      const { promise: looked, resolve: seen } = Promise.withResolvers<Findings>();
      let collections = 0;
      await using world = await start({
        workspaces: {
          look: () => looked,
          collect: async (task) => {
            const first = ++collections === 1 && which === 'a collection';
            return { work: work(task), findings: first ? await looked : { escapes: [], conflicts: [] } };
          },
        },
      });
      await world.plan({ a: [] });
      const a = world.worker('a');
      const late = which === 'a look' ? a.ends() : refused(a.reports(), 'stale_caller');
      await quiet();
      await world.person.completeTask(a.task, 'good enough');
      seen(escape);
      await late;
      await quiet();
      expect(await world.state('a')).toBe('completed');
      expect(await world.person.inbox()).toMatchObject([
        { kind: 'escape', text: expect.stringContaining('README.md was changed') },
      ]);
    },
  );

  /** A conflict of two tasks, or of one with a branch of the person. */
  const conflict = (task: TaskId, side: ConflictNews['with'], also: Partial<ConflictNews> = {}) =>
    ({ task, with: side, began: true, files: ['x.ts'], key: 'k1', ...also }) satisfies ConflictNews;

  async function worldWith(): Promise<{ world: World; tell: (...news: ConflictNews[]) => void }> {
    let news: readonly ConflictNews[] = [];
    const look = async () => ({ escapes: [], conflicts: news });
    const world = await start({ workspaces: { look } });
    return { world, tell: (...told) => (news = told) };
  }

  /** The named worker ends a turn, which is when its branch is looked at, and goes on. */
  async function turnOf(world: World, name: string): Promise<void> {
    const worker = world.worker(name);
    await worker.asks(`what now? ${worker.turns.length}`);
    await worker.ends();
    await world.person.sendMessage({ to: worker.task, message: 'go on' });
    await quiet();
  }

  test('[CHK8][PLN7] a conflict is told to both owners, once, and so is its end', async () => {
    const { world, tell } = await worldWith();
    await using _ = world;
    const [one, two] = [await world.chat('chat', 'one'), await world.chat('chat', 'two')];
    const a = await one.spawns('a');
    const b = await two.spawns('b');
    tell(conflict(a, { task: b }));
    for (let turn = 0; turn < 2; turn++) await turnOf(world, 'a');
    tell(conflict(a, { task: b }, { began: false }));
    await turnOf(world, 'b');
    for (const chat of [one, two])
      expect((await chat.mail('forecast')).map(({ text }) => text)).toEqual([
        expect.stringMatching(/^"a" \(task_\w+\) and "b" \(task_\w+\) now change the same lines: x\.ts\./),
        expect.stringContaining('no longer conflict'),
      ]);
    expect(await world.events('conflict.ended')).toHaveLength(1);
  });

  test('[PLN7.1] a branch whose task failed, was cancelled or is integrated begins no conflict, and the end is told to the other owner', async () => {
    const { world, tell } = await worldWith();
    await using _ = world;
    const chat = await world.chat();
    const a = await chat.spawns('a');
    await world.plan({ b: [], c: [] });
    const b = world.worker('b').task;
    tell(conflict(a, { task: b }));
    await turnOf(world, 'a');
    await world.person.cancelTask(b);
    await quiet();
    tell(conflict(a, { task: b }, { began: false }), conflict(a, { task: b }, { key: 'k2' }));
    await turnOf(world, 'a');
    expect((await chat.mail('forecast')).map(({ text }) => text)).toEqual([
      expect.stringContaining('now change the same lines'),
      expect.stringMatching(/no longer conflict: nothing of "b" is to be merged any more\.$/),
    ]);
    // The plan's owner heard of the begin; its own branch is gone.
    expect(await world.ownersMail('b', 'forecast')).toHaveLength(1);
    expect(await world.events('conflict.began')).toHaveLength(1);
  });

  test('[PLN7.2] a conflict with the branch that others started from names it, and only its owner is told', async () => {
    const { world, tell } = await worldWith();
    await using _ = world;
    const chat = await world.chat();
    const a = await chat.spawns('a');
    tell(conflict(a, { base: 'main' }));
    await turnOf(world, 'a');
    tell(conflict(a, { base: 'main' }, { began: false }));
    await turnOf(world, 'a');
    expect((await chat.mail('forecast')).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^"a" \(task_\w+\) now conflicts with main, .*: x\.ts\./),
      expect.stringMatching(/^"a" \(task_\w+\) no longer conflicts with main\.$/),
    ]);
  });

  test('[PLN7.3] a forecast wakes nobody: it comes along with the next mail, under a head of its own', async () => {
    const { world, tell } = await worldWith();
    await using _ = world;
    await world.plan({ parent: [] });
    const parent = world.worker('parent');
    const [a, b] = [await parent.spawns('a'), await parent.spawns('b')];
    await parent.ends();
    tell(conflict(a, { task: b }));
    await world.worker('a').ends();
    expect(await world.mail(parent.spec.session, 'forecast')).toMatchObject([
      { state: 'queued', quiet: true },
    ]);
    const turns = parent.turns.length;
    await world.worker('b').reports('done');
    expect(parent.turns).toHaveLength(turns + 1);
    expect(parent.last.text).toMatch(
      /Reveille forecasts:\n<reveille-data [^]*now change the same lines: x\.ts/,
    );
  });
});

describe('what is done with the work', () => {
  test('[CHK9] who may, and when: the owner or a person; to discard only what has ended; home never by a worker', async () => {
    const done: string[] = [];
    const note = (what: string) => async (task: Task) => {
      done.push(`${what} ${task.name}`);
      return { merged: true, commit: 'c', files: [] } as const;
    };
    const snapshot = { ref: 'r', commit: 'c', why: 'w', at: 1 };
    await using world = await start({
      workspaces: {
        pull: async (child, into) => note(`pull into ${into.name}:`)(child),
        discard: async (task) => (await note('discard')(task), snapshot),
        bringHome: note('home'),
      },
    });
    await world.plan({ a: [], b: [] });
    const a = world.worker('a');
    const child = await a.spawns('child');
    await refused(world.worker('b').orch.pullSubtask(child), 'not_allowed');
    await refused(world.person.pullSubtask(child), 'not_allowed');
    await refused(world.person.discardTask(child), 'wrong_state');
    await refused(a.orch.bringHome(child), 'not_allowed');
    await world.worker('child').reports('x');
    await a.orch.pullSubtask(child);
    await world.person.discardTask(child);
    await world.person.bringHome(child);
    expect(done).toEqual(['pull into a: child', 'discard child', 'home child']);
  });
});

const recording = (opened: OpenSpec[]) => ({
  open: async (spec: OpenSpec) => {
    opened.push(spec);
    return { path: '/w', branch: 'b', environment: {}, notices: [] };
  },
});
