import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { connect, daemonStatus, placeOf, stopDaemon } from '@reveille/daemon/connect';
import { HTTP_PROTOCOL } from '@reveille/protocol';
import { findLock } from '../src/place/lock-file.ts';
import { House, processesOf, until } from './house.ts';

const script = (steps: object): string => `Do.\n\n\`\`\`reveille-script\n${JSON.stringify(steps)}\n\`\`\``;

/** A client in a process of its own, which prints what it finds and ends. */
function clientProcess(house: House): { done: Promise<{ pid: number; token: string }> } {
  const code = `
    import { connect } from '@reveille/daemon/connect';
    const client = await connect({ waitMs: 100_000 });
    console.log(JSON.stringify((await client.health()).pid));
    process.exit(0);`;
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  // Not in the daemon's environment, by which its processes are known.
  const child = spawn(process.execPath, ['--conditions=source', '--input-type=module', '-e', code], {
    cwd,
    env: house.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const done = new Promise<{ pid: number; token: string }>((resolve, reject) => {
    child.on('error', reject).on('close', (exit) => {
      if (exit === 0) resolve({ pid: JSON.parse(output) as number, token: '' });
      else reject(new Error(`a client ended with ${exit}`));
    });
  });
  return { done };
}

describe('one daemon, on demand', () => {
  test('[DMN1.1] the first client starts it, it outlives that client, the next one finds it', async () => {
    await using house = new House();
    expect(await daemonStatus({ env: house.env })).toEqual({
      state: 'none',
      why: 'there is no lock file',
      supervision: null,
    });
    const { pid } = await clientProcess(house).done;
    expect(await (await house.connect()).health()).toMatchObject({
      pid,
      state: 'running',
      protocol: HTTP_PROTOCOL,
    });
    expect(house.said('the daemon runs')).toHaveLength(1);
  });

  test('[DMN1.2] ten clients at once start one daemon', async () => {
    await using house = new House();
    const here = Array.from({ length: 5 }, async () => (await (await house.connect()).health()).pid);
    const there = Array.from({ length: 5 }, async () => (await clientProcess(house).done).pid);
    const pids = await Promise.all([...here, ...there]);
    expect(new Set(pids).size).toBe(1);
    expect(house.said('the daemon runs')).toHaveLength(1);
    // Those that came too late have ended.
    await until(() => processesOf(house.place.home).length === 1);
  });

  test('[DMN1.2] a client that comes while one is stopping gets the next one', async () => {
    await using house = new House();
    const client = await house.connect();
    const before = house.lock.pid;
    await client.stopDaemon();
    const after = await (await house.connect()).health();
    expect(after.pid).not.toBe(before);
    expect(after.state).toBe('running');
    await until(() => processesOf(house.place.home).length === 1);
  });
});

describe('stale lock files', () => {
  const stale = async (change: (lock: Record<string, unknown>) => unknown): Promise<void> => {
    await using house = new House();
    await house.connect();
    const lock = { ...house.lock };
    await house.kill();
    const text = change(lock);
    writeFileSync(house.place.lockFile, typeof text === 'string' ? text : JSON.stringify(text), {
      mode: 0o600,
    });
    expect(findLock(house.place.lockFile).state).toBe('stale');
    expect(await daemonStatus({ env: house.env })).toMatchObject({ state: 'none' });
    expect(await stopDaemon({ env: house.env })).toBe(false);
    const health = await (await house.connect()).health();
    expect(health).toMatchObject({ pid: house.lock.pid, state: 'running' });
    expect(health.pid).not.toBe(lock.pid);
  };

  test('[DMN1.3] its process is gone', () => stale((lock) => lock));
  // This process lives, and is no daemon: it must neither be asked nor be sent the token nor be ended.
  test('[DMN1.3] another process has its number', () => stale((lock) => ({ ...lock, pid: process.pid })));
  test('[DMN1.3] it is no lock file', () => stale(() => '{"pid": 1, "port"'));
});

describe('crash and recovery', () => {
  test('[DMN1.4] killed in the middle of a plan, it is replaced by the next call and the plan goes on', async () => {
    await using house = new House();
    const client = await house.connect();
    const { pid } = await client.health();
    const long = { steps: [{ do: 'work', ms: 600_000 }] };
    const short = { steps: [{ do: 'report', output: 'Done.' }] };
    const { plan } = await client.savePlan(
      {
        name: 'goes on',
        tasks: [
          { id: 'a', prompt: script(long) },
          { id: 'b', prompt: script(short), dependencies: ['a'] },
        ],
      },
      { start: true },
    );
    const first = async () => (await client.getPlan(plan.id)).tasks.find(({ task }) => task.key === 'a')!;
    await until(async () => (await first()).worker === 'running');
    const before = await first();
    await house.kill();
    // The same client: what it asks can do no harm if it is asked twice.
    await until(async () => (await first()).run!.epoch > before.run!.epoch);
    expect((await client.health()).pid).not.toBe(pid);
    const after = await first();
    expect(after.run).toMatchObject({ id: before.run!.id, attempt: 1 });
    await client.completeTask(after.task.id, 'That will do.');
    await until(async () => (await client.getPlan(plan.id)).plan.state === 'completed');
    expect(house.said('the daemon runs')).toHaveLength(2);
  });
});

describe('what keeps it from starting', () => {
  test('[DMN1.5] a wrong configuration is shown to whoever started it', async () => {
    await using house = new House();
    mkdirSync(dirname(house.place.userConfig), { recursive: true });
    writeFileSync(house.place.userConfig, 'engine:\n  concurrency: none\n');
    await expect(house.connect()).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining(`${house.place.userConfig}:2:16: engine.concurrency`),
    });
    // A flag is passed on, and is wrong in its own way.
    rmSync(house.place.userConfig);
    await expect(house.connect({ flags: { 'engine.concurrency': '0' } })).rejects.toMatchObject({
      message: expect.stringContaining('--set engine.concurrency'),
    });
    await (await house.connect({ flags: { 'engine.concurrency': '3' } })).health();
  });

  test('[DMN1.5] a damaged database is shown to whoever started it', async () => {
    await using house = new House();
    mkdirSync(house.place.home, { recursive: true });
    writeFileSync(house.place.database, 'this is no database'.repeat(1_000));
    await expect(house.connect()).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('is not a database'),
    });
    expect(processesOf(house.place.home)).toEqual([]);
  });

  test('[DMN1.5] one that holds the place and never answers is not waited for longer than was said', async () => {
    await using house = new House();
    await house.connect();
    const { pid } = house.lock;
    process.kill(pid, 'SIGSTOP');
    try {
      await expect(house.connect({ waitMs: 300 })).rejects.toMatchObject({
        code: 'unreachable',
        message: expect.stringContaining(String(pid)),
      });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await (await house.connect()).health();
  });
});

