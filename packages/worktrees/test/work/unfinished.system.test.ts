import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { temporaryName } from '../../src/door/names.ts';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { asPerson, make, Scratch } from '../creation/scratch.ts';
import { AGENT, makeWorld } from './world.ts';

const WRITER = fileURLToPath(new URL('writer.ts', import.meta.url));

const unfinished = (path: string): string[] =>
  readdirSync(path).filter((name) => name.startsWith('.reveille-'));

/** Kills processes that write through the door until one of them leaves a file half written. */
async function leaveUnfinished(path: string): Promise<void> {
  while (unfinished(path).length === 0) {
    const child = spawn(process.execPath, ['--conditions=source', WRITER, path], { stdio: 'ignore' });
    const closed = once(child, 'close');
    try {
      await vi.waitUntil(() => unfinished(path).length > 0, { timeout: 60_000, interval: 1 });
    } finally {
      child.kill('SIGKILL');
      await closed;
    }
  }
}

describe.each(['clone', 'linked'] as const)('%s', (kind) => {
  test('[WKT6.38] what a killed process was writing is no leftover, and goes', async () => {
    using world = await makeWorld();
    const agent = await world.checkout('task', { kind });
    await leaveUnfinished(agent.path);
    if (kind === 'clone') expect(agent.git('status', '--porcelain', '--', '.reveille-*')).toBe('');
    const living = temporaryName();
    agent.write({ [living]: 'half of', 'done.txt': 'done\n' });
    const { tip, leftOut } = await commitLeftovers(agent.checkout, AGENT);
    const changed = world.home.git('diff', '--name-only', 'main', tip).split('\n');
    expect(changed.filter((name) => name !== 'large')).toEqual(['done.txt']);
    expect(leftOut).toEqual([]);
    expect(unfinished(agent.path)).toEqual([living]);
  });

  test('[WKT6.37] what the person ignores everywhere, or in this repository, is not committed for the agent', async () => {
    await using scratch = await Scratch.make();
    await asPerson(scratch.path, 'config', '--global', 'core.excludesFile', '~/ignored');
    await scratch.write('home/ignored', '*.swp\n');
    const root = await scratch.repository({ 'a.txt': 'a\n' });
    await scratch.write('repo/.git/info/exclude', '/here\n');
    const { checkout } = await make(root, { settings: { kind } });
    for (const name of ['b.txt', '.b.txt.swp', 'here']) writeFileSync(join(checkout.path, name), name);
    const { tip } = await commitLeftovers(checkout, AGENT);
    expect(await asPerson(root, 'diff', '--name-only', 'main', tip)).toBe('b.txt\n');
    expect(existsSync(join(checkout.path, 'here'))).toBe(true);
  });
});
