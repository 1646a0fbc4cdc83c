import { expect, test } from 'vitest';
import { Syntax } from '../src/syntax/syntax.ts';
import { heldText } from '../src/text/contents.ts';
import { guessedSpots } from '../src/questions/anchors.ts';
import { placeText } from '../src/text/declared.ts';
import { declarationIn } from '../src/text/exports.ts';
import { plainUses } from '../src/text/plain-uses.ts';
import { spotsOf } from '../src/text/spots.ts';

/** Each with the places of `x` in it. */
const TEXTS: readonly string[] = [
  'export class x {}',
  'class x {}\nfunction y() {\nclass x {}\n}',
  'export default abstract class x {\n}\nexport async function x() {}',
  'namespace N {\nexport class x {}\n}',
  'declare module "m" {\nexport interface x {}\n}',
  '/*\nclass x {}\n*/\nconst a = `\nclass x {}\n${() => {\nclass x {}\n}}\n`;\nenum x {}',
  'f(() =>\nfunction x() {})',
  'const s = "{"; // {\nexport interface x {}',
  '  class x {}\nexport function* x() {}\nexport const x = 1;',
  'let x = (() => {\n  let x = new A();\n})();\nvar x = { a: 1 };\nconst x = [1];',
  'const x = (a) => a;\nlet x = function () {};\nvar x = async () => 1;\nconst x = f(1), y = 2;\nlet x;\nexport var x;\nlet x, y;',
  "export const x = Symbol('x');\nconst x: A<B[]> | C = f<D>(1);\nexport const x: A = y.z;\nconst x = async(a) => a;\nlet x = y => y;\nconst x: () => A = f();",
  "const x = /[a(]/;\nexport const x: { [a: string]: B } = {\n};\nlet x: A['b'] | (C) = [];\nconst x: { a(): B } = f(1);",
  'export const enum x {\n}\nconst enum x {}',
  'export type x = A;\ntype x<T> = T;\nexport namespace x {\n}\ndeclare namespace x.y {\n}\nexport type { x };',
  '/**\n * Of many words,\n * and lines.\n *\n * @param a\n */\nexport abstract class x extends y.z {\n}\n',
  '/** One. */\n\ninterface x {}\nconst a = 1\nenum x { a }',
  '/** Above. */\n@decorated()\n@also.by(that)\nexport class x {}\n/** Not of it. */\n\n@decorated\nclass x {}',
  '/** Far. */\n// Near.\nclass x {}\n@decorated\nclass x {}\n@decorated({\n})\nclass x {}',
  'class x<T extends { a: 1 }> {}\nclass x\n{}\n/* plain */ class x {}',
];

test('[NAV1.6] what begins its line and is declared at the top is known without parsing, as the parser knows it', async () => {
  const syntax = new Syntax();
  for (const text of TEXTS)
    for (const spot of spotsOf(text, 'x')) {
      const { declared } = placeText('a.ts', heldText(text), spot);
      const parsed = await syntax.at('a.ts', text, spot);
      const { name, kind, exported, container, local, signature, doc } = parsed ?? {};
      if (!declared) continue;
      const { shown, ...known } = declared;
      expect({ ...known, container: null, local: false }, text).toEqual({
        name,
        kind,
        exported,
        container,
        local,
      });
      // A server leaves the decorators out.
      const plain = signature?.replace(/^(?:@[\w().]+ )+(?:export )?/, '');
      if (shown) expect(shown, text).toEqual({ signature: plain, doc });
    }
  const seen = (text: string) =>
    spotsOf(text, 'x').map((spot) => placeText('a.ts', heldText(text), spot).declared?.kind ?? null);
  expect(TEXTS.map(seen)).toEqual([
    ['class'],
    ['class', null],
    ['class', 'function'],
    [null],
    [null],
    [null, null, null, 'enum'],
    [null],
    ['interface'],
    [null, null, 'variable'],
    ['variable', null, 'variable', 'variable'],
    [null, null, null, 'variable', 'variable', 'variable', null],
    ['variable', null, 'variable', 'variable', null, null, null],
    ['variable', 'variable', null, null],
    ['enum', 'enum'],
    ['type', 'type', 'namespace', null, null],
    ['class'],
    ['interface', 'enum'],
    ['class', 'class'],
    ['class', 'class', 'class'],
    ['class', 'class', null],
  ]);
  const docs = (text: string) =>
    spotsOf(text, 'x').map((spot) => placeText('a.ts', heldText(text), spot).declared?.shown?.doc);
  expect(TEXTS.slice(-5).map(docs)).toEqual([
    ['Of many words, and lines.'],
    [undefined, null],
    ['Above.', undefined],
    [undefined, null, undefined],
    [undefined, undefined, undefined],
  ]);
  expect(placeText('a.py', heldText('class x {}'), { line: 1, column: 7 }).declared).toBeNull();
  expect(placeText('a.ts', heldText('a\r\nb  \r\n'), { line: 2, column: 1 }).text).toBe('b');
  expect(placeText('a.ts', heldText('a'), { line: 3, column: 1 }).text).toBe('');
});

