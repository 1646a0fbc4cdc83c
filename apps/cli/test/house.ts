import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
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
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { daemonStatus } from '@reveille/daemon/connect';
import { withScript, type WrittenScript } from '@reveille/executors';
import { run, type Ran } from './io.ts';

const BINARY = fileURLToPath(new URL('../bin/reveille.cjs', import.meta.url));
/** Shared by all: a start takes half as long. */
const COMPILED = fileURLToPath(new URL('../../../.cache/compiled', import.meta.url));
const WAIT_MS = 100_000;
const AUTHOR = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.invalid'];

export type Child = ChildProcessByStdio<Writable, Readable, Readable>;
type Options = Omit<Parameters<typeof run>[1] & object, 'env'>;

/**
 * A person with a home, a repository and a daemon of their own. What was started for them is ended with it, and it is
 * looked whether it is gone.
 */
export class House implements AsyncDisposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-cli-')));
  readonly repository = join(this.folder, 'repository');
  readonly env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv = {}) {
    this.env = {
      PATH: process.env['PATH'],
      HOME: join(this.folder, 'home'),
      REVEILLE_HOME: join(this.folder, 'state'),
      // Whatever the machine has installed.
      REVEILLE_ENGINE_DEFAULT_BACKEND: 'scripted',
      // However little of the machine is free while tests run.
      REVEILLE_GOVERNOR_ENABLED: 'false',
      NODE_COMPILE_CACHE: COMPILED,
      GIT_CONFIG_NOSYSTEM: '1',
      ...env,
    };
    mkdirSync(join(this.folder, 'home'));
    mkdirSync(this.repository);
    this.git('init', '-q', '-b', 'main');
    this.git(...AUTHOR, 'commit', '-q', '--allow-empty', '-m', 'Begin');
    // What tests write here is no uncommitted change.
    writeFileSync(join(this.repository, '.git', 'info', 'exclude'), '*\n');
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.repository, env: this.env, encoding: 'utf8' });
  }

  /** A command in this process, on this person's daemon. */
  run(args: readonly string[], options: Options = {}): Promise<Ran> {
    return run(args, { cwd: this.repository, env: this.env, ...options });
  }

  /** What a command that succeeds prints as JSON. */
  async json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
    const { code, out, err } = await this.run([...args, '--json']);
    if (code !== 0) throw new Error(`reveille ${args.join(' ')} ended with ${code}: ${out}${err}`);
    return JSON.parse(out) as T;
  }

  /** The program itself, in a process of its own. */
  start(args: readonly string[]): Child {
    return spawn(process.execPath, [BINARY, ...args], {
      cwd: this.repository,
      env: this.env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }

  /** A plan in the repository. */
  write(name: string, text: string): string {
    const path = join(this.repository, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** A plan whose tasks do what their scripts say. */
  plan(name: string, tasks: Readonly<Record<string, WrittenScript>>, also: object = {}): string {
    const written = Object.entries(tasks).map(([id, script]) => ({
      id,
      agent: 'scripted:agent',
      prompt: withScript('Do.', script),
      ...also,
    }));
    return this.write(`${name}.yaml`, JSON.stringify({ name, integrate: false, tasks: written }));
  }

  async daemonPid(): Promise<number> {
    const status = await daemonStatus({ env: this.env });
    if (status.state !== 'running') throw new Error(`no daemon runs: ${JSON.stringify(status)}`);
    return status.health.pid;
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

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Reads a process until it ends; `wrote` is told each time it writes. */
export async function ended(child: Child, wrote: (out: string) => void = () => undefined): Promise<Ended> {
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    wrote(out);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out, err };
}
