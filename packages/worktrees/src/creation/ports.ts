import { createHash } from 'node:crypto';
import { mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import type { Repository } from '../checkout.ts';
import { codeOf } from './failures.ts';
import { orNull } from './files.ts';
import { layoutOf } from './layout.ts';
import type { PortRange } from './settings.ts';

/**
 * Reserves a block of ports for a worktree: a link per block, made by whoever is first, that names the worktree
 * (a link is made and filled in one step). Repositories begin at different places of the range, so that two of them
 * seldom meet.
 */
export async function reservePorts(
  repository: Repository,
  name: string,
  range: PortRange,
): Promise<number[]> {
  const { ports } = layoutOf(repository);
  await mkdir(ports, { recursive: true });
  const taken = new Set(await readdir(ports));
  for (const first of blocksOf(repository, range)) {
    if (taken.has(String(first)) || !(await reserve(join(ports, String(first)), name))) continue;
    return Array.from({ length: range.each }, (_, i) => first + i);
  }
  throw new ReveilleError(
    'limit_reached',
    'Every block of ports is in use. Remove worktrees, or widen the range.',
    {
      data: { limit: 'ports', value: range },
    },
  );
}

function* blocksOf(repository: Repository, range: PortRange): Generator<number> {
  const count = Math.floor((range.last - range.first + 1) / range.each);
  const from = createHash('sha256').update(repository.home).digest().readUInt32BE(0);
  for (let i = 0; i < count; i += 1) yield range.first + ((from + i) % count) * range.each;
}

async function reserve(path: string, name: string): Promise<boolean> {
  try {
    await symlink(name, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

export async function freePorts(repository: Repository, name: string): Promise<void> {
  const { ports } = layoutOf(repository);
  for (const block of (await orNull(readdir(ports))) ?? []) {
    if ((await orNull(readlink(join(ports, block)))) === name) await rm(join(ports, block), { force: true });
  }
}

export function portEnvironment(ports: readonly number[]): Record<string, string> {
  const [first] = ports;
  return first === undefined
    ? {}
    : { REVEILLE_PORT_BASE: String(first), REVEILLE_PORT_COUNT: String(ports.length) };
}
