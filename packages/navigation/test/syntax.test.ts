import { describe, expect, test } from 'vitest';
import { LANGUAGES, type Language } from '../src/languages.ts';
import { isCommentLine } from '../src/syntax/comment-lines.ts';
import { Syntax } from '../src/syntax/syntax.ts';
import { spotsOf } from '../src/text/spots.ts';

const syntax = new Syntax();
const named = async (path: string, text: string) =>
  ((await syntax.definitions(path, text)) ?? []).map(({ name, kind, container }) =>
    container === null ? `${kind} ${name}` : `${kind} ${container}.${name}`,
  );

describe('what parsing alone knows', () => {
  test.for([
    [
      'a.ts',
      'export class A { b = 1; c(): void {} }\nconst { d } = x;\nenum E { F, G = 2 }',
      ['class A', 'property A.b', 'method A.c', 'variable d', 'enum E', 'enum member E.F', 'enum member E.G'],
    ],
    [
      'a.tsx',
      'export const View = () => <div/>;\ninterface Props { x: number }',
      ['function View', 'interface Props', 'property Props.x'],
    ],
    [
      'a.py',
      'X = 1\nclass A:\n    y: int = 2\n    def b(self):\n        z = 1',
      ['variable X', 'class A', 'variable A.y', 'method A.b'],
    ],
    [
      'a.go',
      'package a\ntype T struct{ x int }\nfunc (t T) M() {}\nconst C = 1\nvar v = 2\nfunc F() {}',
      ['type T', 'property T.x', 'method T.M', 'constant C', 'variable v', 'function F'],
    ],
    [
      'a.rs',
      'struct S { x: u8 }\nimpl S { fn m(&self) {} }\ntrait T { fn t(&self); }\nmod n { pub fn f() {} }',
      ['struct S', 'property S.x', 'method S.m', 'trait T', 'method T.t', 'module n', 'function n.f'],
    ],
    [
      'a.java',
      'class A { int x; void m() {} }\ninterface I { void n(); }',
      ['class A', 'variable A.x', 'method A.m', 'interface I', 'method I.n'],
    ],
    [
      'a.cpp',
      '#define M 1\nclass K { void m(); };\nint f(int a) { return a; }\nstruct S x;\nint N::K::m() {}\ntypedef struct n { int v; } n_t;',
      [
        'macro M',
        'class K',
        'method K.m',
        'function f',
        'variable x',
        'function K.m',
        'struct n',
        'property n.v',
        'type n_t',
      ],
    ],
    ['a.cs', 'namespace N { class A { void M() {} } }', ['namespace N', 'class N.A', 'method A.M']],
    ['a.rb', 'module M\n  class A\n    def b; end\n  end\nend', ['module M', 'class M.A', 'method A.b']],
    ['a.php', '<?php\nclass A { function b() {} }\nfunction c() {}', ['class A', 'method A.b', 'function c']],
  ] as const)('[NAV1.6] the definitions of %s', async ([path, text, expected]) => {
    expect(await named(path, text)).toEqual(expected);
  });

  test('[NAV1.6] what C only declares is told from what it defines', async () => {
    const text =
      'int f(int a);\nint *g(void);\nextern int x;\nint y;\nint z = 1;\nclass K { void m(); int p; void n() {} };\nint h() { int k(int); return 1; }\n';
    const found = await syntax.definitions('a.cpp', text);
    expect(found?.filter(({ declaredOnly }) => declaredOnly).map(({ name }) => name)).toEqual([
      'f',
      'g',
      'x',
      'm',
    ]);
    expect(found?.filter(({ declaredOnly }) => !declaredOnly).map(({ name }) => name)).toEqual([
      'y',
      'z',
      'K',
      'p',
      'n',
      'h',
    ]);
  });

  test('[NAV1.6] signature, documentation, whether it is exported, and whether it is local', async () => {
    const text =
      '/**\n * Adds two.\n * @param a one\n */\nexport function add(a: number): number {\n  const inner = a;\n  return inner;\n}\n';
    const found = await syntax.definitions('a.ts', text);
    expect(found).toMatchObject([
      {
        name: 'add',
        signature: 'function add(a: number): number',
        doc: 'Adds two.',
        exported: true,
        local: false,
        line: 5,
        column: 17,
        endLine: 8,
      },
      { name: 'inner', exported: false, local: true },
    ]);
  });

  test('[NAV1.6] imports and exports in all their forms', async () => {
    const text = [
      "import d, { e as f } from './one';",
      "import * as all from './two';",
      "import './three';",
      "const four = require('./four'); const five = import('./five');",
      "export { a as b } from './six';",
      "export * from './seven';",
      "export * as eight from './eight';",
      'export default class K {}',
    ].join('\n');
    const found = await syntax.module('a.ts', text);
    expect(found?.imports.map(({ specifier, names }) => [specifier, ...names])).toEqual([
      ['./one', 'default', 'e'],
      ['./two', '* as all'],
      ['./three'],
      ['./four'],
      ['./five'],
      ['./six', 'a'],
      ['./seven'],
      ['./eight', '* as eight'],
    ]);
    expect(found?.exports.map(({ name }) => name)).toEqual(['b', 'eight', 'default']);
    expect(found?.stars.map(({ specifier }) => specifier)).toEqual(['./seven']);
    const python = await syntax.module(
      'a.py',
      'from .b import c as d, e\nimport f.g as h\n__all__ = ["x", "y"]\n',
    );
    expect(python?.imports.map(({ specifier, names }) => [specifier, ...names])).toEqual([
      ['.b', 'c', 'e'],
      ['f.g'],
    ]);
    expect(python?.all).toEqual(['x', 'y']);
  });

  test.for([
    ['a.php', '<?php\nuse Shop\\Cart;\nuse function Shop\\total;', ['Shop\\Cart 2:10', 'Shop\\total 3:19']],
    ['a.sh', '. ./a.sh\nsource "lib/b.sh"\nother x', ['./a.sh 1:7', 'lib/b.sh 2:15']],
    ['a.go', 'package a\nimport (\n\t"x/y"\n)', ['x/y 3:5']],
    ['a.c', '#include "x.h"\n#include <y.h>', ['x.h 1:13', 'y.h 2:13']],
    ['A.java', 'import a.b.C;\nimport static a.D.e;', ['a.b.C 1:12', 'a.D.e 2:19']],
  ] as const)('[NAV1.6] what %s imports, and the word that says it', async ([path, text, expected]) => {
    const found = await syntax.module(path, text);
    expect(found?.imports.map(({ specifier, line, column }) => `${specifier} ${line}:${column}`)).toEqual(
      expected,
    );
  });

  test('[NAV1.6] a name in a comment or a string is told from code, also within a template', async () => {
    const text = 'x; // x\n"x"; `x ${x}`; /x/;\n/* x */ y.x;';
    const roles = await syntax.roles('a.ts', text, spotsOf(text, 'x'));
    expect(roles).toEqual(['code', 'comment', 'string', 'string', 'code', 'string', 'comment', 'code']);
    expect(await syntax.names('a.ts', text, 'x')).toEqual([
      { line: 1, column: 1 },
      { line: 2, column: 11 },
      { line: 3, column: 11 },
    ]);
    expect(await syntax.roles('a.unknown', text, [])).toBeNull();
  });
});

