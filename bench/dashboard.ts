// The dashboard with 10,000 tasks, 500 of them at work, and 2,000 events a second, beside a bare page on the same stream.
//   npm run bench:dashboard [-- --minutes 10 --events 2000 --out results.json]
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect } from '@reveille/daemon/connect';
import type { Client } from '@reveille/protocol';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import type { Begun, Pace } from './dashboard-daemon.ts';
import { Watched, bareFrom, findChromium, type Stretch } from './dashboard-page.ts';
import type { Measure } from './measures.ts';
import { start, type Spoken } from './processes.ts';
import { median, percentile, temporaryFolder } from './world.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    events: { type: 'string', default: '2000' },
    out: { type: 'string', default: join(import.meta.dirname, 'results', 'dashboard.json') },
  },
});
const MINUTES = Number(values.minutes);
const PACE = Number(values.events);
const LONGEST_MS = 200;
const QUIET_MS = 4_000;
const VIEW_MS = 3_000;
const STEP_MS = 250;
/** What may be more at the end: events and rows differ in length, and so does what is kept of them. */
const GROWTH = 1.1;

type View = readonly [name: string, path: string, shows: string];

interface Sample {
  readonly minute: number;
  readonly mb: number;
  readonly nodes: number;
}
interface Measured {
  readonly begun: Begun;
  readonly quiet: Stretch;
  readonly bare: Stretch;
  readonly views: ReadonlyMap<string, readonly Stretch[]>;
  readonly samples: readonly Sample[];
  readonly perSecond: number;
  /** Events that the page had not yet shown, at the ends of rounds. */
  readonly behind: readonly number[];
  readonly loadMs: number;
}

const measured = await measureAll();
const results = measuresOf(measured);
for (const { name, what, value, baseline, goal, met } of results) {
  console.log(`${met ? '✓' : '✗'} ${name.padEnd(10)} ${what.padEnd(34)} ${value}`);
  console.log(`${' '.repeat(13)}${baseline}; goal: ${goal}`);
}
mkdirSync(join(values.out, '..'), { recursive: true });
const machine = {
  node: process.version,
  cpus: cpus().length,
  memoryMb: Math.round(totalmem() / 1e6),
  load: loadavg(),
};
writeFileSync(
  values.out,
  `${JSON.stringify({ at: new Date().toISOString(), machine, results, samples: measured.samples }, null, 2)}\n`,
);
console.log(`written to ${values.out}`);

async function measureAll(): Promise<Measured> {
  using folder = temporaryFolder();
  await using daemon = await start<Begun>('dashboard-daemon.ts', [folder.path]);
  console.log(`${daemon.first.tasks} tasks, ${daemon.first.running} at work`);
  const person = await connect({ env: { REVEILLE_HOME: join(folder.path, 'state') }, start: false });
  const browser = await chromium.launch({
    executablePath: findChromium(),
    // Root, as in a container, has no sandbox of its own.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 820 } });
    return await inBrowser({ daemon, person, context });
  } finally {
    await browser.close();
  }
}

interface World {
  readonly daemon: Spoken<Begun>;
  readonly person: Client;
  readonly context: BrowserContext;
}

async function inBrowser({ daemon, person, context }: World): Promise<Measured> {
  const begun = daemon.first;
  const watched = await Watched.on(await context.newPage());
  const { page } = watched;
  const began = performance.now();
  await page.goto(`${begun.url}/dashboard/#ticket=${await person.pageTicket()}`);
  await page.locator('.line').first().waitFor();
  const loadMs = performance.now() - began;
  await sleep(QUIET_MS);
  const quiet = await watched.during(() => sleep(QUIET_MS));

  const pace = (perSecond: number): boolean => daemon.child.send({ perSecond } satisfies Pace);
  pace(PACE);
  const bare = await bareStretch(context, begun, person);
  const views = new Map<string, Stretch[]>();
  const samples: Sample[] = [];
  const behind: number[] = [];
  const from = { at: performance.now(), event: (await person.health()).lastEvent };
  for (let minute = 0, round = 0; round === 0 || minute < MINUTES; round++) {
    for (const view of viewsOf(begun))
      views.set(view[0], [...(views.get(view[0]) ?? []), await watched.during(() => lookAt(page, view))]);
    minute = (performance.now() - from.at) / 60_000;
    behind.push((await person.health()).lastEvent - (await shownEvent(page)));
    samples.push({ minute, ...(await watched.heap()) });
    if (process.stderr.isTTY)
      process.stderr.write(`  ${minute.toFixed(1)} min, ${samples.at(-1)?.mb.toFixed(1)} MB\n`);
  }
  const events = (await person.health()).lastEvent - from.event;
  const perSecond = events / ((performance.now() - from.at) / 1_000);
  pace(0);
  return { begun, quiet, bare, views, samples, perSecond, behind, loadMs };
}

/** Every view that shows many things, each with something that says it is there. */
function viewsOf({ plans, worker }: Begun): readonly View[] {
  return [
    ['Now', '/', '.line'],
    ['Plans', '/plans', '.plan-line'],
    ['graph of 500', `/plan/${plans.middle}/graph`, '.node'],
    ['graph of 6,000', `/plan/${plans.large}/graph`, 'main h1'],
    ['board of 6,000', `/plan/${plans.large}/board`, '.board-card'],
    ['list of 6,000', `/plan/${plans.large}/list`, '.line'],
    ['Tree', '/tree', '.branch'],
    ['Activity', '/activity', '.event'],
    ['Inbox', '/inbox', 'main h1'],
    ['Costs', '/costs', '.uses'],
    ['transcript', `/task/${worker}/transcript`, '.block'],
  ];
}

/** Goes there by a link, as a person does, and moves about. */
async function lookAt(page: Page, [, path, shows]: View): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', '/dashboard${path}'); dispatchEvent(new PopStateEvent('popstate'))`,
  );
  await page.locator(shows).first().waitFor();
  const until = performance.now() + VIEW_MS;
  await page.mouse.move(800, 500);
  for (let step = 0; performance.now() < until; step++) {
    if (step % 3 === 2) await page.keyboard.press('j');
    else await page.mouse.wheel(0, step % 4 === 3 ? -2_000 : 900);
    await sleep(STEP_MS);
  }
}

