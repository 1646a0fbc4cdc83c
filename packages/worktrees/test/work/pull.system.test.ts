import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/work/checkpoint.ts';
import { forgetCheckout } from '../../src/work/forget.ts';
import { commitLeftovers } from '../../src/work/leftovers.ts';
import { pull } from '../../src/work/pull.ts';
import { AGENT, makeWorld, type AgentPlace } from './world.ts';

const TEN = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n';
const read = (place: AgentPlace, name: string): string => readFileSync(join(place.path, name), 'utf8');

describe.each(['clone', 'linked'] as const)('%s', (kind) => {
  test('[WKT7.10] a checkpoint is the state with everything uncommitted, and touches nothing', async () => {
    using world = await makeWorld();
    const parent = await world.checkout('parent', { kind });
    const committed = parent.commit({ one: '1' });
    expect(await checkpoint(parent.checkout)).toBe(committed);
    parent.write({ one: '2', two: 'new', 'skip.log': 'ignored' });
    rmSync(join(parent.path, 'a.txt'));
    parent.git('add', 'two');
    const before = parent.git('status', '--porcelain');
    const point = await checkpoint(parent.checkout);
    expect(await checkpoint(parent.checkout)).toBe(point);
    expect(parent.git('status', '--porcelain')).toBe(before);
    expect(world.home.git('rev-parse', `${point}^`)).toBe(committed);
    expect(world.home.git('diff', '--name-status', committed, point)).toBe('D\ta.txt\nM\tone\nA\ttwo');
    parent.write({ one: '3' });
    expect(await checkpoint(parent.checkout)).not.toBe(point);
    world.healthy();
    expect(world.home.git('show', `${point}:one`)).toBe('2');
  });

  test('[WKT7.10] a change is seen that leaves a file as long as it was, in the second of the last look', async () => {
    using world = await makeWorld();
    const parent = await world.checkout('parent', { kind });
    for (let i = 0; i < 5; i += 1) {
      parent.write({ 'src/b.txt': `${i}\n`, new: String(i) });
      const point = await checkpoint(parent.checkout);
      expect(world.home.git('show', `${point}:src/b.txt`)).toBe(String(i));
      expect(world.home.git('show', `${point}:new`)).toBe(String(i));
    }
  });

  test('[WKT7.11][WKT6.34] neither checkpoint nor pull in the middle of a merge', async () => {
    using world = await makeWorld();
    const parent = await world.checkout('parent', { kind });
    const child = await world.checkout('child');
    const base = parent.head();
    parent.commit({ 'a.txt': 'ours' });
    parent.git('checkout', '-q', '-b', 'side', base);
    parent.commit({ 'a.txt': 'theirs' });
    expect(parent.tryGit('merge', parent.checkout.branch)).toBeNull();
    child.commit({ x: 'x' });
    await expect(checkpoint(parent.checkout)).rejects.toMatchObject({
      code: 'wrong_state',
      data: { underWay: 'merge' },
    });
    await expect(pull(child.checkout, parent.checkout)).rejects.toMatchObject({ code: 'wrong_state' });
    expect(existsSync(join(parent.path, 'x'))).toBe(false);
  });

  test('[WKT6.30] a pull lays the child’s changes beside what the parent has not committed', async () => {
    using world = await makeWorld({ 'ten.txt': TEN, gone: 'gone', 'dir/only': 'x' });
    const parent = await world.checkout('parent', { kind });
    const child = await world.checkout('child');
    child.git('rm', '-q', 'gone', 'dir/only');
    const tip = child.commit({
      'ten.txt': TEN.replace('ten', 'TEN'),
      'new/deep.txt': 'new\n',
      dir: 'now a file',
    });
    parent.write({ 'ten.txt': TEN.replace('one', 'ONE'), 'own.txt': 'own\n', 'note.log': 'ignored' });
    const pulled = await pull(child.checkout, parent.checkout);
    expect(pulled).toEqual({
      merged: true,
      commit: tip,
      files: [
        { path: 'dir', insertions: 1, deletions: 0 },
        { path: 'dir/only', insertions: 0, deletions: 1 },
        { path: 'gone', insertions: 0, deletions: 1 },
        { path: 'new/deep.txt', insertions: 1, deletions: 0 },
        { path: 'ten.txt', insertions: 1, deletions: 1 },
      ],
    });
    expect(read(parent, 'ten.txt')).toBe(TEN.replace('one', 'ONE').replace('ten', 'TEN'));
    expect([read(parent, 'own.txt'), read(parent, 'dir'), existsSync(join(parent.path, 'gone'))]).toEqual([
      'own\n',
      'now a file',
      false,
    ]);
    expect(read(parent, 'note.log')).toBe('ignored');
    expect(await pull(child.checkout, parent.checkout)).toEqual({ merged: true, commit: tip, files: [] });
    world.healthy();
  });

  test('[WKT6.31] a conflict is named by file and changes nothing', async () => {
    using world = await makeWorld({ a: 'a\n', b: 'b\n', c: 'c\n', d: 'd\n' });
    const parent = await world.checkout('parent', { kind });
    const child = await world.checkout('child');
    child.git('rm', '-q', 'b');
    child.commit({ a: 'child\n', c: 'fine\n', d: 'd2\n' });
    parent.write({ a: 'parent\n', b: 'changed\n' });
    const before = parent.git('status', '--porcelain');
    const pulled = await pull(child.checkout, parent.checkout);
    expect(pulled).toEqual({
      merged: false,
      conflicts: [
        { path: 'a', why: 'both changed the same lines' },
        { path: 'b', why: 'one changed it, the other deleted it' },
      ],
    });
    expect(parent.git('status', '--porcelain')).toBe(before);
    expect([read(parent, 'a'), read(parent, 'b'), read(parent, 'c')]).toEqual([
      'parent\n',
      'changed\n',
      'c\n',
    ]);
  });
});

