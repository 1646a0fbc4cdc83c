import { beforeAll, describe, expect, test } from 'vitest';
import type { WorldResult } from './driver.ts';
import type { Problem } from './checks.ts';
import { POINTS } from './points.ts';
import { countKills, describeFailures, runSuite } from './suite.ts';

const CYCLES = 200;
const SEED = 1;

describe('a real process on real SQLite, killed 200 times', () => {
  let results: WorldResult[] = [];
  beforeAll(async () => {
    results = await runSuite({ cycles: CYCLES, seed: SEED });
    // A life may end on the way to its point. Every point is to be hit twice at least.
    for (const [i, point] of POINTS.entries()) {
      if ((countKills(results).get(point) ?? 0) >= 2) continue;
      results.push(...(await runSuite({ cycles: 6, seed: SEED + 1_000 + i, point })));
    }
  }, 900_000);

  /** The problems of one kind, each with the command that plays it again. */
  const problems = (kind: Problem['kind']): string =>
    describeFailures(
      results
        .map((result) => ({
          ...result,
          problems: result.problems.filter((problem) => problem.kind === kind),
        }))
        .filter((result) => result.problems.length > 0),
    );

  test('[WAK3][MBX2][MBX5] every end reaches its parent, and what was acknowledged is on disk', () => {
    expect(problems('lost')).toBe('');
  });

  test('[MBX3][ID4] nothing is handed over twice unmarked, and a task never has two agents', () => {
    expect(problems('doubled')).toBe('');
  });

  test('[WAK4][HLT4] when the kills stop, everything ends', () => {
    expect(problems('stuck')).toBe('');
  });

  test('[STO6][STO9] the file is whole, events have no gaps, nobody is left, nothing is called an error', () => {
    expect(problems('broken')).toBe('');
  });

  test('every cycle ended in a kill, and every named point was one of them', () => {
    const kills = countKills(results);
    expect([...kills.values()].reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(CYCLES);
    expect(kills.get('random')).toBeGreaterThan(20);
    expect(POINTS.filter((point) => !kills.has(point))).toEqual([]);
  });
});
