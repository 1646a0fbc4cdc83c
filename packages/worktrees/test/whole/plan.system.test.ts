import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withScript, type Step } from '@reveille/executors';
import type { Request } from '@reveille/protocol';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openShop, write, type Part, type Shop } from '../../../../test/shop.ts';

const edit = (path: string, content: string): Step => ({ do: 'edit', path, content });
const makes = (path: string, content: string, after: readonly string[] = []): Part => ({
  after,
  script: { steps: [edit(path, content), { do: 'report', output: `made ${path}` }] },
});

test('[WKT6.80][PLN5.80][PLN6.80] a plan with dependencies and subtasks ends with one branch that has it all; the person’s checkout is untouched', async () => {
  await using shop = await openShop();
  const head = shop.git('rev-parse', 'HEAD');
  const child = (name: string) => ({
    prompt: name,
    name,
    script: { steps: [edit(`${name}.txt`, name), { do: 'report' } as const] },
  });
  const plan = await shop.plan({
    a: makes('a.txt', 'a'),
    parent: {
      script: {
        steps: [edit('parent.txt', 'not committed yet'), { do: 'spawn', tasks: [child('x'), child('y')] }],
        whenWoken: [{ do: 'pull' }, { do: 'report', output: 'all of it' }],
      },
    },
    b: makes('b.txt', 'b', ['a']),
  });
  const view = await shop.until(plan);
  expect(view.plan, await shop.story()).toMatchObject({ state: 'completed' });
  const { branch } = (await shop.task(plan, 'integration')).end!.work!;
  expect(shop.files(branch)).toEqual(
    ['README.md', 'a.txt', 'b.txt', 'parent.txt', 'src/a.txt', 'x.txt', 'y.txt'].toSorted(),
  );
  const b = (await shop.task(plan, 'b')).end!.work!;
  expect(b.files).toEqual([{ path: 'b.txt', insertions: 1, deletions: 0 }]);
  expect(shop.files(b.branch)).toContain('a.txt');
  expect(shop.git('log', '-1', '--format=%an', b.branch)).toBe('@scripted:agent');
  expect(shop.git('status', '--porcelain')).toBe('');
  expect(shop.git('rev-parse', 'HEAD')).toBe(head);
  expect(shop.git('fsck', '--strict', '--no-dangling')).toBe('');
});

test('[WKT7.80] a child starts from its parent’s uncommitted state, and a pull brings back only what the child did', async () => {
  await using shop = await openShop();
  const plan = await shop.plan({
    parent: {
      script: {
        steps: [
          edit('src/a.txt', 'ONE\ntwo\nthree\n'),
          {
            do: 'delegate',
            task: {
              prompt: 'child',
              name: 'child',
              script: { steps: [edit('seen.txt', 'child'), { do: 'report' }] },
            },
          },
          { do: 'pull' },
          { do: 'report' },
        ],
      },
    },
  });
  expect((await shop.until(plan)).plan.state, await shop.story()).toBe('completed');
  const child = (await shop.person.listTasks({})).find(({ task }) => task.name === 'child')!;
  expect(child.end!.work!.files).toEqual([{ path: 'seen.txt', insertions: 1, deletions: 0 }]);
  const parent = (await shop.task(plan, 'parent')).end!.work!;
  expect(shop.git('show', `${parent.branch}:src/a.txt`)).toBe('ONE\ntwo\nthree');
  expect(shop.files(parent.branch)).toContain('seen.txt');
});

/** A resolver that merges and keeps what was merged first. */
const resolver = (): string =>
  'git merge -q $THEIRS || true; git checkout -q --ours .; git add -A; git commit -qm resolved';

