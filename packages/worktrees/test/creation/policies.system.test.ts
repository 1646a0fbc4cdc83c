import { existsSync } from 'node:fs';
import { chmod, link, mkdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  broughtBy,
  findRepository,
  openCheckout,
  removeCheckout,
  resolveStart,
  setUpCheckout,
  type SetupRunner,
} from '@reveille/worktrees';
import { leftovers, nothingIsLeft } from './contract.ts';
import { asPerson, make, Scratch } from './scratch.ts';

describe('a dirty checkout', () => {
  it('[WKT3.1] is refused by default, with the files, at most 20 of them', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ 'a.txt': 'a\n', '.gitignore': 'ignored\n' });
    await scratch.write('repo/ignored', 'x');
    await make(root);
    await scratch.write('repo/a.txt', 'changed\n');
    await scratch.write('repo/new folder/ü.txt', 'new\n');
    await expect(make(root)).rejects.toMatchObject({
      code: 'dirty_checkout',
      message:
        '2 uncommitted files (a.txt, new folder/). Commit or stash them, or run with --dirty head or --dirty snapshot.',
      data: { files: ['a.txt', 'new folder/'], count: 2 },
    });
    for (let i = 0; i < 30; i += 1) await scratch.write(`repo/f${i}`, '');
    await expect(make(root)).rejects.toMatchObject({
      data: { files: expect.toSatisfy((files: string[]) => files.length === 20), count: 32 },
      message: expect.stringMatching(/and 12 more/),
    });
  });

  it('[WKT3.1] is not dirty for what the person ignores everywhere, or when a branch is named', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await scratch.write('home/.config/git/ignore', '.DS_Store\n');
    await scratch.write('repo/.DS_Store', '');
    await scratch.write('repo/.git/info/exclude', 'notes\n');
    await scratch.write('repo/notes', '');
    const { checkout } = await make(root);
    await scratch.write('repo.worktrees/plan-task/.DS_Store', '');
    await scratch.write('repo.worktrees/plan-task/notes', '');
    expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
    await scratch.write('repo/dirty', '');
    await make(root, { branch: 'main' });
  });

  it('[WKT3.2] is left out with `head`', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await scratch.write('repo/a.txt', 'changed\n');
    await scratch.write('repo/new.txt', 'new\n');
    const { checkout } = await make(root, { dirty: 'head' });
    expect(await readFile(join(checkout.path, 'a.txt'), 'utf8')).toBe('a\n');
    expect(existsSync(join(checkout.path, 'new.txt'))).toBe(false);
  });

  it('[WKT3.3] is the start with `snapshot`: all that is not ignored, and nothing of it is touched', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({
      'a.txt': 'a\n',
      'b.txt': 'b\n',
      'gone.txt': 'x\n',
      '.gitignore': 'ignored\n',
    });
    await scratch.write('repo/a.txt', 'staged\n');
    await asPerson(root, 'add', 'a.txt');
    await scratch.write('repo/a.txt', 'and changed\n');
    await scratch.write('repo/b.txt', 'changed\n');
    await scratch.write('repo/deep/new.txt', 'new\n');
    await scratch.write('repo/ignored', 'ignored\n');
    await rm(join(root, 'gone.txt'));
    const look = async (): Promise<unknown> => [
      await readFile(join(root, '.git/index')),
      (await stat(join(root, '.git/index'))).mtimeMs,
      await asPerson(root, 'stash', 'list'),
      await readFile(join(root, '.git/logs/HEAD'), 'utf8'),
      await asPerson(root, 'for-each-ref', 'refs/heads/main'),
    ];
    const before = await look();
    const { checkout } = await make(root, { dirty: 'snapshot' });
    expect(await look()).toEqual(before);
    expect(await asPerson(checkout.path, 'diff', '--name-status', 'main')).toBe(
      'M\ta.txt\nM\tb.txt\nA\tdeep/new.txt\nD\tgone.txt\n',
    );
    expect(await readFile(join(checkout.path, 'a.txt'), 'utf8')).toBe('and changed\n');
    expect(await asPerson(checkout.path, 'status', '--porcelain')).toBe('');
    expect(await asPerson(checkout.path, 'log', '-1', '--format=%an %ae %s')).toBe(
      'Person person@example.org The checkout as it was, uncommitted changes included\n',
    );
    expect(await asPerson(root, 'status', '--porcelain')).toBe('MM a.txt\n M b.txt\n D gone.txt\n?? deep/\n');
    await asPerson(root, 'gc', '-q', '--prune=now');
    expect(await asPerson(checkout.path, 'cat-file', '-t', checkout.start)).toBe('commit\n');
  });

  it('[WKT3.4] in the middle of a merge is no start for a snapshot', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    await asPerson(root, 'checkout', '-qb', 'other');
    await scratch.commit(root, { 'a.txt': 'other\n' });
    await asPerson(root, 'checkout', '-q', 'main');
    await scratch.commit(root, { 'a.txt': 'main\n' });
    await asPerson(root, 'merge', 'other').catch(() => undefined);
    const repository = await findRepository(root, { home: null });
    await expect(resolveStart(repository, { dirty: 'snapshot' })).rejects.toMatchObject({
      code: 'dirty_checkout',
      message: expect.stringMatching(/middle of a merge/),
      data: { files: ['a.txt'] },
    });
    expect((await resolveStart(repository, { dirty: 'head' })).branch).toBe('main');
  });

  it('[WKT1.12] may be on no branch; a start may be a branch of a remote, or a tag', async () => {
    await using scratch = await Scratch.make();
    const origin = await scratch.repository(undefined, 'origin');
    await asPerson(origin, 'branch', 'topic');
    const root = join(scratch.path, 'repo');
    await asPerson(scratch.path, 'clone', '-q', origin, root);
    await asPerson(root, 'tag', '-am', 'a tag', 'v1');
    await asPerson(root, 'checkout', '-q', '--detach');
    const repository = await findRepository(root, { home: null });
    const commit = (await asPerson(root, 'rev-parse', 'HEAD')).trim();
    expect(await resolveStart(repository, { dirty: 'fail' })).toMatchObject({ commit, branch: null });
    for (const branch of ['topic', 'origin/topic', 'v1'])
      expect(await resolveStart(repository, { branch, dirty: 'fail' })).toMatchObject({ commit, branch });
  });
});

