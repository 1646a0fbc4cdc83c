import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { findOrphans, findRepository } from '@reveille/worktrees';
import { leftovers } from './contract.ts';
import { asPerson, personIsWell, Scratch } from './scratch.ts';

const run = promisify(execFile);
const CROWD = fileURLToPath(new URL('crowd.ts', import.meta.url));
/**
 * Git's own gc gives up if a linked worktree goes while it goes through them, whoever removed it. Ours go slowly enough
 * for that, but not for a machine that stands still for seconds; then the next one succeeds.
 */
async function collect(root: string): Promise<void> {
  for (;;) {
    const failed = await asPerson(root, 'gc', '-q', '--prune=now').then(
      () => null,
      (error: unknown) => error as Error,
    );
    if (!failed) return;
    if (!/Invalid path '.*\/worktrees\//.test(failed.message)) throw failed;
  }
}

const [PROCESSES, EACH, AT_A_TIME] = [2, 500, 5];

it(
  '[WKT5.2] a thousand worktrees, ten at a time, are made and removed while the person fetches, prunes and collects',
  { timeout: 900_000 },
  async () => {
    await using scratch = await Scratch.make();
    const origin = await scratch.repository({ 'a.txt': 'a\n', 'b/c.txt': 'c\n' }, 'origin');
    const root = join(scratch.path, 'repo');
    await asPerson(scratch.path, 'clone', '-q', origin, root);
    const crowd = { over: false };

    // Whatever of the person's own fails, fails the test.
    const person = (async () => {
      for (let round = 0; !crowd.over; round += 1) {
        await asPerson(origin, 'commit', '-q', '--allow-empty', '-m', `round ${round}`);
        await asPerson(root, 'fetch', '-q', '--all', '--prune');
        await asPerson(root, 'worktree', 'prune');
        await asPerson(root, 'log', '--all', '-1', '--oneline');
        if (round % 10 === 0) await collect(root);
      }
    })().then(() => 'well', String);
    const processes = Array.from({ length: PROCESSES }, async (_, i) => {
      const args = ['--conditions=source', CROWD, root, String(EACH), String(AT_A_TIME), `p${i}`];
      const { stdout } = await run(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
      return JSON.parse(stdout) as { made: number; failures: string[] };
    });
    try {
      const answers = await Promise.all(processes);
      expect(answers.flatMap(({ failures }) => failures)).toEqual([]);
      expect(answers.reduce((sum, { made }) => sum + made, 0)).toBe(PROCESSES * EACH);
    } finally {
      crowd.over = true;
      expect(await person).toBe('well');
    }

    const repository = await findRepository(root, { home: null });
    expect(await findOrphans(repository, [])).toEqual([]);
    expect(await leftovers({ repository })).toEqual([]);
    const refs = (await asPerson(root, 'for-each-ref', '--format=%(refname)')).split('\n');
    expect(refs.filter((ref) => ref.startsWith('refs/heads/reveille/crowd/'))).toHaveLength(PROCESSES * EACH);
    expect(refs.filter((ref) => ref.startsWith('refs/reveille/'))).toEqual([]);
    expect((await readdir(repository.gitDir)).filter((name) => name.endsWith('.lock'))).toEqual([]);
    await personIsWell(root);
  },
);
