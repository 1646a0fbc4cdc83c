import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { namesBefore } from '../src/text/names.ts';
import { Trees } from '../src/text/trees.ts';

function tree(files: Readonly<Record<string, string | Buffer>>) {
  const root = mkdtempSync(join(tmpdir(), 'navigation-text-'));
  const write = (more: Readonly<Record<string, string | Buffer>>): void => {
    for (const [path, text] of Object.entries(more)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  };
  write(files);
  return { root, write, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

const where = (trees: Trees, root: string, needle: string): string[] =>
  trees
    .look(root, { needle, since: null })
    .hits.map(({ path, line, column }) => `${path}:${line}:${column}`)
    .toSorted();

describe('text search beneath', () => {
  test.for([false, true])(
    '[NAV1.11] words are found as words, with columns that count as editors do (read before: %s)',
    (learned) => {
      using made = tree({
        'a.ts': 'add(adder, add);\n// 🎉 add\nadd2 _add $add add',
        'b/c.md': 'to add, or not\r\nadd',
        'crlf.txt': 'x\r\nadd\r\n',
        'umlaut.txt': 'addö öadd add',
      });
      const trees = new Trees();
      trees.look(made.root, { needle: null, since: null });
      while (learned && trees.learn());
      expect(where(trees, made.root, 'add')).toEqual([
        'a.ts:1:1',
        'a.ts:1:12',
        'a.ts:2:7',
        'a.ts:3:16',
        'b/c.md:1:4',
        'b/c.md:2:1',
        'crlf.txt:2:1',
        'umlaut.txt:1:11',
      ]);
      expect(where(trees, made.root, 'missing')).toEqual([]);
      expect(where(trees, made.root, 'adder, add')).toEqual(['a.ts:1:5']);
    },
  );

  test('[NAV1.11] made folders, binary and very large files are left out, and no link is followed', () => {
    using outside = tree({ 'secret.txt': 'needle' });
    using made = tree({
      'node_modules/x/index.js': 'needle',
      '.git/config': 'needle',
      'binary.dat': Buffer.from('needle\0'),
      'large.txt': `${'x '.repeat(2_000_000)}needle`,
      'seen.txt': 'needle',
    });
    symlinkSync(outside.root, join(made.root, 'folder'));
    symlinkSync(join(outside.root, 'secret.txt'), join(made.root, 'file.txt'));
    const trees = new Trees();
    expect(where(trees, made.root, 'needle')).toEqual(['seen.txt:1:1']);
    while (trees.learn());
    expect(where(trees, made.root, 'needle')).toEqual(['seen.txt:1:1']);
  });

  test('[NAV1.11] a folder that becomes a link between the look and the read leads nowhere', () => {
    using outside = tree({ 'secret.txt': 'needle' });
    using made = tree({ 'folder/secret.txt': 'nothing' });
    const trees = new Trees();
    trees.look(made.root, { needle: null, since: null });
    rmSync(join(made.root, 'folder'), { recursive: true });
    symlinkSync(outside.root, join(made.root, 'folder'));
    // It is known as a file of the tree, and is read now.
    while (trees.learn());
    expect(where(trees, made.root, 'needle')).toEqual([]);
  });

  test('[NAV1.11] a survey of a path as it was given reads no more than the tree has', () => {
    using made = tree({
      'a.ts': "import { x } from './b.js';\nf(x);",
      'b.ts': 'export class x {}\n',
      '.git/c.ts': 'f(x);',
    });
    using outside = tree({ 'secret.ts': 'f(x);' });
    symlinkSync(outside.root, join(made.root, 'link'));
    const trees = new Trees();
    const survey = (path: string) =>
      trees.survey(made.root, { path, name: 'x', since: null, projectFiles: [], guess: null });
    expect(survey('a.ts')).toMatchObject({
      uses: { spots: [{ line: 1, column: 10 }], others: [2] },
      places: [{ at: { path: 'b.ts', line: 1, column: 14 }, declared: { kind: 'class' } }],
    });
    const out = `../${basename(outside.root)}/secret.ts`;
    for (const path of [out, 'link/secret.ts', '.git/c.ts', join(made.root, 'a.ts'), './a.ts', 'none.ts'])
      expect(survey(path), path).toMatchObject({ uses: null, places: [] });
  });

  test('[NAV1.11] it tells what changed since a version: new, changed and deleted files', () => {
    using made = tree({ 'a.txt': 'one', 'b.txt': 'two' });
    const trees = new Trees();
    const first = trees.look(made.root, { needle: null, since: null });
    expect(first.changes).toEqual({ created: [], changed: [], deleted: [] });
    expect(trees.look(made.root, { needle: null, since: first.version }).version).toBe(first.version);
    made.write({ 'a.txt': 'changed', 'c.txt': 'new' });
    unlinkSync(join(made.root, 'b.txt'));
    const second = trees.look(made.root, { needle: 'changed', since: first.version });
    expect(second.changes).toEqual({ created: ['c.txt'], changed: ['a.txt'], deleted: ['b.txt'] });
    expect(second.hits.length).toBe(1);
    expect(trees.look(made.root, { needle: null, since: second.version }).changes).toEqual({
      created: [],
      changed: [],
      deleted: [],
    });
  });

  test('[NAV3.11] of a tree that was forgotten, or whose thread is another, all is told that may have changed', () => {
    using made = tree({ 'a.txt': 'one' });
    using others = tree(Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`${i}/b.txt`, ''])));
    const trees = new Trees();
    const since = () => new Trees().look(made.root, { needle: null, since: version });
    const { version } = trees.look(made.root, { needle: null, since: null });
    for (let i = 0; i < 64; i++) trees.look(join(others.root, String(i)), { needle: null, since: null });
    made.write({ 'a.txt': 'two' });
    for (const look of [trees.look(made.root, { needle: null, since: version }), since()]) {
      expect(look.version).toBeGreaterThan(version);
      expect(look.changes.created).toEqual(['a.txt']);
    }
  });

  test('[NAV3.11] a file that is written again at once, as long as it was, is seen to have changed', () => {
    using made = tree({ 'a.txt': 'word 0' });
    const trees = new Trees();
    let { version } = trees.look(made.root, { needle: null, since: null });
    for (let i = 1; i <= 9; i++) {
      made.write({ 'a.txt': `word ${i}` });
      const look = trees.look(made.root, { needle: `word ${i}`, since: version });
      expect(look.changes.changed).toEqual(['a.txt']);
      expect(look.hits.length).toBe(1);
      ({ version } = look);
    }
    expect(trees.look(made.root, { needle: null, since: version }).version).toBe(version);
  });

  test('[NAV3.9] two trees are the same if all files that matter are', () => {
    using one = tree({ 'a.ts': 'x', 'notes.md': '1' });
    using other = tree({ 'a.ts': 'x', 'notes.md': '2' });
    const trees = new Trees();
    expect(trees.same(one.root, other.root, ['.ts'])).toBe(true);
    expect(trees.same(one.root, other.root, ['.ts', '.md'])).toBe(false);
    other.write({ 'b.ts': '' });
    expect(trees.same(one.root, other.root, ['.ts'])).toBe(false);
  });
});

