import { withScript, type Step } from '@reveille/executors';
import type { DirtyPolicy, Orchestrator, PlanInput, TaskView } from '@reveille/protocol';
import { expect, test } from 'vitest';
import { hasSandbox } from '../sandbox/here.ts';
import { openShop, write, type Shop } from '../../../../test/shop.ts';

/** Without a sandbox a change of the checkout while a run is open stops the run: an agent may have made it. */
const noticesAnyChange = !hasSandbox;

const DONE: Step = { do: 'report' };
const edit = (path: string): Step => ({ do: 'edit', path, content: 'x\n' });
const task = (id: string, steps: Step[], dependencies: string[] = []) => ({
  id,
  prompt: withScript(id, { steps }),
  dependencies,
});
const plan = (shop: Shop, more: Partial<PlanInput> = {}): PlanInput => ({
  name: 'shop',
  repository: shop.root,
  tasks: [task('a', [edit('a.txt'), DONE])],
  ...more,
});

async function openAs(shop: Shop, kind: 'chat' | 'terminal'): Promise<Orchestrator> {
  const { id } = await shop.person.openSession(kind, kind, { repository: shop.root });
  return shop.as({ kind: 'session', session: id });
}

async function spawnFrom(shop: Shop, caller: Orchestrator, dirty?: DirtyPolicy) {
  const prompt = withScript('do it', { steps: [edit('made.txt'), DONE] });
  const spawned = await caller.spawnSubtask({ prompt, name: 'it', ...(dirty ? { dirty } : {}) });
  return { spawned, view: await shop.person.getTask(spawned.task) };
}

const content = (shop: Shop, { end }: TaskView, path: string): string =>
  shop.git('show', `${end!.work!.branch}:${path}`);

const starts = (shop: Shop): string[] =>
  shop
    .git('for-each-ref', '--format=%(objectname)', 'refs/reveille/starts/')
    .split('\n')
    .filter((line) => line !== '');

const MINE = { 'README.md': 'mine\n', 'new.txt': 'new\n' };
const FILES = '2 uncommitted files (README.md, new.txt)';

test('[WKT3.80] a spawn and a plan are refused before anything is there, with the files and the flag', async () => {
  await using shop = await openShop();
  write(shop.root, MINE);
  const refusal = {
    code: 'dirty_checkout',
    message: `${FILES}. Commit or stash them, or run with --dirty head or --dirty snapshot.`,
  };
  const terminal = await openAs(shop, 'terminal');
  await expect(spawnFrom(shop, terminal)).rejects.toMatchObject(refusal);
  await expect(terminal.spawnSubtasks([{ prompt: 'x' }, { prompt: 'y' }])).rejects.toMatchObject(refusal);
  await expect(shop.person.savePlan(plan(shop), { start: true })).rejects.toMatchObject(refusal);
  await expect(shop.person.savePlan(plan(shop, { dirty: 'fail' }))).rejects.toMatchObject(refusal);
  const { plan: draft } = await shop.person.savePlan(plan(shop, { name: 'draft' }));
  await expect(shop.person.startPlan(draft.id)).rejects.toMatchObject(refusal);
  expect((await shop.person.getPlan(draft.id)).plan.state).toBe('draft');
  expect(await shop.person.listTasks({ open: true })).toHaveLength(2);
  expect((await shop.person.listPlans()).map(({ name }) => name)).toEqual(['draft']);
  expect(shop.git('for-each-ref', 'refs/reveille', 'refs/heads/reveille')).toBe('');
});

test('[WKT3.80] in the middle of a merge there is no snapshot, which is said before anything is created', async () => {
  await using shop = await openShop();
  shop.git('checkout', '-q', '-b', 'other');
  write(shop.root, { 'README.md': 'theirs\n' });
  shop.git('commit', '-qam', 'theirs');
  shop.git('checkout', '-q', 'main');
  write(shop.root, { 'README.md': 'ours\n' });
  shop.git('commit', '-qam', 'ours');
  expect(() => shop.git('merge', '-q', 'other')).toThrow();
  const chat = await openAs(shop, 'chat');
  await expect(spawnFrom(shop, chat)).rejects.toMatchObject({
    code: 'dirty_checkout',
    message: expect.stringMatching(
      /^1 uncommitted file \(README\.md\), in the middle of a merge\. .*--dirty head/,
    ),
  });
  expect(await shop.person.listTasks({})).toEqual([]);
});

test('[WKT3.82] a chat starts from a snapshot and is told so; the call counts more than the setting, that more than the caller', async () => {
  for (const setting of [null, 'head'] as const) {
    await using shop = await openShop({ settings: { dirty: setting } });
    write(shop.root, MINE);
    const [chat, terminal] = [await openAs(shop, 'chat'), await openAs(shop, 'terminal')];
    const before = shop.git('status', '--porcelain');
    const { spawned, view } = await spawnFrom(shop, chat);
    const snapshot = setting === null;
    expect(spawned.warning).toBe(
      `${FILES} are ${snapshot ? 'part of what it starts from.' : 'left out: it starts from the last commit.'}`,
    );
    expect(content(shop, view, 'README.md'), setting ?? '').toBe(snapshot ? 'mine' : 'a shop');
    expect(view.end!.work!.files.map(({ path }) => path)).toEqual(['made.txt']);
    const asked = await spawnFrom(shop, terminal, 'snapshot');
    expect(content(shop, asked.view, 'new.txt')).toBe('new');
    const left = await spawnFrom(shop, chat, 'head');
    expect(content(shop, left.view, 'README.md')).toBe('a shop');
    await expect(spawnFrom(shop, chat, 'fail')).rejects.toMatchObject({ code: 'dirty_checkout' });
    expect(shop.git('status', '--porcelain')).toBe(before);
  }
});

