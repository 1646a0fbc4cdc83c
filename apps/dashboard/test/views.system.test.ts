import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WITHOUT_BROWSER, Window } from './browser.ts';
import { House, until } from './house.ts';
import { playScene, type Scene } from './scene.ts';

/** Build output: what every view looks like. */
const PICTURES = fileURLToPath(new URL('../../../.cache/dashboard', import.meta.url));

const DOCS = fileURLToPath(new URL('../../../docs', import.meta.url));

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
  // Its example has no script, and only scripted agents are there.
  editor: ['/new', 'agents only do what a script in the prompt says'],
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
  const serious = async (rules: object): Promise<string[]> => {
    // By the debugger, whom the page's CSP does not concern.
    await page.evaluate(axe.source);
    const found = (await page.evaluate(
      `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...rules })})`,
    )) as {
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
        // Only the colours differ.
        const rules = scheme === 'dark' ? { runOnly: ['color-contrast'] } : {};
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
        await show(name);
        found.push(...(await serious(rules)).map((what): [string, string, string] => [name, scheme, what]));
        await page.screenshot({ path: join(PICTURES, `${name}-${scheme}.png`) });
      }
    }
    expect(found).toEqual([]);
    expect(window.problems).toEqual([]);
  });

  test('[DSH1.31] on a phone, and at 400 %, nothing but what is wide by nature is scrolled sideways', async () => {
    const phone = await window.context.newPage();
    phone.setDefaultTimeout(100_000);
    await phone.setViewportSize({ width: 320, height: 640 });
    for (const name of Object.keys(viewsOf(scene))) {
      await show(name, phone);
      const wide = await phone.evaluate(
        '[document.documentElement, document.querySelector("main")].map((at) => at.scrollWidth - at.clientWidth)',
      );
      expect([name, wide]).toEqual([name, [0, 0]]);
      await phone.screenshot({ path: join(PICTURES, `${name}-phone.png`) });
    }
    await phone.close();
  });

  test('[DSH1.32] on a phone, and at 400 %, everything can be reached and done', async () => {
    const phone = await window.context.newPage();
    phone.setDefaultTimeout(100_000);
    await phone.setViewportSize({ width: 320, height: 400 });
    /** Without scrolling sideways: it lies within the width, and takes a click. */
    const reachable = async (what: Locator): Promise<void> => {
      await what.scrollIntoViewIfNeeded();
      const box = await what.boundingBox();
      expect(box && box.x >= 0 && box.x + box.width <= 320).toBe(true);
      await what.click({ trial: true });
    };
    await show('now', phone);
    await reachable(phone.getByRole('button', { name: 'to even' }));
    const menu = phone.locator('.side .menu');
    await menu.locator('summary').click();
    for (const name of ['Start one task', 'Search', 'Keys', 'Stop everything'])
      await reachable(menu.getByRole('button', { name }));
    for (const name of ['Tree', 'Activity', 'Costs and host', 'Write a plan'])
      await reachable(menu.getByRole('link', { name }));
    await phone.screenshot({ path: join(PICTURES, 'menu-phone.png') });
    await menu.getByRole('link', { name: 'Checkout with vouchers' }).click();
    await phone.getByRole('heading', { level: 1, name: 'Checkout with vouchers' }).waitFor();
    expect(await menu.getAttribute('open')).toBe(null);
    for (const name of ['Pause', 'Cancel plan']) await reachable(phone.getByRole('button', { name }));

    await show('transcript', phone);
    for (const name of ['Message', 'Pause', 'Cancel'])
      await reachable(phone.locator('.head').getByRole('button', { name }));
    await phone.locator('.head .menu > summary').click();
    await reachable(phone.getByRole('button', { name: 'Give to another agent' }));
    await phone.keyboard.press('Escape');
    await phone.locator('.head').getByRole('button', { name: 'Message' }).click();
    await reachable(phone.locator('dialog[open] button[type=submit]'));
    await phone.screenshot({ path: join(PICTURES, 'dialog-phone.png') });
    await phone.close();
  });

  test('[DSH1.33] light or dark is as the system has it, or as it was chosen here, also the next time', async () => {
    const other = await window.context.newPage();
    other.setDefaultTimeout(100_000);
    const ground = () => other.evaluate('getComputedStyle(document.body).backgroundColor');
    await other.emulateMedia({ colorScheme: 'light' });
    await show('now', other);
    const light = await ground();
    await other.emulateMedia({ colorScheme: 'dark' });
    const dark = await ground();
    expect(dark).not.toBe(light);
    const theme = other.getByRole('button', { name: /^Theme: / });
    const choose = async (wanted: string): Promise<void> => {
      while ((await other.evaluate('document.documentElement.dataset.theme')) !== wanted) await theme.click();
    };
    await choose('light');
    expect(await ground()).toBe(light);
    await show('now', other);
    expect(await ground()).toBe(light);
    await choose('system');
    expect(await ground()).toBe(dark);
    await other.close();
  });

  test('[DSH1.50] the bubble is one file that loads nothing, shows what it is told and says what the person wants', async () => {
    const host = await window.context.newPage();
    host.setDefaultTimeout(100_000);
    const asked: string[] = [];
    await host.goto('about:blank');
    host.on('request', (request) => asked.push(request.url()));
    const file = readFileSync(fileURLToPath(new URL('../dist/bubble.html', import.meta.url)), 'utf8');
    const bubble = {
      task: 'Fix <b>it</b>',
      agent: '@claude:coder',
      state: 'failed',
      why: '<img src="http://127.0.0.1:1/x">',
      doing: null,
      facts: ['3 turns'],
      done: 1,
      of: 2,
    };
    await host.evaluate(`new Promise((resolve) => {
      globalThis.heard = [];
      addEventListener('message', ({ data, source }) => {
        heard.push(data);
        if (data.reveille === 'ready') { source.postMessage({ reveille: 'bubble', bubble: ${JSON.stringify(bubble)} }, '*'); resolve(); }
      });
      const frame = document.createElement('iframe');
      frame.setAttribute('sandbox', 'allow-scripts');
      frame.srcdoc = ${JSON.stringify(file).replaceAll('</', '<\\/')};
      document.body.append(frame);
    })`);
    const inside = host.frameLocator('iframe');
    await inside.getByRole('button', { name: 'failed Fix <b>it</b>' }).click();
    await inside.getByText('<img src=').waitFor();
    await inside.getByRole('button', { name: 'Retry' }).click();
    await until(() =>
      host.evaluate('heard.some(({ reveille, act }) => reveille === "act" && act === "retry")'),
    );
    expect(asked.filter((url) => !url.startsWith('about:'))).toEqual([]);
    await host.screenshot({ path: join(PICTURES, 'bubble.png') });
    await host.close();
  });

  test('[DSH1.10] pictures of the README are of this page', async () => {
    // Made anew on request: two runs never agree on every pixel.
    const small = ['now-light', 'graph-light', 'transcript-dark'];
    for (const name of small) {
      const made = readFileSync(join(PICTURES, `${name}.png`));
      expect(made.length).toBeLessThan(200_000);
      if (process.env['REVEILLE_PICTURES'] === '1') writeFileSync(join(DOCS, `dashboard-${name}.png`), made);
      expect(existsSync(join(DOCS, `dashboard-${name}.png`))).toBe(true);
    }
  });
});
