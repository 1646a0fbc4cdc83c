import { expect, test } from 'vitest';
import { findViolations } from '../check-architecture.mjs';
import { makeTree } from './tree.mjs';

/** One violation each: the files, and what must be said about them. */
const violations = {
  'a room imports a room above it': [
    { 'packages/core/src/a.ts': "import { open } from '@reveille/stores';" },
    'packages/core/src/a.ts: packages/core may not import stores.',
  ],
  'a hand imports another hand': [
    { 'packages/executors/src/a.ts': "export * from '@reveille/stores';" },
    'packages/executors/src/a.ts: packages/executors may not import stores.',
  ],
  'an app imports what it should ask the daemon for': [
    { 'apps/dashboard/src/a.ts': "import type { Plan } from '@reveille/core';" },
    'apps/dashboard/src/a.ts: apps/dashboard may not import core.',
  ],
  'core imports a builtin of Node': [
    { 'packages/core/src/a.ts': "const fs = await import('node:fs');" },
    "packages/core/src/a.ts: packages/core may not import 'node:fs'.",
  ],
  'protocol imports a package other than zod': [
    { 'packages/protocol/src/a.ts': "import 'pg';" },
    "packages/protocol/src/a.ts: packages/protocol may not import 'pg'.",
  ],
  'a relative import leaves its room': [
    { 'packages/stores/test/a.test.ts': "import {\n  plan,\n} from '../../core/src/plan.ts';" },
    "packages/stores/test/a.test.ts: '../../core/src/plan.ts' reaches into another room.",
  ],
  'what ships imports what tests share': [
    { 'apps/cli/src/a.ts': "import { House } from '../../../test/house.ts';" },
    "apps/cli/src/a.ts: '../../../test/house.ts' reaches into another room.",
  ],
  'a suite reaches into a room': [
    { 'test/crash/a.test.ts': "import { plan } from '../../packages/core/src/plan.ts';" },
    "test/crash/a.test.ts: '../../packages/core/src/plan.ts' reaches into another room.",
  ],
  'an import goes deeper than what a room exports': [
    {
      'packages/core/package.json':
        '{ "exports": { ".": "./src/index.ts", "./testing": "./src/testing.ts" } }',
      'packages/stores/src/a.ts': "import '@reveille/core/src/plan.ts';\nimport '@reveille/core/testing';",
    },
    "packages/stores/src/a.ts: '@reveille/core/src/plan.ts' is not exported by core.",
  ],
  'files import each other in a circle': [
    {
      'packages/core/src/a.ts': "import './b.ts';",
      'packages/core/src/b.ts': "import './deep/c.ts';",
      'packages/core/src/deep/c.ts': "import type { A } from '../a.ts';",
    },
    'packages/core/src/a.ts: imports itself by way of a.ts → b.ts → deep/c.ts → a.ts.',
  ],
  'a room is not in the table': [
    { 'packages/helpers/src/a.ts': '' },
    'packages/helpers/src/a.ts: packages/helpers is not in the table of rooms.',
  ],
};

test.for(Object.entries(violations))('reported: %s', ([, [files, message]]) => {
  using tree = makeTree(files);
  expect(findViolations(tree.root)).toEqual([message]);
});

test('what the rules allow is not reported', () => {
  using tree = makeTree({
    'packages/protocol/src/index.ts': "import { z } from 'zod';\nexport * from './plan.ts';",
    'packages/protocol/src/plan.ts': "// import '@reveille/core';\n/* import 'pg'; */",
    'packages/core/src/index.ts': "import { z } from '@reveille/protocol';",
    'packages/stores/src/index.ts':
      "import pg from 'pg';\nimport { core } from '@reveille/core';\nimport 'node:fs';",
    'packages/core/test/a.test.ts': "import '../src/index.ts';\nimport '@reveille/stores';",
    'apps/cli/src/main.ts': "import '@reveille/stores';",
    'apps/cli/test/b.test.ts': "import { House } from '../../../test/house.ts';",
  });
  expect(findViolations(tree.root)).toEqual([]);
});
