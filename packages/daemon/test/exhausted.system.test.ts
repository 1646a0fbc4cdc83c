import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connect, daemonStatus, placeOf, stopDaemon } from '@reveille/daemon/connect';
import { withScript } from '@reveille/executors';
import type { Client, PlanId } from '@reveille/protocol';
import { OwnHouse } from '../../../test/house.ts';
import { findLock } from '../src/place/lock-file.ts';
import { processesOf, until } from './house.ts';

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

const writes = (name: string): string =>
  withScript('Do.', {
    steps: [
      { do: 'edit', path: `${name}.txt`, content: `${name}\n` },
      { do: 'report', output: 'Done.' },
    ],
  });

class Limited {
  readonly house: OwnHouse;
  readonly client: Client;
  readonly pid: number;

  constructor(house: OwnHouse, client: Client) {
    this.house = house;
    this.client = client;
    const found = findLock(placeOf(house.env).lockFile);
    if (found.state !== 'live') throw new Error('no daemon runs');
    this.pid = found.lock.pid;
  }

  limit(name: 'nofile' | 'nproc', value: string): void {
    execFileSync('prlimit', ['--pid', String(this.pid), `--${name}=${value}:`]);
  }

  async plan(name: string, keys: readonly string[]): Promise<PlanId> {
    const tasks = keys.map((id) => ({ id, prompt: writes(id) }));
    const { repository } = this.house;
    const saved = await this.client.savePlan({ name, repository, integrate: false, tasks });
    return saved.plan.id;
  }

  get log(): string {
    return readFileSync(join(placeOf(this.house.env).log), 'utf8');
  }
}

describe.skipIf(!hasPrlimit)('a daemon that has run out of something', () => {
  test('[DMN3.29] without descriptors: what needs one waits, and goes on when there are some', async () => {
    await using house = new OwnHouse({ 'a.txt': 'a\n' });
    const limited = new Limited(house, await connect({ env: house.env }));
    const { client, pid } = limited;
    const first = await limited.plan('first', ['a']);
    await client.startPlan(first);
    const second = await limited.plan('second', ['b', 'c', 'd']);
    await until(async () => (await client.getPlan(first)).plan.state === 'completed');
    await client.startPlan(second);
    // Descriptors that are open stay so. Making the worktrees takes longer than this.
    limited.limit('nofile', '3');
    const tasks = async () => (await client.getPlan(second)).tasks;
    await until(async () =>
      (await tasks()).some(({ task }) => /^workspace: .*(EMFILE|no room for another file)/.test(task.why)),
    );
    expect((await client.health()).pid).toBe(pid);
    await expect(limited.plan('third', ['e'])).rejects.toMatchObject({
      code: 'store_failed',
      message: expect.stringContaining('has no room on its disk, or for another file'),
    });
    limited.limit('nofile', '4096');
    await until(async () => (await client.getPlan(second)).plan.state === 'completed');
    expect((await client.health()).pid).toBe(pid);
    expect((await tasks()).map(({ task }) => task.state)).toEqual(['completed', 'completed', 'completed']);
    expect(limited.log).not.toContain('a defect ended the daemon');
  });
});

/** Opens descriptors until there are none, in a process of its own, and then does something. Says what came of it. */
function withoutDescriptors(code: string): string {
  const source = (path: string): string => JSON.stringify(join(import.meta.dirname, '../..', path));
  const program = `
    import { openSync } from 'node:fs';
    import { git } from ${source('worktrees/src/git/git.ts')};
    import { runProcess } from ${source('worktrees/src/sandbox/process.ts')};
    import { AgentProcess } from ${source('executors/src/acp/process.ts')};
    import { exitFailure } from ${source('executors/src/acp/failures.ts')};
    import { PRESETS } from ${source('executors/src/acp/presets.ts')};
    import { startProcess } from ${source('navigation/src/lsp/process.ts')};
    const say = (text) => console.log(text);
    process.on('uncaughtException', (error) => { say('UNCAUGHT ' + error.message); process.exit(1); });
    say('ready');
    try { for (;;) openSync('/dev/null'); } catch {}
    const env = { PATH: process.env.PATH };
    ${code}
    setTimeout(() => process.exit(0), 50);`;
  const command = 'ulimit -n 150; exec "$0" "$@"';
  const args = ['--conditions=source', '--input-type=module', '-e', program];
  const ran = spawnSync('/bin/sh', ['-c', command, process.execPath, ...args], { encoding: 'utf8' });
  return `${ran.stdout}${ran.stderr}`;
}

describe('a process that cannot be started for want of descriptors', () => {
  test.each([
    ['git', `await git({ gitDir: '/', args: ['version'] }).catch((error) => say(error.code));`],
    [
      'a command in a sandbox',
      `await runProcess({ argv: ['/bin/true'], env, cwd: '/', status: true }).catch((error) => say(error.code));`,
    ],
    [
      'an agent',
      `const agent = new AgentProcess('a', { argv: ['/bin/true'], env, cwd: '/', workdir: '/', confined: true, dispose: async () => say('disposed') });
      const exit = await agent.exited;
      await agent.end();
      say(exit.error.code);
      const { class: kind, scarce } = exitFailure(PRESETS[0] ?? { title: 'X', programs: ['x'] }, exit, agent.errors.text, false);
      if (kind !== 'workspace' || !scarce) say('wrong class ' + kind);`,
    ],
    [
      'a language server',
      `const server = await startProcess({ argv: ['/bin/true'], env, cwd: '/', seesUs: false, dispose: async () => say('disposed') });
      say((await server.ended).replace(/.* /, ''));`,
    ],
  ])('[DMN3.29] %s fails as a call', (_, code) => {
    const said = withoutDescriptors(code);
    expect(said).toMatch(/^ready\n(disposed\n)?EMFILE\n(disposed\n)?$/);
  });
});