test('[PLN6.81] a conflict names the task and the files, and the owner chooses: left out, stopped, or resolved', async () => {
  await using shop = await openShop({ resolver });
  const both = { a: makes('src/a.txt', 'A\ntwo\nthree\n'), b: makes('src/a.txt', 'B\ntwo\nthree\n') };
  const asked = async (): Promise<boolean> => (await shop.person.inbox()).length > 0;
  for (const choice of ['leave', 'stop', 'resolve'] as const) {
    const plan = await shop.plan(both);
    await shop.until(plan, asked);
    const [question] = await shop.person.inbox();
    expect(question!.kind).toBe('conflict');
    expect(question!.text).toContain('conflicts with what is merged before it: src/a.txt');
    const answer = question!.options.find((option) => option.startsWith(choice))!;
    await shop.person.answer({ request: question!.id, answer });
    const ended = await shop.until(plan, async ({ tasks }) => {
      const integration = tasks.find(({ task }) => task.agent.name === 'integrator')!;
      return integration.end !== null || (choice === 'resolve' && (await asked()));
    });
    const integration = ended.tasks.find(({ task }) => task.agent.name === 'integrator')!;
    if (choice === 'leave') expect(integration.end).toMatchObject({ status: 'partial' });
    if (choice === 'stop') expect(integration.end).toMatchObject({ status: 'failed' });
    if (choice === 'resolve')
      expect(integration.end, await shop.story()).toMatchObject({ status: 'success' });
    if (choice === 'resolve') {
      const { branch } = integration.end!.work!;
      expect(shop.git('show', `${branch}:src/a.txt`)).toMatch(/^[AB]\ntwo\nthree$/);
      expect(shop.git('log', '-1', '--format=%s', branch)).toBe('resolved');
    }
    for (const { id: request, kind, options } of await shop.person.inbox())
      await shop.person.answer({ request, answer: kind === 'failure' ? 'cancel' : (options[0] ?? 'ok') });
    await shop.until(plan);
  }
});

test('[INB3.40] an answer about one of two tasks of the same name says nothing about the other', async () => {
  await using shop = await openShop();
  const part = (text: string): Part => ({
    ...makes('src/a.txt', `${text}\ntwo\nthree\n`),
    name: 'Fix the tests',
  });
  const plan = await shop.plan({ a: part('A'), b: part('B'), c: part('C') });
  const answered = new Set<string>();
  const next = async (): Promise<Request> => {
    await shop.until(plan, async () =>
      (await shop.person.inbox()).some(({ id, kind }) => kind === 'conflict' && !answered.has(id)),
    );
    return (await shop.person.inbox()).find(({ kind }) => kind === 'conflict')!;
  };
  for (let i = 0; i < 2; i++) {
    const { id: request, labels } = await next();
    expect(labels).toContain('leave "Fix the tests" out');
    answered.add(request);
    await shop.person.answer({ request, answer: 'leave "Fix the tests" out' });
  }
  expect(answered.size).toBe(2);
  await shop.until(plan, async ({ tasks }) =>
    tasks.some(({ task, end }) => task.agent.name === 'integrator' && end !== null),
  );
});

test('[PLN6.83] by setting, an agent is to resolve a conflict before anybody is asked', async () => {
  await using shop = await openShop({ settings: { onConflict: 'resolve' }, resolver });
  const plan = await shop.plan({
    a: makes('src/a.txt', 'A\ntwo\nthree\n'),
    b: makes('src/a.txt', 'B\ntwo\nthree\n'),
  });
  expect((await shop.until(plan)).plan.state, await shop.story()).toBe('completed');
  const tasks = await shop.person.listTasks({});
  expect(tasks.filter(({ task }) => task.name.startsWith('resolve '))).toHaveLength(1);
  expect(await shop.person.inbox()).toEqual([]);
});

