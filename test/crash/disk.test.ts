import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkAfterKill, checkAtEnd } from './checks.ts';
import { livingIn } from './processes.ts';
import { startProgram, type Running } from './program-process.ts';
import { takeSnapshot } from './snapshot.ts';

/** How to get a mount that nobody else sees and that goes with its process; null where that is not allowed. */
function privateMounts(): readonly string[] | null {
  const ways = [
    ['unshare', '--mount'],
    ['unshare', '--user', '--map-root-user', '--mount'],
  ];
  for (const way of ways) {
    const [file = '', ...args] = way;
    try {
      execFileSync(file, [...args, 'mount', '-t', 'tmpfs', 'none', tmpdir()], { stdio: 'ignore' });
      return way;
    } catch {
      // Not this way.
    }
  }
  return null;
}

/** Mounts a small disk at $1, runs the rest, and copies what is on the disk to $2. */
const ON_SMALL_DISK = `
  disk=$1 copy=$2; shift 2
  mount -t tmpfs -o size=8m none "$disk" || exit 90
  "$@" & child=$!
  trap 'kill -USR2 $child' USR2
  until wait $child; code=$?; [ $code -lt 128 ] || ! kill -0 $child 2>/dev/null; do :; done
  cp "$disk"/reveille.db* "$copy"
  exit $code`;

describe('a disk that is full for a while', () => {
  let folder: string;
  let running: Running | null;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'reveille-crash-disk-'));
    running = null;
  });
  afterEach(async () => {
    for (const { pid } of livingIn(folder)) process.kill(pid, 'SIGKILL');
    await running?.ended;
    rmSync(folder, { recursive: true });
  });

  const mounts = privateMounts();
  test.skipIf(!mounts)(
    '[STO23][MBX2] the engine says so, loses nothing, and goes on by itself when there is room',
    async () => {
      const disk = join(folder, 'disk');
      mkdirSync(disk);
      const env = { DATABASE: join(disk, 'reveille.db'), BALLAST: join(disk, 'ballast') };
      const prefix = [...(mounts ?? []), 'sh', '-c', ON_SMALL_DISK, 'sh', disk, folder];
      const { child, up, ended } = (running = startProgram('disk-victim', [folder, '1', '5', 'round'], {
        env,
        prefix,
      }));
      let said = '';
      child.stdout?.on('data', (data: Buffer) => (said += data.toString()));
      expect(await up).toMatch(/^first/);
      child.kill('SIGUSR2');
      await until(() => said.includes('full'));
      await later(1_200);
      child.kill('SIGUSR2');
      const { code, stderr, stdout } = await ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('free');
      const log = readFileSync(join(folder, 'log'), 'utf8').trim().split('\n');
      expect(log.some((line) => /There is no room for .*free some space/.test(line))).toBe(true);
      expect(log.filter((line) => line.startsWith('1 error'))).toEqual([]);
      const snapshot = takeSnapshot(folder);
      expect([...checkAfterKill(folder, snapshot), ...checkAtEnd(folder, snapshot)]).toEqual([]);
      expect(snapshot?.plans.size).toBe(1);
    },
    30_000,
  );
});

async function until(true_: () => boolean): Promise<void> {
  while (!true_()) await later(5);
}
