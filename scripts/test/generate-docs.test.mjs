import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { findStale } from '../generate-docs.mjs';
import { makeTree } from './tree.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('docs/reference says what the sources say; if not: node --conditions=source scripts/generate-docs.mjs', () => {
  expect(findStale(root)).toEqual([]);
});