describe('ignored files', () => {
  const FILES = { '.gitignore': '.env*\n.claude/\nnode_modules/\nsecrets/\n*.local\n', 'a.txt': 'a\n' };

  it('[WKT4.1] that agents need are copied: .claude, .env*, and what .worktreeinclude and the settings name', async () => {
    await using scratch = await Scratch.make();
    const include = '# comment\nsecrets/*.key\n!secrets/b.key\n\n';
    const root = await scratch.repository({ ...FILES, '.worktreeinclude': include });
    for (const path of ['.env', '.env.test', 'pkg/.env', '.claude/settings.local.json', '.claude/deep/x'])
      await scratch.write(`repo/${path}`, path);
    for (const path of [
      'secrets/a.key',
      'secrets/b.key',
      'secrets/other',
      'x.local',
      'y.local',
      'node_modules/p/.env',
    ])
      await scratch.write(`repo/${path}`, path);
    await chmod(join(root, '.env'), 0o600);
    const { checkout, notices } = await make(root, { settings: { copy: ['x.local'], include } });
    expect(await asPerson(checkout.path, 'status', '--porcelain', '--ignored', '-uall')).toBe(
      [
        '.claude/deep/x',
        '.claude/settings.local.json',
        '.env',
        '.env.test',
        'pkg/.env',
        'secrets/a.key',
        'x.local',
        '',
      ]
        .map((path) => (path === '' ? '' : `!! ${path}`))
        .join('\n'),
    );
    expect(await readFile(join(checkout.path, 'pkg/.env'), 'utf8')).toBe('pkg/.env');
    expect((await stat(join(checkout.path, '.env'))).mode & 0o777).toBe(0o600);
    expect(notices).toEqual([]);
  });

  it('[BND5.8] that .worktreeinclude names are not copied unless it is trusted as it is now, and that is said', async () => {
    await using scratch = await Scratch.make();
    const text = 'secrets/\n';
    const root = await scratch.repository({ ...FILES, '.worktreeinclude': text });
    await scratch.write('repo/secrets/a.key', 'a');
    await scratch.write('repo/.env', 'e');
    for (const include of [null, 'x.local\n']) {
      const { checkout, notices } = await make(root, { settings: { include }, id: `task_${include}` });
      expect(existsSync(join(checkout.path, 'secrets'))).toBe(false);
      expect(existsSync(join(checkout.path, '.env'))).toBe(true);
      expect(notices.join()).toMatch(/not trusted it as it is now \(reveille init/);
    }
    const { checkout, notices } = await make(root, { settings: { include: text }, id: 'task_trusted' });
    expect(existsSync(join(checkout.path, 'secrets/a.key'))).toBe(true);
    expect(notices).toEqual([]);
    expect(await broughtBy(await findRepository(root, { home: null }))).toEqual([
      {
        item: { kind: 'files', name: '.worktreeinclude', content: text },
        path: '.worktreeinclude',
        means: [expect.stringMatching(/this file would be copied/), '  secrets/a.key'],
      },
    ]);
  });

  it('[BND5.8] a .worktreeinclude that is a link is not read', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    await scratch.write('patterns', 'secrets/\n');
    await scratch.write('repo/secrets/a.key', 'a');
    await symlink(join(scratch.path, 'patterns'), join(root, '.worktreeinclude'));
    expect(await broughtBy(await findRepository(root, { home: null }))).toEqual([]);
  });

  it('[WKT4.8] an agent that only reads is given no .env', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    for (const path of ['.env', '.env.test', '.claude/x', 'x.local'])
      await scratch.write(`repo/${path}`, path);
    const { checkout } = await make(root, { readOnly: true, settings: { copy: ['x.local'] } });
    const copied = ['.env', '.env.test', '.claude/x', 'x.local'].filter((path) =>
      existsSync(join(checkout.path, path)),
    );
    expect(copied).toEqual(['.claude/x', 'x.local']);
  });

  it('[WKT4.1] are the same ones whether the checkout was looked at as a whole or only for them', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ '.gitignore': '.env*\nbuilt/\n*.log\n', 'tracked/t.txt': 't\n' });
    const ignored = ['.env', 'tracked/.env.local', 'new/.env', 'new/deep/x.log', 'logs/y.log', 'built/b'];
    for (const path of [...ignored, 'new/plain.txt']) await scratch.write(`repo/${path}`, path);
    const found: string[][] = [];
    for (const dirty of ['head', 'snapshot'] as const) {
      const { checkout } = await make(root, { dirty, settings: { copy: ['logs/', 'built/b', 'new/deep'] } });
      const paths = [];
      for (const path of ignored) if (existsSync(join(checkout.path, path))) paths.push(path);
      found.push(paths);
    }
    expect(found).toEqual([ignored, ignored]);
  });

  it('[WKT4.2] never lead out of the repository, or into a git directory', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    await scratch.write('outside/secret', 'secret');
    await mkdir(join(root, '.claude/nested'), { recursive: true });
    await symlink('../../outside/secret', join(root, '.claude/relative'));
    await symlink(join(scratch.path, 'outside'), join(root, '.claude/absolute'));
    await symlink('../.git/config', join(root, '.claude/git'));
    await symlink('../a.txt', join(root, '.claude/inside'));
    await asPerson(join(root, '.claude/nested'), 'init', '-q');
    await link(join(scratch.path, 'outside/secret'), join(root, '.env'));
    const { checkout, notices } = await make(root);
    expect(notices).toEqual([expect.stringMatching(/lead out of the repository/)]);
    for (const name of ['relative', 'absolute', 'git']) expect(notices[0]).toMatch(`.claude/${name}`);
    expect(await readlink(join(checkout.path, '.claude/inside'))).toBe('../a.txt');
    expect(existsSync(join(checkout.path, '.claude/nested'))).toBe(false);
    await writeFile(join(checkout.path, '.env'), 'mine');
    expect(await readFile(join(scratch.path, 'outside/secret'), 'utf8')).toBe('secret');
  });

  it('[WKT4.2] are not written through a link, or over a file, of the commit', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ 'a.txt': 'a\n' });
    await mkdir(join(scratch.path, 'outside'));
    await symlink(join(scratch.path, 'outside'), join(root, 'conf'));
    await scratch.commit(root, { '.env': 'of the commit\n' });
    await asPerson(root, 'checkout', '-qb', 'now');
    await asPerson(root, 'rm', '-q', 'conf', '.env');
    await scratch.commit(root, { '.gitignore': '.env\n' });
    await scratch.write('repo/conf/.env', 'mine');
    await scratch.write('repo/.env', 'mine');
    await scratch.write('home/.config/git/ignore', '.env\n');
    const { checkout, notices } = await make(root, { branch: 'main' });
    expect(existsSync(join(scratch.path, 'outside/.env'))).toBe(false);
    expect(await readFile(join(checkout.path, '.env'), 'utf8')).toBe('of the commit\n');
    expect(notices).toEqual([expect.stringMatching(/conf\/\.env/)]);
  });

  it('[WKT4.3] are copied up to a size, and what was left out is said', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository(FILES);
    await scratch.write('repo/.env', 'small');
    await scratch.write('repo/.env.big', 'x'.repeat(2_000));
    const { checkout, notices } = await make(root, { settings: { copyLimit: 1_000 } });
    expect(existsSync(join(checkout.path, '.env'))).toBe(true);
    expect(existsSync(join(checkout.path, '.env.big'))).toBe(false);
    expect(notices).toEqual([expect.stringMatching(/up to 1000 bytes; left out: \.env\.big/)]);
  });

  it('[WKT4.4] are only those that git ignores, here and in the commit', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ 'a.txt': 'a\n' });
    await asPerson(root, 'checkout', '-qb', 'now');
    await scratch.commit(root, { '.gitignore': '.env\n' });
    await scratch.write('repo/.env', 'secret');
    await scratch.write('repo/.env.untracked', 'not ignored');
    const { checkout, notices } = await make(root, { branch: 'main', dirty: 'head' });
    expect(await asPerson(checkout.path, 'status', '--porcelain', '--ignored')).toBe('');
    expect(notices).toEqual([expect.stringMatching(/does not ignore them: \.env\./)]);
  });
});

