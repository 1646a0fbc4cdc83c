import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULTS, Engine, type Clock, type Random, type Settings } from '@reveille/core';
import { scriptedExecutor, type Script } from '@reveille/executors';
import { openSqlite, type Backend } from '@reveille/stores';

export const clock: Clock = {
  now: () => Date.now(),
  mono: () => performance.now(),
  after(ms, fire) {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },
};

let ids = 0;
const life = Date.now().toString(36);
const random: Random = {
  next: () => Math.random(),
  id: () => `${life}${(++ids).toString(36).padStart(6, '0')}`,
};

export interface World extends AsyncDisposable {
  readonly engine: Engine;
  readonly backend: Backend;
}

/** No limit but the machine: the numbers are about the engine, not about its settings. */
const UNLIMITED: Partial<Settings> = {
  concurrency: 1_000,
  children: { total: 1e9, open: 1e9, perMinute: 1e9, planned: 1e9 },
};

/** The production path: the real engine on a real SQLite file with synchronous=FULL, events on. */
export async function openWorld(
  path: string,
  scripts: Record<string, Script>,
  options: { settings?: Partial<Settings>; started?: () => void } = {},
): Promise<World> {
  const backend = await openSqlite({ path, clock });
  const engine: Engine = new Engine({
    ...backend,
    clock,
    random,
    host: 'bench',
    agents: { names: () => Object.keys(scripts) },
    executors: { backends: () => ['scripted'], get: () => executor },
    settings: { ...DEFAULTS, ...UNLIMITED, ...options.settings },
    log: (level, message, data) => {
      if (level === 'error') console.error(message, data);
    },
  });
  const scripted = scriptedExecutor({
    connect: (caller) => engine.as(caller),
    clock,
    scripts,
    steers: false,
  });
  const executor = {
    ...scripted,
    start: (spec: Parameters<typeof scripted.start>[0]) => {
      options.started?.();
      return scripted.start(spec);
    },
  };
  await engine.start();
  return {
    engine,
    backend,
    async [Symbol.asyncDispose]() {
      await engine.stop();
      await backend.close();
    },
  };
}

export interface Folder extends Disposable {
  readonly path: string;
}

/** Beside the sources' own disk if asked for: a temporary folder in memory would make every commit free. */
export function temporaryFolder(where = tmpdir()): Folder {
  const path = mkdtempSync(join(process.env['REVEILLE_BENCH_DIR'] ?? where, 'reveille-bench-'));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  // Also when it is given up in the middle.
  process.once('exit', remove);
  return {
    path,
    [Symbol.dispose]() {
      process.off('exit', remove);
      remove();
    },
  };
}

const MEMORY = '/dev/shm';

/**
 * For what is about many small files: a folder in memory, if there is one with so much room. On a disk the same checkout
 * takes four seconds or sixty, as the disk is used by others, and to delete it again takes longer still.
 */
export function memoryFolder(bytes: number): Folder {
  return temporaryFolder(hasRoom(MEMORY, bytes) ? MEMORY : tmpdir());
}

function hasRoom(folder: string, bytes: number): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= bytes && freemem() >= bytes;
}

process.once('SIGINT', () => process.exit(130));

export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * p) / 100))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 50);
