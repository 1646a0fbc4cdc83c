import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Job {
  readonly seeds: readonly number[];
  readonly stopAtFailure: boolean;
}

export interface SeedFailure {
  readonly seed: number;
  readonly invariant: string;
  readonly message: string;
  readonly at: number;
}

export interface JobResult {
  seeds: number;
  virtualMs: number;
  steps: number;
  events: number;
  readonly failures: SeedFailure[];
  readonly struck: Record<string, number>;
  readonly sights: Record<string, number>;
}

export const nothing = (): JobResult => ({
  seeds: 0,
  virtualMs: 0,
  steps: 0,
  events: 0,
  failures: [],
  struck: {},
  sights: {},
});

export interface RunOptions {
  readonly seeds: Iterable<number>;
  readonly jobs: number;
  readonly bug?: string;
  readonly untilFailure?: boolean;
  /** Begins nothing more after this time. */
  readonly seconds?: number;
  /** Called after every batch. */
  readonly progress?: (total: JobResult) => void;
}

/** Seeds that one process takes at a time: few enough that the processes end together. */
const BATCH = 50;

/** Runs seeds in processes of their own, with a planted bug or without, and adds everything up. */
export async function runSeeds(options: RunOptions): Promise<JobResult & { readonly seconds: number }> {
  const started = performance.now();
  const total = nothing();
  const batches = inBatches(options.seeds);
  const over = started + (options.seconds ?? Infinity) * 1_000;
  const enough = (): boolean =>
    performance.now() >= over || (options.untilFailure === true && total.failures.length > 0);
  const work = async (): Promise<void> => {
    const child = start(options.bug);
    try {
      for (let next = batches.next(); !next.done && !enough(); next = batches.next()) {
        add(total, await ask(child, { seeds: next.value, stopAtFailure: options.untilFailure ?? false }));
        options.progress?.(total);
      }
    } finally {
      child.kill();
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
  total.failures.sort((a, b) => a.seed - b.seed);
  return { ...total, seconds: (performance.now() - started) / 1000 };
}

export function* range(from: number, to: number): Generator<number> {
  for (let seed = from; seed <= to; seed++) yield seed;
}

function* inBatches(seeds: Iterable<number>): Generator<number[]> {
  let batch: number[] = [];
  for (const seed of seeds) {
    batch.push(seed);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function start(bug: string | undefined): ChildProcess {
  const worker = fileURLToPath(new URL('worker.ts', import.meta.url));
  // Not the arguments of this process: a test runner has its own loaders.
  return fork(worker, bug ? [bug] : [], {
    execArgv: ['--conditions=source', '--no-warnings'],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
}

function ask(child: ChildProcess, job: Job): Promise<JobResult> {
  return new Promise((resolve, reject) => {
    let errors = '';
    const hear = (chunk: Buffer): void => void (errors += chunk.toString());
    const ended = (code: number | null): void =>
      reject(new Error(`A simulation process ended with ${code}.\n${errors}`));
    child.stderr?.on('data', hear);
    child.once('exit', ended);
    child.once('message', (result) => {
      child.off('exit', ended);
      child.stderr?.off('data', hear);
      resolve(result as JobResult);
    });
    child.send(job);
  });
}

function add(total: JobResult, more: JobResult): void {
  total.seeds += more.seeds;
  total.virtualMs += more.virtualMs;
  total.steps += more.steps;
  total.events += more.events;
  total.failures.push(...more.failures);
  for (const [fault, times] of Object.entries(more.struck))
    total.struck[fault] = (total.struck[fault] ?? 0) + times;
  for (const [sight, times] of Object.entries(more.sights))
    total.sights[sight] = (total.sights[sight] ?? 0) + times;
}
