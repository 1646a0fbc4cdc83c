import { expect, test } from 'vitest';
import {
  ERRORS,
  ReveilleError,
  SpawnInput,
  checkJsonSchema,
  isReveilleError,
  isStoreError,
  parseInput,
} from '@reveille/protocol';

test('every error code has a status, an exit code and a meaning', () => {
  for (const [code, { http, exit, means }] of Object.entries(ERRORS)) {
    expect(code).toMatch(/^[a-z_]+$/);
    expect(http).toBeGreaterThanOrEqual(400);
    expect(exit).toBeGreaterThan(0);
    expect(means).toMatch(/\.$/);
  }
});

test('an error is told by its code, not by its words', () => {
  const cause = new Error('disk');
  const error = new ReveilleError('store_full', 'no space', { cause, data: { path: 'x' } });
  expect([isReveilleError(error), isReveilleError(error, 'store_full'), isStoreError(error)]).toEqual([
    true,
    true,
    true,
  ]);
  expect([
    isReveilleError(error, 'internal'),
    isReveilleError(cause),
    isStoreError(new ReveilleError('not_found', 'x')),
  ]).toEqual([false, false, false]);
  expect(error).toMatchObject({ code: 'store_full', data: { path: 'x' }, cause });
});

test('a wrong input gets all its problems, each with its place', () => {
  let problems: { at: string; problem: string }[] = [];
  try {
    const name = 'x'.repeat(100_000);
    parseInput(SpawnInput, { prompt: '', name, targetFiles: ['', 'ok', 7], extra: 1 });
  } catch (error) {
    problems = (error as ReveilleError).data['problems'] as typeof problems;
  }
  const places = problems.map(({ at }) => at).toSorted();
  expect(places).toEqual(['input', 'name', 'prompt', 'targetFiles.0', 'targetFiles.2']);
  const said = new Map(problems.map(({ at, problem }) => [at, problem]));
  expect(said.get('prompt')).toBe('is empty');
  expect(said.get('name')).toMatch(/^is longer than \d+ characters$/);
});

test('[SUB6] a result is checked against a JSON schema; a schema that cannot be used is said so', () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  expect(checkJsonSchema(schema, { n: 1 })).toEqual([]);
  expect(checkJsonSchema(schema, { n: 'x' })).toHaveLength(1);
  expect(checkJsonSchema(schema, undefined)).toHaveLength(1);
  expect(checkJsonSchema({ $ref: '#/nowhere/at/all' }, {})).toHaveLength(1);
});
