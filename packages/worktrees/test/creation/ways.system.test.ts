import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  fillPool,
  findRepository,
  removeCheckout,
  WORKTREE_DEFAULTS,
  type FoundRepository,
  type SetupRunner,
} from '@reveille/worktrees';
import { restatIndex } from '../../src/creation/index-file.ts';
import { leftovers } from './contract.ts';
import { canMount, sharingDisk } from './mounts.ts';
import { asPerson, make, Scratch } from './scratch.ts';

const run = promisify(execFile);
const FILES = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`d${i % 7}/f${i}.txt`, `${i}\n`]));
const canShare = await canMount(sharingDisk);

const head = async (root: string): Promise<string> => (await asPerson(root, 'rev-parse', 'HEAD')).trim();

async function fill(
  root: string,
  pool: number,
  more: { runSetup?: SetupRunner; setup?: typeof SETUP } = {},
): Promise<FoundRepository> {
  const settings = { ...WORKTREE_DEFAULTS, pool, setup: more.setup ?? null };
  const repository = await findRepository(root, settings);
  await fillPool(repository, {
    settings,
    commit: await head(root),
    ...(more.runSetup ? { runSetup: more.runSetup } : {}),
  });
  return repository;
}

const SETUP = { command: 'install', lockFiles: ['d0/f0.txt'], movable: true };
const poolOf = async ({ home }: { home: string }): Promise<string[]> =>
  await readdir(join(home, '.reveille', '.pool'));

/** What git's index says of every file is what the file system says: `git status` has nothing to read. */
async function indexIsExact(gitDir: string, tree: string): Promise<void> {
  const listed = await asPerson(tree, '--git-dir', gitDir, 'ls-files', '--debug');
  const entries = listed.matchAll(
    /^(\S+)\n {2}ctime: (\d+):\d+\n {2}mtime: (\d+):(\d+)\n {2}dev: \d+\tino: (\d+)\n.*\n {2}size: (\d+)/gm,
  );
  const written = (await stat(join(gitDir, 'index'))).mtimeMs / 1_000;
  let count = 0;
  for (const [, path = '', ctime, mtime, nanoseconds, ino, size] of entries) {
    const found = await lstat(join(tree, path), { bigint: true });
    expect([ctime, mtime, nanoseconds, ino, size].map(Number)).toEqual(
      [
        found.ctimeNs / 1_000_000_000n,
        found.mtimeNs / 1_000_000_000n,
        found.mtimeNs % 1_000_000_000n,
        found.ino & 0xffffffffn,
        found.size,
      ].map(Number),
    );
    expect(Math.floor(written)).toBeGreaterThan(Number(mtime));
    count += 1;
  }
  expect(count).toBe((await asPerson(tree, 'ls-files')).trim().split('\n').length);
}

/** The same as a worktree that git itself made of the commit. */
async function sameAsPlain(root: string, tree: string, commit: string): Promise<void> {
  const plain = `${root}-plain`;
  await asPerson(root, 'worktree', 'add', '-q', '--detach', plain, commit);
  await run('diff', ['-r', '--no-dereference', '--exclude=.git', plain, tree]);
  expect(await asPerson(tree, 'ls-files', '-s')).toBe(await asPerson(plain, 'ls-files', '-s'));
  expect(await asPerson(tree, 'status', '--porcelain', '--ignored')).toBe('');
  await asPerson(root, 'worktree', 'remove', plain);
}

