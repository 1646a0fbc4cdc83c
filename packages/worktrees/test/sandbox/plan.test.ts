import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Confinement } from '../../src/sandbox/confinement.ts';
import { checkoutMounts, limitsOf, namedMounts } from '../../src/sandbox/plan.ts';

let scratch: string;
let home: string;
let confinement: Confinement;

beforeEach(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), 'reveille-plan-')));
  home = join(scratch, 'home');
  const repository = {
    root: join(scratch, 'repo'),
    gitDir: join(scratch, 'repo', '.git'),
    home: join(scratch, 'repo.worktrees'),
    objectStores: [join(scratch, 'repo', '.git', 'objects')],
  };
  const path = join(repository.home, 'mine');
  confinement = {
    checkout: { repository, kind: 'clone', path, agentGitDir: join(path, '.git') },
    write: true,
    network: { kind: 'off' },
  };
  await mkdir(join(repository.gitDir, 'objects', 'info'), { recursive: true });
  await mkdir(path, { recursive: true });
  await mkdir(join(home, '.agent'), { recursive: true });
});
afterEach(async () => rm(scratch, { recursive: true, force: true }));

const at = (place: string): string => join(scratch, place);

describe('what of the repository is there inside', () => {
  test('[BND2.2] the tree and the objects, and sealed emptiness round them', () => {
    expect(checkoutMounts(confinement, home)).toEqual([
      { kind: 'empty', at: at('repo.worktrees'), sealed: true },
      { kind: 'empty', at: at('repo'), sealed: true },
      { kind: 'write', at: at('repo.worktrees/mine'), from: at('repo.worktrees/mine') },
      { kind: 'read', at: at('repo/.git/objects'), from: at('repo/.git/objects') },
    ]);
  });

  test('[BND2.7] the tree of an agent that may not write is read-only', () => {
    expect(checkoutMounts({ ...confinement, write: false }, home)).toContainEqual({
      kind: 'read',
      at: at('repo.worktrees/mine'),
      from: at('repo.worktrees/mine'),
    });
  });

  test('[BND2.2] objects the repository borrows from others come along, as long as they are there', async () => {
    await mkdir(at('second/objects'), { recursive: true });
    const objectStores = ['repo/.git/objects', 'second/objects', 'gone/objects'].map(at);
    const repository = { ...confinement.checkout.repository, objectStores };
    const mounts = checkoutMounts(
      { ...confinement, checkout: { ...confinement.checkout, repository } },
      home,
    ).filter(({ kind }) => kind === 'read');
    expect(mounts.map((mount) => mount.at)).toEqual(['repo/.git/objects', 'second/objects'].map(at));
  });

  test('[BND2.2] a checkout that is itself a worktree of another hides that one too', () => {
    const repository = { ...confinement.checkout.repository, root: at('side') };
    const hidden = checkoutMounts(
      { ...confinement, checkout: { ...confinement.checkout, repository } },
      home,
    ).filter(({ kind }) => kind === 'empty');
    expect(hidden.map((mount) => mount.at)).toEqual(['repo.worktrees', 'side', 'repo'].map(at));
  });

  test('[BND2.2] the home of a person who keeps it in git stays a home', () => {
    const repository = { ...confinement.checkout.repository, root: home };
    const mounts = checkoutMounts(
      { ...confinement, checkout: { ...confinement.checkout, repository } },
      home,
    );
    expect(mounts.map((mount) => mount.at)).not.toContain(home);
  });

  test('[BND2.2] a repository at the root of the file system is refused', () => {
    const repository = { ...confinement.checkout.repository, root: '/' };
    expect(() =>
      checkoutMounts({ ...confinement, checkout: { ...confinement.checkout, repository } }, home),
    ).toThrow(/cannot be confined/);
  });

  test('[BND2.19] of a linked worktree’s repository git gets what it reads, and not the config', async () => {
    const { gitDir } = confinement.checkout.repository;
    for (const name of ['HEAD', 'config', 'packed-refs']) await writeFile(join(gitDir, name), '');
    await mkdir(join(gitDir, 'refs'));
    await mkdir(join(gitDir, 'hooks'));
    const agentGitDir = join(gitDir, 'worktrees', 'mine');
    const mounts = checkoutMounts(
      { ...confinement, checkout: { ...confinement.checkout, kind: 'linked', agentGitDir } },
      home,
    );
    const reads = mounts.filter(({ kind }) => kind === 'read').map((mount) => mount.at);
    expect(reads).toEqual([
      join(gitDir, 'objects'),
      join(gitDir, 'HEAD'),
      join(gitDir, 'refs'),
      join(gitDir, 'packed-refs'),
      agentGitDir,
      at('repo.worktrees/mine/.git'),
    ]);
  });
});

