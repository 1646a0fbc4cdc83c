import { appendFileSync, mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { DEFAULTS, Engine, type Clock, type Executor, type Random } from '@reveille/core';
import { openSqlite } from '@reveille/stores';
import { Effects } from './effects.ts';
import { innerExecutor } from './inner-agent.ts';
import { executorWithPoints, instrument, migrationsWithPoints } from './instrument.ts';
import { Locks } from './locks.ts';
import { crashPoints } from './points.ts';
import { processExecutor } from './process-agent.ts';
import { ROLES } from './roles.ts';
import { Workload } from './workload.ts';
import { chanceFrom, type World } from './world.ts';

/**
 * The process that is killed: `victim.ts <folder> <life> <seed> [finish | round]`, with CRASH_AT=point:n to have it kill
 * itself, SCHEMA=n for a database of that version, DATABASE=path for one that is not in the folder. The engine, the
 * SQLite file and the processes are real. It says `first` on stdout at its first effect. SIGTERM and SIGINT end it in
 * order; with `finish` it ends when all that was begun has, with `round` it begins one. Either way the event loop must
 * run dry by itself: nothing here calls process.exit. Its last word is `stopped` and what the process still holds.
 */
const [folder = '', life = '1', seed = '1', mode] = process.argv.slice(2);
if (folder !== 'warm-up') await main();

async function main(): Promise<void> {
  const point = crashPoints(process.env['CRASH_AT']);
  const clock = systemClock();
  point('before-open');
  const schema = Number(process.env['SCHEMA'] ?? '1');
  const path = process.env['DATABASE'] ?? join(folder, 'reveille.db');
  const backend = instrument(
    await openSqlite({ path, clock, crashPoint: point, migrations: migrationsWithPoints(schema, point) }),
    point,
  );
  point('opened');
  mkdirSync(folder, { recursive: true });
  const world: World = {
    folder,
    life: Number(life),
    effects: new Effects(folder, Number(life), () => writeSync(1, 'first\n')),
    locks: new Locks(folder),
    point,
    chance: chanceFrom(Number(seed) * 7_919 + Number(life)),
    orchestratorOf: ({ session, run, epoch }) => engine.as({ kind: 'worker', session, run, epoch }),
  };
  const engine = new Engine({
    ...backend,
    clock,
    random: randomIds(Number(life)),
    host: 'this-host',
    executors: executorsOf(world),
    agents: { names: () => Object.keys(ROLES) },
    settings: {
      ...DEFAULTS,
      depth: { orchestrator: 4, standalone: 4 },
      children: { total: 10_000, open: 1_000, perMinute: 10_000, planned: 1_000 },
      concurrency: 6,
      // Only the look at the start is left: a wake that gets lost within a life is not made good for.
      sweepEveryMs: 60_000,
    },
    log: (level, message, data) =>
      appendFileSync(join(folder, 'log'), `${life} ${level} ${message} ${JSON.stringify(data)}\n`),
  });
  const workload = new Workload(engine, world, Number(seed));
  const stop = (): void => workload.stop();
  process.once('SIGTERM', stop).once('SIGINT', stop);
  await engine.start();
  point('recovered');
  await workload.run({ rounds: mode === 'finish' ? 0 : mode === 'round' ? 1 : Infinity });
  const stopping = engine.stop();
  await later(0);
  point('stopping');
  await stopping;
  await backend.close();
  process.off('SIGTERM', stop).off('SIGINT', stop);
  // A process that has ended gives its handle back in the next round of the event loop.
  await later(0);
  writeSync(1, `stopped ${process.getActiveResourcesInfo().join(' ')}\n`);
}

function executorsOf(world: World) {
  const executors = new Map<string, Executor>([
    ['inner', innerExecutor(world, { remembers: true })],
    ['blind', innerExecutor(world, { remembers: false })],
    ['shell', processExecutor(world, { stubborn: false })],
    ['stubborn', processExecutor(world, { stubborn: true })],
  ]);
  for (const [name, executor] of executors) executors.set(name, executorWithPoints(executor, world.point));
  return { backends: () => [...executors.keys()], get: (name: string) => executors.get(name) };
}

function systemClock(): Clock {
  const after = (ms: number, fire: () => void): (() => void) => {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  };
  return { now: Date.now, mono: () => performance.now(), after };
}

/** Ids that grow with time and name the life they were made in, which helps whoever reads a failure. */
function randomIds(of: number): Random {
  let count = 0;
  const id = (): string => `${String(of).padStart(3, '0')}${(++count).toString(36).padStart(5, '0')}`;
  return { next: Math.random, id };
}
