import { spawnSync } from 'node:child_process';
import { linkSync, lstatSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDoor } from '../../src/door/door.ts';
import { PROTECTED_NAMES } from '../../src/door/protected.ts';
import { all, makePipe, makeWorld, outcome, outcomes, type World } from './world.ts';

/** Every call on every path ends so, and nothing has changed anywhere. */
async function expectRefused(world: World, paths: readonly string[], end: string): Promise<void> {
  const before = { canary: world.canary(), tree: world.tree() };
  const ends: Record<string, unknown> = {};
  for (const path of paths) ends[path] = await outcomes(world.door, path);
  expect(ends).toEqual(Object.fromEntries(paths.map((path) => [path, all(end)])));
  expect({ canary: world.canary(), tree: world.tree() }).toEqual(before);
}

describe.each(['descriptor', 'path'] as const)('a door by %s', (way) => {
  test('[BND1][BND1.1][BND1.17] no path leads out by its words', async () => {
    using world = makeWorld({ way });
    const { base, root, outside } = world;
    const paths = [
      '..',
      '../',
      '../outside/a.txt',
      'src/../../outside/a.txt',
      'a/b/../../../x',
      './..',
      'src/deep/../../..',

      'nope/../../outside/a.txt',
      '../wt-evil/a.txt',
      '../wt/src/a.txt',
      `../${basename(base)}`,
      '/',
      '/etc/passwd',
      '//etc/passwd',
      '/proc/self/cwd/src/a.txt',
      '/proc/self/root/etc/passwd',
      '/dev/zero',

      '/proc/self/environ',
      `/proc/${process.pid}/cwd`,
      '/proc/self/fd/0',
      '/proc/thread-self/root',
      outside,
      join(outside, 'a.txt'),
      `${root}-evil/a.txt`,
      `${root}/../outside/a.txt`,
      `${root}/..`,
      base,

      `${root}x`,
      `/${'../'.repeat(30)}etc/passwd`,
      `${root}/src/../../wt-evil/a.txt`,
    ];
    await expectRefused(world, paths, 'not_allowed outside');
  });

  test('[BND1.1] an absolute path inside the root is the same as a relative one', async () => {
    using world = makeWorld({ way });
    for (const path of [
      join(world.root, 'src/a.txt'),
      `${world.root}//src/./deep/../a.txt`,
      `${world.root}/../wt/src/a.txt`,
      'src/deep/../a.txt',
      './src//a.txt',
    ])
      expect((await world.door.readFile(path)).path).toBe('src/a.txt');
    expect((await world.door.listDirectory(world.root)).path).toBe('');
  });

  test('[BND1.2] what is no plain path is refused before anything is looked at', async () => {
    using world = makeWorld({ way });
    const paths = [
      'src/a.txt\0',
      '\0',
      'src/\0/a.txt',
      'a\nb',
      'a\u001b[31m',
      'a\u007f',
      'a\u0085b',
      'file:src/a.txt',
      'file:///etc/passwd',
      'FILE:///etc/passwd',
      'file://localhost/etc/passwd',
      'http://x/y',

      'vscode-remote://x',
      'C:/Windows',
      'c:\\Windows',
      '\\\\server\\share',
      '..\\..\\etc',
      'src\\a.txt',
      '~',
      '~/x',
      '~root/x',
      '$HOME',
      '$HOME/x',
      '${HOME}/x',
      '%USERPROFILE%/x',
      '%TEMP%',
      '\ud800',
      'src/\udfff.txt',
      'a'.repeat(256),
      'ä'.repeat(128),
      'a/'.repeat(2_100),
      `${'a/'.repeat(300)}b`,

      'x'.repeat(100_000),
    ];
    await expectRefused(world, paths, 'not_allowed malformed');
    // @ts-expect-error What is not even a string comes from a model that ignored the schema.
    expect(await outcome(world.door.readFile(undefined))).toBe('not_allowed malformed');
  });

  test('[BND1.2] names that only look strange are names', async () => {
    using world = makeWorld({ way });
    const paths = [
      '$id.txt',
      'a b',
      '~lock.txt',
      '-x',
      '--',
      '日本語',
      '…',
      'a:b',
      '%20',
      '*',
      'ä'.repeat(127),
      '.a',
    ];
    for (const path of paths) expect(await outcome(world.door.writeFile(path, path))).toBe('ok');
    for (const path of paths) expect((await world.door.readFile(path)).text()).toBe(path);
  });

  test('[BND1.3] a link that leads out is refused, also as a folder on the way, in a chain, or to nothing', async () => {
    using world = makeWorld({ way });
    const through = [
      'out-dir/a.txt',
      'out-dir/new.txt',
      'out-dir/sub/b.txt',
      'out-dir/new/x.txt',
      'out-abs/a.txt',
    ];
    const chains = ['out-evil/a.txt', 'out-chain/a.txt', 'chain/one/a.txt', 'out-proc/x', 'out-round/a.txt'];
    const up = ['src/to-root/out-dir/a.txt', 'in-dir/to-root/out-abs/a.txt'];
    await expectRefused(world, [...through, ...chains, ...up], 'not_allowed outside');
    for (const path of ['out-chain', 'out-dir', 'out-file', 'out-abs', 'out-new', 'out-proc']) {
      const before = world.canary();
      expect(await outcome(world.door.readFile(path))).toBe('not_allowed outside');
      expect(await outcome(world.door.writeFile(path, 'x'))).toBe('not_allowed outside');
      expect(await outcome(world.door.stat(path))).toBe('not_allowed outside');
      expect(await outcome(world.door.listDirectory(path))).toBe('not_allowed outside');
      expect(await outcome(world.door.makeDirectory(path))).toBe('not_allowed outside');
      expect(await outcome(Array.fromAsync(world.door.walk(path)))).toBe('not_allowed outside');
      expect(await outcome(world.door.move('README.md', path))).toBe('wrong_state');
      expect(await outcome(world.door.move(path, 'moved.txt'))).toBe('not_allowed kind');
      // The link itself may be removed, and nothing else is.
      expect(await outcome(world.door.deleteFile(path))).toBe('ok');
      expect(lstatSync(join(world.root, path), { throwIfNoEntry: false })).toBeUndefined();
      expect(world.canary()).toEqual(before);
    }
  });

  test('[BND1.3] links that lead nowhere, in circles, or through too many others are refused', async () => {
    using world = makeWorld({ way });
    for (let i = 0; i < 45; i += 1)
      symlinkSync(i === 0 ? 'src' : `many-${i - 1}`, join(world.root, `many-${i}`));
    expect(await outcome(world.door.readFile('many-39/a.txt'))).toBe('ok');
    expect(await outcome(world.door.readFile('many-40/a.txt'))).toBe('not_allowed links');
    expect(await outcome(world.door.readFile('loop-a'))).toBe('not_allowed links');
    expect(await outcome(world.door.writeFile('loop-a/x', 'x'))).toBe('not_allowed links');
    expect(await outcome(world.door.readFile('in-new'))).toBe('not_found');
    // Each asks for a thousand folders more than the last, all of them inside.
    symlinkSync('src/../'.repeat(500), join(world.root, 'far-0'));
    for (let i = 1; i < 10; i += 1) symlinkSync(`far-${i - 1}/`.repeat(10), join(world.root, `far-${i}`));
    expect(await outcome(world.door.readFile('far-9/src/a.txt'))).not.toBe('ok');
    // No text we could show, compare or check.
    symlinkSync(Buffer.from([0x73, 0xff]), join(world.root, 'bytes'));
    expect(await outcome(world.door.writeFile('bytes', 'x'))).toBe('not_allowed outside');
  });

  test('[BND1.5] a file with a second name is read and not written', async () => {
    using world = makeWorld({ way });
    const before = world.canary();
    expect((await world.door.readFile('hard.txt')).text()).toContain('secret');
    expect(await outcome(world.door.writeFile('hard.txt', 'x'))).toBe('not_allowed hard_link');
    symlinkSync('hard.txt', join(world.root, 'to-hard'));
    expect(await outcome(world.door.writeFile('to-hard', 'x'))).toBe('not_allowed hard_link');
    await expect(world.door.writeFile('hard.txt', 'x')).rejects.toThrow(
      'has another name somewhere (a hard link)',
    );
    // To remove this name, or give it another, changes nothing for who shares the file.
    await world.door.move('hard.txt', 'other.txt');
    await world.door.deleteFile('other.txt');
    await world.door.writeFile('hard.txt', 'mine');
    expect(world.canary()).toEqual(before);
  });

  test('[BND1.6] pipes, sockets and devices are refused and nobody waits for them', async () => {
    using world = makeWorld({ way });
    makePipe(join(world.root, 'pipe'));
    const server = createServer().listen(join(world.root, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    // Only root may make one.
    const device =
      spawnSync('mknod', [join(world.root, 'device'), 'c', '1', '5']).status === 0 ? ['device'] : [];
    for (const path of ['pipe', 'socket', ...device]) {
      expect(await outcome(world.door.readFile(path))).toBe('not_allowed kind');
      expect(await outcome(world.door.writeFile(path, 'x'))).toBe('not_allowed kind');
      expect(await outcome(world.door.deleteFile(path))).toBe('not_allowed kind');
      expect(await outcome(world.door.move(path, 'x'))).toBe('not_allowed kind');
      expect(await outcome(world.door.listDirectory(path))).toBe('wrong_state');
      expect((await world.door.stat(path)).kind).toBe('other');
    }
    await new Promise((resolve) => server.close(resolve));
  });

  test("[BND1.7] git's own files are neither read nor written, by no spelling, in no repository", async () => {
    using world = makeWorld({ way });
    const names = [
      '.git',
      '.GIT',
      '.Git',
      '.git.',
      '.git ',
      '.git. .',
      '.git...',
      'git~1',
      'GIT~1',
      'git~2',
      '.g\u200cit',
      '.gi\u200dt',
      '\ufeff.git',
      '.git\u200e',
      '.\u202egit',
      '.g\u00adit',
      '.git\u2060',
      '.git:x',
      '.git::$INDEX_ALLOCATION',
      '.git ::$DATA',
      '．ｇｉｔ',
    ];
    const spelled = names.flatMap((name) => [`${name}/config`, `nested/${name}/config`, `new/${name}/x`]);
    const deep = [
      '.git/hooks/pre-commit',
      '.git/worktrees/x/commondir',
      '.git/config.worktree',
      '.git/index.lock',
    ];
    const linked = ['to-git/config', 'to-git/hooks/x', 'src/to-root/.git/config', 'to-git/new/x'];
    await expectRefused(world, [...names, ...spelled, ...deep, 'module/.git', ...linked], 'not_allowed git');
    expect(await outcome(world.door.writeFile('to-config', 'x'))).toBe('not_allowed git');
    expect(await outcome(world.door.readFile('to-config'))).toBe('not_allowed git');
  });

  test('[BND1.7] names that begin like it are files like others, and a nested repository has files too', async () => {
    using world = makeWorld({ way });
    const paths = [
      '.gitignore',
      '.gitattributes',
      '.gitmodules',
      '.github/workflows/x.yml',
      'a.git',
      'git',
      'legit',
    ];
    for (const path of [...paths, 'nested/code.txt', 'module/x', '.git-x', 'git~x'])
      expect(await outcome(world.door.writeFile(path, 'x'))).toBe('ok');
    const listed = await world.door.listDirectory('nested');
    expect(listed.entries.map(({ name }) => name)).toEqual(['code.txt']);
  });

  test('[BND1.8] node_modules is read and not written', async () => {
    using world = makeWorld({ way });
    // As pnpm lays it out.
    linkSync(join(world.root, 'node_modules/pkg/index.js'), join(world.root, 'node_modules/pkg/shared.js'));
    expect((await world.door.readFile('node_modules/pkg/shared.js')).text()).toBe('module.exports = 1');
    expect((await world.door.listDirectory('node_modules/pkg')).entries).toHaveLength(2);
    const paths = ['node_modules/pkg/index.js', 'node_modules/new/x', 'a/node_modules/x', 'Node_Modules/x'];
    for (const path of [...paths, 'node_modules', 'to-modules/pkg/index.js', 'to-modules/new/x']) {
      expect(await outcome(world.door.writeFile(path, 'x'))).toBe('not_allowed node_modules');
      expect(await outcome(world.door.deleteFile(path))).not.toBe('ok');
      expect(await outcome(world.door.move('README.md', path))).not.toBe('ok');
      expect(await outcome(world.door.makeDirectory(join(path, 'x')))).not.toBe('ok');
    }
    expect(world.tree()).toMatchObject({
      'README.md': 'read me',
      'node_modules/pkg/index.js': 'module.exports = 1',
    });
    expect(Object.keys(world.tree())).not.toContain('node_modules/new');
  });

  test('[BND1.9] settings that would run code are read and not written, made, removed or moved', async () => {
    using world = makeWorld({ way });
    const made = PROTECTED_NAMES.map(({ pattern }) => pattern.replaceAll('*', 'x'));
    const beneath = [
      '.claude/hooks/a.sh',
      '.cursor/mcp.json',
      '.husky/pre-commit',
      '.codex/config.toml',
      '.reveille/x',
    ];
    const spelled = [
      '.Claude/Settings.JSON',
      '.claude/settings.local.json',
      '.MCP.json',
      '.vscode/tasks.json.',
      '.envrc ',
    ];
    for (const path of [...made, ...beneath, ...spelled]) {
      for (const where of [path, `packages/one/${path}`]) {
        expect(await outcome(world.door.writeFile(where, 'x'))).toBe('not_allowed protected');
        expect(await outcome(world.door.deleteFile(where))).toBe('not_allowed protected');
        expect(await outcome(world.door.move('README.md', where))).toBe('not_allowed protected');
        expect(await outcome(world.door.makeDirectory(where))).toBe('not_allowed protected');
      }
    }
    expect(await outcome(world.door.move('.vscode/settings.json', 'x'))).toBe('not_allowed protected');
    expect(await outcome(world.door.writeFile('to-settings', 'x'))).toBe('not_allowed protected');
    expect((await world.door.readFile('to-settings')).text()).toBe('{}');
    await expect(world.door.writeFile('.mcp.json', 'x')).rejects.toThrow(
      'Agents start the MCP servers it names.',
    );
    const open = [
      'AGENTS.md',
      'CLAUDE.md',
      'package.json',
      '.npmrc',
      '.claude/notes.md',
      '.vscode/extensions.json',
    ];
    for (const path of [...open, '.env', 'src/settings.json', 'settings.json'])
      expect(await outcome(world.door.writeFile(path, 'x'))).toBe('ok');
  });

  test('[BND1.9] a protected name that is a link protects what it leads to', async () => {
    using world = makeWorld({ way });
    expect(await outcome(world.door.writeFile('shared/settings.json', 'x'))).toBe('ok');
    symlinkSync('shared', join(world.root, '.claude'));
    symlinkSync('src/a.txt', join(world.root, '.mcp.json'));
    expect(await outcome(world.door.writeFile('shared/settings.json', 'y'))).toBe('not_allowed protected');
    expect(await outcome(world.door.writeFile('shared/hooks/x.sh', 'y'))).toBe('not_allowed protected');
    expect(await outcome(world.door.writeFile('src/a.txt', 'y'))).toBe('not_allowed protected');
    expect(await outcome(world.door.writeFile('shared/notes.md', 'y'))).toBe('ok');
    rmSync(join(world.root, '.mcp.json'));
    expect(await outcome(world.door.writeFile('src/a.txt', 'y'))).toBe('ok');
  });

  test('[BND1.9] the table of protected names can be another one', async () => {
    using world = makeWorld({ way, protected: [{ pattern: 'deploy/*.sh', reason: 'It is run at night.' }] });
    expect(await outcome(world.door.writeFile('.mcp.json', 'x'))).toBe('ok');
    await expect(world.door.writeFile('a/deploy/now.sh', 'x')).rejects.toThrow('It is run at night.');
    // Git's own files are not a matter of the table.
    expect(await outcome(world.door.writeFile('.git/config', 'x'))).toBe('not_allowed git');
  });

  test('[BND1.10] a door for reading changes nothing', async () => {
    using world = makeWorld({ way, access: 'read' });
    const before = world.tree();
    const calls = [
      world.door.writeFile('src/a.txt', 'x'),
      world.door.writeFile('new/x', 'x'),
      world.door.deleteFile('src/a.txt'),
      world.door.makeDirectory('new'),
      world.door.move('README.md', 'x'),
    ];
    for (const call of calls) expect(await outcome(call)).toBe('not_allowed access');
    expect(world.tree()).toEqual(before);
    expect((await world.door.readFile('src/a.txt')).text()).toBe('a');
  });

  test('[BND1.13] a root that is a link, no folder, missing, or the system itself is refused', async () => {
    using world = makeWorld({ way });
    const open = async (root: string): Promise<void> => openDoor(root, { access: 'read', way }).close();
    expect(await outcome(open(join(world.root, 'out-dir')))).toBe('not_allowed kind');
    expect(await outcome(open(join(world.root, 'out-dir/')))).toBe('not_allowed kind');
    expect(await outcome(open(join(world.root, 'in-file')))).toBe('not_allowed kind');
    expect(await outcome(open(join(world.root, 'README.md')))).toBe('not_allowed kind');
    expect(await outcome(open(join(world.root, 'nope')))).toBe('not_found');
    expect(await outcome(open('/'))).toBe('not_allowed outside');
  });

  test('[BND1.13] the door keeps to the folder it was opened on', async () => {
    using world = makeWorld();
    const moved = join(world.base, 'moved');
    const before = world.canary();
    renameSync(world.root, moved);
    symlinkSync(world.outside, world.root);
    expect((await world.door.readFile('src/a.txt')).text()).toBe('a');
    await world.door.writeFile('secret.txt', 'mine');
    await world.door.writeFile(join(world.root, 'a.txt'), 'mine');
    expect(readFileSync(join(moved, 'secret.txt'), 'utf8')).toBe('mine');
    rmSync(world.root);
    renameSync(moved, world.root);
    expect(world.canary()).toEqual(before);
  });
});
