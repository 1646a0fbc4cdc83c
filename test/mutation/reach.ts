import { createHash } from 'node:crypto';
import fs, { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { runJob } from './job.ts';
import { ROOT, type Mutant } from './mutants.ts';
import type { Coverage, Range } from './watch-coverage.ts';

const CACHE = `${ROOT}.cache/mutation/`;
/** Seeds that show what the simulation reaches at all. */
const SEEDS = 1_000;
const UNIT = ['packages/core/test/*.test.ts', 'packages/stores/test/*.test.ts'];

/** The tests with files, servers and hundreds of cases: too slow to be watched, so what they are about is said here. */
const SYSTEM: readonly { readonly test: string; readonly about: RegExp }[] = [
  { test: 'packages/stores/test/memory.system.test.ts', about: /stores\/src\/(?:memory\/|[^/]+$)/ },
  { test: 'packages/stores/test/sqlite-commit.system.test.ts', about: /stores\/src\/(?:sqlite\/|[^/]+$)/ },
  {
    test: 'packages/stores/test/sqlite-file.system.test.ts',
    about: /stores\/src\/(?:sqlite\/|migrations\/|[^/]+$)/,
  },
  {
    test: 'packages/stores/test/sqlite.system.test.ts',
    about: /stores\/src\/(?:sqlite\/|migrations\/|[^/]+$)/,
  },
  {
    test: 'packages/stores/test/postgres.system.test.ts',
    about: /stores\/src\/(?:postgres\/|migrations\/|columns)/,
  },
  { test: 'test/crash/power-cut.test.ts', about: /stores\/src\/sqlite\/(?:file|writer|open)\.ts/ },
  {
    test: 'packages/core/test/commands.system.test.ts',
    about: /core\/src\/(?:shell|command|polic|patterns)/,
  },
];

type Kind = 'unit' | 'system';
/** By test file, and `simulation`. */
type Reach = Readonly<Record<string, Coverage>>;

const unitTests = (): string[] =>
  UNIT.flatMap((pattern) => fs.globSync(pattern, { cwd: ROOT }))
    .filter((file) => !file.includes('.system.'))
    .toSorted();

/** What each test file and the simulation execute of the rooms. Measured once for a state of the sources, and kept. */
export async function measureReach(say: (line: string) => void): Promise<Reach> {
  const kept = `${CACHE}reach-${stateOfSources()}.jsonl`;
  if (!existsSync(kept)) {
    mkdirSync(CACHE, { recursive: true });
    for (const old of fs.globSync(`${CACHE}reach-*`)) rmSync(old);
    const fresh = `${CACHE}reach-${process.pid}.new`;
    say('Looking at what each test executes (a minute, once for a state of the sources) …');
    const env = { REVEILLE_COVERAGE: fresh };
    const tests = unitTests();
    for (const [script, args] of [
      ['run-tests.ts', tests],
      ['run-seeds.ts', ['1', String(SEEDS)]],
    ] as const) {
      const ended = await runJob({ script, args, cpuSeconds: 900, wallSeconds: 1_800 }, env);
      if (ended.code !== 0) throw new Error(`${script} fails without any mutant: ${ended.said}`);
    }
    renameSync(fresh, kept);
  }
  const lines = readFileSync(kept, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => entryOf(JSON.parse(line) as never)));
}

const entryOf = ({ test, coverage }: { test: string; coverage: Coverage }): [string, Coverage] => [
  test,
  coverage,
];

function stateOfSources(): string {
  const hash = createHash('sha256');
  for (const file of fs
    .globSync(
      ['packages/{core,stores}/{src,test}/**/*.ts', 'packages/protocol/src/**/*.ts', 'test/simulation/*.ts'],
      {
        cwd: ROOT,
      },
    )
    .toSorted())
    hash.update(file).update(readFileSync(ROOT + file));
  return hash.digest('hex').slice(0, 12);
}

function ran(coverage: Coverage | undefined, { file, start }: Mutant): boolean {
  let inner: Range | null = null;
  for (const range of coverage?.[file] ?? []) {
    if (range[0] > start || range[1] <= start) continue;
    if (!inner || range[1] - range[0] <= inner[1] - inner[0]) inner = range;
  }
  return inner?.[2] ?? false;
}

/**
 * Whether it runs the place. One that nobody runs may run when its file is loaded: then all count that run anything of it, or, if
 * there is nothing to be run in it, all that there are.
 */
function reaches(reach: Reach, key: string, mutant: Mutant): boolean {
  const keys = Object.keys(reach);
  if (keys.some((each) => ran(reach[each], mutant))) return ran(reach[key], mutant);
  const isRun = (each: string): boolean => Object.hasOwn(reach[each] ?? {}, mutant.file);
  return isRun(key) || !keys.some(isRun);
}

export const simulationReaches = (reach: Reach, mutant: Mutant): boolean =>
  reaches(reach, 'simulation', mutant);

/**
 * The unit tests, if any of them executes the mutant: first those that do and are named like its file, then those that execute
 * little else, then all others, because a call in optimized code is not always counted. Of the system tests, those that are about
 * its file.
 */
export function testsOf(reach: Reach, kind: Kind, mutant: Mutant): string[] {
  if (kind === 'system')
    return SYSTEM.filter(({ test, about }) => about.test(mutant.file) && existsSync(ROOT + test)).map(
      ({ test }) => test,
    );
  const words = new Set(wordsOf(mutant.file));
  const rank = (test: string): number => {
    const alike = wordsOf(test).some((word) => words.has(word));
    return JSON.stringify(reach[test] ?? {}).length / (alike ? 100 : 1);
  };
  const tests = unitTests().map((test) => ({
    test,
    reached: reaches(reach, test, mutant),
    rank: rank(test),
  }));
  if (!tests.some(({ reached }) => reached)) return [];
  return tests
    .toSorted((a, b) => Number(b.reached) - Number(a.reached) || a.rank - b.rank)
    .map(({ test }) => test);
}

const wordsOf = (file: string): string[] =>
  (/([^/]+?)(?:\.system)?(?:\.test)?\.ts$/.exec(file)?.[1] ?? '')
    .split('-')
    .map((word) => word.replace(/s$/, ''));
