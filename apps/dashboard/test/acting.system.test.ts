import type { Page } from 'playwright-core';
import { withScript } from '@reveille/executors';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WITHOUT_BROWSER, Window } from './browser.ts';
import { House, until } from './house.ts';

if (WITHOUT_BROWSER) test.skip(`[DSH1.20] acting: ${WITHOUT_BROWSER}`, () => undefined);

const LONG = 3_600_000;

describe.skipIf(WITHOUT_BROWSER !== null)('acting', () => {
  let window: Window;
  beforeAll(async () => {
    window = await Window.open();
  });
  afterAll(async () => {
    await window?.[Symbol.asyncDispose]();
  });

  /** Presses keys one after another, as fingers do. */
  const press = async (page: Page, ...keys: string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };

  test('[DSH1.30][DSH1.22][DSH1.21] a plan from the editor to the merge, by keyboard alone', async () => {
    await using house = new House();
    const page = await window.page(house);
    await press(page, 'g', 'e');
    await page.locator('textarea:focus').waitFor();
    const written = (name: string) => `
name: ${name}
repository: ${house.repository}
tasks:
  - id: hello
    agent: scripted:agent
    prompt: ${JSON.stringify(
      withScript('Greet.', {
        steps: [
          { do: 'edit', path: 'hello.txt', content: 'hello\n' },
          { do: 'ask', text: 'In which language?', options: ['English', 'French'] },
          { do: 'report', output: 'Greeted.' },
        ],
      }),
    )}
`;
    await press(page, 'ControlOrMeta+a');
    await page.keyboard.insertText(`${written('Greetings')}    dependencies: [nobody]\n`);
    await page.locator('#problems').getByText('line 8').waitFor();
    await page.locator('.gutter-bad').waitFor();
    await press(page, 'ControlOrMeta+a');
    await page.keyboard.insertText(written('Greetings'));
    await page.getByText('Nothing is wrong with it.').waitFor();
    await press(page, 'ControlOrMeta+Enter');
    await page.getByRole('heading', { name: 'Greetings' }).waitFor();

    await press(page, 'g', 'i');
    await page.getByText('In which language?').waitFor();
    await page.locator('.request-head').getByText('of Greetings').waitFor();
    await press(page, 'j');
    await page.locator('[data-request]:focus').waitFor();
    await press(page, '1');
    await page.getByText('Answered: English').waitFor();
    await page.getByText('Nothing waits for you.').waitFor();

    await press(page, 'g', 'p');
    await page.locator('.plan-line').getByText('done', { exact: true }).waitFor();
    await press(page, 'j', 'Enter');
    await page.getByRole('heading', { name: 'Greetings' }).waitFor();
    await press(page, 'ControlOrMeta+k');
    await page.locator('.palette-input:focus').waitFor();
    await page.keyboard.insertText('merge');
    await page.locator('.palette-list').getByText('Merge into my checkout: Greetings').waitFor();
    await press(page, 'Enter');
    await page.locator('dialog[open] button[type=submit]:focus').waitFor();
    await press(page, 'Enter');
    await page.getByText(/^Merged as /).waitFor();
    expect(house.git('show', 'HEAD:hello.txt')).toBe('hello\n');
    expect(page.url()).not.toContain('ticket');
    expect(window.problems).toEqual([]);
    await page.close();
  });

  test('[DSH1.20][DSH1.11][DSH1.13] acts of one page are seen by another, as the daemon answers them', async () => {
    await using house = new House();
    const at = await house.plan({
      name: 'Acts',
      tasks: [
        {
          id: 'long',
          name: 'Long work',
          script: {
            steps: [
              { do: 'say', text: 'working' },
              { do: 'work', ms: LONG },
            ],
          },
        },
        { id: 'bad', name: 'Bad work', script: { steps: [{ do: 'fail', class: 'invalid', message: 'no' }] } },
        {
          id: 'shown',
          name: 'Shown work',
          review: 'person',
          script: { steps: [{ do: 'report', output: 'Look.' }] },
        },
      ],
    });
    const client = await house.connect();
    const idOf = (key: string) => at.tasks.find(({ task }) => task.key === key)!.task.id;
    const stateOf = async (key: string) => (await client.getTask(idOf(key))).task.state;
    await until(async () => (await stateOf('bad')) === 'failed');
    const [page, other] = [await window.page(house), await window.page(house)];
    const { origin } = new URL(page.url());
    const state = (where: Page, text: string) =>
      where.locator('.head-line .state').getByText(text, { exact: true });

    await page.goto(`${origin}/dashboard/task/${idOf('long')}`);
    await other.goto(`${origin}/dashboard/task/${idOf('long')}`);
    await other.getByText('working', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await state(other, 'paused').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await other.getByRole('button', { name: 'Pause' }).waitFor();

    await page.getByLabel('Message to the agent').fill('Mind the gap.');
    await page.keyboard.press('ControlOrMeta+Enter');
    await other.goto(`${origin}/dashboard/task/${idOf('long')}/mailbox`);
    await other.locator('.letter').getByText('Mind the gap.').waitFor();

    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Leave it' }).click();
    expect(await stateOf('long')).not.toBe('cancelled');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('dialog[open] textarea').fill('enough');
    await page.locator('dialog[open] button[type=submit]').click();
    await state(other, 'cancelled').waitFor();
    expect((await client.getTask(idOf('long'))).task.state).toBe('cancelled');

    await page.goto(`${origin}/dashboard/task/${idOf('bad')}`);
    await page.locator('[data-act="retry"]').click();
    await until(async () => (await client.getTask(idOf('bad'))).task.attempts === 2);

    await page.goto(`${origin}/dashboard/task/${idOf('shown')}`);
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await state(page, 'done').waitFor();
    expect(await stateOf('shown')).toBe('completed');

    await page.goto(`${origin}/dashboard/plan/${at.plan.id}`);
    await page.getByRole('button', { name: 'Stop everything' }).click();
    await page.locator('dialog[open] button[type=submit]').click();
    await page.getByText(/runs? stopped\./).waitFor();
    expect(window.problems).toEqual([]);
    await page.close();
    await other.close();
  });

  test('[DSH1.23] comments on a diff reach the agent as one message', async () => {
    await using house = new House();
    const at = await house.plan({
      name: 'Changes',
      repository: house.repository,
      tasks: [
        {
          id: 'edit',
          script: {
            steps: [
              { do: 'edit', path: 'src/new.ts', content: 'let a = 1;\nlet b = 2;\n' },
              { do: 'ask', text: 'Well?' },
            ],
          },
        },
      ],
    });
    const { task } = at.tasks[0]!;
    const client = await house.connect();
    await until(async () => (await client.inbox()).length > 0);
    const page = await window.page(house);
    await page.goto(`${new URL(page.url()).origin}/dashboard/task/${task.id}/diff`);
    await page.getByRole('button', { name: 'Comment on src/new.ts line 2' }).click();
    await page.getByLabel('Comment', { exact: true }).fill('Call it something.');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByRole('button', { name: 'Send 1 comment to the agent' }).click();
    await page.getByText('1 comment sent').waitFor();
    const [letter] = (await client.mailbox(task.session)).filter(({ kind }) => kind === 'words');
    expect(letter?.text).toBe('Comments on your changes:\n\nsrc/new.ts:2\n> let b = 2;\nCall it something.');
    await page.close();
  });

  test('[DSH1.12] a killed daemon is said to be gone; when it is back the page goes on without a gap', async () => {
    await using house = new House();
    await house.plan({
      name: 'Before',
      tasks: [{ id: 'one', script: { steps: [{ do: 'work', ms: LONG }] } }],
    });
    const page = await window.page(house);
    const before = await house.running();
    await page.getByText('Before', { exact: true }).first().waitFor();
    process.kill(before.pid, 'SIGKILL');
    await page.locator('[data-link="offline"]').waitFor();
    await page.getByRole('alert').getByText('The daemon does not answer').waitFor();
    await house.plan({
      name: 'After',
      tasks: [{ id: 'two', name: 'A second task', script: { steps: [{ do: 'report' }] } }],
    });
    // Its port may have been taken by somebody else meanwhile; then the page has to be opened anew.
    if ((await house.running()).url !== before.url) await page.goto(await house.invitation());
    await page.locator('[data-link="live"]').waitFor();
    await press(page, 'g', 'p');
    await page.locator('.plan-line').getByText('After').waitFor();
    const client = await house.connect();
    await until(async () =>
      (await client.listPlans()).some(({ name, state }) => name === 'After' && state === 'completed'),
    );
    await press(page, 'g', 'a');
    await page.locator('.event-type').getByText('plan.completed').first().waitFor();
    const numbers = (await page.locator('.event-number').allTextContents()).map(Number);
    expect(numbers.length).toBeGreaterThan(10);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, i) => Math.min(...numbers) + i));
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.close();
  });
});