describe('the pool', () => {
  it('[WKT1.15][WKT1.16] gives a tree that is the same as a plain one, and that git need not read', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    await symlink('f0.txt', join(root, 'd0/link'));
    await chmod(join(root, 'd0/f7.txt'), 0o755);
    await scratch.commit(root, {});
    const repository = await fill(root, 2);
    for (const kind of ['clone', 'linked'] as const) {
      const before = await poolOf(repository);
      const { checkout } = await make(root, { settings: { kind } });
      expect(await poolOf(repository)).toHaveLength(before.length - 1);
      await indexIsExact(checkout.agentGitDir, checkout.path);
      await sameAsPlain(root, checkout.path, checkout.start);
      await (
        await removeCheckout(checkout)
      ).deleted;
    }
    expect(await poolOf(repository)).toEqual([]);
  });

  it('[WKT1.16] brings a tree to the commit that is wanted: files added, changed, gone, and in each other’s place', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const repository = await fill(root, 1);
    await rm(join(root, 'd1'), { recursive: true });
    await rm(join(root, 'd2/f2.txt'));
    await asPerson(root, 'mv', 'd3/f3.txt', 'd3/moved.txt');
    const commit = await scratch.commit(root, {
      d1: 'a file now\n',
      'd2/f2.txt/deep': 'a folder now\n',
      'new.txt': 'new\n',
    });
    const { checkout } = await make(root);
    expect(await poolOf(repository)).toEqual([]);
    await sameAsPlain(root, checkout.path, commit);
  });

  it('[WKT1.16] keeps its size, follows the commit it is filled for, and drops what is broken', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const repository = await fill(root, 3);
    const first = await poolOf(repository);
    expect(first).toHaveLength(3);
    await writeFile(join(repository.home, '.reveille/.pool', first[0]!, 'entry.json'), '{ half');
    await rm(join(repository.home, '.reveille/.pool', first[1]!, 'index'));
    await scratch.commit(root, { 'new.txt': 'new\n' });
    await fill(root, 2);
    expect(await poolOf(repository)).toHaveLength(2);
    for (let i = 0; i < 2; i += 1) {
      const { checkout } = await make(root);
      await indexIsExact(checkout.agentGitDir, checkout.path);
      expect(existsSync(join(checkout.path, 'new.txt'))).toBe(true);
    }
    expect(await poolOf(repository)).toEqual([]);
    await fill(root, 1);
    await fill(root, 0);
    expect(await poolOf(repository)).toEqual([]);
  });

  it('[WKT1.16] gives each tree to one taker, and to the others a new one', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const repository = await fill(root, 2);
    const taken = await Promise.all(Array.from({ length: 6 }, () => make(root)));
    expect(await poolOf(repository)).toEqual([]);
    for (const { checkout } of taken) expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
    expect(new Set(taken.map(({ checkout }) => checkout.path)).size).toBe(6);
  });

  it('[WKT1.16] is filled by one at a time', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const [repository] = await Promise.all([fill(root, 2), fill(root, 2), fill(root, 2)]);
    expect(await poolOf(repository)).toHaveLength(2);
  });

  it('[WKT4.6] has the set-up run ahead, where that can be moved, and not again when a tree is taken', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ ...FILES, '.gitignore': 'installed\n' });
    const ran: string[] = [];
    const runSetup: SetupRunner = async (_command, { cwd }) => {
      ran.push(cwd);
      await mkdir(join(cwd, 'installed'));
      return { code: 0 };
    };
    await fill(root, 2, { runSetup, setup: SETUP });
    expect(ran).toHaveLength(2);
    const settings = { setup: SETUP };
    const { checkout } = await make(root, { settings, runSetup });
    expect(ran).toHaveLength(2);
    expect(existsSync(join(checkout.path, 'installed'))).toBe(true);
    await scratch.commit(root, { 'd0/f0.txt': 'another lock\n' });
    const stale = make(root, { settings, runSetup: async () => ({ code: 3 }) });
    await expect(stale).rejects.toMatchObject({ data: { reason: 'setup', code: 3 } });
  });

  it('[WKT1.16] takes no tree in which a set-up command made a git directory', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const runSetup: SetupRunner = async (_command, { cwd }) => {
      await mkdir(join(cwd, '.git/hooks'), { recursive: true });
      await writeFile(join(cwd, '.git/hooks/planted'), '');
      return { code: 0 };
    };
    await fill(root, 1, { runSetup, setup: SETUP });
    const { checkout } = await make(root);
    expect(existsSync(join(checkout.path, '.git/hooks/planted'))).toBe(false);
    expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
  });

  it('[WKT1.16] leaves nothing when its filling is given up', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const settings = { ...WORKTREE_DEFAULTS, pool: 2, setup: SETUP };
    const repository = await findRepository(root, settings);
    const giveUp = new AbortController();
    const runSetup: SetupRunner = async () => {
      giveUp.abort();
      return { code: 0 };
    };
    const filling = fillPool(repository, {
      settings,
      commit: await head(root),
      runSetup,
      signal: giveUp.signal,
    });
    await expect(filling).rejects.toMatchObject({ code: 'aborted' });
    expect(await leftovers({ repository })).toEqual([]);
  });
});

