import { parseArgs } from 'node:util';
import { caseOf } from './generate.ts';
import { countSights, describeFailures, runSuite } from './suite.ts';

const USAGE = `npm run differential -- [options]
  Random repositories and edits through a real daemon, compared with what plain git makes of them.

  --seed N            play one seed, and say what it is
  --count N --from M  play N seeds from M on (1,000 from 1)
  --lanes N           so many cases at once (4)
  --keep              leave the folders of the cases
  --help              say this`;

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    seed: text,
    count: text,
    from: text,
    lanes: text,
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(USAGE);
else await run();

async function run(): Promise<void> {
  const one = values.seed === undefined ? null : number('seed', values.seed);
  if (one !== null) console.log(JSON.stringify(caseOf(one), null, 2));
  const from = one ?? number('from', values.from ?? '1');
  const count = one === null ? number('count', values.count ?? '1000') : 1;
  const began = performance.now();
  let done = 0;
  const results = await runSuite({
    seeds: Array.from({ length: count }, (_, i) => from + i),
    lanes: number('lanes', values.lanes ?? '4'),
    keep: values.keep,
    onCase(result) {
      done += 1;
      // Shown when it is found: a long run may be broken off.
      if (result.differences.length > 0) console.log(describeFailures([result]));
      if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${count}`);
      else if (done % 50 === 0) console.log(`${done} of ${count}`);
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

function number(name: string, given: string): number {
  if (!/^\d+$/.test(given)) throw new Error(`--${name} takes a number, not "${given}".`);
  return Number(given);
}
