import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, placeOf, type ConnectOptions, type Place } from '@reveille/daemon/connect';
import { withScript } from '@reveille/executors';
import type { Client } from '@reveille/protocol';
import { findLock, type Lock } from '../src/place/lock-file.ts';
import { processIdentity } from '../src/place/process-identity.ts';

/** Work for a scripted agent that reports at once. A daemon refuses work without a script. */
export const DO_IT = withScript('Do it.', { steps: [{ do: 'report' }] });

/** Longer than any busy machine needs: nobody waits for it unless something is wrong. */
const WAIT_MS = 100_000;

/** Shared by all of them: a start takes half as long. */
const COMPILED = fileURLToPath(new URL('../../../.cache/compiled', import.meta.url));

/**
 * A user's own place with a daemon of its own, in processes of their own. All of them are ended with it, and it is looked
 * whether they are gone.
 *
 *   await using house = new House();
 */
export class House implements AsyncDisposable {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly place: Place;

  constructor(env: NodeJS.ProcessEnv = {}) {
    this.folder = mkdtempSync(join(tmpdir(), 'reveille-daemon-'));
    const home = join(this.folder, 'state');
    const outside = join(this.folder, 'home');
    mkdirSync(outside);
    this.env = {
      PATH: process.env['PATH'],
      HOME: outside,
      REVEILLE_HOME: home,
      // Whatever the machine has installed.
      REVEILLE_ENGINE_DEFAULT_BACKEND: 'scripted',
      // However little of the machine is free while tests run.
      REVEILLE_GOVERNOR_ENABLED: 'false',
      // One that a test kills stays dead until the test says otherwise.
      REVEILLE_DAEMON_RESTART: 'false',
      NODE_COMPILE_CACHE: COMPILED,
      ...env,
    };
    this.place = placeOf(this.env);
  }

  connect(options: ConnectOptions = {}): Promise<Client> {
    return connect({ env: this.env, waitMs: WAIT_MS, ...options });
  }

  get lock(): Lock {
    const found = findLock(this.place.lockFile);
    if (found.state !== 'live') throw new Error(`no daemon runs: ${JSON.stringify(found)}`);
    return found.lock;
  }

  get url(): string {
    return `http://127.0.0.1:${this.lock.port}`;
  }

  /** What the daemons have said, oldest first. */
  get log(): Record<string, unknown>[] {
    return readFileSync(this.place.log, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  said(message: string): Record<string, unknown>[] {
    return this.log.filter((line) => line['message'] === message);
  }

  /** Ends the daemon and waits until it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { pid, process: identity } = this.lock;
    process.kill(pid, signal);
    await until(() => processIdentity(pid) !== identity);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await until(() => {
      // Also a daemon that its supervisor has just started.
      const left = processesOf(this.place.home);
      for (const pid of left) endProcess(pid);
      return left.length === 0;
    });
    // One that is just ending has lost its environment before it is gone.
    await until(() => findLock(this.place.lockFile).state !== 'live');
    rmSync(this.folder, { recursive: true });
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Waits for something that is sure to come; says what if it does not. */
export async function until(holds: () => boolean | Promise<boolean>, ms = WAIT_MS): Promise<void> {
  const deadline = performance.now() + ms;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`this never came true: ${String(holds)}`);
    await sleep(5);
  }
}

/** Every process that was started for a place. Where there is no /proc, the one of the lock file. */
export function processesOf(home: string): number[] {
  if (process.platform !== 'linux') {
    const found = findLock(join(home, 'daemon.json'));
    return found.state === 'live' ? [found.lock.pid] : [];
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => processIdentity(pid) !== null && environmentOf(pid).includes(`REVEILLE_HOME=${home}`));
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