test('[NAV1.6] comments that fill their lines are known without parsing, and code is never taken for one', () => {
  const text = [
    '// x',
    '/** x',
    ' * x',
    ' */ x',
    'a /* x */ + x;',
    '/* x */ x;',
    'const b = a',
    '  * x;',
    '/*',
    ' * y',
    ' */',
    '  * x;',
    'const s = 1; // x',
    '`',
    '// ${x}`',
  ];
  const isComment = (
    lines: readonly string[],
    { line, column }: { line: number; column: number },
    language: Language,
  ) =>
    isCommentLine(
      { line, text: (lines[line - 1] ?? '').slice(0, column - 1) },
      language,
      (at) => lines[at] ?? '',
    );
  const spots = spotsOf(text.join('\n'), 'x');
  const script = LANGUAGES.find(({ name }) => name === 'typescript')!;
  const found = spots.filter((spot) => isComment(text, spot, script));
  expect(found.map(({ line, column }) => `${line}:${column}`)).toEqual(['1:4', '2:5', '3:4', '6:4']);
  const python = LANGUAGES.find(({ name }) => name === 'python')!;
  expect(isComment(['  # x', 'y # x'], { line: 1, column: 5 }, python)).toBe(true);
  expect(isComment(['  # x', 'y # x'], { line: 2, column: 5 }, python)).toBe(false);
});
