import { expect, test } from 'vitest';
import { guessedSpots } from '../src/questions/anchors.ts';
import { isAllDefined } from '../src/text/all-defined.ts';
import { Syntax } from '../src/syntax/syntax.ts';
import { spotsOf } from '../src/text/spots.ts';
import { heldText } from '../src/text/contents.ts';
import { isBound } from '../src/text/bound.ts';
import { Brackets } from '../src/text/brackets.ts';
import { explainHits } from '../src/text/explain.ts';

const explained = (text: string, name = 'x') => explainHits('a.ts', heldText(text), spotsOf(text, name));

/** Each with the places of `x` in it. */
const TEXTS: readonly string[] = [
  'x; // x\n/* x */ x; /** x\n * x */ x',
  "x + 'x' + \"x\" + 'it\\'s x' + x",
  '`x ${x} x ${`x ${x + "x"}` + { a: x }.a} x` + x',
  'a / x / b; (a) / x; a[0] / x; /x/.test(x); return /[/x]/ + x',
  'i++ / x; i-- / x; f(/x/, x); a = b / x // x',
  'if (a) b = /\\/x/g; throw /x/; x',
  'const y = { x, "x": x, [`x`]: x }; label: x',
  'type T<x> = { x: x } & Array<x>; a < x; b > x',
  'ö.x; x.ö; "ö x"; // ö x',
  "typeof x / x; a.return / x / 'x'",
  "(a(')') + b) / x; // x\nf(/* ( */ a)(b) / x + 'x'; a.if(b) / x / 'x'",
  "const a = '<b>x</b>' + x; // it's <br/> x\nif (a <x) x",
  'type A = `x ${x} ${string & x} x`; let a: x',
  "// So it is.\nreturn /'x/.test(x) + 'x'",
];

/** Likewise, with elements. */
const ELEMENTS: readonly string[] = [
  '<b>x</b>',
  "f(<b>it's x</b>, 'x', x)",
  "a = <p>it's</p>; b = 'x' + x",
  "return <>'x' {x} // x</>; // x",
  "return ( // x\n  <a b=\"x's\" c={x} {...x} d='x' x>{/* x */}{'x'}{`x ${<i>x {x}</i>}`} x &amp; x</a>)",
  'a = b ? <x.y z={{ x: x }} /> : <><x-y /* x */ z>x</x-y>x<br/>x</>; x',
  'const f = <T,>(x: T) => <p>x{x as T}</p>; const g = <T extends x>(a: T) => <p>x {a < x}</p>',
  'if (a <x && b> x) <x/>; a = b as Map<x, y>; c = [<li key={x}>x</li>, x]',
  '<A b={() => { if (x) { return <B>x</B>; } }}>\n  x\n  {x.map((y) => <C key={x}>{y} x</C>)}\n</A>',
];

test.for([
  ['a.ts', TEXTS],
  ['a.tsx', ELEMENTS],
] as const)(
  '[NAV1.6] comments and strings are told from code by the text alone as the parser tells them: %s',
  async ([path, texts]) => {
    await using syntax = new Syntax();
    for (const text of texts) {
      const parsed = await syntax.roles(path, text, spotsOf(text, 'x'));
      expect(
        explained(text).map(({ role }) => role),
        text,
      ).toEqual(parsed);
    }
  },
);

test('[NAV1.6] what the text alone does not tell is left to the parser', () => {
  // A template or a string without end, a slash that may divide or not; and another language.
  for (const text of [
    '`x',
    "'x\n'",
    '/* x',
    "if (a) /'x/.test(b)",
    "while (f(a)) /'x/.test(b)",
    "}\n/'/.exec(x)",
    // What may be an element and is none, or none that can be told.
    'a = <T>(x: T) => 1; "</T>"',
    'a = <any>x; b = "</any>" // x',
    'a = <b>x</c>',
    'a = <b>x<c></b></c>',
    'a = <b>x > y</b>',
    'a = <b x; "/>"',
    'a = <b>{x</b>',
    'a = <Of<x> />',
    'a = <b c=<i>x</i> />',
  ])
    expect(explained(text)[0], text).toEqual({ role: null, group: null });
  expect(explainHits('a.py', heldText('x'), [{ offset: 0 }])).toEqual([{ role: null, group: null }]);
  // The path of a module leads to a file; that is for the server to say.
  expect(explained("import a from './x';")[0]?.role).toBeNull();
});

