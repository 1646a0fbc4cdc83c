import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Script } from '@reveille/executors';
import type { PlanInput } from '@reveille/protocol';
import { withFanOut, type FanOut } from './fan-out.ts';
import { openLimit } from './limit.ts';
import { gate, median, openWorld, percentile, temporaryFolder } from './world.ts';

export interface Measure {
  readonly name: string;
  readonly what: string;
  readonly value: string;
  readonly baseline: string;
  readonly goal: string;
  readonly met: boolean;
  readonly numbers: Readonly<Record<string, number>>;
}

/** An engine runs for days: what is measured is one that the compiler knows. */
const WARM_UPS = 25;
const ROUNDS = 11;
const RESTARTS = 5;
const GROUP = 50;
const COMPILED = join(tmpdir(), 'reveille-bench-compiled');
/** As the daemon is run. */
const YOUNG = '--max-semi-space-size=8';
const format = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);

/** W: a thousand children of one parent, each end durable and in its hands. */
export async function measureW(): Promise<Measure> {
  using limit = openLimit();
  return await withFanOut(async (fan) => {
    for (let i = 0; i < WARM_UPS; i++) await fan.run(1_000);
    const rates: number[] = [];
    const limits: number[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      limits.push(limit.grouped(1_000, GROUP));
      rates.push(1_000_000 / (await fan.run(1_000)));
    }
    const rate = median(rates);
    const bare = median(limits);
    return {
      name: 'W',
      what: '1,000 children of one parent',
      value: `${format(rate)} children/s`,
      baseline: `${format((rate / bare) * 100)} % of bare SQLite, ${format(bare)}/s in groups of ${GROUP}`,
      goal: '≥ 5,000/s or ≥ 25 %',
      met: rate >= 5_000 || rate >= bare / 4,
      numbers: { rate, bare, ratio: rate / bare },
    };
  });
}

/** D: a thousand tasks in ten layers, three dependencies each. */
export async function measureD(): Promise<Measure> {
  using limit = openLimit();
  using folder = temporaryFolder();
  const child: Script = (agent) => agent.orchestrator.reportCompletion({ status: 'success', output: 'done' });
  await using world = await openWorld(join(folder.path, 'db'), { child });
  const person = world.engine.as({ kind: 'person', name: 'bench' });
  const session = await person.openSession('terminal', 'bench');
  const own = world.engine.as({ kind: 'session', session: session.id });
  const rates: number[] = [];
  const limits: number[] = [];
  for (let i = 0; i < WARM_UPS + ROUNDS; i++) {
    const { plan } = await own.savePlan(layers(10, 100));
    let ends = 0;
    const all = gate();
    const detach = await own.attach(session.id, async (deliveries) => {
      ends += deliveries.length;
      if (ends === 1_000) all.open();
    });
    const bare = limit.grouped(1_000, GROUP);
    const began = performance.now();
    await own.startPlan(plan.id);
    await all.passed;
    if (i >= WARM_UPS) {
      rates.push(1_000_000 / (performance.now() - began));
      limits.push(bare);
    }
    await detach();
  }
  const rate = median(rates);
  const bare = median(limits);
  return {
    name: 'D',
    what: '1,000 tasks in 10 layers',
    value: `${format(rate)} tasks/s`,
    baseline: `${format((rate / bare) * 100)} % of bare SQLite, ${format(bare)}/s in groups of ${GROUP}`,
    goal: '≥ 8,000/s or ≥ 25 %',
    met: rate >= 8_000 || rate >= bare / 4,
    numbers: { rate, bare, ratio: rate / bare },
  };
}

function layers(count: number, width: number): PlanInput {
  const tasks = [];
  for (let layer = 0; layer < count; layer++) {
    for (let i = 0; i < width; i++) {
      const above = (offset: number): string => `${layer - 1}-${(i + offset) % width}`;
      tasks.push({
        id: `${layer}-${i}`,
        prompt: 'work',
        agent: 'child',
        dependencies: layer > 0 ? [above(0), above(1), above(7)] : [],
      });
    }
  }
  return { name: 'D', tasks };
}

/** L: from the child's report to the parent's handler, one child at a time, alone or beside W. */
export async function measureL(): Promise<Measure[]> {
  using limit = openLimit();
  // A bare commit before each: both meet the disk's bad moments.
  const commits: number[] = [];
  const idle = await latencies(1_000, { before: () => commits.push(limit.commit()) });
  const bare = { p50: percentile(commits, 50), p99: percentile(commits, 99) };
  const loaded = await latencies(150, { loaded: true });
  const line = (
    name: string,
    what: string,
    times: number[],
    allowed: { ms: number; times: number },
  ): Measure => {
    const p50 = percentile(times, 50);
    const p99 = percentile(times, 99);
    return {
      name,
      what,
      value: `p50 ${format(p50)} ms, p99 ${format(p99)} ms`,
      baseline: `${format(p99 / bare.p99)} × the p99 of a bare FULL commit (${format(bare.p50)} / ${format(bare.p99)} ms)`,
      goal: `p99 ≤ ${allowed.ms} ms or ≤ ${allowed.times} ×`,
      met: p99 <= allowed.ms || p99 <= allowed.times * bare.p99,
      numbers: { p50, p99, bareP50: bare.p50, bareP99: bare.p99, ratio: p99 / bare.p99 },
    };
  };
  return [
    line('L idle', 'report → parent’s handler', idle, { ms: 2, times: 2 }),
    line('L under W', 'the same while W runs', loaded, { ms: 20, times: 5 }),
  ];
}

