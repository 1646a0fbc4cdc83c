import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WITHOUT_BROWSER, Window } from './browser.ts';
import { House, until } from './house.ts';
import { playScene, type Scene } from './scene.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
/** Build output: what every view looks like. */
const PICTURES = fileURLToPath(new URL('../../../.cache/dashboard', import.meta.url));

/** Every view, with something that only it shows. */
const viewsOf = ({
  checkout: { plan },
  id,
}: Scene): Record<string, readonly [path: string, shows: string]> => ({
  now: ['/', 'Half a cent'],
  inbox: ['/inbox', 'Half a cent'],
  plans: ['/plans', 'Upgrade the build'],
  graph: [`/plan/${plan.id}/graph`, 'Release notes'],
  board: [`/plan/${plan.id}/board`, 'Needs you'],
  list: [`/plan/${plan.id}/list`, 'Search index'],
  tree: ['/tree', 'Parse voucher codes'],
  activity: ['/activity', 'task.failed'],
  costs: ['/costs', 'Memory of the daemon'],
  transcript: [`/task/${id('vouchers')}/transcript`, 'Vouchers come off the sum.'],
  mailbox: [`/task/${id('vouchers')}/mailbox`, 'Rules of vouchers'],
  diff: [`/task/${id('rounding')}/diff`, 'Math.round'],
  runs: [`/task/${id('emails')}/runs`, 'failed, by executor'],
  task: [`/task/${id('rounding')}/task`, 'What it was asked'],
  editor: ['/new', 'Nothing is wrong with it.'],
});

if (WITHOUT_BROWSER) test.skip(`[DSH1.10] every view: ${WITHOUT_BROWSER}`, () => undefined);

describe.skipIf(WITHOUT_BROWSER !== null)('the views', () => {
  let house: House;
  let scene: Scene;
  let window: Window;
  let page: Page;
  let origin: string;

  beforeAll(async () => {
    house = new House();
    scene = await playScene(house);
    window = await Window.open({ colorScheme: 'light' });
    page = await window.page(house);
    ({ origin } = new URL(page.url()));
    mkdirSync(PICTURES, { recursive: true });
  });

  afterAll(async () => {
    await window?.[Symbol.asyncDispose]();
    await house?.[Symbol.asyncDispose]();
  });

  const show = async (name: string, where: Page = page): Promise<void> => {
    const [path, shows] = viewsOf(scene)[name]!;
    await where.goto(`${origin}/dashboard${path}`);
    await where.locator('main').getByText(shows).filter({ visible: true }).first().waitFor();
  };

  /** What axe finds that keeps somebody from using it. */
  const serious = async (): Promise<string[]> => {
    // By the debugger, whom the page's CSP does not concern.
    await page.evaluate(AXE);
    const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
      violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
    };
    return found.violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
      );
  };

  test('[DSH1.10][DSH1.31] each view has its address, shows what there is, and has no serious finding of axe', async () => {
    const found: [view: string, scheme: string, what: string][] = [];
    for (const name of Object.keys(viewsOf(scene))) {
      for (const scheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
        await show(name);
        found.push(...(await serious()).map((what): [string, string, string] => [name, scheme, what]));
        await page.screenshot({ path: join(PICTURES, `${name}-${scheme}.png`) });
      }
    }
    expect(found).toEqual([]);
    expect(window.problems).toEqual([]);
  });
});
