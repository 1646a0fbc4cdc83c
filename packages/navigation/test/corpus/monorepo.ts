import { lines, type Repository } from './question.ts';

const config = (more = '') =>
  lines(
    `{ "compilerOptions": { "strict": true, "composite": true, "module": "nodenext", "allowImportingTsExtensions": true, "emitDeclarationOnly": true${more} }, "include": ["src"] }`,
  );
const consumer = (name: string): Record<string, string> => ({
  [`packages/${name}/tsconfig.json`]: config(),
  [`packages/${name}/package.json`]: `{ "name": "@made/${name}", "type": "module" }`,
  [`packages/${name}/src/main.ts`]: lines(
    "import { fetchUser } from '../../client/src/index.ts';",
    '// fetchUser is called twice',
    'export const one = fetchUser(1);',
    'export const two = fetchUser(2);',
  ),
});

/** Three packages, each with a tsconfig of its own, and none at the root: servers answer for one of them only. */
export const monorepo: Repository = {
  name: 'a monorepo without a root project',
  files: {
    'package.json': '{ "name": "made", "private": true }',
    'packages/client/tsconfig.json': config(),
    'packages/client/package.json':
      '{ "name": "@made/client", "type": "module", "exports": "./src/index.ts" }',
    'packages/client/src/index.ts': lines("export { fetchUser, type User } from './user.ts';"),
    'packages/client/src/user.ts': lines(
      'export interface User { id: number }',
      '/** Gets one. */',
      'export function fetchUser(id: number): User {',
      '  return { id };',
      '}',
    ),
    ...consumer('web'),
    ...consumer('cli'),
    ...consumer('bot'),
  },
  questions: [
    {
      ask: 'usages',
      symbol: 'fetchUser',
      file: 'packages/client/src/user.ts',
      is: [
        ...['bot', 'cli'].flatMap((name) => [1, 3, 4].map((line) => `packages/${name}/src/main.ts:${line}`)),
        'packages/client/src/index.ts:1',
        ...[1, 3, 4].map((line) => `packages/web/src/main.ts:${line}`),
      ],
      uncovered: 'in a comment',
    },
    {
      ask: 'usages',
      symbol: 'User',
      file: 'packages/client/src/user.ts',
      is: ['packages/client/src/index.ts:1', 'packages/client/src/user.ts:3'],
    },
    { ask: 'define', symbol: 'fetchUser', is: ['packages/client/src/user.ts:3'] },
    {
      ask: 'define',
      symbol: 'fetchUser',
      from: 'packages/bot/src/main.ts',
      is: ['packages/client/src/user.ts:3'],
    },
    {
      ask: 'define',
      symbol: 'one',
      is: ['packages/bot/src/main.ts:3', 'packages/cli/src/main.ts:3', 'packages/web/src/main.ts:3'],
    },
    { ask: 'define', symbol: 'one', from: 'packages/cli/src/main.ts', is: ['packages/cli/src/main.ts:3'] },
    {
      ask: 'importers',
      module: 'packages/client/src/index.ts',
      is: ['packages/bot/src/main.ts:1', 'packages/cli/src/main.ts:1', 'packages/web/src/main.ts:1'],
    },
    { ask: 'importers', module: 'packages/client/src/user.ts', is: ['packages/client/src/index.ts:1'] },
    { ask: 'exports', module: 'packages/client/src/index.ts', is: ['User', 'fetchUser'] },
    { ask: 'imports', module: 'packages/web/src/main.ts', is: ['packages/client/src/index.ts'] },
  ],
};

