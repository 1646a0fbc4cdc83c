import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import type { House } from './house.ts';

const BUILD = fileURLToPath(new URL('../../../scripts/build-dashboard.mjs', import.meta.url));
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** A Chromium of this machine, by `REVEILLE_CHROMIUM` or on the path; null: there is none. */
function findChromium(): string | null {
  const named = process.env['REVEILLE_CHROMIUM'];
  if (named) return named;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const CHROMIUM = findChromium();

/** Where nothing may be left out a missing browser is a failure; elsewhere the tests are skipped by this name. */
export const WITHOUT_BROWSER =
  CHROMIUM === null && process.env['REVEILLE_REQUIRE_BROWSER'] !== '1'
    ? 'no Chromium: install one (Debian: apt install chromium) or name it in REVEILLE_CHROMIUM'
    : null;

/** Returns at once when it is built. */
export const buildPage = (): void => void execFileSync(process.execPath, [BUILD], { stdio: 'inherit' });

/** A browser with the page of a person who was let in. What it says is wrong is kept. */
export class Window implements AsyncDisposable {
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly problems: string[] = [];

  private constructor(browser: Browser, context: BrowserContext) {
    this.browser = browser;
    this.context = context;
  }

  static async open(options: Parameters<Browser['newContext']>[0] = {}): Promise<Window> {
    if (CHROMIUM === null) throw new Error('There is no Chromium here, and the tests must not be left out.');
    buildPage();
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      // Root, as in a container, has no sandbox of its own.
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    });
    const viewport = { width: 1280, height: 820 };
    return new Window(browser, await browser.newContext({ viewport, ...options }));
  }

  async page(house: House): Promise<Page> {
    const page = await this.context.newPage();
    page.setDefaultTimeout(100_000);
    page.on('pageerror', (error) => this.problems.push(String(error)));
    page.on('console', (message) => {
      // A call that the daemon refused is in the page's own words; a broken connection is part of some tests.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        this.problems.push(message.text());
    });
    await page.goto(await house.invitation());
    await page.locator('[data-link="live"]').waitFor();
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
  }
}
