import { runCase, type CaseResult } from './run-case.ts';
import { caseOf } from './generate.ts';
import { Station } from './station.ts';

export interface SuiteOptions {
  readonly seeds: readonly number[];
  /** So many cases at once. */
  readonly lanes?: number;
  /** Leaves the folders of the cases. */
  readonly keep?: boolean;
  readonly onCase?: (result: CaseResult) => void;
}

/** A daemon that has played so many cases is replaced: it would otherwise be asked to keep the records of a thousand. */
const CASES_PER_DAEMON = 100;

/** Plays seeds on two daemons, one for each way of treating a conflict. */
export async function runSuite(options: SuiteOptions): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  const { seeds } = options;
  for (let at = 0; at < seeds.length; at += CASES_PER_DAEMON)
    results.push(...(await runSome({ ...options, seeds: seeds.slice(at, at + CASES_PER_DAEMON) })));
  return results;
}

async function runSome({ seeds, lanes = 4, keep = false, onCase }: SuiteOptions): Promise<CaseResult[]> {
  const wanted = Map.groupBy(seeds, (seed) => caseOf(seed).onConflict);
  const stations = new Map<string, Station>();
  await using stack = new AsyncDisposableStack();
  await Promise.all(
    [...wanted.keys()].map(async (onConflict) => {
      stations.set(onConflict, stack.use(await Station.open(onConflict, keep)));
    }),
  );
  const results: CaseResult[] = [];
  const next = seeds.values();
  const lane = async (): Promise<void> => {
    for (const seed of next) {
      const station = stations.get(caseOf(seed).onConflict);
      if (!station) throw new Error(`No daemon plays seed ${seed}.`);
      const result = await runCase(seed, station, keep);
      results.push(result);
      onCase?.(result);
      if (keep) console.log(`seed ${seed}: ${station.folder}/cases/${seed}`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results.toSorted((a, b) => a.seed - b.seed);
}

/** What differed, with the command that plays it again. */
export const describeFailures = (results: readonly CaseResult[]): string =>
  results
    .filter(({ differences }) => differences.length > 0)
    .map(({ seed, differences }) =>
      [`npm run differential -- --seed ${seed}`, ...differences.map((line) => `  ${line}`)].join('\n'),
    )
    .join('\n');

/** How many cases saw what. */
export function countSights(results: readonly CaseResult[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { sights } of results)
    for (const sight of sights) counts.set(sight, (counts.get(sight) ?? 0) + 1);
  return counts;
}
