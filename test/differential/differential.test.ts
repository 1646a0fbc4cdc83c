import { beforeAll, describe, expect, test } from 'vitest';
import { caseOf } from './generate.ts';
import type { CaseResult } from './run-case.ts';
import { SIGHTS } from './sights.ts';
import { countSights, describeFailures, runSuite } from './suite.ts';

/** Chosen so that together they see everything in `SIGHTS`; those that once found something are among them. */
const SEEDS: readonly number[] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 27, 29, 44, 59, 66, 84, 383, 1102, 1197, 1206, 1281, 2244, 2429, 2571, 2944,
  3026, 3944, 4143, 4147, 4178, 5104, 5304, 5419, 5624, 6184, 6237, 6414, 6633, 6710, 6952, 7692, 8060, 8341,
  8716, 8878, 9410, 10303, 10357, 10827, 11634, 1965, 1089, 2546, 10590, 2503, 4840,
];

describe('random cases through a daemon and in plain git', () => {
  let results: CaseResult[] = [];
  beforeAll(async () => {
    results = await runSuite({ seeds: SEEDS });
  }, 900_000);

  test('[PLN6.26] branches, integration, pull, retry, restore and bring-home are as git makes them, or the person is asked', () => {
    expect(describeFailures(results)).toBe('');
    expect(results).toHaveLength(SEEDS.length);
  });

  test('the cases see every kind of edit, repository, resolver and operation', () => {
    const seen = countSights(results);
    expect(SIGHTS.filter((sight) => !seen.has(sight))).toEqual([]);
  });
});

test('a seed is the same case every time', () => {
  for (const seed of [1, 2, 3]) expect(caseOf(seed)).toEqual(caseOf(seed));
  expect(caseOf(1)).not.toEqual(caseOf(2));
});
