import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findRepository, sweep } from '@reveille/worktrees';
import { asPerson, make, Scratch } from '../creation/scratch.ts';
import { isRoot } from '../sandbox/here.ts';
import { Machine } from './attacks.ts';

const HOME = { home: null };

/** The git command that the refusal of a folder says to run. */
async function adviceFor(path: string): Promise<string[]> {
  const error: unknown = await findRepository(path, HOME).catch((each: unknown) => each);
  const words = error instanceof Error ? error.message : '';
  return /run: git (.*)$/.exec(words)?.[1]?.split(' ') ?? [];
}

describe('what people have', () => {
  test('[BND6.11] a linked worktree, beside the repository or in it, also with relative paths', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    for (const place of ['../side', '.worktrees/inner']) {
      await asPerson(root, 'worktree', 'add', '-q', place);
      const found = await findRepository(join(root, place), HOME);
      expect(found).toMatchObject({ root: join(root, place), gitDir: join(root, '.git') });
    }
    await writeFile(join(root, '.git/worktrees/side/gitdir'), '../../../../side/.git\n');
    await writeFile(join(scratch.path, 'side/.git'), 'gitdir: ../repo/.git/worktrees/side\n');
    expect(await findRepository(join(scratch.path, 'side'), HOME)).toMatchObject({
      gitDir: join(root, '.git'),
    });
  });

  test('[BND6.11] one that was moved is refused with the command that repairs it', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await asPerson(root, 'worktree', 'add', '-q', '../side');
    await rename(join(scratch.path, 'side'), join(scratch.path, 'moved'));
    const moved = join(scratch.path, 'moved');
    await asPerson(root, ...(await adviceFor(moved)));
    expect(await findRepository(moved, HOME)).toMatchObject({ root: moved });
  });

  test('[BND6.10] a bare repository with its worktrees round or in it', async () => {
    await using scratch = await Scratch.make();
    const origin = await scratch.repository();
    for (const [name, gitFile] of [
      ['round/.bare', 'round/.git'],
      ['in.git', null],
    ] as const) {
      await asPerson(scratch.path, 'clone', '-q', '--bare', origin, name);
      if (gitFile) await scratch.write(gitFile, 'gitdir: ./.bare\n');
      const main = join(scratch.path, gitFile ? 'round/main' : 'in.git/main');
      await asPerson(join(scratch.path, name), 'worktree', 'add', '-q', main);
      expect(await findRepository(main, HOME)).toMatchObject({ gitDir: join(scratch.path, name) });
    }
    await expect(findRepository(join(scratch.path, 'round'), HOME)).rejects.toThrow(/bare repository/);
  });

  test('[BND6.10] a submodule, also of a linked worktree, and one in another', async () => {
    await using scratch = await Scratch.make();
    const file = ['-c', 'protocol.file.allow=always'];
    const leaf = await scratch.repository({ 'x.txt': 'x\n' }, 'leaf');
    const inner = await scratch.repository({ 'x.txt': 'x\n' }, 'inner');
    await asPerson(inner, ...file, 'submodule', '--quiet', 'add', leaf, 'leaf');
    await scratch.commit(inner, {});
    const root = await scratch.repository();
    await asPerson(root, ...file, 'submodule', '--quiet', 'add', inner, 'inner');
    await asPerson(root, ...file, 'submodule', '--quiet', 'update', '--init', '--recursive');
    await scratch.commit(root, {});
    await asPerson(root, 'worktree', 'add', '-q', '../side');
    const side = join(scratch.path, 'side');
    await asPerson(side, ...file, 'submodule', '--quiet', 'update', '--init');
    for (const path of [join(root, 'inner'), join(root, 'inner/leaf'), join(side, 'inner')])
      expect(await findRepository(path, HOME)).toMatchObject({ root: path });
  });

  test('[BND6.11] a git directory elsewhere that names its checkout', async () => {
    await using scratch = await Scratch.make();
    const origin = await scratch.repository();
    const root = join(scratch.path, 'separate');
    const gitDir = join(scratch.path, 'separate.git');
    await asPerson(scratch.path, 'clone', '-q', `--separate-git-dir=${gitDir}`, origin, root);
    await asPerson(root, ...(await adviceFor(root)));
    expect(await findRepository(root, HOME)).toMatchObject({ root, gitDir });
  });

  test('[BND6.12] a clone that shares the objects of another, in turn', async () => {
    await using scratch = await Scratch.make();
    const first = await scratch.repository({ 'a.txt': 'a\n' }, 'first');
    await asPerson(scratch.path, 'clone', '-q', '--shared', first, 'second');
    await asPerson(scratch.path, 'clone', '-q', '--shared', 'second', 'repo');
    const found = await findRepository(join(scratch.path, 'repo'), HOME);
    expect(found.objectStores).toEqual(
      ['repo', 'second', 'first'].map((name) => join(scratch.path, name, '.git/objects')),
    );
  });
});

