import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findRepository } from '@reveille/worktrees';
import { configText } from '../../src/creation/git-dirs.ts';
import { isRefName, namesFor } from '../../src/creation/names.ts';
import { nothingIsLeft } from './contract.ts';
import { asPerson, make, personIsWell, Scratch } from './scratch.ts';

const HOME = { home: null };

describe('a repository', () => {
  it('[WKT1.11] is found from any folder in it, through links, and in a linked worktree of the person', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ 'src/deep/a.txt': 'a' });
    await symlink(join(root, 'src'), join(scratch.path, 'shortcut'));
    const found = await findRepository(join(scratch.path, 'shortcut', 'deep'), HOME);
    expect(found).toMatchObject({ root, gitDir: join(root, '.git'), home: `${root}.worktrees` });
    await asPerson(root, 'worktree', 'add', '-q', join(scratch.path, 'second'));
    expect(
      await findRepository(join(scratch.path, 'second'), { home: join(scratch.path, 'here') }),
    ).toMatchObject({
      root: join(scratch.path, 'second'),
      gitDir: join(root, '.git'),
      headDir: join(root, '.git', 'worktrees', 'second'),
      home: join(scratch.path, 'here'),
    });
    const { checkout } = await make(join(scratch.path, 'second'));
    expect(await asPerson(checkout.path, 'diff', 'second', '--stat')).toBe('');
  });

  it('[WKT1.11] is refused, with what to do about it, where tasks cannot work', async () => {
    await using scratch = await Scratch.make();
    await mkdir(join(scratch.path, 'nothing'));
    await mkdir(join(scratch.path, 'empty'));
    await asPerson(join(scratch.path, 'empty'), 'init', '-q');
    await asPerson(scratch.path, 'init', '-q', '--bare', 'bare.git');
    const root = await scratch.repository();
    await scratch.write('broken/.git', 'gitdir: /not/there\n');
    const cases: [path: string, words: RegExp][] = [
      ['not-there', /does not exist/],
      ['nothing', /is not in a git repository.*git init/],
      ['empty', /has no commits.*Commit something first/],
      ['bare.git', /is a bare repository/],
      ['repo/.git', /lies in a git directory/],
      ['repo/.git/objects', /lies in a git directory/],
      ['broken', /which is not there/],
    ];
    for (const [path, words] of cases) {
      const finding = findRepository(join(scratch.path, path), HOME);
      await expect(finding, path).rejects.toMatchObject({
        code: 'not_a_repository',
        message: expect.stringMatching(words),
      });
    }
    for (const home of [root, join(root, 'worktrees'), 'relative'])
      await expect(findRepository(root, { home })).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('[WKT1.11] is not a worktree that we made', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ 'src/a.txt': 'a' });
    for (const kind of ['clone', 'linked'] as const) {
      const { checkout } = await make(root, { settings: { kind } });
      const finding = findRepository(join(checkout.path, 'src'), HOME);
      await expect(finding).rejects.toMatchObject({
        code: 'not_a_repository',
        message: expect.stringMatching(/worktree that Reveille made/),
      });
    }
  });

  it('[WKT1.11] needs a git that is new enough', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    const before = process.env['PATH'];
    try {
      await scratch.write('bin/git', '#!/bin/sh\necho "git version 2.37.9"\n');
      await chmod(join(scratch.path, 'bin/git'), 0o755);
      process.env['PATH'] = `${join(scratch.path, 'bin')}${delimiter}${before}`;
      const old = {
        code: 'git_too_old',
        message: expect.stringMatching(/2\.37\.9.*2\.38/),
        data: { version: '2.37.9', needs: '2.38' },
      };
      await expect(findRepository(root, HOME)).rejects.toMatchObject(old);
      process.env['PATH'] = join(scratch.path, 'nothing');
      const missing = {
        code: 'git_too_old',
        message: expect.stringMatching(/not on the PATH.*Install git 2\.38/),
      };
      await expect(findRepository(root, HOME)).rejects.toMatchObject(missing);
    } finally {
      process.env['PATH'] = before;
    }
  });

  it('[WKT1.9] that is a partial clone has linked worktrees, which is said, and what is missing is fetched', async () => {
    await using scratch = await Scratch.make();
    const origin = await scratch.repository({ 'a.txt': 'a\n' }, 'origin');
    await asPerson(origin, 'config', 'uploadpack.allowFilter', 'true');
    await asPerson(origin, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
    await asPerson(origin, 'checkout', '-qb', 'topic');
    await scratch.commit(origin, { 'b.txt': 'not fetched yet\n' });
    await asPerson(origin, 'checkout', '-q', 'main');
    const root = join(scratch.path, 'repo');
    await asPerson(scratch.path, 'clone', '-q', '--filter=blob:none', `file://${origin}`, root);
    const { checkout, notices } = await make(root, { branch: 'origin/topic' });
    expect(checkout.kind).toBe('linked');
    expect(notices.join()).toMatch(/partial clone/);
    expect(await readFile(join(checkout.path, 'b.txt'), 'utf8')).toBe('not fetched yet\n');
    expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
  });

  it('[WKT1.10] that is shallow is shared as it is', async () => {
    await using scratch = await Scratch.make();
    const origin = await scratch.repository({ 'a.txt': '1\n' }, 'origin');
    await scratch.commit(origin, { 'a.txt': '2\n' });
    const root = join(scratch.path, 'repo');
    await asPerson(scratch.path, 'clone', '-q', '--depth=1', `file://${origin}`, root);
    const { checkout } = await make(root);
    expect(checkout.kind).toBe('clone');
    expect(await asPerson(checkout.path, 'log', '--format=%s')).toBe('files\n');
    await asPerson(checkout.path, 'commit', '--allow-empty', '-qm', 'work');
    await asPerson(checkout.path, 'fsck', '--strict');
    await personIsWell(root);
  });

  it('[WKT1.10] with another hash, with a name that needs quoting, and that borrows objects is shared too', async () => {
    await using scratch = await Scratch.make();
    const lender = join(scratch.path, '"a #:b');
    await asPerson(scratch.path, 'init', '-q', '-b', 'main', '--object-format=sha256', lender);
    await scratch.commit(lender, { 'a.txt': 'a\n' });
    const root = join(scratch.path, '#odd "name\n');
    await asPerson(scratch.path, 'clone', '-q', '--shared', lender, root);
    const { checkout } = await make(root);
    expect(checkout.start).toMatch(/^[0-9a-f]{64}$/);
    expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
    await asPerson(checkout.path, 'commit', '--allow-empty', '-qm', 'work');
    expect(await asPerson(checkout.path, '--git-dir', checkout.ownGitDir, 'cat-file', '-t', 'HEAD')).toBe(
      'commit\n',
    );
    await asPerson(checkout.path, 'fsck', '--strict');
  });

  it('[WKT1.10] with submodules, LFS or filters gives worktrees without them, which is said', async () => {
    await using scratch = await Scratch.make();
    const inner = await scratch.repository({ 'x.txt': 'x\n' }, 'inner');
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n';
    const root = await scratch.repository({
      '.gitattributes': '*.bin filter=lfs diff=lfs\n*.key filter=crypt\n',
      'big.bin': pointer,
    });
    await asPerson(root, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'inner');
    await scratch.commit(root, {});
    const { checkout, notices } = await make(root);
    expect(notices).toEqual([
      expect.stringMatching(/submodules/),
      expect.stringMatching(/Git LFS/),
      expect.stringMatching(/Filters/),
    ]);
    expect(await readFile(join(checkout.path, 'big.bin'), 'utf8')).toBe(pointer);
    expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
  });

  it('[WKT1.10] with a list of submodules that is made to be slow holds nobody up', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ '.gitmodules': '\n'.repeat(900_000) });
    const { notices } = await make(root);
    expect(notices).toEqual([]);
  });

  it('[WKT1.10] has its files checked out as the person’s config says', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ 'a.txt': 'a\nb\n' });
    await asPerson(root, 'config', '--global', 'core.autocrlf', 'true');
    const { checkout } = await make(root, { dirty: 'head' });
    expect(await readFile(join(checkout.path, 'a.txt'), 'utf8')).toBe('a\r\nb\r\n');
    expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
  });
});

