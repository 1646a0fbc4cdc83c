import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { confinementIn, makeScene, type Scene } from '../../src/doctor/scene.ts';
import { Groups, endRecorded, findGroups } from '../../src/sandbox/cgroup.ts';
import { findKeeper } from '../../src/sandbox/keeper.ts';
import { Sandbox, openSandbox } from '../../src/sandbox/sandbox.ts';
import { isRoot } from './here.ts';

const keeper = await findKeeper();
const place = findGroups();
const NONE = { kind: 'none', version: null, why: '', bubblewrap: null } as const;
const STARTER = fileURLToPath(new URL('./starter.ts', import.meta.url));
const NOBODY = 65_534;

const livingWith = (mark: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`\0${mark}\0`);
      } catch {
        return false;
      }
    });

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 100_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`this never came true: ${String(holds)}`);
    await sleep(5);
  }
}

/** Each has the mark on its command line, a session of its own and no environment, and does not heed TERM. */
const IGNORE = '$SIG{$_} = "IGNORE" for qw(TERM HUP INT USR1 USR2 PIPE);';
const survivors = (mark: string): string =>
  [
    `setsid env -i /usr/bin/perl -e '${IGNORE} exit if fork; exit if fork; sleep 1 while 1' ${mark}`,
    // One that forks and exits again and again, so that it has another number each time.
    `setsid env -i /usr/bin/perl -e '${IGNORE} exit if fork; while (1) { exit if fork; select undef, undef, undef, 0.01 }' ${mark}`,
    `env -i /usr/bin/perl -e '${IGNORE} sleep 1 while 1' ${mark} < /dev/null > /dev/null 2>&1 &`,
    `until test "$(grep -alz -- ${mark} /proc/[0-9]*/cmdline 2> /dev/null | wc -l)" -ge 3; do sleep 0.01; done`,
  ].join('\n');

const HOLDS = [
  ['a keeper', keeper !== null],
  ['control groups', place !== null],
] as const;