test('[PLN6.82] every step is checked; one that makes the check fail is not merged, and says what it printed', async () => {
  await using shop = await openShop();
  const plan = await shop.plan(
    { good: makes('good.txt', 'x'), bad: makes('bad.txt', 'x', ['good']) },
    { verify: 'echo looked; test ! -e bad.txt' },
  );
  await shop.until(plan, async () => (await shop.person.inbox()).length > 0);
  const [question] = await shop.person.inbox();
  expect(question!.text).toContain('"bad"');
  expect(question!.text).toContain('makes the check fail');
  expect(question!.text).toContain('looked');
  await shop.person.answer({
    request: question!.id,
    answer: question!.options.find((one) => one.includes('stop'))!,
  });
  expect((await shop.until(plan)).plan.state).toBe('failed');
  const { branch } = (await shop.task(plan, 'integration')).end!.work!;
  expect(shop.files(branch)).toContain('good.txt');
  expect(shop.files(branch)).not.toContain('bad.txt');
});

test('[WKT6.81] a retry begins afresh, and what the failed attempt made is in a snapshot; discarded work comes back', async () => {
  await using shop = await openShop();
  const plan = await shop.plan({
    a: {
      script: {
        steps: [
          { ...edit('ruin.txt', 'half done'), attempt: 1 },
          { do: 'report', status: 'failed', output: 'no', attempt: 1 },
          edit('a.txt', 'a'),
          { do: 'report' },
        ],
      },
    },
  });
  expect((await shop.until(plan)).plan.state).toBe('failed');
  const a = (await shop.task(plan, 'a')).task.id;
  await shop.person.retryTask(a);
  expect((await shop.until(plan)).plan.state, await shop.story()).toBe('completed');
  const { branch } = (await shop.task(plan, 'integration')).end!.work!;
  expect(shop.files(branch)).not.toContain('ruin.txt');
  const [snapshot] = await shop.person.snapshots(a);
  expect(shop.git('show', `${snapshot!.ref}:ruin.txt`)).toBe('half done');

  const { worktree } = (await shop.task(plan, 'a')).end!.work!;
  writeFileSync(join(worktree, 'later.txt'), 'not committed');
  const discarded = await shop.person.discardTask(a);
  expect(existsSync(worktree)).toBe(false);
  expect(shop.git('show', `${discarded.ref}:later.txt`)).toBe('not committed');
  const restored = await shop.person.restoreTask(a);
  expect(readFileSync(join(restored.worktree, 'later.txt'), 'utf8')).toBe('not committed');
});

test('[WKT6.91] a person works in a worktree that was taken over; its worker goes on from there', async () => {
  await using shop = await openShop();
  const plan = await shop.plan({
    a: {
      script: {
        steps: [edit('a.txt', 'a'), { do: 'ask', text: 'Well?' }, edit('b.txt', 'b'), { do: 'report' }],
      },
    },
  });
  await shop.until(plan, async () => (await shop.person.inbox()).length > 0);
  const [{ id: request, task }] = (await shop.person.inbox()) as [Request];
  await shop.until(plan, async () => (await shop.person.takeOver(task)).ready);
  const taken = await shop.person.takeOver(task);
  write(taken.ready ? taken.worktree : '', { 'a.txt': 'mine', 'mine.txt': 'one\n' });
  await shop.person.resumeWorker(task);
  await shop.person.answer({ request, answer: 'go on' });
  expect((await shop.until(plan)).plan.state, await shop.story()).toBe('completed');
  const { branch } = (await shop.task(plan, 'a')).end!.work!;
  expect(shop.files(branch)).toEqual(expect.arrayContaining(['a.txt', 'b.txt', 'mine.txt']));
  expect(shop.git('show', `${branch}:a.txt`)).toBe('mine');
  const mail = await shop.person.mailbox((await shop.task(plan, 'a')).task.session);
  expect(mail.find(({ kind }) => kind === 'resume')?.text).toMatch(
    /changed "a\.txt" \(\+1 −1\), "mine\.txt" \(\+1 −0\)\./,
  );
});

