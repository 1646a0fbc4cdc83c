import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { globMatcher } from '../src/search/glob.ts';

describe('globs', () => {
  test.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/deep/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/x/y/a.ts', true],
    ['**/test/**', 'a/test/b/c', true],
    ['./src/a.ts', 'src/a.ts', true],
    ['*.{js,ts}', 'a.js', true],
    ['{a,b}/{c,d}.md', 'b/d.md', true],
    ['{a,b}/{c,d}.md', 'b/e.md', false],
    ['a?c', 'abc', true],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['a.b', 'axb', false],
    ['*', '.github', true],
    ['**', 'a/b', true],
  ])('[TOL2.30] %s and %s: %s', (glob, path, fits) => {
    expect(globMatcher(glob)(path)).toBe(fits);
  });

  test('[TOL2.30] a glob without wildcards fits itself, and no glob takes for ever', () => {
    const name = fc.stringMatching(/^[a-z][a-z.]{0,7}$/);
    fc.assert(
      fc.property(fc.array(name, { minLength: 2, maxLength: 5 }), (names) =>
        globMatcher(names.join('/'))(names.join('/')),
      ),
    );
    const stars = `${'*a'.repeat(200)}b`;
    expect(globMatcher(stars)('a'.repeat(2_000))).toBe(false);
    expect(globMatcher(`${'**/'.repeat(80)}x/y`)('a/'.repeat(500))).toBe(false);
    expect(() => globMatcher('{a,b}'.repeat(20))).toThrow('alternatives');
  });
});
