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
import { connect, daemonStatus } from '@reveille/daemon/connect';
import { withScript, type WrittenScript } from '@reveille/executors';
import type { Client, PlanInput, PlanView } from '@reveille/protocol';

/** Shared by all: a start takes half as long. */
const COMPILED = fileURLToPath(new URL('../../../.cache/compiled', import.meta.url));
const WAIT_MS = 100_000;
const AUTHOR = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.invalid'];

/**
 * A person with a home, a repository and a daemon of their own, in processes of their own. All of them are ended with it,
 * and it is looked whether they are gone.
 */
export class House implements AsyncDisposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-dash-')));
  readonly repository = join(this.folder, 'shop');
  readonly env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    HOME: join(this.folder, 'home'),
    REVEILLE_HOME: join(this.folder, 'state'),
    REVEILLE_ENGINE_DEFAULT_BACKEND: 'scripted',
    // However little of the machine is free while tests run.
    REVEILLE_GOVERNOR_ENABLED: 'false',
    NODE_COMPILE_CACHE: COMPILED,
    GIT_CONFIG_NOSYSTEM: '1',
  };

  constructor() {
    mkdirSync(join(this.folder, 'home'));
    mkdirSync(this.repository);
    this.git('init', '-q', '-b', 'main');
    this.write('README.md', '# A shop\n');
    this.write(
      'src/cart.ts',
      'export const total = (prices: number[]) => prices.reduce((a, b) => a + b, 0);\n',
    );
    this.git('add', '-A');
    this.git(...AUTHOR, 'commit', '-q', '-m', 'Begin');
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.repository, path)), { recursive: true });
    writeFileSync(join(this.repository, path), text);
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.repository, env: this.env, encoding: 'utf8' });
  }

  connect(): Promise<Client> {
    return connect({ env: this.env, waitMs: WAIT_MS });
  }

  async running(): Promise<{ url: string; pid: number }> {
    const status = await daemonStatus({ env: this.env });
    if (status.state !== 'running') throw new Error(`no daemon runs: ${JSON.stringify(status)}`);
    return { url: status.url, pid: status.health.pid };
  }

  /** The address that lets one browser in. */
  async invitation(): Promise<string> {
    const client = await this.connect();
    const { url } = await this.running();
    return `${url}/dashboard/#ticket=${await client.pageTicket()}`;
  }

  /** A plan whose tasks do what their scripts say. */
  async plan(plan: Omit<PlanInput, 'tasks'> & { tasks: ScriptedTask[] }, start = true): Promise<PlanView> {
    const tasks = plan.tasks.map(({ script, ...task }) => ({
      agent: 'scripted:agent',
      ...task,
      prompt: withScript(task.prompt ?? `Do ${task.id}.`, script),
    }));
    return (await this.connect()).savePlan({ integrate: false, ...plan, tasks }, { start });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const home = this.env['REVEILLE_HOME'] ?? '';
    for (const pid of processesOf(home)) end(pid);
    await until(() => processesOf(home).length === 0);
    rmSync(this.folder, { recursive: true });
  }
}

type ScriptedTask = Omit<PlanInput['tasks'][number], 'prompt'> & { prompt?: string; script: WrittenScript };

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
    await sleep(20);
  }
}

function processesOf(home: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => read(`/proc/${pid}/environ`).split('\0').includes(`REVEILLE_HOME=${home}`));
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
