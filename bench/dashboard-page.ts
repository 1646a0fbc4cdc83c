import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** A Chromium of this machine, by `REVEILLE_CHROMIUM` or on the path. */
export function findChromium(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isProgram);
  const chromium = process.env['REVEILLE_CHROMIUM'] ?? found;
  if (chromium === undefined) throw new Error('There is no Chromium here: name one in REVEILLE_CHROMIUM.');
  return chromium;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What the browser itself says of a stretch of time. */
export interface Stretch {
  readonly ms: number;
  /** Of tasks of more than 50 ms: how long each was. */
  readonly long: readonly number[];
  /** From one frame to the next. */
  readonly frames: readonly number[];
  /** How much of the time the page's one thread was busy. */
  readonly busy: number;
}

/** Put into the page before its own scripts: counts frames and what the browser reports as long tasks. */
const PROBE = `(() => {
  const seen = { long: [], frames: [] };
  globalThis.__probe = seen;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) seen.long.push(duration);
  }).observe({ type: 'longtask', buffered: true });
  let last = performance.now();
  const frame = (now) => {
    seen.frames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})()`;

/** A page whose browser is asked how it fares. */
export class Watched {
  readonly page: Page;
  readonly #debugger: CDPSession;

  private constructor(page: Page, session: CDPSession) {
    this.page = page;
    this.#debugger = session;
  }

  static async on(page: Page): Promise<Watched> {
    await page.addInitScript(PROBE);
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    return new Watched(page, session);
  }

  /** What is measured while something is done; what was before is left out. */
  async during(act: () => Promise<void>): Promise<Stretch> {
    await this.#take();
    const [began, before] = [performance.now(), await this.#metric('TaskDuration')];
    await act();
    const ms = performance.now() - began;
    const busy = ((await this.#metric('TaskDuration')) - before) / (ms / 1_000);
    return { ms, busy, ...(await this.#take()) };
  }

  #take(): Promise<{ long: number[]; frames: number[] }> {
    return this.page.evaluate(
      'const { long, frames } = globalThis.__probe; ({ long: long.splice(0), frames: frames.splice(0) })',
    );
  }

  /** Megabytes that are in use when what nobody needs is gone. */
  async heap(): Promise<{ readonly mb: number; readonly nodes: number }> {
    await this.#debugger.send('HeapProfiler.collectGarbage');
    return { mb: (await this.#metric('JSHeapUsedSize')) / 1e6, nodes: await this.#metric('Nodes') };
  }

  async #metric(name: string): Promise<number> {
    const { metrics } = await this.#debugger.send('Performance.getMetrics');
    return metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
  }
}

/**
 * The least that could be called the job, in the page's own place: it reads the same stream, parses every event and shows how
 * many there were. Run in a page whose own scripts were not loaded.
 */
export const bareFrom = (after: number): string => `void (async () => {
  const credential = localStorage.getItem('reveille.page');
  const answer = await fetch('/v1/events?after=${after}', { headers: { authorization: 'Bearer ' + credential } });
  const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const shown = document.body.appendChild(document.createElement('p'));
  let rest = '';
  let events = 0;
  let drawn = 0;
  globalThis.__bare = () => events;
  for (let part = await text.read(); !part.done; part = await text.read()) {
    const messages = (rest + part.value).split('\\n\\n');
    rest = messages.pop();
    for (const message of messages) {
      const data = message.split('\\n').find((line) => line.startsWith('data: '));
      const found = data ? JSON.parse(data.slice(6)) : null;
      if (Array.isArray(found)) events += found.length;
    }
    if (performance.now() - drawn > 100) {
      drawn = performance.now();
      shown.textContent = String(events);
    }
  }
})()`;
