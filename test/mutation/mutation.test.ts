import { describe, expect, test } from 'vitest';
import { detect, seedsJob, testsJob } from './detectors.ts';
import type { Job } from './job.ts';
import { allMutants, mutantsOf } from './mutants.ts';
import { OPERATORS } from './operators.ts';
import { staleReasons } from './results.ts';

const SEEDS = 150;
const MEMORY = 'packages/stores/test/memory.test.ts';
const unit = (...files: string[]): Job => testsJob(files.map((file) => `packages/core/test/${file}.test.ts`));
const store = (...files: string[]): Job =>
  testsJob(files.map((file) => `packages/stores/test/${file}.system.test.ts`));

/** Mutants that were found once, each with the detector that must go on finding it. `npm run mutate` tries hundreds. */
const SAMPLE: readonly (readonly [id: string, what: string, 'unit' | 'simulation' | 'system', Job])[] = [
  ['file-3d5c38e4', 'commits are not synced', 'system', store('sqlite-commit')],
  ['writer-9c70bbac', 'rows of a failed commit stay in the cache', 'system', store('sqlite-commit')],
  ['file-93ffd6b8', 'two engines may use one file', 'system', store('sqlite-file')],
  ['ordered-list-4f39ec94', 'a list is out of order', 'unit', testsJob([MEMORY])],
  ['holding-43c7b98e', 'a host goes on with a run that another has', 'unit', unit('holding')],
  ['integration-0bc794d9', 'the integration waits for what others need', 'unit', unit('integration')],
  ['budget-b7008876', 'only the outermost budget counts', 'unit', unit('budgets')],
  ['wall-time-2d41c08b', 'time that ran before a swap is forgotten', 'unit', unit('budgets')],
  ['task-acts-2792337b', 'a task that nobody reviewed is approved', 'unit', unit('tasks')],
  ['settle-4f385bf2', 'a task that failed is reviewed', 'simulation', seedsJob(SEEDS)],
  ['plan-status-72d0eddb', 'a plan is over too early', 'simulation', seedsJob(SEEDS)],
  ['decide-d2f3e037', 'a run ends before its work is collected', 'simulation', seedsJob(SEEDS)],
];

const mutants = allMutants();

describe('mutants', () => {
  test.concurrent.each(SAMPLE)('%s is found: %s', { timeout: 300_000 }, async (id, _what, detector, job) => {
    const mutant = mutants.find((one) => one.id === id);
    if (!mutant)
      throw new Error(`The line of ${id} was changed. Choose another mutant: npm run mutate -- --list.`);
    expect(await detect(detector, job, mutant)).toMatchObject({ found: true });
  });

  test('detectors find nothing where there is no mutant', { timeout: 300_000 }, async () => {
    expect(await detect('simulation', seedsJob(20), null)).toMatchObject({ found: false });
    expect(await detect('unit', unit('holding'), null)).toMatchObject({ found: false });
  });

  test('every operator finds something to change, and every mutant has a name of its own', () => {
    expect(new Set(mutants.map(({ operator }) => operator))).toEqual(new Set(Object.keys(OPERATORS)));
    expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length);
    expect(staleReasons(mutants)).toEqual([]);
  });

  test('a mutant keeps its name when other lines change', () => {
    const source = 'export const isLarge = (n: number): boolean => n > 7;\n';
    const moved = `// A line more.\n\nexport const one = 1;\n${source}`;
    const names = mutantsOf('a.ts', source).map(({ id }) => id);
    expect(names.length).toBeGreaterThan(2);
    expect(mutantsOf('a.ts', moved).map(({ id }) => id)).toEqual(expect.arrayContaining(names));
  });
});
