import { parseArgs } from 'node:util';
import { caseOf } from './generate.ts';
import { countSights, describeFailures, runSuite } from './suite.ts';

const USAGE = `npm run differential -- [options]
  Random repositories and edits through a real daemon, compared with what plain git makes of them.

  --seed N            play one seed, and say what it is
  --seeds N,N,…       play these
  --count N --from M  play N seeds from M on (1,000 from 1)
  --lanes N           so many cases at once (4)
  --verbose           say what every case saw
  --keep              leave the folders of the cases
  --help              say this`;

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    seed: text,
    seeds: text,
    count: text,
    from: text,
    lanes: text,
    verbose: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(USAGE);
else await run();

async function run(): Promise<void> {
  const seeds = wanted();
  if (values.seed !== undefined) console.log(JSON.stringify(caseOf(seeds[0] ?? 0), null, 2));
  const began = performance.now();
  let done = 0;
  const results = await runSuite({
    seeds,
    lanes: number('lanes', values.lanes ?? '4'),
    keep: values.keep,
    onCase(result) {
      done += 1;
      if (values.verbose)
        console.log(`seed ${result.seed}, ${Math.round(result.ms)} ms: ${result.sights.join('; ')}`);
      // Shown when it is found: a long run may be broken off.
      if (result.differences.length > 0) console.log(describeFailures([result]));
      if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${seeds.length}`);
      else if (done % 50 === 0) console.log(`${done} of ${seeds.length}`);
    },
  });
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  const failed = results.filter(({ differences }) => differences.length > 0).length;
  const seen = [...countSights(results)].toSorted(([, a], [, b]) => b - a);
  console.log(`seen: ${seen.map(([sight, times]) => `${sight} ${times}`).join('; ')}`);
  const seconds = (performance.now() - began) / 1_000;
  console.log(`${results.length} cases in ${seconds.toFixed(1)} s: ${failed} differ`);
  if (failed > 0) process.exitCode = 1;
}

function wanted(): number[] {
  if (values.seed !== undefined) return [number('seed', values.seed)];
  if (values.seeds !== undefined) return values.seeds.split(',').map((seed) => number('seeds', seed.trim()));
  const from = number('from', values.from ?? '1');
  return Array.from({ length: number('count', values.count ?? '1000') }, (_, i) => from + i);
}

function number(name: string, given: string): number {
  if (!/^\d+$/.test(given)) throw new Error(`--${name} takes a number, not "${given}".`);
  return Number(given);
}
