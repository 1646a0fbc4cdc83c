import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findCheckout,
  findOrphans,
  findRepository,
  listCheckouts,
  openCheckout,
  removeCheckout,
  type Checkout,
} from '@reveille/worktrees';
import { asPerson, AUTHOR, make, personIsWell, Scratch } from './scratch.ts';

const FILES = { 'a.txt': 'a\n', 'src/b.txt': 'b\n', 'src/deep/c.sh': '#!/bin/sh\n' };

/** What holds for a worktree of either kind. */
export function contract(kind: Checkout['kind']): void {
  const settings = { kind };

  describe(`a worktree, ${kind}`, () => {
    it('[WKT1.1] has the files of its start, on a branch of its own, and is clean', async () => {
      await using scratch = await Scratch.make();
      const root = await scratch.repository(FILES);
      await chmod(join(root, 'src/deep/c.sh'), 0o755);
      await symlink('a.txt', join(root, 'link'));
      const head = await scratch.commit(root, {});
      const { checkout } = await make(root, { settings });
      expect(checkout.kind).toBe(kind);
      expect(checkout.path).toBe(`${root}.worktrees/plan-task`);
      expect(checkout.start).toBe(head);
      expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
      expect(await asPerson(checkout.path, 'rev-parse', 'HEAD')).toBe(`${head}\n`);
      expect(await asPerson(checkout.path, 'symbolic-ref', '--short', 'HEAD')).toBe('reveille/plan/task\n');
      expect(await asPerson(checkout.path, 'ls-files')).toBe(await asPerson(root, 'ls-files'));
      expect(await readlink(join(checkout.path, 'link'))).toBe('a.txt');
      expect(await asPerson(checkout.path, 'diff', 'main', '--stat')).toBe('');
      expect(await asPerson(root, 'status', '--porcelain')).toBe('');
    });

    it('[WKT1.1] lets its agent commit as the author it was given', async () => {
      await using scratch = await Scratch.make();
      const { checkout, environment } = await make(await scratch.repository(), { settings });
      expect(environment).toMatchObject({ GIT_AUTHOR_NAME: AUTHOR.name, GIT_COMMITTER_EMAIL: AUTHOR.email });
      await writeFile(join(checkout.path, 'new.txt'), 'new\n');
      await asPerson(checkout.path, 'add', '-A');
      await asPerson(checkout.path, 'commit', '-qm', 'work');
      expect(await asPerson(checkout.path, 'log', '--format=%s')).toBe('work\nfiles\n');
    });

    it('[WKT1.2] is seen by our own git directory, which starts with a clean index', async () => {
      await using scratch = await Scratch.make();
      const { checkout } = await make(await scratch.repository(FILES), { settings });
      await writeFile(join(checkout.path, 'new.txt'), 'new\n');
      await asPerson(checkout.path, 'add', '-A');
      await asPerson(checkout.path, 'commit', '-qm', 'work');
      const made = (await asPerson(checkout.path, 'rev-parse', 'HEAD')).trim();
      const own = ['--git-dir', checkout.ownGitDir, '--work-tree', checkout.path];
      expect(await asPerson(checkout.path, ...own, 'status', '--porcelain')).toBe('?? new.txt\n');
      expect(await asPerson(checkout.path, ...own, 'cat-file', '-t', made)).toBe('commit\n');
    });

    it('[WKT1.3] leaves the person’s fetch, log, gc and fsck alone, whatever its agent does to its own git', async () => {
      await using scratch = await Scratch.make();
      const origin = await scratch.repository(FILES, 'origin');
      const root = join(scratch.path, 'repo');
      await asPerson(scratch.path, 'clone', '-q', origin, root);
      const { checkout } = await make(root, { settings });
      await personIsWell(root);
      if (kind === 'clone') {
        await asPerson(checkout.path, 'commit', '--allow-empty', '-qm', 'x');
        await personIsWell(root);
        await writeFile(join(checkout.agentGitDir, 'HEAD'), 'nonsense');
        await rm(join(checkout.agentGitDir, 'objects'), { recursive: true });
        await rm(join(checkout.agentGitDir, 'refs'), { recursive: true });
      }
      await rm(join(checkout.path, '.git'), { recursive: true });
      await personIsWell(root);
    });

    it('[WKT1.4] keeps its start although the person deletes the branch and prunes', async () => {
      await using scratch = await Scratch.make();
      const root = await scratch.repository();
      await asPerson(root, 'checkout', '-qb', 'topic');
      const topic = await scratch.commit(root, { 'b.txt': 'b\n' });
      const { checkout } = await make(root, { settings });
      await asPerson(root, 'checkout', '-q', 'main');
      await asPerson(root, 'branch', '-qD', 'topic');
      if (kind === 'clone') await asPerson(root, 'branch', '-qD', checkout.branch);
      await asPerson(
        root,
        '-c',
        'gc.reflogExpire=now',
        '-c',
        'gc.reflogExpireUnreachable=now',
        'gc',
        '-q',
        '--prune=now',
      );
      expect(checkout.start).toBe(topic);
      expect(await asPerson(checkout.path, 'show', '--format=%H', '--no-patch')).toBe(`${topic}\n`);
      expect(await asPerson(root, 'cat-file', '-t', topic)).toBe('commit\n');
    });

    it('[WKT1.14] is found again in a later life, by name and by task', async () => {
      await using scratch = await Scratch.make();
      const root = await scratch.repository();
      const { checkout, environment } = await make(root, { settings, id: 'task_a' });
      await make(root, { settings, id: 'task_b' });
      const repository = await findRepository(root, { home: null });
      const known = await openCheckout(repository, checkout.name);
      expect(known).toEqual({
        ...checkout,
        repository,
        environment,
        task: 'task_a',
        createdAt: expect.any(Number),
      });
      expect((await findCheckout(repository, 'task_b'))?.task).toBe('task_b');
      expect(await findCheckout(repository, 'task_c')).toBeNull();
      expect(await openCheckout(repository, 'nothing')).toBeNull();
      expect(await openCheckout(repository, '../repo')).toBeNull();
      expect((await listCheckouts(repository)).map(({ task }) => task).toSorted()).toEqual([
        'task_a',
        'task_b',
      ]);
    });

    it('[WKT5.4][WKT5.5] is gone at once when it is removed, its files a little later; its branch stays', async () => {
      await using scratch = await Scratch.make();
      const root = await scratch.repository(FILES);
      const { checkout, repository } = await make(root, { settings });
      await asPerson(checkout.path, 'commit', '--allow-empty', '-qm', 'x');
      const { deleted } = await removeCheckout(checkout);
      expect(existsSync(checkout.path)).toBe(false);
      expect(await openCheckout(repository, checkout.name)).toBeNull();
      await deleted;
      expect(await leftovers(checkout)).toEqual([]);
      expect(await asPerson(root, 'for-each-ref', '--format=%(refname)')).toBe(
        'refs/heads/main\nrefs/heads/reveille/plan/task\n',
      );
      await personIsWell(root);
      expect(await findOrphans(repository, [])).toEqual([]);
    });

    it('[WKT5.5] leaves the pin of a branch that no longer contains its start', async () => {
      await using scratch = await Scratch.make();
      const root = await scratch.repository();
      const { checkout } = await make(root, { settings });
      const other = (await asPerson(root, 'commit-tree', `${checkout.start}^{tree}`, '-m', 'anew')).trim();
      await asPerson(root, 'update-ref', `refs/heads/${checkout.branch}`, other);
      await (
        await removeCheckout(checkout)
      ).deleted;
      expect(await asPerson(root, 'rev-parse', `refs/reveille/base/${checkout.name}`)).toBe(
        `${checkout.start}\n`,
      );
    });

    it('[WKT5.4] follows no link out when it is removed, and is removed without permissions', async () => {
      await using scratch = await Scratch.make();
      const root = await scratch.repository(FILES);
      await scratch.write('outside/kept.txt', 'kept\n');
      const { checkout } = await make(root, { settings });
      await symlink(join(scratch.path, 'outside'), join(checkout.path, 'way-out'));
      await symlink(root, join(checkout.path, 'src', 'main'));
      await mkdir(join(checkout.path, 'closed'));
      await writeFile(join(checkout.path, 'closed', 'x'), '');
      await chmod(join(checkout.path, 'closed'), 0o000);
      await chmod(checkout.path, 0o500);
      await (
        await removeCheckout(checkout)
      ).deleted;
      expect(await leftovers(checkout)).toEqual([]);
      expect(await readFile(join(scratch.path, 'outside', 'kept.txt'), 'utf8')).toBe('kept\n');
      expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('a\n');
    });

    it('[WKT5.4] may have been replaced by a link: then the link is removed', async () => {
      await using scratch = await Scratch.make();
      const root = await scratch.repository(FILES);
      const { checkout } = await make(root, { settings });
      await rm(checkout.path, { recursive: true });
      await symlink(root, checkout.path);
      await (
        await removeCheckout(checkout)
      ).deleted;
      expect(await leftovers(checkout)).toEqual([]);
      expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('a\n');
    });

    it('[WKT5.9] is not made when the caller gives up, and nothing stays of it', async () => {
      await using scratch = await Scratch.make();
      const root = await scratch.repository(FILES);
      const giveUp = new AbortController();
      const setup = { command: 'true', lockFiles: [], movable: false };
      const making = make(root, {
        settings: { ...settings, setup },
        signal: giveUp.signal,
        runSetup: (_command, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason));
            giveUp.abort();
          }),
      });
      await expect(making).rejects.toMatchObject({ code: 'aborted' });
      await nothingIsLeft(root);
      const over = AbortSignal.abort(new Error('no longer wanted'));
      await expect(make(root, { settings, signal: over })).rejects.toMatchObject({ code: 'aborted' });
      await nothingIsLeft(root);
    });
  });
}