test('[NAV1.14] in a file whose signs cannot be told apart, what an import binds is known by it; where it may be something else is told', () => {
  const uses = (...rows: string[]) => {
    const found = plainUses('a.tsx', heldText(rows.join('\n')), 'x');
    return found && [...found.spots.map(({ line, column }) => `${line}:${column}`), ...found.others];
  };
  const element = "const e = <Of<p>>It isn't `closed</Of>;";
  const imported = "import { x } from './a';";
  expect(heldText(element).regions()).toBeNull();
  expect(uses(imported, element, 'x.y(); new x(); f(a as x);')).toEqual(['1:10']);
  expect(uses(imported, element, 'const f = (x) => <p>{x.y}</p>;', 'let x;')).toEqual(['1:10', 3, 4]);
  expect(uses(element, 'x.y();')).toBeNull();
  // Which of them is in a comment, a parser says.
  expect(uses(element, '/*', imported, '*/', imported)).toBeNull();
  expect(uses(imported, element, ...Array.from({ length: 300 }, () => 'let x;'))).toBeNull();
  const declared = `${element}\nexport class x {}\nclass x {}`;
  const kinds = spotsOf(declared, 'x').map(
    (spot) => placeText('a.tsx', heldText(declared), spot).declared?.kind,
  );
  expect(kinds).toEqual(['class', undefined]);
});

test('[NAV2.9] what is called in JavaScript is used there; in TypeScript a method may be declared that way', () => {
  const isUsed = (text: string, path = 'a.js') => plainUses(path, heldText(text), 'x') !== null;
  for (const call of [
    'x();',
    'f(a, x(1), b)',
    "x('(', /[)]/, `)`);",
    'x(\n  1,\n).y;',
    'x(() => {\n});',
    `x(${' '.repeat(2_000)});`,
  ])
    expect([isUsed(call), isUsed(call, 'a.ts')], call).toEqual([true, false]);
  for (const method of [
    'x() {}',
    'x(a = ");") {}',
    'x()\n{}',
    'x({ a }) {',
    'x(',
    // Nobody counts so far.
    `${'x('.repeat(100_000)}${')'.repeat(100_000)};`,
  ])
    expect(isUsed(`class A {\n${method}\n}`), method).toBe(false);
});

test('[NAV1.6] a line, a comment or a file that is made to be slow keeps nobody waiting', () => {
  const shownIn = (text: string) => {
    const line = text.split('\n').length;
    const column = text.length - text.lastIndexOf('\n') - 'x {}'.length;
    return placeText('a.ts', heldText(text), { line, column }).declared?.shown;
  };
  expect(shownIn(`/**${'\n'.repeat(200_000)}*/\nclass x {}`)).toEqual({ signature: 'class x', doc: null });
  const wide = `class x ${' '.repeat(200_000)}y`;
  expect(placeText('a.ts', heldText(wide), { line: 1, column: 7 }).declared?.shown).toBeUndefined();
  const minified = heldText('let x=1;'.repeat(200_000));
  expect(declarationIn(minified, 'x', { exported: false })).toMatchObject({ offset: 4 });
  expect(guessedSpots(minified.text, 'x')).toEqual([{ line: 1, column: 5 }]);
});

test('[NAV2.9] a minified file, all of it one line, keeps nobody waiting', () => {
  const uses = plainUses('a.min.js', heldText(`${'a=x(1)+[x];'.repeat(100_000)}b`), 'x');
  expect(uses?.spots.length).toBe(1);
  // Brackets within brackets are followed only so far.
  for (const part of ['f(a,{b:[x,', 'f(x,', '{x,', 'a=<b,x,', '(x):', 'x(', 'x '])
    expect(
      plainUses('a.ts', heldText(`let y;${part.repeat(100_000)}`), 'x')?.spots.length ?? 0,
      part,
    ).not.toBe(1);
  const listed = plainUses('a.min.js', heldText(`${'f(x);f(a,x);'.repeat(100_000)}b`), 'x');
  expect(listed?.spots.length).toBe(200_000);
});

test('[NAV1.14] what an import binds is asked about there, and nowhere else', () => {
  const uses = (text: string) => {
    const found = plainUses('a.ts', heldText(`import { x } from './x';\n${text}`), 'x');
    expect(found?.spots, text).toEqual([{ line: 1, column: 10 }]);
    return found && { members: found.members, others: found.others, mayDefine: found.mayDefine };
  };
  const plain = { members: 0, others: [], mayDefine: false };
  // Called, made, or before a dot it is what was imported. Members of others do not count.
  expect(uses("a = x();\nnew x();\nx.y;\na.x;\n// x\n'x'")).toEqual({ ...plain, members: 1 });
  // A parameter or a pattern may bind it anew, and is nothing that anybody looks for.
  expect(uses('a = x();\n((x) => 1);\nx.y')).toEqual({ ...plain, others: [3] });
  for (const text of [
    'let a, x;',
    'const { a, x } = b;',
    'enum E { a, x }',
    'for (let a, x; ; ) {}',
    'class A { x = 1 }',
    'interface A { x: 1 }',
    'const x = 1;',
  ])
    expect(uses(`a = x();\n${text}`), text).toEqual({ ...plain, others: [3], mayDefine: true });
});

test('[NAV2.9] of the uses of a name those are asked about that may mean something else', () => {
  const uses = (text: string) => {
    const found = plainUses('a.ts', heldText(text), 'x');
    return found && { lines: found.spots.map(({ line }) => line), members: found.members };
  };
  expect(uses('a = x();\nx.y')).toEqual({ lines: [1], members: 0 });
  expect(uses('f(x);\nx.y')).toEqual({ lines: [1, 2], members: 0 });
  expect(uses('f(...x);\na.x')).toEqual({ lines: [1], members: 1 });
  // Between commas in parentheses nothing is defined that anybody looks for.
  expect(uses('f("a", x);\nf(g(")", [1]), x, {});')).toEqual({ lines: [1, 2], members: 0 });
  // There are members only.
  expect(uses('a.x;\nb.x()')).toEqual({ lines: [1, 2], members: 0 });
  // It may be defined here.
  for (const text of ['let a, x;', 'f({ a, x })', 'class A { x = 1 }', '// x'])
    expect(uses(text), text).toBeNull();
});
