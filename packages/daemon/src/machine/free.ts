import { readFile, statfs } from 'node:fs/promises';
import { availableParallelism, freemem, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import type { Free } from '@reveille/core';

const CGROUPS = '/sys/fs/cgroup';

/** What this machine has left, or what of it this process may use. `folders`: where it writes. */
export async function freeNow(folders: readonly string[]): Promise<Free> {
  const [memoryBytes, disks] = await Promise.all([freeMemory(), Promise.all(folders.map(freeDisk))]);
  const known = disks.filter((bytes) => bytes !== null);
  return {
    memoryBytes,
    load: loadavg()[0] ?? 0,
    cores: availableParallelism(),
    diskBytes: known.length === 0 ? null : Math.min(...known),
  };
}

/** A container, or a slice of the system, may have less than the machine. */
async function freeMemory(): Promise<number> {
  const free = freemem();
  if (process.platform !== 'linux') return free;
  const own = /^0::(\/.*)$/m.exec(await text('/proc/self/cgroup'))?.[1];
  const left = own === undefined ? [] : await leftAbove(join(CGROUPS, own));
  return Math.min(free, ...left);
}

/** What is left in a group and in those that hold it. What a group has of files that can be dropped is as good as free. */
async function leftAbove(folder: string): Promise<number[]> {
  const left: number[] = [];
  for (let at = folder; at.startsWith(CGROUPS); at = dirname(at)) {
    const limit = Number(await text(join(at, 'memory.max')));
    if (!Number.isFinite(limit) || limit === 0) continue;
    const used = Number(await text(join(at, 'memory.current')));
    const stat = await text(join(at, 'memory.stat'));
    const files = Number(/^inactive_file (\d+)$/m.exec(stat)?.[1] ?? 0);
    left.push(Math.max(0, limit - used + files));
  }
  return left;
}

/** Empty if there is none. */
const text = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

async function freeDisk(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
