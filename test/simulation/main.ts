import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { BUGS } from './bugs.ts';
import { findBug, plant } from './plant.ts';
import { range, runSeeds, type JobResult, type SeedFailure } from './runner.ts';

const USAGE = `npm run simulate -- [options]

  --fresh N           run N seeds that nobody has run before, from a random start
  --seed N            replay one seed with a readable trace
  --seeds A..B        run these seeds
  --count N --from M  run N seeds from M (1000 from 1)

  --jobs N            in so many processes (2)
  --until-failure     stop at the first seed that fails
  --seconds N         begin nothing more after so long
  --bug NAME          with a planted bug
  --list-bugs         list the planted bugs
  --help              print this

Each failing seed is printed when it is found, with the command that replays it. The exit code is 1 if any failed.`;

/** Far from the seeds that \`npm test\` runs, and short enough to be typed. */
const FRESH_FROM = 1_000_000;
const FRESH_TO = 4_000_000_000;

const { values } = parseArgs({
  options: {
    fresh: { type: 'string' },
    seed: { type: 'string' },
    seeds: { type: 'string' },
    count: { type: 'string' },
    from: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    bug: { type: 'string' },
    seconds: { type: 'string' },
    'until-failure': { type: 'boolean', default: false },
    'list-bugs': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** Failures are shown when they are found: a long run may be broken off. */
let shown = 0;

if (values.help) console.log(USAGE);
else if (values['list-bugs'])
  for (const bug of BUGS) console.log(`${bug.name} (${bug.invariant}): ${bug.why}`);
else if (values.seed !== undefined) await replay(number('seed', values.seed));
else await run();

/** One seed, in this process, so that its trace can be read as it comes. */
async function replay(seed: number): Promise<void> {
  if (values.bug) plant(values.bug);
  const { simulate } = await import('./simulate.ts');
  const { describe, expand } = await import('./options.ts');
  console.log(describe(expand(seed)));
  const result = await simulate(seed, { trace: (line) => console.log(line), hash: true });
  const words = `${result.steps} steps, ${result.events} events, ${(result.virtualMs / 1000).toFixed(1)} s of virtual time, trace ${result.hash?.slice(0, 16)}`;
  if (!result.failure) return console.log(`seed ${seed}: all invariants held (${words})`);
  console.log(`${failureLine({ seed, ...result.failure })}\n(${words})`);
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const [from, to] = wanted();
  if (values.bug) findBug(values.bug);
  const result = await runSeeds({
    seeds: range(from, to),
    jobs: number('jobs', values.jobs),
    untilFailure: values['until-failure'],
    progress: showProgress,
    ...(values.bug ? { bug: values.bug } : {}),
    ...(values.seconds === undefined ? {} : { seconds: number('seconds', values.seconds) }),
  });
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  const faults = Object.entries(result.struck).toSorted(([, a], [, b]) => b - a);
  console.log(`faults: ${faults.map(([name, times]) => `${name} ${times}`).join(', ')}`);
  const sights = Object.entries(result.sights).toSorted(([, a], [, b]) => b - a);
  console.log(`seen: ${sights.map(([name, times]) => `${name} ${times}`).join(', ')}`);
  const perSecond = Math.round(result.seeds / result.seconds);
  const hours = (result.virtualMs / 3_600_000).toFixed(1);
  console.log(
    `${result.seeds} seeds in ${result.seconds.toFixed(1)} s (${perSecond}/s), ${hours} virtual hours, ${result.steps} steps, ${result.events} events: ${result.failures.length} failed`,
  );
  if (result.failures.length > 0) process.exitCode = 1;
}

function wanted(): [number, number] {
  if (values.fresh !== undefined) {
    const count = number('fresh', values.fresh);
    const from = randomInt(FRESH_FROM, FRESH_TO);
    console.log(`fresh seeds ${from}..${from + count - 1}`);
    return [from, from + count - 1];
  }
  const span = /^(\d+)\.\.(\d+)$/.exec(values.seeds ?? '');
  if (span) return [Number(span[1]), Number(span[2])];
  if (values.seeds !== undefined)
    throw new Error(`--seeds takes a span like 1..1000, not "${values.seeds}".`);
  const from = number('from', values.from ?? '1');
  return [from, from + number('count', values.count ?? '1000') - 1];
}

function number(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} takes a number, not "${text}".`);
  return Number(text);
}

function failureLine({ seed, invariant, message, at }: SeedFailure): string {
  return `seed ${seed} at ${(at / 1000).toFixed(3)} s: ${invariant}: ${message}`;
}

function showProgress(total: JobResult): void {
  for (const failure of total.failures.slice(shown)) {
    console.log(failureLine(failure));
    console.log(
      `  replay: npm run simulate -- --seed ${failure.seed}${values.bug ? ` --bug ${values.bug}` : ''}`,
    );
  }
  shown = total.failures.length;
  if (process.stderr.isTTY) process.stderr.write(`\r${total.seeds} seeds, ${total.failures.length} failed`);
}