describe('a set-up command', () => {
  const setup = { command: 'make ready', lockFiles: ['lock.json'], movable: false };

  it('[WKT4.5] runs in the worktree in its place, with its environment, and is shown', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    const shown: string[] = [];
    const runSetup: SetupRunner = async (command, { cwd, env, checkout, onOutput }) => {
      expect(command).toBe('make ready');
      expect(cwd).toBe(`${root}.worktrees/plan-task`);
      expect(checkout.path).toBe(cwd);
      expect(Number(env['REVEILLE_PORT_BASE'])).toBeGreaterThan(1_024);
      await writeFile(join(cwd, 'made'), '');
      onOutput('one\n');
      onOutput('two\n');
      return { code: 0 };
    };
    const { checkout, notices } = await make(root, {
      settings: { setup },
      runSetup,
      onSetupOutput: (text) => shown.push(text),
    });
    expect(existsSync(join(checkout.path, 'made'))).toBe(true);
    expect(shown).toEqual(['one\n', 'two\n']);
    expect(notices).toEqual(['The set-up command "make ready" has passed. It ended with:\none\ntwo']);
    expect(await readFile(join(checkout.room, 'setup.log'), 'utf8')).toBe('one\ntwo\n');
  });

  it('[WKT4.5] that fails, fails the creation with its last words, and nothing is left', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    for (const kind of ['clone', 'linked'] as const) {
      const making = make(root, {
        settings: { setup, kind },
        runSetup: async (_command, { onOutput }) => {
          onOutput(`${'x'.repeat(10_000)}\nno such package\n`);
          return { code: 7 };
        },
      });
      await expect(making).rejects.toMatchObject({
        code: 'workspace_failed',
        message: expect.stringMatching(/ended with 7.*no such package$/s),
        data: { reason: 'setup', code: 7 },
      });
      await nothingIsLeft(root);
    }
    await expect(make(root, { settings: { setup } })).rejects.toMatchObject({ code: 'workspace_failed' });
    await nothingIsLeft(root);
  });

  it('[WKT4.6] runs again only for other lock files or another command', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ 'lock.json': '1' });
    let runs = 0;
    const run: SetupRunner = async () => {
      runs += 1;
      return { code: 0 };
    };
    const { checkout, environment, repository } = await make(root, { settings: { setup }, runSetup: run });
    const known = await openCheckout(repository, checkout.name);
    const again = { setup, run, environment };
    expect(runs).toBe(1);
    expect(await setUpCheckout(known!, again)).toBe(false);
    await writeFile(join(checkout.path, 'lock.json'), '2');
    expect(await setUpCheckout(checkout, again)).toBe(true);
    expect(await setUpCheckout(checkout, again)).toBe(false);
    expect(await setUpCheckout(checkout, { ...again, setup: { ...setup, command: 'other' } })).toBe(true);
    // An agent may have put a pipe there, which nobody will ever write to.
    await rm(join(checkout.path, 'lock.json'));
    await asPerson(checkout.path, '-c', 'alias.pipe=!mkfifo lock.json', 'pipe');
    expect(await setUpCheckout(checkout, again)).toBe(true);
    expect(runs).toBe(4);
  });

  it('[WKT4.6] goes by the usual lock files if none are named', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository({ 'package-lock.json': '1', 'other.json': '1' });
    const run: SetupRunner = async () => ({ code: 0 });
    const usual = { ...setup, lockFiles: [] };
    const { checkout, environment } = await make(root, { settings: { setup: usual }, runSetup: run });
    const again = { setup: usual, run, environment };
    await writeFile(join(checkout.path, 'other.json'), '2');
    expect(await setUpCheckout(checkout, again)).toBe(false);
    await writeFile(join(checkout.path, 'package-lock.json'), '2');
    expect(await setUpCheckout(checkout, again)).toBe(true);
  });
});

describe('ports', () => {
  it('[WKT4.7] are never shared by two worktrees, and free again when one is removed', async () => {
    await using scratch = await Scratch.make();
    const root = await scratch.repository();
    const ports = { first: 20_000, last: 20_014, each: 5 };
    const taken = await Promise.all(['a', 'b', 'c'].map((task) => make(root, { task, settings: { ports } })));
    const firsts = taken.map(({ environment }) => Number(environment['REVEILLE_PORT_BASE']));
    expect(firsts.toSorted((a, b) => a - b)).toEqual([20_000, 20_005, 20_010]);
    expect(taken[0]!.environment['REVEILLE_PORT_COUNT']).toBe('5');
    await expect(make(root, { settings: { ports } })).rejects.toMatchObject({
      code: 'limit_reached',
      data: { limit: 'ports' },
    });
    await (
      await removeCheckout(taken[1]!.checkout)
    ).deleted;
    const next = await make(root, { settings: { ports } });
    expect(Number(next.environment['REVEILLE_PORT_BASE'])).toBe(firsts[1]);
    for (const { checkout } of [taken[0]!, taken[2]!, next]) await (await removeCheckout(checkout)).deleted;
    expect(await leftovers(next)).toEqual([]);
  });
});
