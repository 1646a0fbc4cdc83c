import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, daemonStatus, stopDaemon } from '@reveille/daemon/connect';
import { withScript, type WrittenScript } from '@reveille/executors';
import type { Client } from '@reveille/protocol';
import type { Measure } from './measures.ts';
import { percentile, temporaryFolder } from './world.ts';

const PARENTS = 1;
const TIMES = 5_000;
const CHILD_TIMES = 300;
const WARM_UPS = 100;
const IDLE_ROUNDS = 500;
const EVERY_MS = 5;
const ALLOWED_MS = 100;
const ALLOWED_MB = 200;

/** An agent that spawns as fast as it can, and whose children do, on the daemon of the package, with the usual limits. */
export async function measureT(): Promise<Measure[]> {
  using folder = temporaryFolder();
  const home = join(folder.path, 'home');
  mkdirSync(home);
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    REVEILLE_HOME: join(folder.path, 'state'),
    REVEILLE_ENGINE_DEFAULT_BACKEND: 'scripted',
    NODE_COMPILE_CACHE: join(tmpdir(), 'reveille-bench-compiled'),
  };
  startPackaged(env);
  const client = await connect({ env });
  try {
    const found = await daemonStatus({ env });
    if (found.state !== 'running') throw new Error('the daemon did not start');
    const { pid } = found.health;
    const idle = await asked(client, (n) => n < WARM_UPS + IDLE_ROUNDS);
    const before = memory(pid, 'VmRSS');
    const { times, rows } = await throughStorm(client);
    return measures({ idle: idle.slice(WARM_UPS), before, times, rows, most: memory(pid, 'VmHWM') });
  } finally {
    await stopDaemon({ env });
  }
}

/** As people have it: bundled, which is a fifth smaller than the daemon that is run from its sources. */
function startPackaged(env: NodeJS.ProcessEnv): void {
  const root = join(import.meta.dirname, '..');
  execFileSync('npm', ['run', '--silent', 'package'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  execFileSync(process.execPath, [join(root, 'dist/bin/reveille.cjs'), 'daemon', 'start'], { env });
}

/** What `reveille status` asks for, again and again. */
async function asked(client: Client, goesOn: (n: number) => boolean | Promise<boolean>): Promise<number[]> {
  const times: number[] = [];
  while (await goesOn(times.length)) {
    const began = performance.now();
    await Promise.all([client.listPlans(), client.listTasks({ open: true }), client.inbox()]);
    times.push(performance.now() - began);
    await sleep(EVERY_MS);
  }
  return times;
}

const storm = (times: number, below: WrittenScript): WrittenScript => ({
  steps: [
    { do: 'storm', times, task: { prompt: `Storm ${times} times.`, script: below } },
    { do: 'report', output: 'It is over.' },
  ],
});

async function throughStorm(client: Client): Promise<{ times: number[]; rows: number }> {
  const prompt = withScript('Storm.', storm(TIMES, storm(CHILD_TIMES, { steps: [{ do: 'report' }] })));
  const tasks = Array.from({ length: PARENTS }, (_, i) => ({ id: `parent-${i}`, prompt }));
  const { plan } = await client.savePlan({ name: 'storm', tasks }, { start: true });
  const times = await asked(client, async () => (await client.getPlan(plan.id)).plan.state === 'active');
  const { state } = (await client.getPlan(plan.id)).plan;
  if (state !== 'completed') throw new Error(`the storm ended as ${state}`);
  return { times, rows: (await client.listTasks({})).length };
}

/** In MB, as the kernel has it. */
function memory(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(found?.[1]) * 1_024) / 1e6;
}

interface Stormed {
  readonly idle: readonly number[];
  readonly before: number;
  readonly times: readonly number[];
  readonly rows: number;
  readonly most: number;
}

function measures({ idle, before, times, rows, most }: Stormed): Measure[] {
  const [p50, p99, max] = [percentile(times, 50), percentile(times, 99), Math.max(...times)];
  const [idle50, idle99] = [percentile(idle, 50), percentile(idle, 99)];
  const goal = `every status < ${ALLOWED_MS} ms`;
  return [
    {
      name: 'T status',
      what: 'status throughout a spawn storm',
      value: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms (${times.length} times)`,
      baseline: `idle: p50 ${idle50.toFixed(1)} ms, p99 ${idle99.toFixed(1)} ms, max ${Math.max(...idle).toFixed(1)} ms`,
      goal,
      met: max < ALLOWED_MS,
      numbers: { p50, p99, max, idle50, idle99, asked: times.length },
    },
    {
      name: 'T memory',
      what: 'the daemon in a spawn storm',
      value: `${most.toFixed(0)} MB at most, with ${rows} tasks`,
      baseline: `idle: ${before.toFixed(0)} MB`,
      goal: `< ${ALLOWED_MB} MB`,
      met: most < ALLOWED_MB,
      numbers: { most, before, rows },
    },
  ];
}