describe('what the config names', () => {
  const named = (changes: Partial<Confinement>) => namedMounts({ ...confinement, ...changes }, home);

  test('[BND2.13] credentials can be written, tools be read, and what is missing is left out', async () => {
    await mkdir(at('tools'));
    const reads = [at('tools'), at('no tools')];
    expect(named({ writes: [join(home, '.agent/'), join(home, '.gone')], reads })).toEqual([
      { kind: 'write', at: join(home, '.agent'), from: join(home, '.agent') },
      { kind: 'read', at: at('tools'), from: at('tools') },
    ]);
  });

  test('[BND2.13] nothing that is named uncovers the home, the repository or its worktrees', async () => {
    const bad = [
      '/',
      scratch,
      home,
      `${home}/`,
      `${home}/.agent/..`,
      at('repo'),
      at('repo/.git/hooks'),
      at('repo.worktrees'),
      at('repo.worktrees/other'),
      at('repo.worktrees/.reveille'),
    ];
    for (const each of bad) {
      expect(() => named({ reads: [each] }), each).toThrow(/The config names/);
      expect(() => named({ writes: [each] }), each).toThrow(/The config names/);
    }
    for (const each of ['relative/path', './x', '~/.agent', ''])
      expect(() => named({ reads: [each] }), each).toThrow(/absolute/);
  });

  test('[BND2.13] a link is followed only directly in the home, where no agent can have made it', async () => {
    await mkdir(at('dotfiles/agent'), { recursive: true });
    await mkdir(join(home, '.ssh'));
    await writeFile(join(home, '.ssh/key'), 'secret');
    await symlink(at('dotfiles/agent'), join(home, '.linked'));
    expect(named({ writes: [join(home, '.linked')] })).toEqual([
      { kind: 'write', at: join(home, '.linked'), from: at('dotfiles/agent') },
    ]);
    // An agent that may write to ~/.agent could have made these.
    await symlink(join(home, '.ssh/key'), join(home, '.agent/settings.json'));
    await symlink(join(home, '.ssh'), join(home, '.agent/folder'));
    await symlink(home, at('elsewhere'));
    for (const path of [
      join(home, '.agent/settings.json'),
      join(home, '.agent/folder/key'),
      at('elsewhere/.ssh'),
    ])
      expect(() => named({ reads: [path] }), path).toThrow(/leads through a link|whole home/);
  });

  test('[BND2.13] a link in the home that leads to what is hidden is refused', async () => {
    await symlink(at('repo'), join(home, '.sneaky'));
    await symlink('/', join(home, '.root'));
    for (const name of ['.sneaky', '.root'])
      expect(() => named({ reads: [join(home, name)] }), name).toThrow(/The config names/);
  });

  test('[BND2.13] what lies in a folder that can be written is part of it', async () => {
    await writeFile(join(home, '.agent/token'), '');
    expect(
      named({
        writes: [join(home, '.agent'), join(home, '.agent/token')],
        reads: [join(home, '.agent/token')],
      }),
    ).toEqual([{ kind: 'write', at: join(home, '.agent'), from: join(home, '.agent') }]);
  });
});

describe('limits', () => {
  test('[BND2.10] there are some for everybody, and they can be set', () => {
    const limits = limitsOf({ processes: 7 }, 1_000);
    expect(limits.processes).toBe(7);
    expect(limits.openFiles).toBe(1_000);
    expect(limits.memoryBytes).toBeGreaterThan(1024 ** 2);
    expect(limits.fileBytes).toBeGreaterThan(1024 ** 3);
  });

  test('[BND2.10] nonsense is refused', () => {
    for (const value of [0, -1, 1.5, Number.NaN, Infinity])
      expect(() => limitsOf({ processes: value }), String(value)).toThrow(/whole number/);
  });
});
