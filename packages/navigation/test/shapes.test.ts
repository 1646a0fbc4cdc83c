import { expect, test } from 'vitest';
import { Hover } from '../src/lsp/shapes.ts';

test('[NAV3.1] what is shown on a name comes in every form of the protocol, and anything else is garbage', () => {
  const shown = (given: unknown) => Hover.safeParse(given).data;
  expect(shown(null)).toBeNull();
  expect(shown({ contents: 'a' })).toBe('a');
  expect(shown({ contents: { kind: 'markdown', value: 'a' }, range: {} })).toBe('a');
  expect(shown({ contents: ['a', { language: 'ts', value: 'b' }] })).toBe('a\nb');
  expect(shown({ contents: [] })).toBe('');
  for (const garbage of [
    undefined,
    1,
    'a',
    [],
    {},
    { contents: null },
    { contents: [1] },
    { contents: { value: 1 } },
  ])
    expect(Hover.safeParse(garbage).success, JSON.stringify(garbage)).toBe(false);
});