/** What one package exports as its default, or under another name, the others use under names of their own only. */
export const otherNames: Repository = {
  name: 'a monorepo that uses other names',
  files: {
    'package.json': '{ "name": "made", "private": true }',
    'packages/lib/tsconfig.json': config(),
    'packages/lib/package.json': '{ "name": "@made/lib", "type": "module" }',
    'packages/lib/src/parse.ts': lines(
      'export default function parseText(text: string): number {',
      '  return text.length;',
      '}',
      'export const hidden = 1;',
    ),
    'packages/lib/src/all.ts': lines("export { hidden as shown } from './parse.ts';"),
    'packages/a/tsconfig.json': config(),
    'packages/a/package.json': '{ "name": "@made/a", "type": "module" }',
    'packages/a/src/main.ts': lines("import read from '../../lib/src/parse.ts';", "read('x');"),
    'packages/b/tsconfig.json': config(),
    'packages/b/package.json': '{ "name": "@made/b", "type": "module" }',
    'packages/b/src/main.ts': lines(
      "import { shown } from '../../lib/src/all.ts';",
      'export const b = shown + 1;',
    ),
  },
  questions: [
    {
      ask: 'usages',
      symbol: 'parseText',
      file: 'packages/lib/src/parse.ts',
      is: ['packages/a/src/main.ts:1', 'packages/a/src/main.ts:2'],
    },
    {
      ask: 'usages',
      symbol: 'hidden',
      file: 'packages/lib/src/parse.ts',
      is: [
        'packages/b/src/main.ts:1',
        'packages/b/src/main.ts:2',
        'packages/lib/src/all.ts:1',
        'packages/lib/src/all.ts:1',
      ],
    },
    { ask: 'define', symbol: 'read', from: 'packages/a/src/main.ts', is: ['packages/lib/src/parse.ts:1'] },
    { ask: 'define', symbol: 'shown', from: 'packages/b/src/main.ts', is: ['packages/lib/src/parse.ts:4'] },
  ],
};

/** A solution: a root that only refers to its projects. */
export const references: Repository = {
  name: 'project references',
  files: {
    'tsconfig.json': lines(
      '{ "files": [], "references": [{ "path": "core" }, { "path": "app" }, { "path": "app/test" }] }',
    ),
    'core/tsconfig.json': lines(
      '{ "compilerOptions": { "composite": true, "strict": true, "outDir": "../out/core" }, "include": ["*.ts"] }',
    ),
    'core/log.ts': lines(
      'export class Log {',
      '  write(line: string): void { void line; }',
      '}',
      'export const log = new Log();',
    ),
    'app/tsconfig.json': lines(
      '{ "compilerOptions": { "composite": true, "strict": true, "outDir": "../out/app" }, "include": ["*.ts"], "references": [{ "path": "../core" }] }',
    ),
    'app/main.ts': lines(
      "import { log, Log } from '../core/log';",
      "log.write('a');",
      'export const own: Log = log;',
    ),
    'app/test/tsconfig.json': lines(
      '{ "compilerOptions": { "composite": true, "strict": true, "outDir": "../../out/test" }, "include": ["*.ts"], "references": [{ "path": "../../core" }, { "path": ".." }] }',
    ),
    'app/test/main.test.ts': lines(
      "import { log } from '../../core/log';",
      "import { own } from '../main';",
      "own.write('b');",
      "log.write('c');",
    ),
    'scripts/outside.ts': lines("import { log } from '../core/log';", "log.write('not in any project');"),
  },
  questions: [
    {
      ask: 'usages',
      symbol: 'Log.write',
      file: 'core/log.ts',
      is: ['app/main.ts:2', 'app/test/main.test.ts:3', 'app/test/main.test.ts:4', 'scripts/outside.ts:2'],
    },
    {
      ask: 'usages',
      symbol: 'log',
      file: 'core/log.ts',
      is: [
        'app/main.ts:1',
        'app/main.ts:2',
        'app/main.ts:3',
        'app/test/main.test.ts:1',
        'app/test/main.test.ts:4',
        'scripts/outside.ts:1',
        'scripts/outside.ts:2',
      ],
      uncovered: 'in the path of a module',
    },
    {
      ask: 'usages',
      symbol: 'own',
      file: 'app/main.ts',
      is: ['app/test/main.test.ts:2', 'app/test/main.test.ts:3'],
    },
    {
      ask: 'usages',
      symbol: 'Log',
      file: 'core/log.ts',
      is: ['app/main.ts:1', 'app/main.ts:3', 'core/log.ts:4'],
    },
    { ask: 'define', symbol: 'write', is: ['core/log.ts:2'] },
    { ask: 'define', symbol: 'own', from: 'app/test/main.test.ts', is: ['app/main.ts:3'] },
    { ask: 'define', symbol: 'log', from: 'scripts/outside.ts', is: ['core/log.ts:4'] },
    {
      ask: 'importers',
      module: 'core/log.ts',
      is: ['app/main.ts:1', 'app/test/main.test.ts:1', 'scripts/outside.ts:1'],
    },
    { ask: 'importers', module: 'app/main.ts', is: ['app/test/main.test.ts:2'] },
    { ask: 'imports', module: 'app/test/main.test.ts', is: ['app/main.ts', 'core/log.ts'] },
  ],
};