/** Whatever lies in the home but the folders and locks that stay. */
export async function leftovers({ repository }: Pick<Checkout, 'repository'>): Promise<string[]> {
  const home = repository.home;
  const found = (await readdir(home)).filter((name) => name !== '.reveille');
  for (const name of await readdir(join(home, '.reveille'))) {
    const kept = ['.lock.db', '.filler.db', '.probes.json'].includes(name);
    const folder = ['.stage', '.trash', '.ports'].includes(name);
    if (folder)
      found.push(...(await readdir(join(home, '.reveille', name))).map((entry) => `${name}/${entry}`));
    else if (!kept) found.push(name);
  }
  const inGit = await readdir(repository.gitDir);
  return [...found, ...inGit.filter((name) => name.startsWith('reveille-') || name === 'worktrees')];
}

/** Nothing but `main` and the person's files: as if no worktree had ever been asked for. */
export async function nothingIsLeft(root: string): Promise<void> {
  const repository = await findRepository(root, { home: null });
  if (existsSync(repository.home)) expect(await leftovers({ repository })).toEqual([]);
  const refs = await asPerson(root, 'for-each-ref', '--format=%(refname)');
  expect(refs.split('\n').filter((ref) => ref.includes('reveille'))).toEqual([]);
  expect(await asPerson(root, 'status', '--porcelain')).toBe('');
  await asPerson(root, 'fsck', '--strict');
}
