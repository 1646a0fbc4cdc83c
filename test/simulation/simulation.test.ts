import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import corpus from './corpus.json' with { type: 'json' };
import { BUGS } from './bugs.ts';
import { INVARIANTS } from './auditor.ts';
import { FAULTS, FAULTS_OF_CALLS, FAULTS_OF_FILES, FAULTS_OF_MOMENTS } from './options.ts';
import { plantInto } from './plant.ts';
import { range, runSeeds, type JobResult } from './runner.ts';
import { SIGHTS } from './sights.ts';
import { simulate } from './simulate.ts';

/** What `npm test` runs; any number by `npm run simulate`. */
const SEEDS = 10_000;
const WITHIN = 1_500;
const TEN_MINUTES = 600_000;

const replay = (result: Pick<JobResult, 'failures'>): string[] =>
  result.failures.map(
    ({ seed, invariant, message }) => `${invariant}: ${message} | npm run simulate -- --seed ${seed}`,
  );

test(`every invariant holds in ${SEEDS} simulated worlds`, { timeout: TEN_MINUTES }, async () => {
  const result = await runSeeds({ seeds: range(1, SEEDS), jobs: 2 });
  const hours = (result.virtualMs / 3_600_000).toFixed(0);
  console.log(
    `${result.seeds} seeds in ${result.seconds.toFixed(1)} s (${Math.round(result.seeds / result.seconds)}/s), ${hours} virtual hours, ${result.events} events`,
  );
  expect(replay(result)).toEqual([]);
  expect(result.seeds).toBe(SEEDS);
  // None of the faults is there in name only.
  expect(
    [...FAULTS, ...FAULTS_OF_FILES, ...FAULTS_OF_CALLS, ...FAULTS_OF_MOMENTS].filter(
      (fault) => !result.struck[fault],
    ),
  ).toEqual([]);
  expect(SIGHTS.filter((sight) => !result.sights[sight])).toEqual([]);
});

test('what once failed does not fail again', { timeout: TEN_MINUTES }, async () => {
  const result = await runSeeds({ seeds: corpus.map((entry) => entry.seed), jobs: 1 });
  expect(replay(result)).toEqual([]);
});

test('the same seed makes the same world', async () => {
  for (const seed of [3, 19, 42, 77]) {
    const once = await simulate(seed, { hash: true });
    const again = await simulate(seed, { hash: true });
    expect(again).toEqual(once);
  }
});

test('the planted bugs fit the code, and there is one for every invariant', () => {
  for (const bug of BUGS) {
    const source = readFileSync(new URL(`../../${bug.file}`, import.meta.url), 'utf8');
    expect(plantInto(source, bug)).not.toBe(source);
  }
  const planted = new Set(BUGS.map((bug) => bug.invariant));
  // Whatever the engine does not expect is noticed by the way; nobody plants that.
  const without = Object.keys(INVARIANTS).filter((name) => name !== 'engine' && !planted.has(name as never));
  expect(without).toEqual([]);
  expect(BUGS.length).toBeGreaterThanOrEqual(20);
});

test.concurrent.each(BUGS.map((bug) => ({ within: WITHIN, ...bug })))(
  '$name is found within $within seeds',
  { timeout: TEN_MINUTES },
  async ({ name, within }) => {
    const result = await runSeeds({ seeds: range(1, within), jobs: 1, bug: name, untilFailure: true });
    expect(result.failures.length, `${name} was not found in ${result.seeds} seeds`).toBeGreaterThan(0);
  },
);