describe('a copied tree', () => {
  it('[WKT1.15] has an index that knows its files, without reading them', async () => {
    await using scratch = await Scratch.make();
    const long = `${'x'.repeat(240)}/`.repeat(18);
    for (const format of ['sha1', 'sha256']) {
      const root = join(scratch.path, format);
      await asPerson(scratch.path, 'init', '-q', `--object-format=${format}`, root);
      await scratch.commit(root, { ...FILES, 'ü 漢字.txt': 'x\n', empty: '' });
      // A path too long for the file system stands in the index all the same.
      const blob = (await asPerson(root, 'hash-object', '-w', 'empty')).trim();
      await asPerson(root, 'update-index', '--add', '--cacheinfo', `100644,${blob},${long}end`);
      await asPerson(root, 'update-index', '--skip-worktree', `${long}end`);
      const copy = `${root}-copy`;
      await run('cp', ['-a', '--', root, copy]);
      await copyFile(join(root, '.git/index'), join(copy, '.git/index'));
      expect(await restatIndex(join(copy, '.git/index'), copy, format)).toBe(true);
      const [before, after] = [root, copy].map((tree) => asPerson(tree, 'ls-files', '-s', '-v'));
      expect(await after).toBe(await before);
      // Nothing has to be refreshed: `diff-files` trusts what the index says.
      expect(await asPerson(copy, 'diff-files', '--name-only')).toBe('');
      await asPerson(copy, 'fsck');
    }
  });

  it('[WKT1.15] is not believed where it was changed', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    const copy = `${root}-copy`;
    await run('cp', ['-a', '--', root, copy]);
    await writeFile(join(copy, 'd0/f0.txt'), 'X\n');
    await rm(join(copy, 'd1/f1.txt'));
    await restatIndex(join(copy, '.git/index'), copy, 'sha1');
    expect(await asPerson(copy, 'status', '--porcelain')).toBe(' M d0/f0.txt\n D d1/f1.txt\n');
    await writeFile(join(copy, '.git/index'), 'no index');
    expect(await restatIndex(join(copy, '.git/index'), copy, 'sha1')).toBe(false);
  });

  it.runIf(canShare)('[WKT1.15] shares its blocks where the file system can', async () => {
    await using disk = await sharingDisk();
    await using scratch = await Scratch.make(disk.path);
    const root = await scratch.repository(FILES);
    await asPerson(root, 'gc', '-q');
    const repository = await fill(root, 1);
    expect(await readFile(join(repository.home, '.reveille/.probes.json'), 'utf8')).toBe(
      '{"sharesBlocks":true}',
    );
    expect(await readdir(join(repository.home, '.reveille/.template'))).toHaveLength(1);
    await make(root);
    const commit = await scratch.commit(root, { 'new.txt': 'new\n', 'd0/f0.txt': 'changed\n' });
    const { checkout } = await make(root);
    await sameAsPlain(root, checkout.path, commit);
    // That it is a copy of the template shows by the time of the files: a checkout would have written them now.
    const [template] = await readdir(join(repository.home, '.reveille/.template'));
    const times = [join(repository.home, '.reveille/.template', template!, 'tree'), checkout.path].map(
      (tree) => stat(join(tree, 'd1/f1.txt')),
    );
    expect((await times[1]!).mtimeMs).toBe((await times[0]!).mtimeMs);
    await fill(root, 1);
    expect(await readdir(join(repository.home, '.reveille/.template'))).toHaveLength(1);
    expect(await readdir(join(repository.home, '.reveille/.template'))).not.toEqual([template]);
  });
});
