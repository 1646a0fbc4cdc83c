import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { daemonStatus, stopDaemon, type SupervisionStatus } from '@reveille/daemon/connect';
import { findLock } from '../src/place/lock-file.ts';
import { House, processesOf, until } from './house.ts';

const script = (steps: object): string => `Do.\n\n\`\`\`reveille-script\n${JSON.stringify(steps)}\n\`\`\``;
const LONG = script({ steps: [{ do: 'work', ms: 600_000 }] });

const supervised = (): House => new House({ REVEILLE_DAEMON_RESTART: 'true' });
const daemonOf = (house: House): number | null => {
  const found = findLock(house.place.lockFile);
  return found.state === 'live' ? found.lock.pid : null;
};
const supervisionOf = async (house: House): Promise<SupervisionStatus> => {
  const { supervision } = await daemonStatus({ env: house.env });
  if (!supervision) throw new Error('no daemon ran');
  return supervision;
};

/** Kills the daemon and waits, asking nobody, until another one is there. */
async function killAndWait(house: House): Promise<void> {
  const { pid } = house.lock;
  process.kill(pid, 'SIGKILL');
  await until(() => ![pid, null].includes(daemonOf(house)));
}

describe('a daemon that dies', () => {
  test('[DMN3][DMN3.20] killed with nobody there, it starts again and the plan goes on', async () => {
    await using house = supervised();
    const client = await house.connect();
    const { tasks } = await client.savePlan(
      { name: 'goes on', tasks: [{ id: 'a', prompt: LONG }] },
      { start: true },
    );
    const { id } = tasks[0]!.task;
    await until(async () => (await client.getTask(id)).worker === 'running');
    const { run } = await client.getTask(id);
    await killAndWait(house);
    const again = await house.connect({ start: false });
    await until(async () => (await again.getTask(id)).run!.epoch > run!.epoch);
    expect((await again.getTask(id)).run).toMatchObject({ id: run!.id, attempt: 1 });
    const { by, restarts, gaveUp } = await supervisionOf(house);
    expect({ by, gaveUp }).toEqual({ by: 'reveille', gaveUp: null });
    expect(restarts.map(({ why }) => why)).toEqual(['it was killed or crashed, without a word']);
    expect(house.said('the daemon died and was started again')).toHaveLength(1);
  });

  test.runIf(process.platform === 'linux')(
    '[DMN3.20] it starts again with the settings that it was given',
    async () => {
      await using house = supervised();
      await house.connect({ flags: { 'engine.concurrency': '3' } });
      await killAndWait(house);
      await killAndWait(house);
      expect((await supervisionOf(house)).restarts).toHaveLength(2);
      const [pid] = processesOf(house.place.home).filter((one) => one === daemonOf(house));
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).toContain('--set\0engine.concurrency=3');
    },
  );

  test('[DMN3.21] a supervisor that is killed is replaced, and the daemon goes on', async () => {
    await using house = supervised();
    await house.connect();
    const daemon = house.lock.pid;
    const { pid } = await supervisionOf(house);
    process.kill(pid!, 'SIGKILL');
    await until(async () => ![pid, null].includes((await supervisionOf(house)).pid));
    expect(house.lock.pid).toBe(daemon);
    expect(house.said('the supervisor of the daemon ended; another one is started')).toHaveLength(1);
    await killAndWait(house);
  });

  test('[DMN3.21] if both are killed, the next command starts both', async () => {
    await using house = supervised();
    await house.connect();
    const { pid } = await supervisionOf(house);
    // In this order none of them can do anything about it.
    process.kill(house.lock.pid, 'SIGSTOP');
    process.kill(pid!, 'SIGKILL');
    await house.kill();
    await until(() => processesOf(house.place.home).length === 0);
    expect(await daemonStatus({ env: house.env })).toMatchObject({
      state: 'none',
      supervision: { by: 'nobody', pid: null },
    });
    await house.connect();
    expect(await supervisionOf(house)).toMatchObject({ by: 'reveille', restarts: [] });
  });

  test('[DMN3.22] clients that start it at once, and one that comes while it restarts, leave one daemon and one supervisor', async () => {
    await using house = supervised();
    await Promise.all(Array.from({ length: 5 }, () => house.connect()));
    await until(() => processesOf(house.place.home).length === 2);
    process.kill(house.lock.pid, 'SIGKILL');
    await Promise.all(Array.from({ length: 5 }, async () => (await house.connect()).health()));
    await until(() => processesOf(house.place.home).length === 2);
    const { pid } = await supervisionOf(house);
    expect(new Set(processesOf(house.place.home))).toEqual(new Set([house.lock.pid, pid!]));
  });
});

