import {
  appendFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Contents } from '../src/text/contents.ts';
import { Trees } from '../src/text/trees.ts';
import { eventsNoted } from '../src/text/watch.ts';

/**
 * A tree that is watched, and asked as the thread asks: at once, after what the system has told was taken in. Beside it the same
 * tree looked at in full each time, which is right on any system.
 */
function watched(files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'navigation-watch-'));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  const trees = new Trees({ watches: true });
  const where = async (needle: string): Promise<string[]> => {
    await eventsNoted();
    const { hits } = trees.look(root, { needle, since: null });
    const found = hits.map(({ path, line, column }) => `${path}:${line}:${column}`).toSorted();
    const truth = new Trees().look(root, { needle, since: null }).hits;
    expect(found).toEqual(truth.map(({ path, line, column }) => `${path}:${line}:${column}`).toSorted());
    return found;
  };
  return {
    root,
    trees,
    write,
    where,
    [Symbol.dispose]: () => {
      trees[Symbol.dispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

describe('a tree that is watched', () => {
  test('[NAV3.21] every kind of change is seen by the look after it', async () => {
    using made = watched({ 'a.txt': 'word', 'sub/deep/b.txt': 'other', 'sub/c.txt': 'word word' });
    const at = (path: string): string => join(made.root, path);
    expect(await made.where('word')).toEqual(['a.txt:1:1', 'sub/c.txt:1:1', 'sub/c.txt:1:6']);
    while (made.trees.learn());
    const steps: readonly (readonly [() => void, readonly string[]])[] = [
      [
        () => appendFileSync(at('sub/deep/b.txt'), '\nword'),
        ['a.txt:1:1', 'sub/c.txt:1:1', 'sub/c.txt:1:6', 'sub/deep/b.txt:2:1'],
      ],
      [() => unlinkSync(at('sub/c.txt')), ['a.txt:1:1', 'sub/deep/b.txt:2:1']],
      [() => renameSync(at('a.txt'), at('sub/a.txt')), ['sub/a.txt:1:1', 'sub/deep/b.txt:2:1']],
      // As editors and git write: another file takes its place.
      [
        () => {
          made.write('new', 'no');
          renameSync(at('new'), at('sub/a.txt'));
        },
        ['sub/deep/b.txt:2:1'],
      ],
      [() => renameSync(at('sub'), at('moved')), ['moved/deep/b.txt:2:1']],
      [
        () => made.write('moved/deep/d/e/f.txt', 'word'),
        ['moved/deep/b.txt:2:1', 'moved/deep/d/e/f.txt:1:1'],
      ],
      [() => made.write('moved/deep/d/e/f.txt', 'nowt'), ['moved/deep/b.txt:2:1']],
      [
        () => {
          rmSync(at('moved'), { recursive: true });
          made.write('moved/deep/g.txt', 'word');
        },
        ['moved/deep/g.txt:1:1'],
      ],
      [
        () => {
          rmSync(at('moved/deep'), { recursive: true });
          made.write('moved/deep', 'word');
        },
        ['moved/deep:1:1'],
      ],
      [
        () => {
          rmSync(at('moved/deep'));
          made.write('moved/deep/h.txt', 'word');
        },
        ['moved/deep/h.txt:1:1'],
      ],
      [() => made.write('node_modules/x/i.txt', 'word'), ['moved/deep/h.txt:1:1']],
      [() => made.write('moved/deep/h.txt', 'x '.repeat(2_000_000) + 'word'), []],
      [() => made.write('moved/deep/h.txt', 'word'), ['moved/deep/h.txt:1:1']],
    ];
    for (const [change, expected] of steps) {
      change();
      expect(await made.where('word'), String(change)).toEqual(expected);
    }
  });

  test('[NAV3.21] what changed is told, and nothing that did not', async () => {
    using made = watched({ 'a.txt': '1', 'sub/b.txt': '2' });
    await eventsNoted();
    const first = made.trees.look(made.root, { needle: null, since: null });
    while (made.trees.learn());
    made.write('sub/b.txt', '3');
    made.write('sub/c.txt', '4');
    unlinkSync(join(made.root, 'a.txt'));
    await eventsNoted();
    const second = made.trees.look(made.root, { needle: null, since: first.version });
    expect(second.changes).toEqual({ created: ['sub/c.txt'], changed: ['sub/b.txt'], deleted: ['a.txt'] });
    await eventsNoted();
    const third = made.trees.look(made.root, { needle: null, since: second.version });
    expect(third.changes).toEqual({ created: [], changed: [], deleted: [] });
    expect(third.version).toBe(second.version);
  });

  test('[NAV3.21] a file that is written again at once, as long as it was, is seen to have changed', async () => {
    using made = watched({ 'a.txt': 'word 0' });
    for (let i = 0; i < 200; i++) {
      made.write('a.txt', `word ${i % 10}`);
      expect((await made.where(`word ${i % 10}`)).length).toBe(1);
    }
  });

  test('[NAV3.21] a file that is written under a name elsewhere is seen', async () => {
    using outside = watched({ 'b.txt': 'none' });
    using made = watched({ 'a.txt': 'none' });
    linkSync(join(outside.root, 'b.txt'), join(made.root, 'linked.txt'));
    expect(await made.where('word')).toEqual([]);
    writeFileSync(join(outside.root, 'b.txt'), 'a word');
    expect(await made.where('word')).toEqual(['linked.txt:1:3']);
  });

  test('[NAV3.21] a folder that becomes a link leads nowhere, and one that is no link any more is looked into', async () => {
    using outside = watched({ 'deep/a.txt': 'word' });
    using made = watched({ 'deep/a.txt': 'word' });
    expect(await made.where('word')).toEqual(['deep/a.txt:1:1']);
    writeFileSync(join(made.root, 'deep/a.txt'), 'word word');
    rmSync(join(made.root, 'deep'), { recursive: true });
    symlinkSync(join(outside.root, 'deep'), join(made.root, 'deep'));
    expect(await made.where('word')).toEqual([]);
    unlinkSync(join(made.root, 'deep'));
    made.write('deep/b.txt', 'word');
    expect(await made.where('word')).toEqual(['deep/b.txt:1:1']);
  });

  test('[NAV3.21] a tree that is made anew under its name is looked at in full', async () => {
    using made = watched({ 'sub/a.txt': 'word' });
    for (let i = 0; i < 3; i++) {
      expect(await made.where('word')).toEqual(['sub/a.txt:1:1']);
      rmSync(made.root, { recursive: true });
      if (i % 2 === 0) expect(await made.where('word')).toEqual([]);
      made.write('sub/a.txt', ' word');
      expect(await made.where('word')).toEqual(['sub/a.txt:1:2']);
      made.write('sub/a.txt', 'word');
    }
  });

  test('[NAV3.21] more changes than the system keeps in line are seen too', async () => {
    using made = watched({ 'a/x.txt': 'none', 'a/z.txt': 'none' });
    expect(await made.where('word')).toEqual([]);
    // Nothing is taken in while these are written: the line overflows.
    for (let i = 0; i < 20_000; i++) utimesSync(join(made.root, 'a', i % 2 === 0 ? 'x.txt' : 'z.txt'), i, i);
    made.write('b/y.txt', 'word');
    made.write('a/x.txt', 'word');
    expect(await made.where('word')).toEqual(['a/x.txt:1:1', 'b/y.txt:1:1']);
    made.write('a/x.txt', 'none');
    expect(await made.where('word')).toEqual(['b/y.txt:1:1']);
  });

  test('[NAV3.21] whatever is done in whatever order, it knows what a full look knows', async () => {
    using made = watched({ 'a/b/c.txt': 'word', 'd.txt': '' });
    const names = ['a', 'b', 'c.txt', 'd.txt', 'e'];
    let seed = 7;
    const pick = <T>(of: readonly T[]): T => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      const chosen = of[(seed >>> 8) % of.length];
      if (chosen === undefined) throw new Error('nothing to pick from');
      return chosen;
    };
    const path = (): string => Array.from({ length: pick([1, 2, 3]) }, () => pick(names)).join('/');
    const acts: readonly (() => void)[] = [
      () => made.write(path(), pick(['word', 'none', 'a word\nword'])),
      () => made.write(path(), pick(['word', 'none'])),
      () => rmSync(join(made.root, path()), { recursive: true, force: true }),
      () => renameSync(join(made.root, path()), join(made.root, path())),
      () => mkdirSync(join(made.root, path()), { recursive: true }),
    ];
    for (let i = 0; i < 800; i++) {
      try {
        pick(acts)();
      } catch {
        // A folder in the place of a file, or nothing there: then nothing was done.
      }
      if (pick([true, false])) await made.where('word');
      if (pick([true, false, false])) while (made.trees.learn());
    }
    await made.where('word');
  });
});

test('[NAV3.22] texts are held up to a bound, those that were used longest ago go first', () => {
  const contents = new Contents(1_000);
  const text = (letter: string): Buffer => Buffer.from(letter.repeat(300));
  for (const letter of ['a', 'b', 'c']) contents.keep(letter, text(letter));
  expect(contents.get('a')?.text).toBe('a'.repeat(300));
  contents.keep('d', text('d'));
  expect(contents.bytes).toBe(900);
  expect(contents.get('b')).toBeNull();
  expect(contents.get('a')?.text).toBe('a'.repeat(300));
  // What is not plain takes two bytes for a character.
  contents.keep('e', Buffer.from('ä'.repeat(200)));
  expect(contents.bytes).toBe(1_000);
  expect(contents.get('c')).toBeNull();
});

test('[NAV3.22] a tree that is larger than the bound is searched all the same', () => {
  using made = watched(
    Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}.ts`, `word // ${'x'.repeat(100)}`])),
  );
  const contents = new Contents(1_000);
  const trees = new Trees({ contents });
  const look = (explain = false) => trees.look(made.root, { needle: 'word', since: null, explain }).hits;
  expect(look().length).toBe(50);
  while (trees.learn());
  expect(look(true).map(({ explained }) => explained.role)).toEqual(look().map(() => 'code'));
  expect(contents.bytes).toBeLessThanOrEqual(1_000);
});