/** Packages that use each other by their names, and nothing is installed: so it is in every new worktree. */
export const uninstalled: Repository = {
  name: 'packages that are not installed',
  files: {
    'package.json': '{ "private": true, "workspaces": ["packages/*"] }',
    'packages/core/package.json': '{ "name": "@acme/core", "main": "lib/index.js" }',
    'packages/core/tsconfig.json': '{ "compilerOptions": { "strict": true }, "include": ["src"] }',
    'packages/core/src/index.ts': lines(
      'export class Signal {}',
      'export const join = (a: string) => a;',
      'export const only = 1;',
      'export class Pulse {}',
      'export class Tone {}',
    ),
    'packages/core/src/own.ts': lines(
      "import { Signal, only } from './index';",
      'export const own = [new Signal(), only];',
    ),
    'packages/app/package.json': '{ "name": "@acme/app" }',
    'packages/app/tsconfig.json': '{ "compilerOptions": { "strict": true }, "include": ["src"] }',
    'packages/app/src/main.ts': lines(
      'import {',
      '  Signal,',
      "} from '@acme/core';",
      "import { join } from 'node:path';",
      "export const main = [new Signal(), join('a')];",
    ),
    'packages/app/src/pass.ts': lines("export { Signal } from '@acme/core';"),
    'packages/app/src/passed.ts': lines(
      "import { Signal } from './pass';",
      'export const passed = new Signal();',
    ),
    'packages/app/src/renamed.ts': lines(
      "import { Pulse as Beat } from '@acme/core';",
      'export const beat = new Beat();',
    ),
    // What these mean is the same, and found out at one of them.
    'packages/app/src/tone-high.ts': lines(
      "import { Tone } from '@acme/core';",
      'export const high = new Tone();',
    ),
    'packages/app/src/tone-low.ts': lines(
      "import { Tone } from '@acme/core';",
      'export const low = new Tone();',
    ),
  },
  questions: [
    {
      ask: 'usages',
      symbol: 'Signal',
      file: 'packages/core/src/index.ts',
      is: ['packages/core/src/own.ts:1', 'packages/core/src/own.ts:2'],
      partly: true,
      uncovered: 'could not follow, or does not have: @acme/core',
    },
    {
      ask: 'usages',
      symbol: 'only',
      file: 'packages/core/src/index.ts',
      is: ['packages/core/src/own.ts:1', 'packages/core/src/own.ts:2'],
    },
    {
      ask: 'usages',
      symbol: 'Pulse',
      file: 'packages/core/src/index.ts',
      is: [],
      partly: true,
      uncovered: 'the server does not know what it is',
    },
    {
      ask: 'usages',
      symbol: 'Tone',
      file: 'packages/core/src/index.ts',
      is: [],
      partly: true,
      uncovered: 'could not follow, or does not have: @acme/core',
    },
    // What comes with Node is another one for certain, though its types are not there.
    {
      ask: 'usages',
      symbol: 'join',
      file: 'packages/core/src/index.ts',
      is: [],
      uncovered: 'imported from node:path',
    },
    {
      ask: 'define',
      symbol: 'Signal',
      from: 'packages/app/src/passed.ts',
      is: ['packages/app/src/passed.ts:1'],
      partly: true,
    },
    {
      ask: 'define',
      symbol: 'Signal',
      from: 'packages/app/src/main.ts',
      is: ['packages/app/src/main.ts:2'],
      partly: true,
    },
    {
      ask: 'define',
      symbol: 'Signal',
      from: 'packages/core/src/own.ts',
      is: ['packages/core/src/index.ts:1'],
    },
  ],
};
