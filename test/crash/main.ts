import { parseArgs } from 'node:util';
import { runOperations } from './operations/main.ts';
import { isPoint, POINTS, type Point } from './points.ts';
import { countKills, describeFailures, runSuite } from './suite.ts';
import type { WorldResult } from './driver.ts';

const USAGE = `npm run crash -- [--cycles N] [--seed S] [--point name] [--keep]
  Kills a real process N times (200) and looks for what was lost, doubled or stuck. The seed (by the clock, if none is
  given) decides what it works on and where it is killed; --keep leaves the folder of a world that failed. A point is
  one of:
  ${POINTS.join(', ')}
  With --operations, kills each operation on a repository at every act on the disk instead.`;

if (process.argv.includes('--operations')) process.exitCode = await runOperations();
else await main();

async function main(): Promise<void> {
  const options = readOptions();
  if (!options) {
    console.error(USAGE);
    process.exitCode = 2;
    return;
  }
  const began = performance.now();
  const results = await runSuite({ ...options, onWorld: () => process.stderr.write('.') });
  process.stderr.write('\n');
  console.log(table(results, performance.now() - began));
  const failures = describeFailures(results, options.point);
  if (failures === '') return;
  console.error(`\nFailed. Each line that begins with npm plays one of them again:\n${failures}`);
  process.exitCode = 1;
}

function readOptions(): { cycles: number; seed: number; point: Point | undefined; keep: boolean } | null {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      options: { cycles: text, seed: text, point: text, keep: { type: 'boolean' } },
    });
    const cycles = Number(values.cycles ?? 200);
    const seed = Number(values.seed ?? Date.now() % 1_000_000);
    const { point, keep = false } = values;
    if (!Number.isInteger(cycles) || cycles < 1 || !Number.isInteger(seed)) return null;
    if (point === undefined) return { cycles, seed, point, keep };
    return isPoint(point) ? { cycles, seed, point, keep } : null;
  } catch {
    return null; // an option that does not exist
  }
}

function table(results: readonly WorldResult[], ms: number): string {
  const problems = results.flatMap((result) => result.problems);
  const of = (kind: string): number => problems.filter((problem) => problem.kind === kind).length;
  const firsts = results.flatMap(({ firstEffectMs }) => firstEffectMs).toSorted((a, b) => a - b);
  const finish = Math.max(...results.map(({ finishMs }) => finishMs));
  const kills = countKills(results);
  const sum = [...kills.values()].reduce((a, b) => a + b, 0);
  const rows: [string, string | number][] = [
    ['seeds', `${results[0]?.seed} to ${results.at(-1)?.seed}`],
    ['cycles', sum],
    ['tasks', results.reduce((all, { tasks }) => all + tasks, 0)],
    ['lost', of('lost')],
    ['doubled', of('doubled')],
    ['stuck', of('stuck')],
    ['otherwise broken', of('broken')],
    ['start to first effect, p50', `${Math.round(firsts[Math.floor(firsts.length / 2)] ?? 0)} ms`],
    ['start to first effect, max', `${Math.round(firsts.at(-1) ?? 0)} ms`],
    ['left alone to the end, max', `${Math.round(finish)} ms`],
    ['took', `${(ms / 1_000).toFixed(1)} s`],
    ...[...kills]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, n]): [string, number] => [`killed: ${name}`, n]),
  ];
  return rows.map(([name, value]) => `${name.padEnd(46)}${String(value).padStart(12)}`).join('\n');
}
