import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { WITHOUT_BROWSER, Window } from './browser.ts';
import { House, until } from './house.ts';

/** Build output: what a silent worker looks like. */
const PICTURES = fileURLToPath(new URL('../../../.cache/dashboard', import.meta.url));

test.skipIf(WITHOUT_BROWSER !== null)(
  `[HLT2.31] a silent worker looks so in every view, until it is over${WITHOUT_BROWSER ? `: ${WITHOUT_BROWSER}` : ''}`,
  async () => {
    await using house = new House({ REVEILLE_ENGINE_HEALTH_STUCK_AFTER_MS: '1000' });
    const { plan, tasks } = await house.plan({
      name: 'Benchmarks',
      tasks: [
        {
          id: 'silent',
          name: 'Benchmarks',
          script: { steps: [{ do: 'say', text: 'I run them now.' }, { do: 'silent' }] },
        },
      ],
    });
    const { id } = tasks[0]!.task;
    const client = await house.connect();
    await until(async () => (await client.getTask(id)).health !== undefined);
    await using window = await Window.open();
    const page = await window.page(house);
    const { origin } = new URL(page.url());
    mkdirSync(PICTURES, { recursive: true });
    for (const [name, path] of Object.entries({
      now: '/',
      list: `/plan/${plan.id}/list`,
      graph: `/plan/${plan.id}/graph`,
      tree: '/tree',
      task: `/task/${id}/transcript`,
    })) {
      await page.goto(`${origin}/dashboard${path}`);
      const main = page.locator('main');
      await main
        .getByText(/^silent \d+s/)
        .first()
        .waitFor();
      // A plan that is active pulses as ever.
      const atWork = name === 'task' ? '.head-line .tone-run' : '[data-task] .tone-run, .node.tone-run';
      expect(await main.locator(atWork).count(), name).toBe(0);
      await page.screenshot({ path: join(PICTURES, `silent-${name}.png`) });
      if (name !== 'graph')
        await main
          .getByText(/no sign of life for \d+s; last words: I run them now\./)
          .first()
          .waitFor();
    }
    const [request] = await client.inbox();
    expect(request).toMatchObject({ kind: 'idle', task: id });
    await client.answer({ request: request!.id, answer: 'mark complete' });
    await page.locator('main .head .tone-good').waitFor();
    expect(
      await page
        .locator('main')
        .getByText(/no sign of life/)
        .count(),
    ).toBe(0);
    expect(window.problems).toEqual([]);
  },
);
