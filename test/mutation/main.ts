import { parseArgs } from 'node:util';
import { DETECTORS, detect, seedsJob, testsJob, type DetectorName, type Verdict } from './detectors.ts';
import type { Job } from './job.ts';
import { ROOMS, allMutants, diffOf, sampleOf, type Mutant, type Room } from './mutants.ts';
import { measureReach, simulationReaches, testsOf } from './reach.ts';
import {
  RESULTS,
  isFound,
  keepResult,
  readResults,
  staleReasons,
  summaryOf,
  survivorWords,
  type Result,
} from './results.ts';

const USAGE = `npm run mutate -- [options]

Makes one small mistake at a time in packages/core and packages/stores, and looks whether the unit tests, the simulation or the
system tests of these rooms notice. Exits with 1 if one survives that harmless.json does not judge.

  --sample N          try N mutants (200)
  --seed TEXT         which ones (1); a larger sample of a seed holds the smaller ones
  --part K/N          the Kth of N parts of the sample, for several machines
  --room core|stores  of one room only
  --file TEXT         of files whose path contains this only
  --only ID           one mutant, with its diff
  --list              say which mutants there are, and try none
  --seeds N           seeds of the simulation for each mutant (1000)
  --with NAMES        the detectors, in order (unit,simulation,system)
  --every             ask every detector, also when one has found the mutant
  --jobs N            mutants at a time (2)
  --seconds N         begin nothing more after so long
  --resume            leave out those whose result is known
  --survivors         try again those that survived
  --report            print what is known, and try none
  --results FILE      where results are kept (.cache/mutation/results.jsonl)`;

const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    part: { type: 'string', default: '1/1' },
    room: { type: 'string' },
    file: { type: 'string' },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
    seeds: { type: 'string', default: '1000' },
    with: { type: 'string', default: DETECTORS.join(',') },
    every: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '86400' },
    resume: { type: 'boolean', default: false },
    survivors: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    results: { type: 'string', default: RESULTS },
    help: { type: 'boolean', default: false },
  },
});

// So that the detectors under way are ended too.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));

if (values.help) console.log(USAGE);
else if (values.list) for (const mutant of chosen()) console.log(nameOf(mutant));
else await run();

async function run(): Promise<void> {
  const known = readResults(values.results);
  const sample = chosen();
  const results = (): Result[] => sample.flatMap(({ id }) => readResults(values.results).get(id) ?? []);
  if (!values.report) await tryAll(sample.filter((mutant) => isWanted(known.get(mutant.id))));
  const all = results();
  console.log(summaryOf(all));
  for (const id of staleReasons(allMutants()))
    console.log(
      `harmless.json judges ${id}, which no mutant is called any more: judge it anew, or take it out.`,
    );
  if (all.some((result) => !isFound(result))) process.exitCode = 1;
}

function isWanted(known: Result | undefined): boolean {
  if (values.survivors) return known !== undefined && !isFound(known);
  return !values.resume || known === undefined;
}

function chosen(): Mutant[] {
  const mutants = allMutants(rooms()).filter(({ file }) => file.includes(values.file ?? ''));
  if (values.only === undefined)
    return partOf(sampleOf(mutants, number('sample', values.sample), values.seed));
  const only = mutants.filter(({ id }) => id === values.only);
  if (only.length === 0) throw new Error(`There is no mutant "${values.only}". --list names them.`);
  for (const mutant of only) console.log(`${nameOf(mutant)}\n${diffOf(mutant)}`);
  return only;
}

function partOf(sample: readonly Mutant[]): Mutant[] {
  const [, part = '', parts = ''] = /^(\d+)\/(\d+)$/.exec(values.part) ?? [];
  if (part === '') throw new Error(`--part takes two numbers like 1/4, not "${values.part}".`);
  const size = Math.ceil(sample.length / Number(parts));
  return sample.slice((Number(part) - 1) * size, Number(part) * size);
}

function rooms(): Room[] {
  if (values.room === undefined) return [...ROOMS];
  const room = ROOMS.find((one) => one === values.room);
  if (!room) throw new Error(`--room takes ${ROOMS.join(' or ')}, not "${values.room}".`);
  return [room];
}

async function tryAll(mutants: readonly Mutant[]): Promise<void> {
  if (mutants.length === 0) return;
  const reach = await measureReach(console.log);
  const over = performance.now() + number('seconds', values.seconds) * 1_000;
  const waiting = [...mutants];
  let tried = 0;
  const work = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant && performance.now() < over; mutant = waiting.shift()) {
      const result = { mutant, verdicts: await judge(mutant, jobsFor(mutant)) };
      keepResult(values.results, result);
      console.log(
        `${++tried} of ${mutants.length}: ${isFound(result) ? foundWords(result) : survivorWords(result)}`,
      );
    }
  };
  await Promise.all(Array.from({ length: number('jobs', values.jobs) }, work));

  function jobsFor(mutant: Mutant): [DetectorName, Job][] {
    return detectors().flatMap((name): [DetectorName, Job][] => {
      if (name === 'simulation')
        return simulationReaches(reach, mutant) ? [[name, seedsJob(number('seeds', values.seeds))]] : [];
      const files = testsOf(reach, name, mutant);
      return files.length > 0 ? [[name, testsJob(files)]] : [];
    });
  }
}

async function judge(mutant: Mutant, jobs: readonly [DetectorName, Job][]): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const [name, job] of jobs) {
    const verdict = await detect(name, job, mutant);
    verdicts.push(verdict);
    if (verdict.found && !values.every) break;
  }
  return verdicts;
}

function detectors(): DetectorName[] {
  return values.with.split(',').map((name) => {
    const detector = DETECTORS.find((one) => one === name);
    if (!detector) throw new Error(`--with takes some of ${DETECTORS.join(', ')}, not "${name}".`);
    return detector;
  });
}

function foundWords({ mutant, verdicts }: Result): string {
  const [first] = verdicts.filter(({ found }) => found);
  return `found    ${nameOf(mutant)}: ${first?.detector} ${Math.round((first?.ms ?? 0) / 1_000)} s: ${first?.by}`;
}

function nameOf({ id, file, line, operator }: Mutant): string {
  return `${id} (${operator}) ${file}:${line}`;
}

function number(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} takes a number, not "${text}".`);
  return Number(text);
}
