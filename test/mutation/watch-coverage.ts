// What a process of tests or seeds executes, as the engine of JavaScript counts it. Types are erased in place, so its positions
// are those of the source.
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { ROOT } from './mutants.ts';

/** Start, end and whether it ran: of functions, and of blocks in them. */
export type Range = readonly [start: number, end: number, ran: boolean];
export type Coverage = Record<string, Range[]>;

/** From now on every look says what ran since the last one; what runs when the rooms are loaded is in none of them. */
export async function watchCoverage(): Promise<() => Promise<Coverage>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  await import('@reveille/core');
  await import('@reveille/stores');
  await session.post('Profiler.takePreciseCoverage');
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const coverage: Coverage = {};
    for (const { url, functions } of result) {
      if (!/\/packages\/(?:core|stores)\/src\//.test(url)) continue;
      const file = fileURLToPath(url).slice(ROOT.length);
      const ranges = functions
        .filter((one) => one.ranges.some(({ count }) => count > 0))
        .flatMap((one) => one.ranges)
        .map(({ startOffset, endOffset, count }): Range => [startOffset, endOffset, count > 0]);
      if (ranges.length > 0) coverage[file] = ranges;
    }
    return coverage;
  };
}