test('[NAV2.9] hits are taken together only where nothing in the file can give them another meaning', () => {
  const groups = (text: string) => explained(text).map(({ group }) => group);
  const imported = "import { A, B } from './a';\n";
  expect(groups(`${imported}A.x(); B.x; new A.x(); let a: A.x;`)).toEqual([
    'value A of a',
    'value B of a',
    'value A of a',
    'type A of a',
  ]);
  expect(groups("import D, {\n  A as C,\n} from 'lib';\nC.x; D.x")).toEqual([
    'value C in a.ts',
    'value D in a.ts',
  ]);
  expect(groups("import D, { A as C } from '../b/c';\nimport * as E from './e';\nC.x; D.x; E.x")).toEqual([
    'value A of ../b/c',
    'value default of ../b/c',
    'value * of e',
  ]);
  // What is called, made or extended is not bound anew.
  expect(groups(`${imported}new A(); A(); class C extends A {}; a instanceof A; A.x`)).toEqual([
    'value A of a',
  ]);
  // Nor is it by a member of its name.
  expect(groups(`${imported}switch (a) { case T.A: return A.x; } b = { c: d?.A };`)).toEqual([
    'value A of a',
  ]);
  // What is imported under another name has this one elsewhere only.
  expect(groups(`${imported}import { A as C } from 'd'; A.x`)).toEqual(['value A of a']);
  expect(groups("import { x } from './b';\nimport { x as y } from './c';\nf(x + 1);")).toEqual([
    'value bound to x of b',
    'value bound to x of c',
    'value bound to x of b',
  ]);
  // A name may begin like the word.
  expect(groups("import { imported, x } from './b';\nf(x + 1);")).toEqual([
    'value bound to x of b',
    'value bound to x of b',
  ]);
  expect(groups("import { x as y } from './b';\nconst x = y;")).toEqual(['value bound to x of b', null]);
  expect(groups('A.x; f(A.x)')).toEqual(['value A in a.ts', 'value A in a.ts']);
  const bound = [
    '(A) => A.x',
    'let A = 1; A.x',
    'f({ A }); A.x',
    'A; A.x',
    'function A() {} A.x',
    'function* A() {} A.x',
    'f(A, 1); A.x',
    'const { a: A } = b; A.x',
    'try {} catch (A) { A.x }',
    'namespace N.A { A.x }',
    'namespace N\n  .A { A.x }',
    'f(...A); A.x',
  ];
  for (const text of bound) expect(groups(`${imported}${text}`), text).toEqual([null]);
  expect(groups('this.x; a.b.x; f().x; a[0].x; x; a?.x; a!.x')).toEqual([
    null,
    null,
    null,
    null,
    null,
    null,
    null,
  ]);
});

