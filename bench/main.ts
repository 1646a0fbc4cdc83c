import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureD, measureL, measureM, measureN, measureR, measureW, type Measure } from './measures.ts';
import { measureH } from './reach.ts';
import { measureT } from './storm.ts';
import { measureE } from './streams.ts';
import { measureC, measureF, measureS } from './worktrees.ts';

const MEASURES: Record<string, () => Promise<Measure | Measure[]>> = {
  W: measureW,
  D: measureD,
  L: measureL,
  N: measureN,
  R: measureR,
  M: measureM,
  H: measureH,
  E: measureE,
  C: measureC,
  F: measureF,
  S: measureS,
  T: measureT,
};

/** Set for a process that runs one measure of several. */
const PART = 'REVEILLE_BENCH_PART';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean', short: 'h' }, out: { type: 'string' } },
});
if (values.help) {
  console.log(`npm run bench -- [${Object.keys(MEASURES).join('|')} …] [--out results.json]

Each measure is set against something bare in the same run (SQLite, git, bubblewrap): these are ratios, not records.
The folder REVEILLE_BENCH_DIR decides which disk is used; without it, C and F are in memory (/dev/shm) where there is room.`);
  process.exit(0);
}
const unknown = positionals.filter((name) => !(name in MEASURES));
if (unknown.length > 0) {
  console.error(`There is no measure ${unknown.join(', ')}; there are: ${Object.keys(MEASURES).join(', ')}.`);
  process.exit(2);
}

const names = positionals.length > 0 ? positionals : Object.keys(MEASURES);
const out = values.out ?? join(import.meta.dirname, 'results', 'latest.json');
mkdirSync(join(out, '..'), { recursive: true });
const results: Measure[] = [];
for (const name of names) {
  const began = performance.now();
  results.push(...(names.length === 1 ? await measured(name) : alone(name)));
  if (process.stderr.isTTY)
    process.stderr.write(`  (${Math.round((performance.now() - began) / 1_000)} s)\n`);
}

const machine = {
  node: process.version,
  cpus: cpus().length,
  memoryMb: Math.round(totalmem() / 1e6),
  load: loadavg(),
};
writeFileSync(out, `${JSON.stringify({ at: new Date().toISOString(), machine, results }, null, 2)}\n`);
if (!process.env[PART]) console.log(`written to ${out}`);

async function measured(name: string): Promise<Measure[]> {
  const measures = [(await MEASURES[name]?.()) ?? []].flat();
  for (const measure of measures) print(measure);
  return measures;
}

/** In a process of its own: what the one before left in memory, or taught the compiler, is not measured too. */
function alone(name: string): Measure[] {
  const part = `${out}.${name}`;
  const args = [...process.execArgv, import.meta.filename, name, '--out', part];
  const { status } = spawnSync(process.execPath, args, {
    stdio: 'inherit',
    env: { ...process.env, [PART]: '1' },
  });
  if (status !== 0) process.exit(status ?? 1);
  const { results: found } = JSON.parse(readFileSync(part, 'utf8')) as { results: Measure[] };
  rmSync(part);
  return found;
}

function print({ name, what, value, baseline, goal, met }: Measure): void {
  console.log(`${met ? '✓' : '✗'} ${name.padEnd(10)} ${what.padEnd(32)} ${value}`);
  console.log(`${' '.repeat(13)}${baseline}; goal: ${goal}`);
}