test('[WKT6.31] what git does not know and stands in the way is a conflict, and all is as it was', async () => {
  using world = await makeWorld({ '.gitignore': '*.log\nbuild/\n', a: 'a\n', z: 'z\n' });
  const parent = await world.checkout('parent');
  const child = await world.checkout('child');
  child.write({ 'x.log': 'from the child\n', a: 'changed\n', build: 'a file\n' });
  child.git('rm', '-q', 'z');
  child.git('add', '-f', 'x.log');
  child.commit({});
  parent.write({ 'x.log': 'mine\n' });
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({
    merged: false,
    conflicts: [{ path: 'x.log' }],
  });
  expect([read(parent, 'x.log'), read(parent, 'a'), read(parent, 'z')]).toEqual(['mine\n', 'a\n', 'z\n']);
  rmSync(join(parent.path, 'x.log'));
  parent.write({ 'build/out': 'built\n' });
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({
    merged: false,
    conflicts: [{ path: 'build' }],
  });
  expect([read(parent, 'build/out'), read(parent, 'a'), read(parent, 'z')]).toEqual([
    'built\n',
    'a\n',
    'z\n',
  ]);
  expect(existsSync(join(parent.path, 'x.log'))).toBe(false);
  rmSync(join(parent.path, 'build'), { recursive: true });
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({ merged: true });
  expect(read(parent, 'build')).toBe('a file\n');
});

test('[WKT6.31][BND4.12] a folder that is a link leads no pull out of the tree', async () => {
  using world = await makeWorld({ '.gitignore': 'out\n', a: 'a' });
  const parent = await world.checkout('parent');
  const child = await world.checkout('child');
  child.write({ 'out/file': 'planted' });
  child.git('add', '-f', 'out/file');
  child.commit({});
  symlinkSync(world.folder, join(parent.path, 'out'));
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({
    merged: false,
    conflicts: [{ path: 'out/file' }],
  });
  expect(existsSync(join(world.folder, 'file'))).toBe(false);
});

test('[WKT6.32] a second pull brings what is new since the first', async () => {
  using world = await makeWorld({ 'ten.txt': TEN });
  const parent = await world.checkout('parent');
  const child = await world.checkout('child');
  child.commit({ 'ten.txt': TEN.replace('two', 'TWO') });
  await pull(child.checkout, parent.checkout);
  // The parent goes on with the very line the child had changed.
  parent.write({ 'ten.txt': TEN.replace('two', 'zwei') });
  child.commit({ 'ten.txt': TEN.replace('two', 'TWO').replace('nine', 'NINE') });
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({ merged: true });
  expect(read(parent, 'ten.txt')).toBe(TEN.replace('two', 'zwei').replace('nine', 'NINE'));
});