test.skipIf(!isRoot)(
  '[BND6.18] a repository of another user that the person’s git is told to trust',
  async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await chown(join(root, '.git'), 12_345, 12_345);
    const trust = (name: string) =>
      asPerson(scratch.path, 'config', '--global', '--add', 'safe.directory', name);
    for (const name of ['/elsewhere', `${root}/sub`, '/elsewhere/*']) await trust(name);
    await expect(findRepository(root, HOME)).rejects.toThrow(/git config --global --add safe\.directory/);
    for (const name of [root, join(scratch.path, '*'), '*']) {
      await trust(name);
      expect(await findRepository(root, HOME)).toMatchObject({ root });
      await trust('');
      await expect(findRepository(root, HOME)).rejects.toThrow(/belongs to user 12345/);
    }
  },
);

test('[BND6.13] a HEAD that is a link to its branch, as old versions of git made it', async () => {
  await using scratch = await Scratch.make();
  const root = await scratch.repository();
  await rm(join(root, '.git/HEAD'));
  await symlink('refs/heads/main', join(root, '.git/HEAD'));
  expect(await findRepository(root, HOME)).toMatchObject({ root });
});

describe('what leads nowhere', () => {
  test('[BND6.13] a file of the person that the repository’s config names to ignore by is not given to agents', async () => {
    const machine = await Machine.make();
    await using _ = machine.scratch;
    await asPerson(machine.repo, 'config', 'core.excludesFile', machine.at('home/.ssh/id'));
    const { checkout } = await make(machine.repo, { dirty: 'head' });
    expect(await readFile(join(checkout.path, '.git/info/exclude'), 'utf8')).not.toContain('FAKE');
    await asPerson(machine.repo, 'config', 'core.excludesFile', join(machine.repo, 'ignore'));
    await machine.scratch.write('repo/ignore', 'mine\n');
    const second = await make(machine.repo, { dirty: 'head', id: 'task_2' });
    expect(await readFile(join(second.checkout.path, '.git/info/exclude'), 'utf8')).toContain('mine');
  });

  const RECORD = { version: 1, name: '../victim', kind: 'clone', branch: 'b', start: 'HEAD', task: 't' };
  const PLANTED = {
    '.reveille/.trash/a/checkout.json': { '.reveille/.trash/a/checkout.json': JSON.stringify(RECORD) },
    '.reveille/.stage/b/claim.json': {
      '.reveille/.stage/b/claim.json': JSON.stringify(RECORD),
      'victim/owner': 'b',
    },
  };
  for (const [name, files] of Object.entries(PLANTED))
    test(`[BND6.14] a record that came with a repository moves nothing that is not a worktree (${name})`, async () => {
      const machine = await Machine.make();
      await using _ = machine.scratch;
      for (const [path, text] of Object.entries(files))
        await machine.scratch.write(`repo.worktrees/${path}`, text);
      await sweep(await findRepository(machine.repo, HOME)).catch(() => undefined);
      expect(existsSync(join(machine.victim, 'private.txt'))).toBe(true);
    });

  test('[BND6.14] a home that is swapped for a link while a worktree is made holds no worktree in the end', async () => {
    const machine = await Machine.make();
    await using _ = machine.scratch;
    const home = `${machine.repo}.worktrees`;
    const swap = async (): Promise<{ code: number }> => {
      await rename(home, machine.at('home/stolen'));
      await symlink(machine.at('home/stolen'), home);
      return { code: 0 };
    };
    const setup = { command: 'true', lockFiles: [], movable: false };
    await expect(make(machine.repo, { settings: { setup }, runSetup: swap })).rejects.toThrow(
      /Worktrees cannot be made in/,
    );
    expect(existsSync(machine.at('home/stolen/.reveille/plan-task/checkout.json'))).toBe(false);
  });

  test('[BND6.10] a path in a folder that only looks like a home of worktrees to people is fine', async () => {
    await using scratch = await Scratch.make();
    await mkdir(join(scratch.path, 'x.worktrees/.reveille/plans'), { recursive: true });
    const root = await scratch.repository({ a: 'a' }, 'x.worktrees/repo');
    expect(await findRepository(root, HOME)).toMatchObject({ root });
  });
});
