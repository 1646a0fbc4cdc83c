import { spawn } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Step } from '@reveille/executors';
import { expect, test } from 'vitest';
import { gitIn, makeRepository, type Part } from '../../../../test/shop.ts';

const VICTIM = fileURLToPath(new URL('victim.ts', import.meta.url));
const edit = (path: string): Step => ({ do: 'edit', path, content: `${path}\n` });
const makes = (name: string, after: readonly string[] = []): Part => ({
  after,
  script: { steps: [edit(`${name}.txt`), { do: 'work', ms: 50 }, { do: 'report' }] },
});
const child = (name: string) => ({
  prompt: name,
  name,
  script: { steps: [edit(`${name}.txt`), { do: 'work', ms: 30 } as const, { do: 'report' } as const] },
});
const PLAN: Record<string, Part> = {
  a: makes('a'),
  b: makes('b', ['a']),
  p: {
    after: ['a'],
    script: {
      steps: [edit('p.txt'), { do: 'spawn', tasks: [child('x'), child('y')] }],
      whenWoken: [{ do: 'retry' }, { do: 'pull' }, { do: 'report' }],
    },
  },
  c: makes('c', ['b', 'p']),
};

interface Ended {
  readonly state: string;
  readonly ends: readonly { name: string; state: string; why: string; work: { branch: string } | null }[];
  readonly warnings: readonly string[];
}

/** Starts a life; kills it after a while, unless it ends before. What it said at its end, if it got there. */
async function live(args: readonly string[], killAfterMs: number | null): Promise<Ended | null> {
  const process_ = spawn(process.execPath, ['--conditions=source', VICTIM, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  let complained = '';
  let timer: NodeJS.Timeout | undefined;
  process_.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
    // It counts from when it is up: a slow machine must not be killed before it does anything.
    if (killAfterMs !== null && said.startsWith('up\n'))
      timer ??= setTimeout(() => process_.kill('SIGKILL'), killAfterMs);
  });
  process_.stderr.on('data', (chunk: Buffer) => (complained += chunk.toString('utf8')));
  const code = await new Promise<number | null>((resolve) => process_.once('close', resolve));
  clearTimeout(timer);
  if (code !== null && code !== 0) throw new Error(`a life ended with ${code}: ${complained}`);
  const line = said.split('\n').find((one) => one.startsWith('{'));
  return line === undefined ? null : (JSON.parse(line) as Ended);
}

test('[WKT6.83] killed again and again at any moment, a plan in worktrees ends with everything in one branch, and nothing half done', async () => {
  const { folder, root } = makeRepository();
  const git = gitIn(root);
  try {
    const args = [folder, root, JSON.stringify(PLAN)];
    let ended: Ended | null = null;
    // The moments are spread over what a step of git takes here; each life gets further than the last.
    for (let kill = 0; kill < 8 && !ended; kill++)
      ended = await live(args, 100 + kill * 170 + Math.random() * 200);
    ended ??= await live(args, null);
    const story = JSON.stringify(ended, undefined, 2);
    expect(ended?.state, story).toBe('completed');
    const branch = ended!.ends.find(({ name }) => name === 'integration')!.work!.branch;
    const files = git('ls-tree', '-r', '--name-only', branch).split('\n');
    const wanted = ['a', 'b', 'c', 'p', 'x', 'y'].map((name) => `${name}.txt`);
    expect(files, story).toEqual(['README.md', ...wanted, 'src/a.txt'].toSorted());
    expect(git('fsck', '--strict', '--no-dangling')).toBe('');
    expect(git('status', '--porcelain')).toBe('');
    expect(everyFile(join(root, '.git')).filter((path) => path.endsWith('.lock'))).toEqual([]);
    git('gc', '-q', '--prune=now');
    git('log', '--all', '--oneline');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const everyFile = (folder: string): string[] => readdirSync(folder, { recursive: true }).map(String);