test('[WKT6.33] what was pulled becomes part of the history with the parent’s next commit', async () => {
  using world = await makeWorld();
  const parent = await world.checkout('parent');
  const child = await world.checkout('child');
  const tip = child.commit({ x: 'x' });
  await pull(child.checkout, parent.checkout);
  const own = parent.commit({}, 'the parent commits it itself');
  const left = await commitLeftovers(parent.checkout, AGENT);
  expect(world.home.git('log', '-1', '--format=%P', left.tip)).toBe(`${own} ${tip}`);
  expect(await commitLeftovers(parent.checkout, AGENT)).toMatchObject({ tip: left.tip, committed: false });
});

test('[WKT6.36] another checkout of the same name inherits nothing, and the parent keeps what it had pulled', async () => {
  using world = await makeWorld({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
  const parent = await world.checkout('parent');
  const first = await world.checkout('child');
  const tip = first.commit({ 'a.txt': 'first\n' });
  await pull(first.checkout, parent.checkout);
  await forgetCheckout(world.repository, first.checkout.name);
  const second = await world.checkout('other');
  second.commit({ 'b.txt': 'second\n' });
  const namesake = { ...second.checkout, name: first.checkout.name };
  expect(await pull(namesake, parent.checkout)).toMatchObject({ merged: true, files: [{ path: 'b.txt' }] });
  expect(read(parent, 'a.txt')).toBe('first\n');
  const left = await commitLeftovers(parent.checkout, AGENT);
  expect(world.home.git('log', '-1', '--format=%P', left.tip).split(' ')).toContain(tip);
  await forgetCheckout(world.repository, parent.checkout.name);
  expect(world.home.git('for-each-ref', 'refs/reveille/pulled')).toBe('');
});

test('[WKT7.12] what a checkpoint held of the parent does not come back as the child’s, nor into the history', async () => {
  using world = await makeWorld({ 'ten.txt': TEN });
  const parent = await world.checkout('parent');
  parent.write({ 'ten.txt': TEN.replace('one', 'ONE'), draft: 'a draft\n' });
  const start = await checkpoint(parent.checkout);
  const child = await world.checkout('child', { start });
  expect(read(child, 'draft')).toBe('a draft\n');
  child.commit({ 'ten.txt': TEN.replace('one', 'ONE').replace('ten', 'TEN') });
  // Meanwhile the parent thinks again about its own changes.
  rmSync(join(parent.path, 'draft'));
  parent.write({ 'ten.txt': TEN.replace('one', 'eins') });
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({
    merged: true,
    files: [{ path: 'ten.txt' }],
  });
  expect(read(parent, 'ten.txt')).toBe(TEN.replace('one', 'eins').replace('ten', 'TEN'));
  expect(existsSync(join(parent.path, 'draft'))).toBe(false);
  const { tip } = await commitLeftovers(parent.checkout, AGENT);
  expect(world.home.git('log', '--format=%s', `main..${tip}`)).toBe('What was left');
});

test('[WKT6.30] a file keeps the line ends its parent’s repository asks for', async () => {
  using world = await makeWorld({ '.gitattributes': '*.txt text eol=crlf\n', 'a.txt': 'a\n' });
  const parent = await world.checkout('parent');
  const child = await world.checkout('child');
  expect(read(parent, 'a.txt')).toBe('a\r\n');
  writeFileSync(join(child.path, 'a.txt'), 'a\r\nb\r\n');
  child.commit({});
  expect(await pull(child.checkout, parent.checkout)).toMatchObject({
    files: [{ insertions: 1, deletions: 0 }],
  });
  expect(read(parent, 'a.txt')).toBe('a\r\nb\r\n');
  const { tip } = await commitLeftovers(parent.checkout, AGENT);
  expect(world.home.git('diff', '--stat', tip, child.head())).toBe('');
});
