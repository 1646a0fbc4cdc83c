// What tests of several rooms begin with.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { daemonStatus } from '@reveille/daemon/connect';

/** Shared by all: a start takes half as long. */
const COMPILED = fileURLToPath(new URL('../.cache/compiled', import.meta.url));
export const WAIT_MS = 100_000;
const AUTHOR = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.invalid'];

/**
 * A person with a home, a repository and a daemon of their own. What was started for them is ended with it, and it is
 * looked whether it is gone.
 */
export class OwnHouse implements AsyncDisposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-house-')));
  readonly repository = join(this.folder, 'repository');
  readonly env: NodeJS.ProcessEnv;

  /** `files` are committed. */
  constructor(files: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv = {}) {
    this.env = {
      PATH: process.env['PATH'],
      HOME: join(this.folder, 'home'),
      REVEILLE_HOME: join(this.folder, 'state'),
      // Whatever the machine has installed.
      REVEILLE_ENGINE_DEFAULT_BACKEND: 'scripted',
      // However little of the machine is free while tests run.
      REVEILLE_GOVERNOR_ENABLED: 'false',
      // One that a test kills stays dead until the test says otherwise.
      REVEILLE_DAEMON_RESTART: 'false',
      NODE_COMPILE_CACHE: COMPILED,
      GIT_CONFIG_NOSYSTEM: '1',
      ...env,
    };
    mkdirSync(join(this.folder, 'home'));
    mkdirSync(this.repository);
    this.git('init', '-q', '-b', 'main');
    for (const [path, text] of Object.entries(files)) this.write(path, text);
    this.git('add', '-A');
    this.git(...AUTHOR, 'commit', '-q', '--allow-empty', '-m', 'Begin');
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.repository, env: this.env, encoding: 'utf8' });
  }

  /** A file in the repository. */
  write(name: string, text: string): string {
    const path = join(this.repository, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  async running(): Promise<{ url: string; pid: number }> {
    const status = await daemonStatus({ env: this.env });
    if (status.state !== 'running') throw new Error(`no daemon runs: ${JSON.stringify(status)}`);
    return { url: status.url, pid: status.health.pid };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const home = this.env['REVEILLE_HOME'] ?? '';
    for (const pid of processesOf(home)) end(pid);
    await until(() => processesOf(home).length === 0);
    rmSync(this.folder, { recursive: true });
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}

/** Waits for something that is sure to come; says what if it does not. */
export async function until<T>(found: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const value = await found();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`this never came true: ${String(found)}`);
    await sleep(10);
  }
}

/** Every process that was started for a place. Where there is no /proc, the one of the lock file. */
export function processesOf(home: string): number[] {
  if (process.platform !== 'linux') return lockedBy(home);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => read(`/proc/${pid}/environ`).split('\0').includes(`REVEILLE_HOME=${home}`));
}

function lockedBy(home: string): number[] {
  const { pid } = JSON.parse(read(join(home, 'daemon.json')) || '{}') as { pid?: number };
  try {
    return pid !== undefined && process.kill(pid, 0) ? [pid] : [];
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