describe('names, as git sees them', () => {
  it('[WKT1.5][WKT1.6] can all be branches of one repository', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', 'a', 'A'),
    );
    const samples = fc.sample(fc.record({ plan: text, task: text }), 300);
    const branches = samples.map(({ plan, task }, i) => {
      const names = namesFor({ plan, task, id: `task_${i}` }, 'reveille');
      return [names.next().value, names.next().value][i % 2]?.branch ?? '';
    });
    const commands = [...new Set(branches)].map((branch) => `create refs/heads/${branch} HEAD\n`).join('');
    await writeFile(join(scratch.path, 'commands'), commands);
    await asPerson(root, '-c', 'alias.make=!git update-ref --stdin <../commands', 'make');
    const made = await asPerson(root, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/reveille');
    expect(new Set(made.trim().split('\n'))).toEqual(new Set(branches));
  });

  it('[WKT1.12] of branches are told from what is none as git does', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    const odd = [
      'main',
      'a/b',
      'a..b',
      'a~1',
      'a^',
      'a:b',
      '@{-1}',
      'a@{1}',
      '-x',
      '.a',
      'a/.b',
      'a.lock',
      'a.lock/b',
      'a//b',
      'a/',
      '/a',
      'a.',
      'a b',
      'a\\b',
      'a?',
      'a*',
      'a[',
      'a\u007f',
      'ü',
      '漢',
      'a@b',
      'x'.repeat(200),
    ];
    for (const name of odd) {
      const agrees = await asPerson(root, 'check-ref-format', '--branch', name).then(
        () => !name.startsWith('@{'),
        () => false,
      );
      expect(isRefName(name), name).toBe(agrees);
    }
  });

  it('[WKT1.10] and authors are written to a config as they are', async () => {
    await using scratch = await Scratch.make();
    const values = [...fc.sample(fc.string({ unit: 'grapheme' }), 40), '"', '\\', ' x ', '#;', 'a\nb', '\t'];
    for (const value of values.map((text) => text.replaceAll(/[\0\r\b]/g, ''))) {
      await scratch.write('config', configText([['user.name', value]]));
      expect(await asPerson(scratch.path, 'config', '--file', 'config', '-z', 'user.name')).toBe(
        `${value}\0`,
      );
    }
  });
});

