import { execFileSync } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findRepository } from '@reveille/worktrees';
import { ignoredIn, lookAtCheckout } from '../../src/creation/look.ts';
import { git } from '../../src/git/git.ts';
import { asPerson, Scratch } from '../creation/scratch.ts';

/** Ways in which git takes a repository for a partial clone of `x`. */
const PARTIAL = [
  'promisor = true',
  'promisor = yes',
  'promisor = 1',
  'promisor',
  'partialCloneFilter = blob:none',
];

describe('a repository that says it is a partial clone', () => {
  test.each(PARTIAL)('[BND6.19] is known, with the program that a fetch would run: %s', async (setting) => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await appendFile(
      join(root, '.git/config'),
      `[remote "x"]\n\turl = .\n\tuploadpack = ./run\n\t${setting}\n`,
    );
    const { traits } = await findRepository(root, { home: null });
    expect(traits).toMatchObject({ promisor: 'x', commands: ['remote.x.uploadpack=./run'] });
  });

  const TRANSPORTS = [
    ['a folder', (root: string, mark: string) => `url = ${root}\n\tuploadpack = "touch ${mark};"`],
    ['a program', (_: string, mark: string) => `url = "ext::touch ${mark}"`],
  ] as const;
  test.each(TRANSPORTS)(
    '[BND6.19] has nothing run for an object that is missing: from %s',
    async (_, remoteOf) => {
      await using scratch = await Scratch.make();
      const root = await scratch.repository();
      const head = (await asPerson(root, 'rev-parse', 'HEAD')).trim();
      const mark = join(scratch.path, 'ran');
      await rm(join(root, '.git/objects', head.slice(0, 2), head.slice(2)));
      await appendFile(
        join(root, '.git/config'),
        `[protocol]\n\tallow = always\n[protocol "ext"]\n\tallow = always\n[remote "x"]\n\t${remoteOf(root, mark)}\n\tpromisor = true\n`,
      );
      // As a git that does not know how to be told otherwise.
      const call = {
        gitDir: join(root, '.git'),
        args: ['cat-file', '-p', head],
        env: { GIT_NO_LAZY_FETCH: '0' },
      };
      await expect(git(call)).rejects.toThrow();
      await expect(git({ ...call, asPerson: true })).rejects.toThrow();
      expect(existsSync(mark)).toBe(false);
    },
  );
});

test.each(['.gitignore', 'new/.gitignore'])(
  '[BND6.20] a pipe in place of %s in the checkout ends a look, and nobody waits',
  async (path) => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await scratch.write('repo/new/file', 'x');
    execFileSync('mkfifo', [join(root, path)]);
    const repository = await findRepository(root, { home: null });
    for (const look of [lookAtCheckout, ignoredIn])
      await expect(look(repository, undefined, 300)).rejects.toMatchObject({
        code: 'workspace_failed',
        message: expect.stringContaining('Look for a pipe'),
      });
  },
);