test('[WKT6.82] the work comes home on request, and never into a dirty checkout', async () => {
  await using shop = await openShop();
  const plan = await shop.plan({ a: makes('a.txt', 'a') });
  await shop.until(plan);
  write(shop.root, { 'README.md': 'mine\n' });
  await expect(shop.person.bringHome(plan)).rejects.toMatchObject({
    code: 'dirty_checkout',
    data: { files: ['README.md'] },
  });
  expect(existsSync(join(shop.root, 'a.txt'))).toBe(false);
  shop.git('checkout', '-q', '--', 'README.md');
  expect(await shop.person.bringHome(plan)).toMatchObject({ merged: true, files: [{ path: 'a.txt' }] });
  expect(readFileSync(join(shop.root, 'a.txt'), 'utf8')).toBe('a');
  expect(shop.git('status', '--porcelain')).toBe('');
});

test('[BND3.80] where nothing holds an agent in, a change of the person’s checkout stops its run and is told', async () => {
  await using shop = await openShop({
    settings: { sandbox: 'off' },
    write: (root, path, content) => writeFileSync(join(root, path), content),
  });
  const plan = await shop.plan({ a: makes('README.md', 'mine now\n') });
  expect((await shop.until(plan)).plan.state).toBe('failed');
  expect((await shop.task(plan, 'a')).end).toMatchObject({
    status: 'failed',
    error: { class: 'escape', message: expect.stringMatching(/README\.md was (?:added|changed)/) },
  });
  expect(await shop.person.inbox()).toMatchObject([{ kind: 'escape' }]);
});

test('[WKT3.81] plans and settings of ours in the checkout do not make it dirty', async () => {
  await using shop = await openShop();
  write(shop.root, { '.reveille/plans/example.yaml': 'name: x\n' });
  const plan = await shop.plan({ a: makes('a.txt', 'a') });
  expect((await shop.until(plan)).plan.state, await shop.story()).toBe('completed');
});

test('[PLN7.80] owners are told when branches that are to be merged begin to conflict', async () => {
  await using shop = await openShop();
  const plan = await shop.plan({
    a: makes('src/a.txt', 'A\ntwo\nthree\n'),
    b: makes('src/a.txt', 'B\ntwo\nthree\n'),
  });
  const { owner } = (await shop.person.getPlan(plan)).plan;
  await shop.until(plan, async () =>
    (await shop.person.mailbox(owner)).some(
      ({ kind, text }) => kind === 'forecast' && text.includes('now change the same lines: src/a.txt'),
    ),
  );
});

test('[PLN7.81] the branches of plans that ended, in whatever way, conflict with nobody', async () => {
  await using shop = await openShop();
  const changes = (): Part => makes('src/a.txt', `${Math.random()}\ntwo\nthree\n`);
  const began = async () =>
    (await shop.person.events(0, 10_000)).filter(({ type }) => type === 'conflict.began');
  const alone = await shop.plan({ a: changes() }, { integrate: false });
  await shop.until(alone);
  const integrated = await shop.plan({ a: changes() });
  await shop.until(integrated);
  const failed = await shop.plan({
    a: changes(),
    b: {
      after: ['a'],
      script: { steps: [edit('src/a.txt', 'b\n'), { do: 'fail', class: 'invalid', message: 'no' }] },
    },
  });
  await shop.until(failed);
  const cancelled = await shop.plan({ a: changes(), b: { script: { steps: [{ do: 'silent' }] } } });
  await shop.until(cancelled, ({ plan: { counts } }) => counts['completed'] === 1);
  await shop.person.cancelPlan(cancelled);
  await shop.until(cancelled);
  expect(await began()).toEqual([]);
  const last = await shop.plan({ a: changes() });
  expect((await shop.until(last)).plan.state, await shop.story()).toBe('completed');
  expect(await began()).toEqual([]);
});

