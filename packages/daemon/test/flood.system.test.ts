import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { endOf, play, report } from './acp-house.ts';
import { FLOODS, FloodedHouse } from './flood.ts';

const MB = 2 ** 20;
/** Without the bounds these calls take minutes, or are reset; no busy machine makes one of them so slow. */
const LONGEST_MS = 10_000;
/** `npm run bench:flood`: on a quiet machine, where the clock says something. */
const isBench = process.env['REVEILLE_BENCH'] === 'flood';
const FLOOD_MS = isBench ? 10_000 : 4_000;
const ALLOWED_MS = 100;

function sizeOf(folder: string): number {
  const sizes = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    entry.isFile() ? (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0) : 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

const percentile99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0;

/** Floods, and looks that the person, a page and another agent are served meanwhile, and that the daemon stays small. */
async function holds(floods: readonly string[], ms: number): Promise<void> {
  await using flooded = await FloodedHouse.open();
  const { house, client } = flooded;
  const { pid } = house.lock;
  // The built-in loop loads its packages when it is first used, which is no flood.
  if (isBench) await flooded.end(await flooded.begin(['answers']));
  const idle = isBench ? percentile99((await flooded.ask(FLOOD_MS)).times) : null;
  const before = sizeOf(house.place.home);
  const views = await flooded.begin(floods);
  const edit = { do: 'edit', path: 'a.txt', content: 'made\n' };
  const other = await house.run(client, play([edit, { do: 'rest' }, report('undisturbed')]));
  const { times, wrong } = await flooded.ask(ms);
  const end = await endOf(client, other);
  const grown = sizeOf(house.place.home) - before;
  const { peak } = flooded;
  await flooded.end(views);
  const [p99, longest] = [percentile99(times), Math.max(...times)];
  console.log(
    `${floods.join(' + ')}: ${times.length} × status, p99 ${p99.toFixed(0)} ms${idle === null ? '' : ` (without a flood ${idle.toFixed(0)} ms)`}, longest ${longest.toFixed(0)} ms; daemon at most ${(peak / MB).toFixed(0)} MB; state folder + ${(grown / MB).toFixed(1)} MB`,
  );
  expect(wrong).toEqual([]);
  expect(longest).toBeLessThan(LONGEST_MS);
  if (isBench) expect(p99).toBeLessThanOrEqual(ALLOWED_MS);
  expect(end).toMatchObject({ status: 'success', output: 'undisturbed' });
  expect(house.lock.pid).toBe(pid);
  expect(peak).toBeLessThan(250 * MB);
  expect(grown).toBeLessThan(60 * MB);
}

describe.skipIf(process.platform !== 'linux')('an agent that floods', () => {
  test.for(FLOODS)(
    '[BND7.33] with %s: the person, a page and another agent are served, and the daemon stays small',
    (flood) => holds([flood], FLOOD_MS),
  );

  test('[BND7.33] with everything at once: the person, a page and another agent are served, and the daemon stays small', () =>
    holds([FLOODS.filter((flood) => flood !== 'answers').join(', '), 'answers'], 2 * FLOOD_MS));
});
