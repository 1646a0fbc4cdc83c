import { expect, test } from 'vitest';
import { isAllDefined } from '../src/text/all-defined.ts';
import { heldText } from '../src/text/contents.ts';
import { explainHits } from '../src/text/explain.ts';
import { Members } from '../src/text/members.ts';
import { spotsOf } from '../src/text/spots.ts';

const filesOf = (files: Readonly<Record<string, string>>) => {
  const held = new Map(Object.entries(files).map(([path, text]) => [path, heldText(text)]));
  return { has: (path: string) => held.has(path), hold: (path: string) => held.get(path) ?? null };
};

/** Where the last `x` of `use.ts` leads by the text alone. */
function target(files: Readonly<Record<string, string>>, path = 'src/use.ts'): string | undefined {
  const all = filesOf(files);
  const held = all.hold(path) ?? heldText('');
  return explainHits(path, held, spotsOf(held.text, 'x'), new Members('x', all)).at(-1)?.target;
}

const GUESS = { name: 'x', guess: [{ line: 1, column: 7 }] };
const USE = "import { A } from './a.js';\nA.x();";

test('[NAV2.10] a member of a class is known by its only declaration', () => {
  const of = (text: string) => target({ 'src/use.ts': USE, 'src/a.ts': text });
  expect(of('export class A {\n  static x() {}\n}')).toBe('src/a.ts:2:10');
  expect(of('export class A {\n  y() {}\n  static readonly x = 1;\n}')).toBe('src/a.ts:3:19');
  expect(of('export class A {\n}\n// x\nA.x = 1;')).toBe('src/a.ts:4:3');
  const unclear = [
    // Of another class, in a function, twice, of an instance, not exported, merged, not at the top, nowhere.
    'export class A {\n}\nclass B {\n  static x() {}\n}',
    'export class A {\n  y() {\n  static x()\n  }\n}',
    'export class A {\n  static get x() {}\n  static set x(y) {}\n}',
    'export class A {\n  x() {}\n}',
    'class A {\n  static x() {}\n}',
    'export class A {\n  static x() {}\n}\nexport namespace A {\n}',
    'f(() => {\nexport class A {\n  static x() {}\n}\n});',
    'export const x = 1;',
    'export class A {\n  // static x() {}\n}',
  ];
  for (const text of unclear) expect(of(text), text).toBeUndefined();
});

test('[NAV2.10] a file of many lines that begin something and never end it keeps nobody waiting', () => {
  const of = (text: string) => target({ 'src/use.ts': USE, 'src/a.ts': text });
  expect(of('export {\n'.repeat(60_000))).toBeUndefined();
  expect(of(`export class A {\n  static x() {}\n}\n${'abstract\n'.repeat(60_000)}`)).toBe('src/a.ts:2:10');
  const own = `${'abstract\n'.repeat(60_000)}class A {\n  static x() {}\n}`;
  expect(target({ 'src/use.ts': own })).toBe('src/use.ts:60002:10');
  const many = `class A {\n${'  static x() {}\n'.repeat(20_000)}}`;
  expect(target({ 'src/use.ts': many })).toBe('src/use.ts:20001:10');
  expect(isAllDefined('a.ts', heldText(`class x {}\n${'x;\n'.repeat(100_000)}`), GUESS)).toBe(false);
  expect(isAllDefined('a.ts', heldText(`class x {}\n${'x;\n'.repeat(9)}`), GUESS)).toBe(true);
  expect(of(`export var A;\n(function (A) {${'\n'.repeat(200_000)}`)).toBeUndefined();
});

test('[NAV2.10] a member of an enumeration is known, also of a compiled one', () => {
  const of = (text: string) => target({ 'src/use.ts': USE, 'src/a.ts': text });
  expect(of('export enum A {\n  y,\n  x = 2,\n}')).toBe('src/a.ts:3:3');
  const compiled =
    'export var A;\n(function (A) {\n  A[A["y"] = 0] = "y";\n  A[A["x"] = 1] = "x";\n})(A || (A = {}));';
  expect(of(compiled)).toBe('src/a.ts:4:8');
  expect(of('export var A = f();\nA["x"] = 1;')).toBeUndefined();
  expect(of('export enum A {\n  y = f({\n  x,\n  }),\n}')).toBeUndefined();
});

test('[NAV2.10] what passes a name on is followed, as long as it can mean one thing only', () => {
  const A = 'export class A {\n  static x() {}\n}';
  const of = (files: Readonly<Record<string, string>>) => target({ 'src/use.ts': USE, ...files });
  expect(
    of({ 'src/a.ts': "export * from './b';\nexport * from './c';", 'src/b.ts': A, 'src/c.ts': '' }),
  ).toBe('src/b.ts:2:10');
  expect(of({ 'src/a.js': "export { B as A } from '../b.js';", 'b.js': A.replace('A', 'B') })).toBe(
    'b.js:2:10',
  );
  const unclear = [
    { 'src/a.ts': "export * from './b';\nexport * from './c';", 'src/b.ts': A, 'src/c.ts': A },
    { 'src/a.ts': "import { A } from './b';\nexport { A };", 'src/b.ts': A },
    { 'src/a.ts': "export * from 'lib';" },
    { 'src/a.ts': "export * from './a';" },
    { 'src/a.ts': A, 'src/a.d.ts': A },
    { 'src/a.ts': A, 'src/a.js': A },
    {},
  ];
  for (const files of unclear) expect(of(files), JSON.stringify(files)).toBeUndefined();
});

test('[NAV2.10] a name that the file itself declares, or binds anew, or that is a type, is told apart', () => {
  const own = (text: string) => target({ 'src/use.ts': text });
  expect(own('class A {\n  static x() {}\n}\nA.x();')).toBe('src/use.ts:2:10');
  expect(own('class A {\n  static x() {}\n}')).toBe('src/use.ts:2:10');
  expect(own('class A {\n  static x() {}\n}\nfunction f(A) {\n  A.x();\n}')).toBeUndefined();
  const A = 'export class A {\n  static x() {}\n}';
  const typed = (path: string) =>
    target({ [path]: "import { A } from './a';\nlet a: A.x", 'src/a.ts': A }, path);
  expect(typed('src/use.ts')).toBeUndefined();
  expect(typed('src/use.js')).toBe('src/a.ts:2:10');
});
