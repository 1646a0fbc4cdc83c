// Core may not touch the machine. The lint rules that forbid it are tried on one sample of each way.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { makeTree } from './tree.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const forbidden = {
  'builtin-import': "import { readFileSync } from 'node:fs';\nexport const text = readFileSync('a');",
  'bare-builtin-import': "export * from 'fs';",
  'package-import': "import { z } from 'zod';\nexport const schema = z.string();",
  'room-import': "import { open } from '@reveille/stores';\nexport const store = open();",
  'new-date': 'export const now = () => new Date();',
  'date-now': 'export const now = () => Date.now();',
  performance: 'export const now = () => performance.now();',
  'math-random': 'export const roll = () => Math.random();',
  'math-random-quoted': "export const roll = () => Math['random']();",
  'math-random-taken-out': 'const { random } = Math;\nexport const roll = () => random();',
  'random-uuid': 'export const id = () => crypto.randomUUID();',
  'random-values': 'export const bytes = () => crypto.getRandomValues(new Uint8Array(8));',
  'set-timeout': 'export const later = (f: () => void) => setTimeout(f, 1);',
  'set-interval': 'export const often = (f: () => void) => setInterval(f, 1);',
  'set-immediate': 'export const soon = (f: () => void) => setImmediate(f);',
  'queue-microtask': 'export const soon = (f: () => void) => queueMicrotask(f);',
  'next-tick': 'export const soon = (f: () => void) => process.nextTick(f);',
  environment: 'export const home = () => process.env.HOME;',
  fetch: "export const get = () => fetch('http://localhost');",
  'abort-timeout': 'export const signal = () => AbortSignal.timeout(1);',
  'abort-timeout-taken-out': 'const { timeout } = AbortSignal;\nexport const signal = () => timeout(1);',
  navigator: 'export const cores = () => navigator.hardwareConcurrency;',
  'global-this': 'export const now = () => globalThis.Date.now();',
  'global-this-quoted': "export const roll = () => globalThis['Math'].random();",
  global: 'export const later = (f: () => void) => global.setTimeout(f, 1);',
  console: "export const say = () => console.log('a');",
  'weak-ref': 'export const hold = (o: object) => new WeakRef(o);',
};

const allowed = `import { z } from '@reveille/protocol';
import { other } from './other.ts';
export const shapes = [z, other, Math.max(1, 2), new AbortController(), AbortSignal.any([]), structuredClone({})];
`;

test('lint refuses every way core could touch the machine, and nothing else', async () => {
  const samples = Object.entries(forbidden).map(([name, text]) => [
    `packages/core/src/${name}.ts`,
    `${text}\n`,
  ]);
  using tree = makeTree({
    // Its globs count from where it lies, so the tree gets a copy.
    '.oxlintrc.json': readFileSync(join(root, '.oxlintrc.json'), 'utf8'),
    'packages/core/src/allowed.ts': allowed,
    ...Object.fromEntries(samples),
  });

  expect(await refusedFiles(tree.root)).toEqual(samples.map(([file]) => file).sort());
});

async function refusedFiles(cwd) {
  const oxlint = join(root, 'node_modules', '.bin', 'oxlint');
  const { stdout } = await promisify(execFile)(oxlint, ['--format', 'json', '.'], { cwd }).catch(
    (failed) => failed,
  );
  const restricted = JSON.parse(stdout).diagnostics.filter(({ code }) => code.includes('no-restricted'));
  return [...new Set(restricted.map(({ filename }) => filename))].sort();
}