async function shownEvent(page: Page): Promise<number> {
  return Number((await page.locator('.link-number').textContent())?.replaceAll(/\D/g, ''));
}

/** The same stream in the same browser: what reading it costs, whoever reads. */
async function bareStretch(context: BrowserContext, { url }: Begun, person: Client): Promise<Stretch> {
  const watched = await Watched.on(await context.newPage());
  const { page } = watched;
  await page.route('**/*.js', (route) => route.abort());
  await page.goto(`${url}/dashboard/`);
  await page.evaluate(bareFrom((await person.health()).lastEvent));
  await sleep(1_000);
  const stretch = await watched.during(() => sleep(VIEW_MS * 2));
  const events = Number(await page.evaluate('__bare()'));
  await page.close();
  if (events === 0) throw new Error('the bare page was sent nothing');
  return stretch;
}

function measuresOf({ begun, quiet, bare, views, samples, perSecond, behind, loadMs }: Measured): Measure[] {
  const bareFrame = percentile(bare.frames, 99);
  const enough = begun.tasks >= 10_000 && begun.running >= 500 && perSecond >= PACE * 0.95;
  const ofViews = [...views].map(([name, stretches]): Measure => {
    const longest = Math.max(0, ...stretches.flatMap(({ long }) => long));
    const count = stretches.reduce((sum, { long }) => sum + long.length, 0);
    const frames = stretches.flatMap((stretch) => stretch.frames);
    const [p50, p99] = [percentile(frames, 50), percentile(frames, 99)];
    const busy = median(stretches.map((stretch) => stretch.busy));
    return {
      name: 'V view',
      what: name,
      value: `longest task ${Math.round(longest)} ms (${count} > 50 ms), frames p50 ${p50.toFixed(0)} p99 ${p99.toFixed(0)} ms, busy ${percent(busy)}`,
      baseline: `bare page on the same stream: p99 ${bareFrame.toFixed(0)} ms, busy ${percent(bare.busy)}; this page without events: busy ${percent(quiet.busy)}`,
      goal: `no task > ${LONGEST_MS} ms`,
      met: enough && longest <= LONGEST_MS,
      numbers: {
        longest,
        count,
        p50,
        p99,
        busy,
        ratio: busy / bare.busy,
        bareBusy: bare.busy,
        quietBusy: quiet.busy,
        bareFrame,
      },
    };
  });
  return [...ofViews, memoryOf(samples), followingOf({ begun, perSecond, behind, loadMs, enough })];
}

/** The first round fills what is kept; from then on it must stay as it is. */
function memoryOf(samples: readonly Sample[]): Measure {
  const kept = samples.length > 3 ? samples.slice(1) : samples;
  const third = Math.max(1, Math.floor(kept.length / 3));
  const [early, late] = [kept.slice(0, third), kept.slice(-third)].map((part) =>
    median(part.map(({ mb }) => mb)),
  );
  const most = Math.max(...samples.map(({ mb }) => mb));
  const ratio = (late ?? 0) / (early ?? 1);
  const nodes = Math.max(...samples.map((sample) => sample.nodes));
  return {
    name: 'V memory',
    what: `heap over ${(samples.at(-1)?.minute ?? 0).toFixed(1)} minutes`,
    value: `${early?.toFixed(1)} → ${late?.toFixed(1)} MB, at most ${most.toFixed(1)} MB, ${nodes} nodes`,
    baseline: `${ratio.toFixed(2)} × the first third of the same run`,
    goal: `≤ ${GROWTH} ×`,
    met: ratio <= GROWTH,
    numbers: { early: early ?? 0, late: late ?? 0, most, ratio, nodes, samples: samples.length },
  };
}

function followingOf({
  begun,
  perSecond,
  behind,
  loadMs,
  enough,
}: Pick<Measured, 'begun' | 'perSecond' | 'behind' | 'loadMs'> & { readonly enough: boolean }): Measure {
  const late = (percentile(behind, 100) / perSecond) * 1_000;
  return {
    name: 'V follows',
    what: 'shown after it was committed',
    value: `at most ${Math.round(late)} ms behind, at ${Math.round(perSecond)} events/s`,
    baseline: `${begun.tasks} tasks, ${begun.running} at work; opened in ${Math.round(loadMs)} ms`,
    goal: `≤ 1,000 ms at ≥ ${Math.round(PACE * 0.95)} events/s`,
    met: enough && late <= 1_000,
    numbers: { late, perSecond, tasks: begun.tasks, running: begun.running, loadMs },
  };
}

function percent(part: number): string {
  return `${(part * 100).toFixed(0)} %`;
}