test.skipIf(noticesAnyChange)(
  '[WKT3.83] all tasks of a plan have one snapshot, also if the person works on meanwhile',
  async () => {
    await using shop = await openShop();
    write(shop.root, MINE);
    const ask: Step = { do: 'ask', text: 'go on?' };
    const tasks = [task('a', [ask, DONE]), task('b', [edit('b.txt'), DONE], ['a'])];
    const saved = await shop.person.savePlan(plan(shop, { tasks, dirty: 'snapshot' }), { start: true });
    expect(saved.warning).toBe(`${FILES} are part of what it starts from.`);
    await shop.until(saved.plan.id, async () => (await shop.person.inbox()).length > 0);
    write(shop.root, { 'README.md': 'half a sentence' });
    const [question] = await shop.person.inbox();
    await shop.person.answer({ request: question!.id, answer: 'yes' });
    const view = await shop.until(saved.plan.id);
    expect(view.plan.state, await shop.story()).toBe('completed');
    expect(content(shop, await shop.task(saved.plan.id, 'b'), 'README.md')).toBe('mine');
    expect(content(shop, await shop.task(saved.plan.id, 'integration'), 'b.txt')).toBe('x');
  },
);

test('[WKT3.83] a draft is decided about when it is started; what was decided before stays', async () => {
  await using shop = await openShop();
  const chat = await openAs(shop, 'chat');
  const { plan: draft } = await chat.savePlan(plan(shop));
  write(shop.root, MINE);
  const started = await chat.startPlan(draft.id);
  expect(started).toMatchObject({ state: 'active', warning: `${FILES} are part of what it starts from.` });
  await shop.until(draft.id);
  expect(content(shop, await shop.task(draft.id, 'a'), 'README.md')).toBe('mine');
  const { plan: decided } = await shop.person.savePlan(plan(shop, { dirty: 'head' }));
  await shop.person.startPlan(decided.id);
  await shop.until(decided.id);
  expect(content(shop, await shop.task(decided.id, 'a'), 'README.md')).toBe('a shop');
});

test('[WKT3.84] an agent’s plan starts as its own task did, and the agent cannot say otherwise', async () => {
  await using shop = await openShop();
  write(shop.root, MINE);
  const inner = { name: 'inner', tasks: [task('in', [edit('in.txt'), DONE])] };
  const outer = async (dirty: DirtyPolicy, given: object) => {
    const call: Step = { do: 'call', operation: 'savePlan', args: [{ ...inner, ...given }, { start: true }] };
    const saved = await shop.person.savePlan(plan(shop, { dirty, tasks: [task('a', [call, DONE])] }), {
      start: true,
    });
    await shop.until(saved.plan.id);
    return shop.task(saved.plan.id, 'a');
  };
  expect((await outer('snapshot', {})).task.state, await shop.story()).toBe('completed');
  const [made] = (await shop.person.listPlans()).filter(({ name }) => name === 'inner');
  await shop.until(made!.id);
  expect(content(shop, await shop.task(made!.id, 'in'), 'README.md')).toBe('mine');
  const { end } = await outer('head', { dirty: 'snapshot' });
  expect(end!.error!.message).toContain('leave `dirty` out');
  expect((await shop.person.listPlans()).filter(({ name }) => name === 'inner')).toHaveLength(1);
});

test.skipIf(noticesAnyChange)(
  '[WKT3.85] what was accepted starts, although the person goes on working',
  async () => {
    await using shop = await openShop();
    const ask: Step = { do: 'ask', text: 'go on?' };
    const tasks = [task('a', [ask, DONE]), task('b', [edit('b.txt'), DONE], ['a'])];
    const { plan: saved, warning } = await shop.person.savePlan(plan(shop, { tasks }), { start: true });
    expect(warning).toBeUndefined();
    await shop.until(saved.id, async () => (await shop.person.inbox()).length > 0);
    write(shop.root, MINE);
    const [question] = await shop.person.inbox();
    await shop.person.answer({ request: question!.id, answer: 'yes' });
    expect((await shop.until(saved.id)).plan.state, await shop.story()).toBe('completed');
    expect(content(shop, await shop.task(saved.id, 'b'), 'README.md')).toBe('a shop');
  },
);

test('[WKT3.86] a snapshot survives gc while a task waits to start from it, is made once, and goes when it is old', async () => {
  await using shop = await openShop({ settings: { dirty: 'snapshot' } });
  write(shop.root, MINE);
  const saved = await shop.person.savePlan(plan(shop, { dirty: 'snapshot' }));
  const terminal = await openAs(shop, 'terminal');
  const { view } = await spawnFrom(shop, terminal);
  expect(starts(shop)).toHaveLength(1);
  expect(view.task.startsFrom).toEqual({ snapshot: starts(shop)[0] });
  shop.git('gc', '-q', '--prune=now');
  await shop.person.startPlan(saved.plan.id);
  await shop.until(saved.plan.id);
  expect(content(shop, await shop.task(saved.plan.id, 'a'), 'new.txt')).toBe('new');
  const tasks = (await shop.person.listTasks({})).map((each) => each.task);
  const open = tasks.map((each) => ({ ...each, state: 'running' as const }));
  const late = Date.now() + 100 * 86_400_000;
  await shop.worktrees.retain(open, late);
  expect(starts(shop)).toHaveLength(1);
  await shop.worktrees.retain(tasks, Date.now());
  expect(starts(shop)).toHaveLength(1);
  await shop.worktrees.retain(tasks, late);
  expect(starts(shop)).toEqual([]);
});