/** The parent is a session with a handler; the child notes when it calls to report. */
async function latencies(
  rounds: number,
  { loaded = false, before = () => {} }: { loaded?: boolean; before?: () => void },
): Promise<number[]> {
  const warmUp = 100;
  let reported = 0;
  const timed: Script = (agent) => {
    reported = performance.now();
    return agent.orchestrator.reportCompletion({ status: 'success', output: 'done' });
  };
  const measure = async (fan: FanOut): Promise<number[]> => {
    const { engine } = fan.world;
    const session = await engine.as({ kind: 'person', name: 'bench' }).openSession('orchestrator', 'bench');
    const own = engine.as({ kind: 'session', session: session.id });
    const times: number[] = [];
    let arrived = gate();
    const detach = await own.attach(session.id, async () => {
      times.push(performance.now() - reported);
      arrived.open();
    });
    let load = loaded;
    const loading = keepFanningOut(() => load, fan);
    for (let i = 0; i < warmUp + rounds; i++) {
      before();
      arrived = gate();
      await own.spawnSubtask({ prompt: `report ${i}`, agentType: 'timed' }, { blocking: false });
      await arrived.passed;
    }
    load = false;
    await loading;
    await detach();
    return times.slice(warmUp);
  };
  return await withFanOut(measure, { timed });
}

async function keepFanningOut(more: () => boolean, fan: FanOut): Promise<void> {
  while (more()) await fan.run(1_000);
}

/** N: what one child costs among ten thousand, against one among a thousand. */
export async function measureN(): Promise<Measure> {
  return await withFanOut(async (fan) => {
    await fan.run(10_000);
    const small: number[] = [];
    const large: number[] = [];
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 5; j++) small.push((await fan.run(1_000)) / 1_000);
      large.push((await fan.run(10_000)) / 10_000);
    }
    const ratio = median(large) / median(small);
    return {
      name: 'N',
      what: 'cost of a child among 10,000',
      value: `${format(median(large) * 1_000)} µs`,
      baseline: `${format(ratio)} × a child among 1,000 (${format(median(small) * 1_000)} µs)`,
      goal: '≤ 1.2 ×',
      met: ratio <= 1.2,
      numbers: { large: median(large), small: median(small), ratio },
    };
  });
}

/** R and M are about a process, so each gets one of its own. */
export async function measureR(): Promise<Measure> {
  using folder = temporaryFolder();
  const path = join(folder.path, 'db');
  await inProcess<object>('restart.ts', ['prepare', path]);
  const runs: { opened: number; first: number }[] = [];
  for (let i = 0; i < RESTARTS; i++) runs.push(await inProcess('restart.ts', ['restart', path]));
  const first = median(runs.map((run) => run.first));
  const opened = median(runs.map((run) => run.opened));
  return {
    name: 'R',
    what: 'restart with 10,000 open tasks',
    value: `${format(first)} ms to the first dispatch`,
    baseline: `${format(first / opened)} × opening the file (${format(opened)} ms)`,
    goal: '< 1 s',
    met: first < 1_000,
    numbers: { first, opened },
  };
}

export async function measureM(): Promise<Measure> {
  using folder = temporaryFolder();
  // As an installed program would: the second start finds its sources compiled.
  await inProcess('idle.ts', [join(folder.path, 'warm'), '0']);
  const { empty, rss, cpu } = await inProcess<{ empty: number; rss: number; cpu: number }>('idle.ts', [
    join(folder.path, 'db'),
    '10000',
  ]);
  return {
    name: 'M',
    what: '10,000 idle workers',
    value: `${format(rss)} MB RSS, ${format(cpu)} % of a core`,
    baseline: `${format(rss / empty)} × the same process before (${format(empty)} MB)`,
    goal: '≤ 150 MB',
    met: rss <= 150,
    numbers: { rss, empty, cpu },
  };
}

/** Runs a script of this folder and reads the JSON it prints last. */
async function inProcess<T>(script: string, args: readonly string[]): Promise<T> {
  const flags = ['--conditions=source', '--expose-gc', YOUNG, join(import.meta.dirname, script)];
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED };
  const child = spawn(process.execPath, [...flags, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await new Promise((resolve) => child.on('close', resolve));
  // `prepare` kills itself when it is done: that is what it prepares.
  if (child.exitCode !== 0 && child.signalCode !== 'SIGKILL')
    throw new Error(`${script} ended with ${child.exitCode}`);
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as T;
}