test('[NAV2.9] whatever may bind a name anew is not taken for a use of it', () => {
  const says = (text: string, path = 'a.ts'): boolean =>
    isBound(new Brackets(path, text, heldText(text).regions()), text.indexOf('Head'), 'Head');
  for (const use of [
    'x = new Head()',
    'class A implements Head {',
    'class A extends B<Head> {',
    'private a: Head;',
    'f(a: Head): void',
    'f(a: Head, b?: number) {',
    'f(a: A, b: Head = 1) {',
    'f(): Head {',
    'a: Head[] = [];',
    'a: Head<B> = b;',
    'let a: A | Head;',
    'a: Promise<Head>;',
    'b = new Emitter<Head>();',
    '@inject(Head) a',
    'bind(A).to(Head)',
    'x.get(Head, y)',
    '(a as Head).b',
    'const a = Head;',
    'return Head;',
    'keyof Head',
    'bind(Head).toSelf()',
    'a === Head;',
    'a.get<Head>(b)',
    'a.get<B>(Head, c)',
    'a.get<Partial<Head>[]>(b)',
    'type A = B<Head>;',
    'if (isBound(Head)) {',
    'const a: Head = b;',
    'private readonly a?: Head = b;',
    'class A implements B, Head {',
    'let a: Map<string, Head>;',
    'a = new Map<string, Head[]>();',
    'f(): Promise<Record<string, Head>> {',
    'let a: Emitter<[Head, B]>;',
    'let a = new Map<string, [Head, B]>();',
    'f(a: { b: Head, c: D }) {',
    'f(): { b: Head } {',
    'type A = { b: Head };',
    'interface A { b: string; c: Head }',
    'let a = { b: Head, c };',
    'return { b: 1, Head };',
    'let a = [b, Head];',
    'a[Head] = 1;',
    'let a = { [Head]: 1 };',
    'let a = { ...Head, b: 1 };',
    'let a = `.${Head}`;',
    'x.f(a, Head);',
    "return g('a', Head, { b });",
    'a = g(b, h(Head, c));',
    'new A(b, Head);',
    'f({ a: Head }).b;',
    'x.f({ a: Head, b });',
    'if (Head) {',
    '@Head class A {',
    'a = <Head>{ b: 1 };',
    'f(a: readonly Head[])',
    'f(): a is Head {',
    'const f = (a): Head => 1;',
    'x.filter((a): a is Head => b)',
    'f(a as Head, b);',
    'const a: (Head | B)[] = [];',
    'let a = Head ?? b;',
    'let a = b ? c : Head;',
    'for (const a of Head) {',
    'Head(a).b;',
  ])
    expect(says(use), use).toBe(true);
  for (const binding of [
    'const Head = 1;',
    'const { a: Head } = b;',
    'const { a: Head, b } = c;',
    'const { a: Head = 1 } = c;',
    'const [Head] = b;',
    'const { a: [Head, b] } = c;',
    'f({ a: [Head] }) {',
    'f(a, [Head]) {',
    'f(({ a: Head, b }) => 1)',
    'f({ a: Head }) {',
    'f(Head) {',
    'f(Head: A) {',
    'x.then(Head => 1)',
    'x.then((Head) => 1)',
    'a = Head => 1',
    'return Head => 1',
    'b ? c(d) : Head => 1',
    '({ a: Head => 1 })',
    'import { a as Head } from "b"',
    'class A<Head> {',
    'f<Head>(a) {',
    '({ a, f<Head>(b) {} })',
    'a = async<Head>(b) => 1',
    'const a = <Head>(b) => 1',
    '({ a: function<Head>() {} })',
    '({ a: class<Head> {} })',
    '({ a: async<Head>(b) => 1 })',
    'for (const Head of a)',
    'catch (Head) {',
    'f(a: (Head) => void)',
    'abstract f(Head): A;',
    'enum Head {',
    'namespace a.Head {',
    'Head(a) {',
    'async Head(a): B {',
    'protected Head(a): B {',
    'interface A { Head(a): B }',
    'const [a, Head] = b;',
    'const { a, ...Head } = b;',
    'const { a: { b: Head } } = c;',
    'for (const { a: Head } of b) {',
    '({ a: Head } = b);',
    '[a, Head] = b;',
    'f(({ a: { b: Head } }) => 1)',
    'f(a, ...Head) {',
    'x.f((a, Head) => 1)',
    'x.f(function (a, Head) {})',
    'x.f(a ? (b) : Head => 1)',
    'f(a, Head): void;',
    'let a, Head;',
    'enum A { B, Head }',
    'let a = { Head: 1 };',
    'let a = { Head() {} };',
    'class A { Head = 1 }',
    'interface A { Head: B }',
    'class A<B extends C, Head> {',
    'f<A, Head>(b) {',
    'type A = { [Head in B]: C };',
    'let a: { [Head: string]: B };',
    'import { a as Head, b } from "c";',
    'import a, { b, Head } from "c";',
    'export { a as Head };',
    'type Head = 1;',
    'async Head => 1',
    'interface A { // what it is\n Head: B }',
    'interface A { /* what it is */ Head: B }',
    'class A { if(Head, b) {} }',
    'a.f(function b<C, Head extends D = E>(g) {})',
    'a.f(function b<C, Head>(g) {})',
    'class A { if(a: B, Head?: C): D; }',
    'interface A { set offset(Head: B);',
    'for (var a = 1, Head; a < Head; a++) (b);',
    'class A { // of those that are new\n f(Head) {} }',
    'class A { // and those in\n constructor(Head: B);',
  ])
    expect(says(binding), binding).toBe(false);
  // Smaller than, and no type.
  expect(says('var a=b<c,Head=1', 'a.js')).toBe(false);
});

test('[NAV2.9] a definition is guessed without parsing only if nothing else in the file may be one', () => {
  const isAll = (text: string) => {
    const guess = guessedSpots(text, 'x');
    return {
      spots: guess.map(({ line }) => line),
      all: isAllDefined('a.ts', heldText(text), { name: 'x', guess }),
    };
  };
  const used = "f(x); new x(); a.x; x.y; let b: x; '${x}'; // function x\nimport { x } from './x';";
  expect(isAll(`export class x {}\n${used}`)).toEqual({ spots: [1], all: true });
  expect(isAll('function x(): void;\nfunction x(a: b): void;')).toEqual({ spots: [1, 2], all: true });
  expect(isAll('const xx = 1;\nf(x)')).toEqual({ spots: [], all: false });
  // A statement of its own, and a list of values.
  for (const more of [
    'f();\nx;',
    'export default x;',
    'const a = {\n  b,\n  x,\n};',
    'x[0] = 1;',
    'if (a) {\n}\nx;',
  ])
    expect(isAll(`export function x() {}\n${more}`), more).toEqual({ spots: [1], all: true });
  for (const more of [
    'let a,\n  x;',
    'let\nx;',
    'for (const {\n  x,\n} of a) {}',
    'const f = ({\n  x,\n}) => 1;',
    'const f = (a) => {\n  var y\n  , x\n  ;\n};',
    'class A { x; }',
    'class A {\n  x = 1;\n}',
    'class A { static x() {} }',
    'let a, x = 1',
    'const { x } = a',
  ])
    expect(isAll(`export function x() {}\n${more}`), more).toEqual({ spots: [1], all: false });
  // What stands in a comment or a template is none.
  expect(isAll('/*\nclass x\n*/').all).toBe(false);
  expect(isAll('`\nclass x\n`').all).toBe(false);
});
