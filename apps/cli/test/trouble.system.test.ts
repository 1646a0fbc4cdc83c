import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { explain } from '../src/command/explain.ts';
import { House } from './house.ts';

const BINARY = fileURLToPath(new URL('../bin/reveille.cjs', import.meta.url));

/** Mounts that nobody else sees and that go with their processes; null where that is not allowed. */
function privateMounts(): readonly string[] | null {
  const ways = [
    ['unshare', '--mount'],
    ['unshare', '--user', '--map-root-user', '--mount'],
  ];
  return (
    ways.find(([file = '', ...args]) => {
      const command = [...args, 'mount', '-t', 'tmpfs', 'none', tmpdir()];
      return spawnSync(file, command, { stdio: 'ignore' }).status === 0;
    }) ?? null
  );
}
const mounts = privateMounts();

/** What a shell says in which `reveille` is the program and the state folder lies on a disk of 40 MB. */
function onSmallDisk(house: House, commands: string): string {
  const state = house.env['REVEILLE_HOME']!;
  mkdirSync(state);
  const program = join(house.folder, 'reveille');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${BINARY}' "$@"\n`, { mode: 0o755 });
  const script = `
    state=$1; mount -t tmpfs -o size=40m none "$state" || exit 90
    fill() { dd if=/dev/zero of="$state/ballast" bs=4k; } 2>/dev/null
    ${commands}
    exit 0`;
  const [file, ...args] = [...(mounts ?? []), 'sh', '-c', script, 'sh', state];
  const env = { ...house.env, PATH: `${house.folder}:${process.env['PATH']}` };
  return execFileSync(file, args, {
    cwd: house.repository,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Without the line breaks by which `doctor` fits its columns. */
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');

describe('a start that fails says the same every time, and doctor finds it', () => {
  const twice = (means: string): string =>
    `${means}; reveille status 2>&1; reveille status 2>&1; echo == ; reveille doctor`;
  const said = (output: string): { told: string[]; doctor: string } => {
    const [told = '', doctor = ''] = output.split('==\n');
    return { told: told.trimEnd().split('\n'), doctor };
  };

  test.skipIf(!mounts)('[DMN3.27] the disk of the state folder is full', async () => {
    await using house = new House();
    const state = house.env['REVEILLE_HOME']!;
    const { told, doctor } = said(
      onSmallDisk(house, `${twice('fill')}; rm "$state/ballast"; reveille status; reveille daemon stop`),
    );
    const why = `The disk that holds ${state} is full. Free some space and try again.`;
    expect(told).toEqual([`The daemon cannot start. ${why}`, `The daemon cannot start. ${why}`]);
    expect(oneLine(doctor)).toContain(`bad data folder ${why}`);
    expect(doctor).toContain('Nothing runs.\nStopped.\n');
  });

  test.skipIf(!mounts)(
    '[DMN3.27] it gets full while the daemon runs: that is no defect, and what comes later goes on',
    async () => {
      await using house = new House();
      const output = onSmallDisk(
        house,
        `reveille daemon start; fill; reveille spawn 'Do it' 2>&1; echo "exit code $?"
      rm "$state/ballast"; reveille status; reveille daemon stop`,
      );
      expect(output).toMatch(
        /(There is no room for|The disk that holds) .*\nexit code 8\nNothing runs\.\nStopped\.\n$/,
      );
    },
  );

  test.skipIf(!mounts)('[DMN3.27] the state folder cannot be written', async () => {
    await using house = new House();
    const state = house.env['REVEILLE_HOME']!;
    const { told, doctor } = said(onSmallDisk(house, twice('mount -o remount,bind,ro "$state"')));
    expect(told).toEqual([told[0], told[0]]);
    expect(told[0]).toContain(`${state} cannot be used (EROFS: read-only file system`);
    expect(oneLine(doctor)).toContain(`bad data folder ${told[0]}`);
    expect(oneLine(doctor)).toContain(`First, data folder: ${told[0]}`);
  });

  test('[DMN3.27] a folder lies where a file belongs, or a file where a folder belongs', async () => {
    await using house = new House();
    const state = house.env['REVEILLE_HOME']!;
    const make = (name: string, means: 'mkdir' | 'touch'): string => {
      mkdirSync(name.startsWith('logs/') ? join(state, 'logs') : state, { recursive: true, mode: 0o700 });
      execFileSync(means, [join(state, name)]);
      const kind =
        means === 'mkdir' ? 'a folder, and Reveille needs a file' : 'no folder, and Reveille needs one';
      return `${join(state, name)} is ${kind} there. Move it away and try again.`;
    };
    const wrong = async (name: string, means: 'mkdir' | 'touch'): Promise<string> => {
      execFileSync('rm', ['-rf', state]);
      const why = make(name, means);
      for (let i = 0; i < 2; i++) {
        const { code, out, err } = await house.run(['daemon', 'start']);
        expect({ code: code > 1, out, err: err.replace('The daemon cannot start. ', '') }).toEqual({
          code: true,
          out: '',
          err: `${why}\n`,
        });
      }
      return why;
    };
    const doctor = async (): Promise<string> => oneLine((await house.run(['doctor'])).out);
    await wrong('daemon.json', 'mkdir');
    await wrong('daemon.guard', 'mkdir');
    await wrong('logs/daemon.log', 'mkdir');
    const identity = await wrong('identity.json', 'mkdir');
    rmSync(join(state, 'daemon.guard'));
    const [lock, guard] = [make('daemon.json', 'mkdir'), make('daemon.guard', 'mkdir')];
    const three = await doctor();
    expect(three).toContain(`bad lock file ${lock}`);
    expect(three).toContain(`bad guard ${guard}`);
    expect(three).toContain(`bad identity ${identity}`);
    const logs = await wrong('logs', 'touch');
    expect(await doctor()).toContain(`bad data folder ${logs}`);
    const processes = await wrong('processes', 'touch');
    expect(await doctor()).toContain(`The last start failed: ${processes}`);
    execFileSync('rm', ['-rf', state]);
    mkdirSync(join(state, 'supervision.json'), { recursive: true, mode: 0o700 });
    expect((await house.run(['daemon', 'start'])).code).toBe(0);
    expect((await house.run(['daemon', 'stop'])).out).toBe('Stopped.\n');
  });

  test('[DMN3.27] the database, the identity or the guard is damaged', async () => {
    await using house = new House();
    const state = house.env['REVEILLE_HOME']!;
    for (const [name, row, words] of [
      ['reveille.db', 'database', /is damaged or is not a database\. Move it away/],
      ['identity.json', 'identity', /is damaged\. Delete it/],
      ['daemon.guard', 'guard', /is damaged\. Run reveille daemon stop, delete the file/],
    ] as const) {
      await house.run(['daemon', 'start']);
      await house.run(['daemon', 'stop']);
      const path = join(state, name);
      writeFileSync(path, 'neither a database nor JSON '.repeat(400), { mode: 0o600 });
      const tries = [await house.run(['status']), await house.run(['status'])];
      for (const { code, out, err } of tries) {
        expect({ code, out }).toEqual({ code: 7, out: '' });
        expect(err).toMatch(new RegExp(`^The daemon cannot start\\. ${path} ${words.source}[^{}\\n]*\\n$`));
      }
      const { out } = await house.run(['doctor']);
      expect(oneLine(out)).toMatch(new RegExp(`bad ${row} ${path} ${words.source}`));
      execFileSync('rm', ['-f', path, `${path}-wal`]);
    }
  });
});

test('[DMN3.28] a disk that is full, or a system without room for a file, is no defect of Reveille', async () => {
  let err = '';
  const io = {
    out: { write: () => true },
    err: { write: (text: string) => ((err += text), true) },
    env: { HOME: '/h' },
  };
  const failure = (code: string, path?: string) =>
    Object.assign(new Error(`${code}: it failed`), { code, path });
  expect(await explain(failure('ENOSPC', '/h/x.json'), io as never, false)).toBe(8);
  expect(await explain(failure('EMFILE'), io as never, false)).toBe(8);
  expect(await explain(failure('EROFS', '/h/y'), io as never, false)).toBe(8);
  expect(err).toContain('The disk that holds /h/x.json is full. Free some space and try again.');
  expect(err).toContain('no room for another file');
  expect(err).toContain('/h/y cannot be used');
  expect(err).not.toContain('defect');
});
