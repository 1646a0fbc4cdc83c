import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeWorld, outcome, outcomes, SECRET } from './world.ts';

const BIG = 5 * 2 ** 20;

describe.each(['descriptor', 'path'] as const)('a door by %s', (way) => {
  test('[BND1.3] links inside the tree are followed, wherever in a path, however they are written', async () => {
    using world = makeWorld({ way });
    const { door, root } = world;
    const same = [
      'in-file',
      'in-dir/a.txt',
      'in-abs/a.txt',
      'in-up',
      'src/to-root/src/a.txt',
      'in-dir/to-root/in-file',
    ];
    for (const path of same) expect(await door.readFile(path)).toMatchObject({ path: 'src/a.txt', size: 1 });
    // As the kernel does: `..` in a link is the parent of where the walk is, not of what the words say.
    expect((await door.readFile('src/round/c.txt')).path).toBe('src/deep/er/c.txt');
    writeFileSync(join(root, 'src/deep/a.txt'), 'deep');
    expect(await door.readFile('in-round')).toMatchObject({ path: 'src/deep/a.txt' });

    expect(await door.writeFile('in-file', 'new')).toEqual({ path: 'src/a.txt', created: false });
    expect(readlinkSync(join(root, 'in-file'))).toBe('src/a.txt');
    expect(readFileSync(join(root, 'src/a.txt'), 'utf8')).toBe('new');
    expect(await door.writeFile('in-new', 'made')).toEqual({ path: 'src/new.txt', created: true });
    expect(await door.writeFile('in-dir/x/y.txt', 'made')).toEqual({ path: 'src/x/y.txt', created: true });
    expect(await door.stat('src/to-root')).toMatchObject({ path: '', kind: 'directory' });
    expect(await door.listDirectory('in-dir')).toMatchObject({ path: 'src' });
    expect(await door.makeDirectory('in-dir/made')).toEqual({ path: 'src/made' });
    expect(await outcome(door.deleteFile('in-file'))).toBe('ok');
    expect(readFileSync(join(root, 'src/a.txt'), 'utf8')).toBe('new');
  });

  test('[BND1.11] a write makes what is missing, keeps the mode, and leaves nothing else behind', async () => {
    using world = makeWorld({ way }, tmpdir());
    const { door, root } = world;
    expect(await door.writeFile('a/b/c.txt', 'ä')).toEqual({ path: 'a/b/c.txt', created: true });
    expect(statSync(join(root, 'a/b/c.txt')).mode & 0o777).toBe(0o666 & ~process.umask());
    chmodSync(join(root, 'a/b/c.txt'), 0o751);
    expect(await door.writeFile('a/b/c.txt', new Uint8Array([1, 2]))).toEqual({
      path: 'a/b/c.txt',
      created: false,
    });
    expect(statSync(join(root, 'a/b/c.txt')).mode & 0o777).toBe(0o751);
    expect([...readFileSync(join(root, 'a/b/c.txt'))]).toEqual([1, 2]);
    expect(readdirSync(join(root, 'a/b'))).toEqual(['c.txt']);
    await door.writeFile('big', Buffer.alloc(BIG, 7));
    expect(readFileSync(join(root, 'big')).equals(Buffer.alloc(BIG, 7))).toBe(true);
    await door.writeFile('empty', '');
    expect(readFileSync(join(root, 'empty'), 'utf8')).toBe('');
  });

  test('[BND1.11] who asks for a new file gets no old one, and who asks for an old one no new one', async () => {
    using world = makeWorld({ way });
    const { door, root } = world;
    const before = world.tree();
    expect(await outcome(door.writeFile('README.md', 'x', { exclusive: true }))).toBe('wrong_state');
    expect(await outcome(door.writeFile('in-new', 'x', { exclusive: true }))).toBe('wrong_state');
    expect(await outcome(door.writeFile('nope.txt', 'x', { create: false }))).toBe('not_found');
    expect(await outcome(door.writeFile('nope/nope.txt', 'x', { create: false }))).toBe('not_found');
    expect(world.tree()).toEqual(before);
    await door.writeFile('new.txt', 'x', { exclusive: true });
    expect(lstatSync(join(root, 'new.txt')).nlink).toBe(1);
    await door.writeFile('new.txt', 'y', { create: false });
    const racers = Array.from(
      { length: 20 },
      async (_, i) => await outcome(door.writeFile('one', `${i}`.repeat(100_000), { exclusive: true })),
    );
    const ends = await Promise.all(racers);
    expect(ends.filter((end) => end === 'ok')).toHaveLength(1);
    expect(readdirSync(root).filter((name) => name.includes('.tmp'))).toEqual([]);
  });

  test('[BND1.11] who reads while others write sees one of their texts, whole', async () => {
    using world = makeWorld({ way });
    const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(300_000));
    await world.door.writeFile('x', texts[0]!);
    const writes = texts.map((text) => world.door.writeFile('x', text));
    const reads = Array.from({ length: 10 }, async () => (await world.door.readFile('x')).text());
    for (const text of await Promise.all(reads)) expect(texts.includes(text)).toBe(true);
    await Promise.all(writes);
  });

  test('[BND1.11] a folder is no file, a file no folder, and a slash at the end makes a difference', async () => {
    using world = makeWorld({ way });
    const { door } = world;
    const before = world.tree();
    for (const path of [
      'src',
      'in-dir',
      '.',
      '',
      'src/',
      'src/.',
      'src/deep/..',
      'README.md/',
      'new/',
      world.root,
    ]) {
      expect(await outcome(door.readFile(path))).toBe('wrong_state');
      expect(await outcome(door.writeFile(path, 'x'))).toBe('wrong_state');
      expect(await outcome(door.move('README.md', path))).toBe('wrong_state');
    }
    for (const path of ['src', '.', 'src/', 'README.md/'])
      expect(await outcome(door.deleteFile(path))).toBe('wrong_state');
    for (const path of ['README.md', 'README.md/x', 'in-file/x']) {
      expect(await outcome(door.listDirectory(path))).toBe('wrong_state');
      expect(await outcome(door.makeDirectory(path))).toBe('wrong_state');
    }
    expect(await outcome(door.writeFile('README.md/x', 'x'))).toBe('wrong_state');
    expect(await outcome(door.stat('README.md/'))).toBe('wrong_state');
    expect(world.tree()).toEqual(before);
    expect(await outcomes(door, 'nope.txt')).toMatchObject({
      read: 'not_found',
      stat: 'not_found',
      list: 'not_found',
    });
  });

  test('[BND1.11] a read-only file stays as it is', async () => {
    using world = makeWorld({ way });
    chmodSync(join(world.root, 'README.md'), 0o444);
    expect(await outcome(world.door.writeFile('README.md', 'x'))).toBe('not_allowed access');
  });

  test('[BND1.11] a file is moved to a free name, with the folders it needs', async () => {
    using world = makeWorld({ way });
    const { door } = world;
    expect(await door.move('src/a.txt', 'x/y/z.txt')).toEqual({ path: 'x/y/z.txt' });
    expect((await door.readFile('x/y/z.txt')).text()).toBe('a');
    expect(await outcome(door.stat('src/a.txt'))).toBe('not_found');
    expect(await outcome(door.move('README.md', 'x/y/z.txt'))).toBe('wrong_state');
    expect(await outcome(door.move('src', 'y'))).toBe('wrong_state');
    expect(await outcome(door.move('nope', 'new/y'))).toBe('not_found');
    expect(await outcome(door.stat('new'))).toBe('not_found');
  });

  test('[BND1.12] a read gives the part that was asked for, and never more than allowed', async () => {
    using world = makeWorld({ way });
    const { door } = world;
    await door.writeFile('n.txt', '0123456789');
    const part = await door.readFile('n.txt', { offset: 2, limit: 3 });
    expect([part.text(), part.offset, part.size, part.truncated]).toEqual(['234', 2, 10, true]);
    expect((await door.readFile('n.txt', { offset: 8, limit: 50 })).text()).toBe('89');
    expect((await door.readFile('n.txt', { offset: 99 })).bytes).toHaveLength(0);
    expect(await outcome(door.readFile('n.txt', { maxBytes: 9 }))).toBe('limit_reached');
    expect((await door.readFile('n.txt', { maxBytes: 9, limit: 9 })).truncated).toBe(true);
    expect((await door.readFile('n.txt', { maxBytes: 10 })).truncated).toBe(false);
    for (const bad of [-1, 1.5, NaN])
      expect(await outcome(door.readFile('n.txt', { offset: bad }))).toBe('invalid_input');
    await door.writeFile('big', Buffer.alloc(BIG, 7));
    expect(
      (await door.readFile('big', { offset: 1, limit: BIG })).bytes.equals(Buffer.alloc(BIG - 1, 7)),
    ).toBe(true);
    expect(await outcome(door.writeFile('huge', Buffer.alloc(64 * 2 ** 20 + 1)))).toBe('limit_reached');
    expect(await outcome(door.stat('huge'))).toBe('not_found');
  });

  test('[BND1.15] text comes back byte for byte, or not at all', async () => {
    using world = makeWorld({ way });
    const { door } = world;
    for (const text of ['', '\ufeffmarked', 'a\r\nb\n', 'ä€😀']) {
      await door.writeFile('t', text);
      expect((await door.readFile('t')).text()).toBe(text);
    }
    await door.writeFile('t', 'ä€😀');
    expect((await door.readFile('t', { offset: 1, limit: 7 })).text()).toBe('€');
    expect((await door.readFile('t', { offset: 6 })).text()).toBe('');
    await door.writeFile('binary', new Uint8Array([0x61, 0xff, 0x00]));
    const binary = await door.readFile('binary');
    expect(() => binary.text()).toThrow('is not UTF-8 text');
    await door.writeFile('cut', new Uint8Array([0x61, 0xe2, 0x82]));
    const cut = await door.readFile('cut');
    expect(() => cut.text()).toThrow('is not UTF-8 text');
    expect(await outcome(door.writeFile('t', 'a\ud800'))).toBe('invalid_input');
  });

  test('[BND1.12] a listing says what each entry is, in order, and when there is more', async () => {
    using world = makeWorld({ way });
    await world.door.writeFile('many/b.txt', 'bb');
    await world.door.writeFile('many/a.txt', 'a');
    await world.door.makeDirectory('many/c');
    symlinkSync('../../outside/secret.txt', join(world.root, 'many/d'));
    mkdirSync(join(world.root, 'many/.git'));
    const entries = [
      { name: 'a.txt', kind: 'file', size: 1 },
      { name: 'b.txt', kind: 'file', size: 2 },
      { name: 'c', kind: 'directory', size: null },
      { name: 'd', kind: 'link', size: null },
    ];
    expect(await world.door.listDirectory('many')).toEqual({ path: 'many', entries, truncated: false });
    const first = await world.door.listDirectory('many', { limit: 3 });
    expect(first).toEqual({ path: 'many', entries: entries.slice(0, 3), truncated: true });
    expect((await world.door.listDirectory('many', { limit: 4 })).truncated).toBe(false);
  });

  test('[BND1.16] a walk finds every plain file, follows no link, and sees no .git', async () => {
    using world = makeWorld({ way });
    const { door } = world;
    expect(await Array.fromAsync(door.walk(''))).toEqual([
      '.gitignore',
      'README.md',
      'hard.txt',
      '.vscode/settings.json',
      'nested/code.txt',
      'node_modules/pkg/index.js',
      'src/a.txt',
      'src/deep/b.txt',
      'src/deep/er/c.txt',
    ]);
    expect(await Array.fromAsync(door.walk('in-dir/deep'))).toEqual(['src/deep/b.txt', 'src/deep/er/c.txt']);
    const asked: string[] = [];
    const skip = ({ path, name }: { path: string; name: string }): boolean =>
      asked.push(path) > 0 && name === 'deep';
    expect(await Array.fromAsync(door.walk('src', { skip }))).toEqual(['src/a.txt']);
    expect(asked).toEqual(['src/a.txt', 'src/deep']);
    expect(await outcome(Array.fromAsync(door.walk('nope')))).toBe('not_found');
    expect(await outcome(Array.fromAsync(door.walk('README.md')))).toBe('wrong_state');
  });

  test('[BND1.12][BND1.16] a walk that reaches its limit says so, after what it found', async () => {
    using world = makeWorld({ way });
    const found: string[] = [];
    const walk = async (limit: number): Promise<void> => {
      for await (const path of world.door.walk('src', { limit })) found.push(path);
    };
    // a.txt, deep, round and to-root; b.txt and er; c.txt.
    expect(await outcome(walk(7))).toBe('ok');
    expect(found.splice(0)).toEqual(['src/a.txt', 'src/deep/b.txt', 'src/deep/er/c.txt']);
    expect(await outcome(walk(5))).toBe('limit_reached');
    expect(found).toEqual(['src/a.txt', 'src/deep/b.txt']);
  });

  test('[BND1.16] a folder that becomes a link during a walk is left out', async () => {
    using world = makeWorld({ way });
    const found: string[] = [];
    const unread: string[] = [];
    for await (const path of world.door.walk('', { onUnread: (folder) => unread.push(folder) })) {
      found.push(path);
      if (path !== 'hard.txt') continue;
      renameSync(join(world.root, 'src'), join(world.base, 'src'));
      symlinkSync('../outside', join(world.root, 'src'));
      // Also one that stays inside: its files would come twice.
      renameSync(join(world.root, 'node_modules'), join(world.base, 'node_modules'));
      symlinkSync('.vscode', join(world.root, 'node_modules'));
      renameSync(join(world.root, 'nested'), join(world.base, 'nested'));
    }
    expect(found).toEqual(['.gitignore', 'README.md', 'hard.txt', '.vscode/settings.json']);
    expect(unread).toEqual(['node_modules', 'src']);
  });

  test('[BND1.13][BND1.16] a walk whose door is closed does not look as if it had come to its end', async () => {
    using world = makeWorld({ way });
    const skip = ({ kind }: { kind: string }): boolean => {
      world.door.close();
      return kind === 'file';
    };
    expect(await outcome(Array.fromAsync(world.door.walk('src', { skip })))).toBe('wrong_state');
  });

  test('[BND1.4] what is swapped while a call is under way is not followed', async () => {
    using world = makeWorld({ way });
    const { door, root, base } = world;
    mkdirSync(join(root, 'd'));
    writeFileSync(join(root, 'd/a.txt'), Buffer.alloc(BIG, 7));
    const before = world.canary();
    // Large files are read and written in pieces: these calls have begun and are far from their end.
    const calls = [
      door.readFile('d/a.txt').then(({ bytes }) => bytes.includes(SECRET)),
      door.writeFile('d/a.txt', Buffer.alloc(BIG, 8)),
      door.writeFile('d/new.txt', Buffer.alloc(BIG, 8)),
      door.listDirectory('d'),
    ].map(outcome);
    renameSync(join(root, 'd'), join(root, 'e'));
    symlinkSync('../outside', join(root, 'd'));
    const ends = await Promise.all(calls);
    expect(world.canary()).toEqual(before);
    expect(readdirSync(base).sort()).toEqual(['outside', 'wt', 'wt-evil']);
    // By descriptor the folder is still the same one; by path it is noticed that its name is not.
    if (way === 'descriptor') {
      expect(ends).toEqual(['ok', 'ok', 'ok', 'ok']);
      expect(readFileSync(join(root, 'e/new.txt')).equals(Buffer.alloc(BIG, 8))).toBe(true);
      expect(readdirSync(join(root, 'e')).sort()).toEqual(['a.txt', 'new.txt']);
    } else expect(ends.slice(1)).toEqual(['contention', 'contention', 'contention']);
  });

  test('[BND1.13] where the process stands makes no difference', async () => {
    using world = makeWorld({ way });
    const stood = process.cwd();
    try {
      process.chdir(world.outside);
      await world.door.writeFile('secret.txt', 'mine');
      expect((await world.door.readFile('secret.txt')).text()).toBe('mine');
    } finally {
      process.chdir(stood);
    }
    expect(readFileSync(join(world.outside, 'secret.txt'), 'utf8')).toBe(SECRET);
  });
});
