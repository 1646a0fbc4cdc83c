import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatAgentType, likely, nearest, parseAgentType } from '@reveille/protocol';

test('[AGT1] [@][backend:]name, in any case, with blanks around it', () => {
  const parsed = { backend: 'claude', name: 'reviewer' };
  for (const text of ['claude:reviewer', '@claude:reviewer', ' @Claude:Reviewer '])
    expect(parseAgentType(text, 'x')).toEqual(parsed);
  for (const text of ['reviewer', '@reviewer']) expect(parseAgentType(text, 'claude')).toEqual(parsed);
});

test('[AGT1] anything else is no type', () => {
  for (const text of [
    '',
    '@',
    ':',
    'a:',
    ':a',
    'a:b:c',
    'a b',
    '@@a',
    'a/b',
    '../a',
    'ä',
    '1a',
    'a'.repeat(65),
  ]) {
    expect(parseAgentType(text, 'x'), text).toBeNull();
  }
});

test('[AGT1] what is written out is read back', () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9_-]{0,30}$/);
  fc.assert(
    fc.property(word, word, (backend, name) => {
      expect(parseAgentType(formatAgentType({ backend, name }), 'other')).toEqual({ backend, name });
    }),
  );
});

test('[AGT2] names come nearest first, all of them, however odd the typing', () => {
  const names = ['architect', 'coder', 'researcher', 'reviewer', 'tester'];
  expect(nearest('reviwer', names)[0]).toBe('reviewer');
  expect(nearest('CODR', names)[0]).toBe('coder');
  fc.assert(
    fc.property(fc.string(), (typed) => {
      expect(nearest(typed, names).toSorted()).toEqual(names);
    }),
  );
  expect(nearest('x'.repeat(1e6), names)).toHaveLength(5);
  expect(likely('reviwer', names)).toBe('reviewer');
  expect(likely('frobnicate', names)).toBeUndefined();
  expect(likely('coder', [])).toBeUndefined();
});