/** A chat with a plan of its own that stays active: its first task completes, the other says nothing. */
async function chatWithPlan(shop: Shop, path: string, content: string) {
  const { id } = await shop.person.openSession('chat', 't', { repository: shop.root });
  const forecasts = async () =>
    (await shop.person.mailbox(id)).flatMap(({ kind, text }) => (kind === 'forecast' ? [text] : []));
  const done = withScript('edit', { steps: [edit(path, content), { do: 'report' }] });
  const tasks = [
    { id: 'done', prompt: done },
    { id: 'silent', prompt: withScript('wait', { steps: [{ do: 'silent' }] }) },
  ];
  const chat = shop.as({ kind: 'session', session: id });
  const { plan } = await chat.savePlan({ name: 'p', repository: shop.root, tasks }, { start: true });
  await shop.until(plan.id, ({ plan: { counts } }) => counts['completed'] === 1);
  const cancel = async (): Promise<void> => {
    await shop.person.cancelPlan(plan.id);
    await shop.until(plan.id);
  };
  return { forecasts, cancel };
}

test('[PLN7.83] the end of a conflict is told to the owner of the branch that stays', async () => {
  await using shop = await openShop();
  const one = await chatWithPlan(shop, 'src/a.txt', 'one\n');
  const two = await chatWithPlan(shop, 'src/a.txt', 'two\n');
  while ((await one.forecasts()).length < 1 || (await two.forecasts()).length < 1) await sleep(20);
  await two.cancel();
  while ((await one.forecasts()).length < 2) await sleep(20);
  expect((await one.forecasts())[1]).toContain(
    'no longer conflict: nothing of "done" is to be merged any more',
  );
  expect(await two.forecasts()).toEqual([expect.stringContaining('now change the same lines: src/a.txt')]);
});

test('[PLN7.82] a branch that conflicts with the moved main is told so, and not as a conflict with a branch that began there', async () => {
  await using shop = await openShop();
  const old = await chatWithPlan(shop, 'src/a.txt', 'OLD\ntwo\nthree\n');
  write(shop.root, { 'src/a.txt': 'MAIN\ntwo\nthree\n' });
  shop.git('commit', '-aqm', 'moved');
  const newer = await chatWithPlan(shop, 'README.md', 'newer\n');
  while ((await old.forecasts()).length < 1) await sleep(20);
  const conflicts = /^"done" .* now conflicts with main, .*: src\/a\.txt\./;
  await newer.cancel();
  await old.cancel();
  // Nobody is told that it conflicts no longer, because it did to its end.
  expect(await old.forecasts()).toEqual([expect.stringMatching(conflicts)]);
  expect(await newer.forecasts()).toEqual([]);
});

test('[PLN7.13] a forecast that cannot be made fails nobody’s report', async () => {
  await using shop = await openShop();
  const room = join(`${shop.root}.worktrees`, '.reveille', '.work', 'forecast');
  const first = await shop.plan({ a: makes('a.txt', 'a') });
  await shop.until(first);
  rmSync(room, { recursive: true, force: true });
  write(shop.root, { '../shop.worktrees/.reveille/.work/forecast': 'no folder' });
  const plan = await shop.plan({ b: makes('b.txt', 'b'), c: makes('c.txt', 'c') });
  expect((await shop.until(plan)).plan.state, await shop.story()).toBe('completed');
  expect(shop.warnings.join('\n')).toContain('whether branches conflict could not be forecast');
});

test('[WKT1.17] the branch and folder of a subtask carry its name, not the key of the call that made it', async () => {
  await using shop = await openShop();
  const { id } = await shop.person.openSession('chat', 't', { repository: shop.root });
  const chat = shop.as({ kind: 'session', session: id });
  const key = 'call-MFwIC02fJRNdskTzwiTx3DtZ60uTaD-HLkHYavyyeRc-0';
  const prompt = withScript('look', { steps: [edit('seen.txt', 'x'), { do: 'report' }] });
  for (const [n, branch] of [
    [0, /^reveille\/tasks\/cart-tests$/],
    [1, /^reveille\/tasks\/cart-tests-[0-9a-z]{6}$/],
  ] as const) {
    const spawned = await chat.spawnSubtask({ prompt, name: 'cart tests', key: `${key}${n}` });
    const { end } = await shop.person.getTask(spawned.task);
    expect(end!.work!.branch).toMatch(branch);
    expect(end!.work!.worktree).toContain('tasks-cart-tests');
  }
});