describe('what was there before', () => {
  test('[NAV3.23] whoever began to read is told all that changed until the tree was looked at', () => {
    using made = tree({ 'a.ts': 'a', 'b.ts': 'b', 'c/d.ts': 'd', 'e/f.ts': 'f' });
    const before = { at: Date.now(), paths: ['a.ts', 'b.ts', 'c/d.ts', 'e/f.ts'] };
    // Files that are as old as their moment are told of once too often, not once too seldom.
    made.write({ 'a.ts': 'other', 'new.ts': 'n' });
    unlinkSync(join(made.root, 'b.ts'));
    renameSync(join(made.root, 'c'), join(made.root, 'moved'));
    const { changes } = new Trees().look(made.root, { needle: null, since: null, before });
    expect(changes.created.toSorted()).toEqual(['moved/d.ts', 'new.ts']);
    expect(changes.deleted.toSorted()).toEqual(['b.ts', 'c/d.ts']);
    expect(changes.changed).toContain('a.ts');
    const later = { at: Date.now() + 60_000, paths: ['a.ts', 'e/f.ts', 'moved/d.ts', 'new.ts'] };
    const same = new Trees().look(made.root, { needle: null, since: null, before: later });
    expect(same.changes).toEqual({ created: [], changed: [], deleted: [] });
  });

  test('[NAV3.23] the names are those that a look finds; where times are not those of this machine there are none', async () => {
    using made = tree({ 'a.ts': '', 'b/c/d.md': '', 'node_modules/e.ts': '', '.git/f': '' });
    symlinkSync('b', join(made.root, 'link'));
    const before = await namesBefore(made.root);
    // Not every filesystem tells.
    if (before) expect(before.paths.toSorted()).toEqual(['a.ts', 'b/c/d.md']);
    expect(await namesBefore('/proc')).toBeNull();
  });
});
