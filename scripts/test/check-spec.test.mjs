import { expect, test } from 'vitest';
import { findMismatches } from '../check-spec.mjs';
import { makeTree } from './tree.mjs';

test('a rule without a test, a test without a rule and a rule listed twice are reported', () => {
  using tree = makeTree({
    'packages/core/SPEC.md': '# Core\n- **WAK1** A.\n- **WAK2** B.\n- **WAK2.1** C.\n- **MBX1** D.\n',
    'packages/stores/SPEC.md': '- **MBX1** D.\n',
    'test/FAULTS.md': '- **B12** A fault.\n- **peer-a** A case.\n',
    'packages/core/test/wake.test.ts': `
      test('[WAK1] a', () => {});
      test.skip('[WAK2] skipped, so no proof', () => {});
      test.for([{ name: '[MBX1][B12] in a table' }])('$name', () => {});
      test("[WAK9] no such rule", () => {});`,
  });
  expect(findMismatches(tree.root)).toEqual([
    'packages/core/SPEC.md: no test proves WAK2; begin the name of one with [WAK2].',
    'packages/core/SPEC.md: no test proves WAK2.1; begin the name of one with [WAK2.1].',
    'test/FAULTS.md: no test proves peer-a; begin the name of one with [peer-a].',
    'packages/core/test/wake.test.ts: a test claims to prove WAK9, which no SPEC.md or FAULTS.md lists.',
    'packages/core/SPEC.md: MBX1 is listed more than once (packages/core/SPEC.md, packages/stores/SPEC.md).',
  ]);
});

test('rules and tests that match are not reported', () => {
  using tree = makeTree({
    'packages/core/SPEC.md': 'In prose, WAK7 and **WAK8** are no rules.\n- **WAK1** A.\n',
    'test/FAULTS.md': '- **peer-a** A case.\n',
    'test/simulation/a.test.ts':
      "test(`[WAK1] a`, () => {});\ntest('[peer-a] b', () => {});\nconst list = [a[1], 'x'];",
  });
  expect(findMismatches(tree.root)).toEqual([]);
});

test('a product rule that no room lists, and one that a room lists although it is marked later, are reported', () => {
  using tree = makeTree({
    'test/RULES.md': '# Rules\n- WAK1\n- WAK2\n- WAK3\n- VSC1 *(later)*\n- VSC2 *(later)*\n',
    'packages/core/SPEC.md': '- **WAK1** A.\n- **WAK2.1** B.\n- **WAK30** C.\n- **VSC2.4** D.\n',
    'packages/core/test/a.test.ts': "test('[WAK1][WAK2.1][WAK30][VSC2.4] a', () => {});",
  });
  expect(findMismatches(tree.root)).toEqual([
    'test/RULES.md: no SPEC.md lists WAK3; list it, or mark it (later).',
    'test/RULES.md: VSC2 is marked (later), but packages/core/SPEC.md lists it; remove the mark.',
  ]);
});