describe('a stop', () => {
  test('[DMN3.23] ends the daemon and its supervisor, by command and by signal', async () => {
    await using house = supervised();
    await house.connect();
    expect(await stopDaemon({ env: house.env })).toBe(true);
    await until(() => processesOf(house.place.home).length === 0);
    await house.connect();
    await house.kill('SIGTERM');
    await until(() => processesOf(house.place.home).length === 0);
    expect(house.said('the daemon died and was started again')).toEqual([]);
  });

  test('[DMN3.23] ends one that does not answer, for good', async () => {
    await using house = supervised();
    await house.connect();
    process.kill(house.lock.pid, 'SIGSTOP');
    expect(await stopDaemon({ env: house.env, waitMs: 200 })).toBe(true);
    await until(() => processesOf(house.place.home).length === 0);
  });

  test('[DMN3.23] ends a supervisor that has not yet started the daemon again', async () => {
    await using house = supervised();
    await house.connect();
    const { pid } = await supervisionOf(house);
    process.kill(pid!, 'SIGSTOP');
    await house.kill();
    expect(await daemonStatus({ env: house.env })).toMatchObject({ state: 'none', supervision: { pid } });
    expect(await stopDaemon({ env: house.env, waitMs: 200 })).toBe(true);
    await until(() => processesOf(house.place.home).length === 0);
    expect(await stopDaemon({ env: house.env })).toBe(false);
  });

  test('[DMN3.25] where the setting says so there is no supervisor', async () => {
    await using house = new House({ REVEILLE_DAEMON_RESTART: 'false' });
    await house.connect();
    expect(processesOf(house.place.home)).toEqual([house.lock.pid]);
    expect(await supervisionOf(house)).toMatchObject({ by: 'nobody', pid: null });
  });
});

describe('a start that fails', () => {
  test('[DMN3.24] for a reason that a person has to mend, it is not tried again, and why is on record', async () => {
    await using house = supervised();
    await house.connect();
    mkdirSync(dirname(house.place.userConfig), { recursive: true });
    writeFileSync(house.place.userConfig, 'engine:\n  concurrency: none\n');
    process.kill(house.lock.pid, 'SIGKILL');
    await until(async () => (await supervisionOf(house)).gaveUp !== null);
    await until(() => processesOf(house.place.home).length === 0);
    expect(await daemonStatus({ env: house.env })).toMatchObject({
      state: 'none',
      supervision: { by: 'nobody', gaveUp: { why: expect.stringContaining('engine.concurrency') } },
    });
    rmSync(house.place.userConfig);
    await house.connect();
    expect(await supervisionOf(house)).toMatchObject({ by: 'reveille', gaveUp: null });
  });

  test('[DMN3.24] for a reason that may pass, it is tried again until it succeeds', async () => {
    await using house = supervised();
    await house.connect();
    const { database } = house.place;
    const { pid } = house.lock;
    process.kill(pid, 'SIGSTOP');
    renameSync(database, `${database}.away`);
    mkdirSync(database);
    process.kill(pid, 'SIGKILL');
    await until(() => house.said('the daemon could not start').length > 1);
    rmdirSync(database);
    renameSync(`${database}.away`, database);
    await until(() => ![pid, null].includes(daemonOf(house)));
    const { restarts } = await supervisionOf(house);
    expect(restarts.at(-1)!.why).toContain(`${database} is a folder`);
  });

  test('[DMN3.24] the first one is told to whoever asked for it, and is not tried again', async () => {
    await using house = supervised();
    mkdirSync(house.place.database, { recursive: true });
    await expect(house.connect()).rejects.toMatchObject({
      code: 'unreachable',
      message: `The daemon cannot start. ${house.place.database} is a folder. Name a file for the database.`,
    });
    await until(() => processesOf(house.place.home).length === 0);
  });
});

test('[DMN3.26] what a daemon said last, and how often it was started again, is passed on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-supervisor-'));
  try {
    const out = join(folder, 'out');
    const module = fileURLToPath(new URL('../src/supervision/supervisor.ts', import.meta.url));
    const dies = (restarts: number, words: string): void => {
      const code = `
        import { Supervisor } from ${JSON.stringify(module)};
        const supervisor = new Supervisor({
          home: ${JSON.stringify(folder)}, restarts: ${restarts}, began: () => undefined, lost: () => undefined,
          command: ['/bin/sh', '-c', 'printf "%s|" "$@" > out.new; mv out.new out', 'next', '--set', 'a=b c'],
        });
        ${words}
        process.exit(1);`;
      const ran = spawnSync(process.execPath, ['--conditions=source', '--input-type=module', '-e', code]);
      expect(ran.stderr.toString()).toBe('');
    };
    const next = async (): Promise<string> => {
      await until(() => spawnSync('test', ['-f', out]).status === 0);
      const text = readFileSync(out, 'utf8');
      rmSync(out);
      return text;
    };
    dies(0, `supervisor.dying('a defect: $(touch x) "quoted"\\n and more');`);
    expect(await next()).toBe('--set|a=b c|--restarts|1|--ended|a defect: $(touch x) "quoted" and more|');
    dies(1, '');
    expect(await next()).toBe('--set|a=b c|--restarts|2|--ended|it was killed or crashed, without a word|');
    // The next word would be "watch" of another one: whatever comes, nothing is started.
    dies(0, 'supervisor.end();');
    dies(0, `supervisor.dying('the last');`);
    expect(await next()).toContain('--ended|the last|');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