describe.each(HOLDS.filter(([, has]) => has))('without a sandbox, by %s', (hold) => {
  let scene: Scene;
  let sandbox: Sandbox;
  let records: string;
  let mark: string;
  beforeEach(async () => {
    mark = `survivor-${randomUUID()}`;
    scene = await makeScene();
    records = join(scene.folder, 'groups');
    const holds = {
      keeper: hold === 'a keeper' ? keeper : null,
      groups: hold === 'control groups' && place ? new Groups(place, records) : null,
    };
    sandbox = new Sandbox(NONE, { setting: 'off', warn: () => {}, home: scene.home, env: scene.env }, holds);
  });
  afterEach(async () => {
    for (const pid of livingWith(mark)) process.kill(pid, 'SIGKILL');
    await sandbox.close();
    await scene[Symbol.asyncDispose]();
  });
  const run = (script: string, signal?: AbortSignal) =>
    sandbox.run(script, confinementIn(scene), { ...(signal ? { signal } : {}), graceMs: 100 });

  test('[BND7.1] what a command left is gone when it has ended, however it got away', async () => {
    const ran = await run(`${survivors(mark)}\necho done; exit 3`);
    expect(ran).toMatchObject({ code: 3, output: 'done\n', ended: null });
    expect(livingWith(mark)).toEqual([]);
  });

  test('[BND7.1] what a command left is gone when it is given up', async () => {
    const giveUp = new AbortController();
    const running = run(`${survivors(mark)}\ntrap "" TERM; sleep 1000`, giveUp.signal);
    await until(() => livingWith(mark).length >= 3);
    giveUp.abort();
    await running;
    expect(livingWith(mark)).toEqual([]);
  });

  test('[BND7.1] nothing is left when whoever started it is killed, at the latest when it is back', async () => {
    const script = `${survivors(mark)}\nsleep 1000`;
    const starter = spawn(process.execPath, ['--conditions=source', STARTER, hold, records, script], {
      env: { PATH: process.env['PATH'], HOME: scene.home, TMPDIR: scene.folder, NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await until(() => livingWith(mark).length >= 3);
    starter.kill('SIGKILL');
    await once(starter, 'exit');
    if (hold === 'control groups') await endRecorded(records);
    await until(() => livingWith(mark).length === 0);
    if (hold === 'control groups') expect(readdirSync(records)).toEqual([]);
  });

  test('[BND7.1] its output, input and signals are as they would be alone', async () => {
    expect(await run('cat; echo $1 >&2; kill -TERM $$')).toMatchObject({ code: null, signal: 'SIGTERM' });
    expect(await run('exec /nonexistent/program')).toMatchObject({ code: 127 });
    const early = { ...confinementIn(scene), env: { PERL5OPT: '-MNothing', LD_PRELOAD: '' } };
    expect(await sandbox.run('echo "$PERL5OPT"', early)).toMatchObject({ code: 0, output: '-MNothing\n' });
    const many = await Promise.all(Array.from({ length: 8 }, (_, i) => run(`echo ${i}; exit ${i}`)));
    expect(many.map(({ code, output }) => [code, output])).toEqual(
      Array.from({ length: 8 }, (_, i) => [i, `${i}\n`]),
    );
  });
});

/** The parent of a command is its keeper. One that is killed leaves the rest to control groups. */
test.skipIf(keeper === null).each(['STOP', ...(place ? ['KILL'] : [])])(
  '[BND7.1] a command that sends its keeper %s gets nothing by it',
  async (signal) => {
    const mark = `survivor-${randomUUID()}`;
    const giveUp = new AbortController();
    await using scene = await makeScene();
    const groups = place && new Groups(place, null);
    const options = { setting: 'off', warn: () => {}, home: scene.home, env: scene.env } as const;
    await using sandbox = new Sandbox(NONE, options, { keeper, groups });
    const script = `${survivors(mark)}\ncase "$(cat /proc/$PPID/cmdline)" in *perl*) kill -${signal} $PPID;; esac; sleep 1000`;
    const running = sandbox.run(script, confinementIn(scene), { signal: giveUp.signal, graceMs: 100 });
    if (signal === 'STOP') {
      await until(() => livingWith(mark).length >= 3);
      giveUp.abort();
    }
    await running;
    expect(livingWith(mark)).toEqual([]);
  },
);

test('[BND7.1] control groups leave nothing behind of themselves', async () => {
  if (!place) return;
  const ours = (): string[] =>
    readdirSync(place.folder).filter((name) => name.startsWith(`reveille-${process.pid}-`));
  await using scene = await makeScene();
  await using sandbox = await openSandbox({
    setting: 'off',
    warn: () => {},
    home: scene.home,
    env: scene.env,
  });
  await Promise.all([1, 2, 3].map((n) => sandbox.run(`exit ${n}`, confinementIn(scene))));
  expect(ours()).toEqual([]);
  // What a process that is gone left empty is removed by the next.
  const left = join(place.folder, 'reveille-4194305-1');
  mkdirSync(join(left, '1'), { recursive: true });
  const groups = new Groups(place, null);
  expect(groups.place).toBe(place);
  expect(readdirSync(place.folder)).not.toContain('reveille-4194305-1');
});

test.skipIf(!isRoot || keeper === null)(
  '[BND7.1] an ordinary user has a keeper too',
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reveille-nobody-'));
    const mark = `survivor-${randomUUID()}`;
    try {
      mkdirSync(join(folder, 'tmp'));
      for (const path of [folder, join(folder, 'tmp')]) chownSync(path, NOBODY, NOBODY);
      const args = [
        '--conditions=source',
        STARTER,
        'whatever there is',
        folder,
        `${survivors(mark)}\necho done`,
      ];
      const ran = spawnSync(process.execPath, args, {
        uid: NOBODY,
        gid: NOBODY,
        cwd: folder,
        env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: join(folder, 'tmp'), NODE_NO_WARNINGS: '1' },
        encoding: 'utf8',
      });
      expect(ran.stdout, ran.stderr).toContain('"output":"done\\n"');
      expect(livingWith(mark)).toEqual([]);
    } finally {
      for (const pid of livingWith(mark)) process.kill(pid, 'SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