/** A disk in memory, mounted for as long as it is in use; null where that is not allowed. */
function smallDisk(size: string): ({ readonly path: string } & Disposable) | null {
  const path = mkdtempSync(join(tmpdir(), 'reveille-disk-'));
  const dispose = (): void => {
    // Lazily: a program that just ended may still be counted as using it.
    spawnSync('umount', ['-l', path]);
    rmSync(path, { recursive: true });
  };
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', path]);
  if (mount.status === 0) return { path, [Symbol.dispose]: dispose };
  rmSync(path, { recursive: true });
  return null;
}

function canMount(): boolean {
  using disk = smallDisk('1m');
  return disk !== null;
}

describe.runIf(canMount())('a disk of worktrees that is full', () => {
  test('[DMN3.30] also without a limit of the governor: tasks that it stops wait, and go on when there is room', async () => {
    using disk = smallDisk('24m')!;
    await using house = new OwnHouse(
      { 'a.txt': 'a\n' },
      { REVEILLE_WORKTREES_HOME: join(disk.path, 'home'), REVEILLE_WORKTREES_POOL: '0' },
    );
    const limited = new Limited(house, await connect({ env: house.env }));
    const { client, pid } = limited;
    const first = await limited.plan('first', ['a']);
    const second = await limited.plan('second', ['b', 'c']);
    await client.startPlan(first);
    await until(async () => (await client.getPlan(first)).plan.state === 'completed');
    const ballast = join(disk.path, 'ballast');
    spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k'], { stdio: 'ignore' });
    await client.startPlan(second);
    const tasks = async () => (await client.getPlan(second)).tasks.map(({ task }) => task);
    await until(async () => (await tasks()).every(({ state }) => state === 'waiting'));
    for (const { why } of await tasks()) expect(why).toMatch(/^workspace: .*(disk is full|ENOSPC)/);
    rmSync(ballast);
    await until(async () => (await client.getPlan(second)).plan.state === 'completed');
    expect(await tasks()).toMatchObject([{ state: 'completed' }, { state: 'completed' }]);
    expect((await client.health()).pid).toBe(pid);
  });

  test('[DMN3.30] a run whose work cannot be taken for want of room goes on with it when there is some', async () => {
    using disk = smallDisk('24m')!;
    await using house = new OwnHouse(
      { 'a.txt': 'a\n' },
      { REVEILLE_WORKTREES_HOME: join(disk.path, 'home'), REVEILLE_WORKTREES_POOL: '0' },
    );
    const { client, pid } = new Limited(house, await connect({ env: house.env }));
    const prompt = withScript('Do.', {
      steps: [
        { do: 'edit', path: 'b.txt', content: 'b\n' },
        { do: 'work', ms: 3_000 },
        { do: 'report', output: 'Done.' },
      ],
    });
    const { repository } = house;
    const { plan } = await client.savePlan(
      { name: 'taken', repository, integrate: false, tasks: [{ id: 'a', prompt }] },
      { start: true },
    );
    const written = (): boolean =>
      readdirSync(disk.path, { recursive: true }).some((path) => String(path).endsWith('/b.txt'));
    await until(written);
    const ballast = join(disk.path, 'ballast');
    spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k'], { stdio: 'ignore' });
    const task = async () => (await client.getPlan(plan.id)).tasks[0]!;
    // More often than a fault is tried again that somebody has to look at.
    await until(async () => ((await task()).run?.faults ?? 0) > 2);
    expect((await task()).task).toMatchObject({
      state: 'waiting',
      why: expect.stringMatching(/^workspace: .*disk is full/),
    });
    rmSync(ballast);
    await until(async () => (await client.getPlan(plan.id)).plan.state === 'completed');
    expect(house.git('show', 'reveille/taken/a:b.txt')).toBe('b\n');
    expect((await client.health()).pid).toBe(pid);
  });
});

describe.runIf(canMount())('a disk of the state folder that is full', () => {
  test('[DMN3.23] a stop ends the supervisor of a daemon that died on it, for good', async () => {
    using disk = smallDisk('10m')!;
    const home = join(disk.path, 'state');
    await using house = new OwnHouse({}, { REVEILLE_HOME: home, REVEILLE_DAEMON_RESTART: 'true' });
    const { pid } = new Limited(house, await connect({ env: house.env }));
    spawnSync('dd', ['if=/dev/zero', `of=${join(disk.path, 'ballast')}`, 'bs=4k'], { stdio: 'ignore' });
    process.kill(pid, 'SIGKILL');
    // Started by the second daemon that met the full disk; it waits for two seconds.
    await until(() => processesOf(home).some((one) => argumentsOf(one).join(' ').includes('supervisor 2 ')));
    await until(() => processesOf(home).length === 1);
    expect((await daemonStatus({ env: house.env })).supervision).toMatchObject({
      by: 'reveille',
      pid: processesOf(home)[0],
    });
    expect(await stopDaemon({ env: house.env })).toBe(true);
    expect(processesOf(home)).toEqual([]);
  });
});

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // It has just ended.
    return [];
  }
}
