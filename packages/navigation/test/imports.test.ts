import { expect, test } from 'vitest';
import { moduleAround } from '../src/text/imports.ts';

/** Where `x` stands, and which module it is from. */
const CASES: readonly (readonly [text: string, module: string | null])[] = [
  ["import { x } from './a';", './a'],
  ["import x from 'a';", 'a'],
  ["import * as x from '@a/b';", '@a/b'],
  ["import d, { a, x as y } from 'a'", 'a'],
  ["import type { x } from 'a';", 'a'],
  ["import {\n  a,\n  type x,\n  b\n} from 'a';\nf();", 'a'],
  ["export { a, x } from './b';", './b'],
  ["const { x } = require('a');", 'a'],
  ["const { x } = await import('./a');", './a'],
  ['from a.b import x', 'a.b'],
  ["import { a } from 'a';\nconst x = 1;", null],
  ["export class A {\n  x\n}\nexport { b } from './c';", null],
  ["export enum A {\n  a,\n  x\n}\nexport { b } from './c';", null],
  ['export { x };', null],
  ["f(x, 'a')", null],
  ["x;\nimport { a } from 'a';", null],
];

test('[NAV2.11] which module a name is imported or passed on from is seen from the statement around it', () => {
  for (const [text, module] of CASES) expect(moduleAround(text, text.search(/\bx\b/)), text).toBe(module);
  // Nobody looks so far.
  expect(moduleAround(`import {${' a,'.repeat(200_000)} x } from 'b'`, 600_010)).toBeNull();
});
