import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { withScript, type WrittenScript } from '@reveille/executors';
import type { Client, PlanView, TaskId, TaskState } from '@reveille/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WITHOUT_BROWSER, Window } from './browser.ts';
import { House, until } from './house.ts';

if (WITHOUT_BROWSER) test.skip(`[DSH1.24] every act: ${WITHOUT_BROWSER}`, () => undefined);

const LONG = 3_600_000;
const WORKS: WrittenScript = {
  steps: [
    { do: 'say', text: 'working' },
    { do: 'edit', path: 'src/mine.ts', content: 'export const mine = 1;\n' },
    { do: 'work', ms: LONG },
  ],
};
const SHOWS: WrittenScript = { steps: [{ do: 'report', output: 'Look.' }] };

describe.skipIf(WITHOUT_BROWSER !== null)('every act', () => {
  let window: Window;
  let house: House;
  let client: Client;
  let page: Page;
  let plan: PlanView;

  beforeAll(async () => {
    house = new House();
    window = await Window.open();
    client = await house.connect();
    const { repository } = house;
    plan = await house.plan({
      name: 'Acts',
      repository,
      tasks: [
        { id: 'works', script: WORKS },
        { id: 'swapped', script: WORKS },
        { id: 'taken', script: WORKS },
        { id: 'stuck', script: WORKS },
        { id: 'paid', script: WORKS },
        { id: 'rejected', review: 'person', script: SHOWS },
        { id: 'changed', review: 'person', script: SHOWS },
        {
          id: 'made',
          script: { steps: [{ do: 'edit', path: 'src/made.ts', content: 'made\n' }, { do: 'report' }] },
        },
        { id: 'bad', script: { steps: [{ do: 'fail', class: 'invalid', message: 'no' }] } },
      ],
    });
    page = await window.page(house);
  });

  afterAll(async () => {
    await window?.[Symbol.asyncDispose]();
    await house?.[Symbol.asyncDispose]();
  });

  const idOf = (key: string): TaskId => plan.tasks.find(({ task }) => task.key === key)!.task.id;
  const viewOf = (key: string) => client.getTask(idOf(key));
  const reaches = (key: string, state: TaskState) =>
    until(async () => (await viewOf(key)).task.state === state);
  const inTurn = (key: string) => until(async () => (await viewOf(key)).run?.turn !== null);
  const open = async (path: string): Promise<void> => {
    await page.goto(`${new URL(page.url()).origin}/dashboard${path}`);
    await page.locator('[data-link="live"]').waitFor();
  };
  const openTask = (key: string): Promise<void> => open(`/task/${idOf(key)}`);
  const act = async (label: string): Promise<void> =>
    page.locator('.head .buttons > button').getByText(label, { exact: true }).click();
  const more = async (label: string): Promise<void> => {
    await page.locator('.head .menu > summary').click();
    await page.locator('.head .menu-list').getByRole('button', { name: label, exact: true }).click();
  };
  const field = (name: string) => page.locator(`dialog[open] [name="${name}"]`);
  const submit = (): Promise<void> => page.locator('dialog[open] button[type=submit]').click();
  const state = (text: string) => page.locator('.head-line .state').getByText(text, { exact: true });
  const note = (text: string | RegExp) => page.locator('.note').getByText(text).last().waitFor();

  test('[DSH1.24] a review is rejected with its reason, or sent back with what should be different', async () => {
    await reaches('rejected', 'review');
    await openTask('rejected');
    await act('Reject');
    await field('words').fill('not this way');
    await submit();
    await reaches('rejected', 'failed');

    await reaches('changed', 'review');
    const before = (await viewOf('changed')).run?.turns ?? 0;
    await openTask('changed');
    await act('Ask for changes');
    await submit();
    expect(await page.locator('dialog[open]').count()).toBe(1);
    await field('words').fill('more of it');
    await submit();
    await until(async () => {
      const { run, task } = await viewOf('changed');
      return task.state === 'review' && ((run?.turns ?? 0) > before || task.attempts > 1);
    });
  });

  test('[DSH1.24] a turn is interrupted, and the agent stays', async () => {
    await inTurn('works');
    await openTask('works');
    await page.getByText('working', { exact: true }).waitFor();
    await more('Interrupt turn');
    await note('Its turn ends; the agent stays.');
    await until(async () =>
      (await client.events(0, 10_000)).some(
        ({ type, task }) => type === 'turn.ended' && task === idOf('works'),
      ),
    );
    expect((await viewOf('works')).task.attempts).toBe(1);
  });

  test('[DSH1.24] a task is marked complete, with its result', async () => {
    await inTurn('stuck');
    await openTask('stuck');
    await more('Mark complete');
    await field('words').fill('As good as done.');
    await submit();
    await state('done').waitFor();
    expect((await viewOf('stuck')).end?.output).toBe('As good as done.');
  });

  test('[DSH1.24] a worktree is discarded after a question, and restored from its snapshot', async () => {
    await reaches('made', 'completed');
    const worktree = (await viewOf('made')).end?.work?.worktree ?? '';
    await openTask('made');
    await more('Discard worktree');
    await page.getByRole('button', { name: 'Leave it' }).click();
    expect(existsSync(worktree)).toBe(true);
    await more('Discard worktree');
    await submit();
    await note(/^Discarded\. Everything is in /);
    expect(existsSync(worktree)).toBe(false);
    await more('Restore worktree');
    await page.locator('dialog[open] select option').nth(1).waitFor({ state: 'attached' });
    await submit();
    const said = await page.locator('.note').getByText('Restored: ').last().textContent();
    expect(existsSync(join(said?.replace('Restored: ', '') ?? '', 'src', 'made.ts'))).toBe(true);
  });

  test('[DSH1.25] a task goes to another agent while it runs; what has failed is tried again by another', async () => {
    await inTurn('swapped');
    await openTask('swapped');
    await more('Give to another agent');
    await submit();
    await page.getByRole('alert').getByText('Say which agent').waitFor();
    await field('agent').fill('scripted:reviewer');
    await field('model').fill('quick');
    await submit();
    await note('goes to @scripted:reviewer, quick.');
    await page.locator('.head-line').getByText('@scripted:reviewer').waitFor();
    expect((await viewOf('swapped')).task).toMatchObject({
      agent: { backend: 'scripted', name: 'reviewer' },
      model: 'quick',
    });

    await reaches('bad', 'failed');
    await openTask('bad');
    await more('Retry with another agent');
    await field('agent').fill('scripted:reviewer');
    await submit();
    await until(async () => (await viewOf('bad')).task.attempts === 2);
    expect((await viewOf('bad')).task.agent.name).toBe('reviewer');
  });

  test('[DSH1.26] a worktree is taken over, worked in and given back; its agent is told what was changed', async () => {
    await inTurn('taken');
    await openTask('taken');
    await more('Take over the worktree');
    await submit();
    await note(/^Its worktree is yours: /);
    const { worktree } = await client.diffTask(idOf('taken'));
    const banner = page.locator('.banner');
    await banner.getByText('its agent stands still until it is given back').waitFor();
    await banner.getByText(worktree).waitFor();
    writeFileSync(join(worktree, 'by-hand.txt'), 'by hand\n');
    await act('Give it back');
    await note('Its agent goes on, and is told what you changed.');
    await banner.waitFor({ state: 'detached' });
    const letters = await client.mailbox((await viewOf('taken')).task.session);
    expect(letters.some(({ kind, text }) => kind === 'resume' && text.includes('by-hand.txt'))).toBe(true);
  });

  test('[DSH1.27] budgets of a task and of a plan are changed; what is no amount is said in the dialog', async () => {
    await inTurn('paid');
    await openTask('paid');
    await more('Change its budget');
    await field('tokens').fill('plenty');
    await submit();
    await page.getByRole('alert').getByText('“plenty” is no amount').waitFor();
    await field('tokens').fill('500k');
    await field('minutes').fill('30');
    await submit();
    await note('Its budget is changed');
    const [own] = (await client.getBudget(idOf('paid'))).chain;
    expect(own?.limits).toEqual({ tokens: 500_000, wallMs: 1_800_000 });

    await open(`/plan/${plan.plan.id}`);
    await more('Change its budget');
    await field('usd').fill('12.50');
    await submit();
    await note('The budget of the plan is changed.');
    expect((await client.getBudget(plan.plan.id)).chain[0]?.limits).toEqual({ usd: 12.5 });
  });

  test('[DSH1.28] one task is started from anywhere, and its plan is paused, resumed and cancelled', async () => {
    await open('/activity');
    await page.keyboard.press('c');
    await page.locator('dialog[open] textarea:focus').waitFor();
    await page.keyboard.insertText(
      withScript('Look after the garden.', { steps: [{ do: 'work', ms: LONG }] }),
    );
    await field('agent').fill('scripted:agent');
    await submit();
    await page.getByRole('heading', { level: 1, name: /^Look after the garden/ }).waitFor();
    const garden = async () => (await client.listPlans()).find(({ name }) => name.startsWith('Look after'))!;
    const { id } = await garden();
    await open(`/plan/${id}`);
    await act('Pause');
    await state('paused').waitFor();
    await act('Resume');
    await state('active').waitFor();
    await act('Cancel plan');
    await field('words').fill('winter');
    await submit();
    await state('cancelled').waitFor();
    expect((await garden()).state).toBe('cancelled');
    expect(window.problems).toEqual([]);
  });
});
