import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../apps/cli/src/commands/table.ts';
import { findStale } from '../generate-docs.mjs';
import { makeTree } from './tree.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('docs/reference says what the sources say; if not: node --conditions=source scripts/generate-docs.mjs', () => {
  expect(findStale(root)).toEqual([]);
});

test('a page that is missing and one that says something else are named', () => {
  using tree = makeTree({ 'docs/reference/commands.md': '# Commands\n', 'docs/reference/tools.md': '' });
  expect(findStale(tree.root)).toEqual([
    'docs/reference/commands.md',
    'docs/reference/configuration.md',
    'docs/reference/errors.md',
    'docs/reference/tools.md',
  ]);
});

test('every command that the manual names exists', () => {
  const manual = readFileSync(join(root, 'docs/manual.md'), 'utf8');
  const named = [...manual.matchAll(/(?:^|`|\$ |\$\()reveille ([a-z]+)(?: ([a-z]+))?/gm)];
  const known = new Set(COMMANDS.map(({ name }) => name));
  const unknown = named.filter(([, one, two]) => !known.has(one) && !known.has(`${one} ${two}`));
  expect(named.length).toBeGreaterThan(20);
  expect(unknown.map(([words]) => words)).toEqual([]);
});