describe('the lock file and the folder', () => {
  test('[DMN1.6] for its user alone, gone after a stop, written again if somebody deletes it', async () => {
    await using house = new House();
    const client = await house.connect();
    const { home, lockFile, identity, database, log } = house.place;
    expect(statSync(home).mode & 0o777).toBe(0o700);
    for (const file of [lockFile, identity, database, log])
      expect(statSync(file).mode & 0o777, file).toBe(0o600);
    const text = readFileSync(lockFile, 'utf8');
    rmSync(lockFile);
    await until(() => existsSync(lockFile));
    expect(readFileSync(lockFile, 'utf8')).toBe(text);
    const { pid, process: started } = house.lock;
    await client.stopDaemon();
    await until(() => !existsSync(lockFile));
    await until(() => processesOf(home).length === 0);
    expect([typeof pid, typeof started]).toEqual(['number', 'string']);
  });

  test('[DMN1.7] a token that others could read is replaced, and the old one counts no more', async () => {
    await using house = new House();
    const before = await house.connect();
    const old = { ...house.lock };
    chmodSync(house.place.lockFile, 0o644);
    const after = await house.connect();
    expect(await after.health()).toMatchObject({ pid: old.pid });
    expect(statSync(house.place.lockFile).mode & 0o777).toBe(0o600);
    expect(house.lock.token).not.toBe(old.token);
    const answer = await fetch(`http://127.0.0.1:${old.port}/v1/health`, {
      headers: { authorization: `Bearer ${old.token}` },
    });
    expect(answer.status).toBe(401);
    // Who had the old one finds the new one by itself.
    expect(await before.health()).toMatchObject({ pid: old.pid });
  });

  test('[DMN1.7] a secret that others could read is refused in words', async () => {
    await using house = new House();
    await house.connect();
    await house.kill();
    chmodSync(house.place.identity, 0o644);
    await expect(house.connect()).rejects.toMatchObject({
      message: expect.stringContaining(`${house.place.identity} can be read by others`),
    });
    writeFileSync(house.place.identity, 'nonsense');
    chmodSync(house.place.identity, 0o600);
    await expect(house.connect()).rejects.toMatchObject({ message: expect.stringContaining('is damaged') });
    rmSync(house.place.identity);
    await (await house.connect()).health();
  });

  test.runIf(process.getuid?.() === 0)('[DMN1.7] a lock file of somebody else is refused', async () => {
    await using house = new House();
    await house.connect();
    spawnSync('chown', ['65534', house.place.lockFile]);
    await expect(house.connect()).rejects.toThrow('belongs to user 65534');
    spawnSync('chown', ['0', house.place.lockFile]);
  });

  test('[DMN1.8] a daemon of another protocol is named, with what to do, and can be stopped', async () => {
    await using house = new House();
    const client = await house.connect();
    const { lockFile } = house.place;
    const lock = house.lock;
    await client.health();
    // It would put its lock file right again.
    process.kill(lock.pid, 'SIGSTOP');
    for (const [protocol, words] of [
      [HTTP_PROTOCOL - 1, 'reveille daemon stop'],
      [HTTP_PROTOCOL + 1, 'Update this one'],
    ] as const) {
      writeFileSync(lockFile, JSON.stringify({ ...lock, protocol }), { mode: 0o600 });
      await expect(house.connect()).rejects.toMatchObject({
        code: 'version_mismatch',
        message: expect.stringContaining(words),
      });
    }
    writeFileSync(lockFile, JSON.stringify(lock), { mode: 0o600 });
    process.kill(lock.pid, 'SIGCONT');
    const theirs = await fetch(`${house.url}/v1/health`, {
      headers: { authorization: `Bearer ${lock.token}`, 'reveille-protocol': '0' },
    });
    expect(theirs.status).toBe(426);
    expect(await theirs.json()).toMatchObject({ error: { code: 'version_mismatch' } });
    expect(await stopDaemon({ env: house.env })).toBe(true);
    expect(processesOf(house.place.home)).toEqual([]);
  });

  test('[DMN1.9] the folder is REVEILLE_HOME, or the state folder of the user', () => {
    expect(placeOf({ REVEILLE_HOME: '/r' })).toMatchObject({ home: '/r', userConfig: '/r/config.yaml' });
    expect(placeOf({ HOME: '/h' })).toMatchObject({
      home: '/h/.local/state/reveille',
      userConfig: '/h/.config/reveille/config.yaml',
    });
    const xdg = { HOME: '/h', XDG_STATE_HOME: '/s', XDG_CONFIG_HOME: '/c' };
    expect(placeOf(xdg)).toMatchObject({ home: '/s/reveille', userConfig: '/c/reveille/config.yaml' });
    expect(placeOf({ HOME: '/h', XDG_STATE_HOME: 'relative' }).home).toBe('/h/.local/state/reveille');
    expect(() => placeOf({ REVEILLE_HOME: 'here' })).toThrow('absolute path');
  });

  test('[DMN1.9] a folder that cannot be used is said so; one that is too open is closed', async () => {
    await using house = new House();
    writeFileSync(join(house.folder, 'file'), '');
    await expect(
      connect({ env: { ...house.env, REVEILLE_HOME: join(house.folder, 'file', 'state') } }),
    ).rejects.toMatchObject({ code: 'store_failed', message: expect.stringContaining('Set REVEILLE_HOME') });
    mkdirSync(house.place.home, { mode: 0o755 });
    await house.connect();
    expect(statSync(house.place.home).mode & 0o777).toBe(0o700);
  });

  test('[DMN1.10] whether one runs can be asked without starting one; one that does not answer can be stopped', async () => {
    await using house = new House();
    await expect(house.connect({ start: false })).rejects.toMatchObject({ code: 'unreachable' });
    expect(await stopDaemon({ env: house.env })).toBe(false);
    expect(existsSync(house.place.home)).toBe(false);
    await house.connect();
    const { pid } = house.lock;
    expect(await daemonStatus({ env: house.env })).toMatchObject({
      state: 'running',
      url: house.url,
      health: { pid },
    });
    process.kill(pid, 'SIGSTOP');
    expect(await stopDaemon({ env: house.env, waitMs: 200 })).toBe(true);
    expect(processesOf(house.place.home)).toEqual([]);
  });
});
