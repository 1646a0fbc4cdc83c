import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runWorld, warmUp, type WorldResult } from './driver.ts';
import type { Point } from './points.ts';

/** So many lives on one database; then the next. */
export const CYCLES_PER_WORLD = 20;
const AT_ONCE = 2;

export interface SuiteOptions {
  readonly cycles: number;
  readonly seed: number;
  readonly point?: Point | undefined;
  readonly keep?: boolean;
  readonly onWorld?: (result: WorldResult) => void;
}

/** As many worlds as the cycles need, two at a time, each with a seed of its own. */
export async function runSuite({
  cycles,
  seed,
  point,
  keep = false,
  onWorld,
}: SuiteOptions): Promise<WorldResult[]> {
  const cache = mkdtempSync(join(tmpdir(), 'reveille-crash-compiled-'));
  try {
    await warmUp(cache);
    const sizes: number[] = [];
    for (let left = cycles; left > 0; left -= CYCLES_PER_WORLD) sizes.push(Math.min(left, CYCLES_PER_WORLD));
    const results: WorldResult[] = [];
    const next = sizes.entries();
    const lane = async (): Promise<void> => {
      for (const [i, size] of next) {
        const result = await runWorld({ seed: seed + i, cycles: size, point, cache, keep });
        results.push(result);
        onWorld?.(result);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    return results.toSorted((a, b) => a.seed - b.seed);
  } finally {
    rmSync(cache, { recursive: true });
  }
}

export const replayCommand = (result: WorldResult, point?: Point): string =>
  `npm run crash -- --seed ${result.seed} --cycles ${result.cycles}${point ? ` --point ${point}` : ''}`;

/** What went wrong, with the command that plays it again. */
export function describeFailures(results: readonly WorldResult[], point?: Point): string {
  const failed = results.filter(({ problems }) => problems.length > 0);
  return failed
    .map((result) => {
      const lines = result.problems
        .slice(0, 20)
        .map(({ cycle, kind, text }) => `  ${kind} (${cycle}): ${text}`);
      return [replayCommand(result, point), ...lines].join('\n');
    })
    .join('\n');
}

export function countKills(results: readonly WorldResult[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { kills } of results)
    for (const [name, n] of kills) counts.set(name, (counts.get(name) ?? 0) + n);
  return counts;
}