describe('what goes wrong', () => {
  it('[WKT1.12] a base branch that is gone is an error that names it', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    for (const branch of ['gone', 'main~1', '../../x', '-x', 'main\0', '', 'main^{/..}'])
      await expect(make(root, { branch })).rejects.toMatchObject({ code: 'not_found', data: { branch } });
    await nothingIsLeft(root);
  });

  it('[WKT1.12] a commit that is not there is an error, and nothing is left', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await expect(make(root, { commit: '1'.repeat(40) })).rejects.toMatchObject({ code: 'workspace_failed' });
    await nothingIsLeft(root);
  });

  it('[WKT1.8] a branch where all branches should be is an error that names it', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await asPerson(root, 'branch', 'reveille');
    await expect(make(root)).rejects.toMatchObject({
      code: 'workspace_failed',
      data: { branch: 'reveille' },
    });
    const { checkout } = await make(root, { settings: { branchPrefix: 'agents/x' } });
    expect(checkout.branch).toBe('agents/x/plan/task');
  });

  it('[WKT1.13] a home that is a file is an error', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await scratch.write('file', '');
    await expect(make(root, { settings: { home: join(scratch.path, 'file', 'x') } })).rejects.toMatchObject({
      code: 'workspace_failed',
    });
    await nothingIsLeft(root);
  });
});
