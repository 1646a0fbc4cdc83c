import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Syntax } from '../src/syntax/syntax.ts';
import { Scout } from '../src/text/scout.ts';
import { IMPATIENT, PATIENT, Rig } from './rig.ts';

const some = (count: number, each: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => each(i)).join('');
const circle = (name: string) =>
  Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [
      `${name}${i}.js`,
      some(30, (k) => `export * from './${name}${k}.js';\n`),
    ]),
  );

/** What takes the square of its length, or longer, unless somebody sees to it. Each asks about `X` in its first file. */
const TEXTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'many heads in one line': { 'a.js': some(150_000, (i) => `h${i}.X;`) },
  'many heads': { 'a.js': some(150_000, (i) => `h${i}.X;\n`) },
  'a long chain': { 'a.js': some(400_000, () => 'X.') },
  'calls in calls': { 'a.js': some(400_000, () => 'X(') },
  'an import that does not end': { 'a.js': `import {${some(400_000, () => 'X,')}` },
  'names that are renamed': { 'a.ts': some(150_000, () => 'X as ') },
  'imports that are renamed': { 'a.ts': `import {${some(100_000, () => 'X as Y, ')}` },
  'a list that does not end': { 'a.js': `f(${some(400_000, () => 'X,')}` },
  'a word that is long': { 'a.js': some(90, () => `import { ${'a'.repeat(19_000)} X } from './m.js';\n`) },
  'files that pass each other on': { 'a.js': "import { X, h } from './m0.js';\nX;\nh.X;", ...circle('m') },
  'a list with a gap': {
    'a.js': "import { X } from './m.js';\nX;",
    'm.js': `export { a${' '.repeat(1_500_000)}b };`,
  },
  comments: { 'a.js': some(200_000, () => '/*X*/') },
  'a comment of many lines': { 'a.js': `/*\n${some(100_000, () => ' * X\n')}*/` },
  strings: { 'a.js': some(300_000, () => '"X"') },
  elements: { 'a.js': `a = ${some(200_000, () => '<X>')}</X>` },
  'elements that are closed': { 'a.js': `a = [${some(100_000, () => '<X b="X"/>,')}]` },
  'elements in code in elements': { 'a.js': `a = ${some(100_000, () => '<X>{')}</X>` },
  'an element that does not end': { 'a.js': `a = <X ${some(300_000, () => 'X ')}/>` },
  'angles behind comments': {
    'a.js': `a = (${some(100_000, () => '//X\n')}${some(100_000, () => '<X,')}</X>`,
  },
  templates: { 'a.js': some(200_000, () => '`${X') },
  'slashes that divide, or not': { 'a.js': `${some(300_000, () => '(X)/')}"` },
  classes: { 'a.js': some(150_000, () => 'class X {') },
  'static members': {
    'a.js': `class h {\n${some(60_000, () => ' static X() {}\n')}}\n${some(9_000, () => 'h.X;\n')}`,
  },
  'classes with static members': { 'a.js': some(50_000, () => 'class h {\n static X() {}\n}\n') },
  namespaces: { 'a.ts': some(150_000, () => 'namespace X{') },
  'another language': { 'a.py': some(200_000, () => 'X(') },
  'no language': { 'a.md': some(400_000, () => 'X ') },
};

describe('[NAV3.27] what is made to be slow keeps nobody waiting', () => {
  test.for(Object.entries(TEXTS))('text: %s', async ([, files]) => {
    await using rig = await Rig.open({ sandbox: 'off' });
    const { root } = rig.tree('slow', files);
    await using scout = new Scout();
    const [path = ''] = Object.keys(files);
    const spot = { line: 1, column: 1 };
    const all = Promise.all([
      scout.look(root, { needle: 'X', since: null, explain: true }),
      scout.uses(root, path, 'X'),
      scout.definesOnly(root, path, { name: 'X', guess: [spot] }),
      scout.survey(root, { path, name: 'X', since: null, projectFiles: [], guess: null }),
      scout.places(root, [{ path, ...spot }]),
    ]);
    // Any of them would take minutes, or for ever.
    const answers = await Promise.race([all, sleep(60_000, null, { ref: false })]);
    expect(answers?.[0].hits.length).toBeGreaterThan(0);
    expect(answers?.[0].hits.length).toBeLessThanOrEqual(50_001);
  });

  const PARSED: Readonly<Record<string, readonly [string, string]>> = {
    'no end in sight': ['a.php', `<?php ${some(60_000, () => 'class X {')}`],
    'signs without sense': ['a.ts', `type X ${some(400_000, () => ':=')}x`],
  };
  test.for(Object.entries(PARSED))('parsing: %s', async ([, [path, text]]) => {
    await using syntax = new Syntax({ patienceMs: 5_000 });
    let turns = 0;
    const clock = setInterval(() => (turns += 1), 10);
    const [slow, other] = await Promise.all([
      syntax.definitions(path, text),
      syntax.definitions('b.ts', 'class A {}'),
    ]);
    clearInterval(clock);
    expect(slow).toBeNull();
    expect(other).toMatchObject([{ name: 'A' }]);
    // Others had their turn meanwhile.
    expect(turns).toBeGreaterThan(20);
    // It is not tried again.
    expect(await syntax.named(path, text, 'X')).toBeNull();
  });

  test('what is nested too deep to be looked through is not parsed', async () => {
    await using syntax = new Syntax();
    const deep = `x = ${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(await syntax.definitions('a.js', deep)).toBeNull();
    expect(await syntax.definitions('a.js', 'class A {}')).toMatchObject([{ name: 'A' }]);
  });

  test('an answer that would have needed parsing says so', async () => {
    await using rig = await Rig.open();
    const filler = some(30_000, (i) => `// ${i} has no meaning for anybody at all\n`);
    const tree = rig.tree('large', {
      'tsconfig.json': '{}',
      'large.ts': `export class Large { find() {} }\n${filler}`,
      'use.ts': "import { Large } from './large';\nnew Large().find();",
    });
    const unparsed = expect.stringMatching(/not parsed/);
    const view = await tree.ask.module({ path: 'large.ts' }, PATIENT);
    expect(view).toMatchObject({ found: 'semantic', complete: false });
    expect(view.notes).toContainEqual(unparsed);
    const all = await tree.ask.definitions({ symbol: 'Large' }, PATIENT);
    expect(all).toMatchObject({ complete: false, definitions: [{ path: 'large.ts', line: 1 }] });
    expect(all.notes).toContainEqual(unparsed);
    // A server knows what the parser does not.
    const from = await tree.ask.definitions({ symbol: 'Large', from: 'use.ts' }, PATIENT);
    expect(from).toMatchObject({ found: 'semantic', complete: true, definitions: [{ path: 'large.ts' }] });
    const outline = await tree.ask.outline({ path: 'large.ts' }, IMPATIENT);
    expect(outline).toMatchObject({ found: 'semantic', entries: [{ name: 'Large' }, { name: 'find' }] });
  });
});
