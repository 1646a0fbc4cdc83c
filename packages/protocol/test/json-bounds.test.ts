import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonExcess } from '../src/index.ts';

const WIDE = { values: Infinity, depth: Infinity };

/** The values of a parsed text, with those inside it; and how deep they are nested. */
function measured(value: unknown): { values: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, depth: 0 };
  const inner = Object.values(value).map(measured);
  return {
    values: inner.reduce((sum, { values }) => sum + values, 1),
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
  };
}

test('[BND7.34] JSON is refused by its text if it holds more values than it may, however short they are', () => {
  const many = `[${'{},'.repeat(1_000)}{}]`;
  expect(jsonExcess(many, { ...WIDE, values: 1_000 })).toBe('more than 1000 values');
  expect(jsonExcess(many, { ...WIDE, values: 3_000 })).toBeNull();
  expect(jsonExcess('['.repeat(70), { ...WIDE, depth: 64 })).toBe('nested deeper than 64 levels');
  // What stands in a string is no value.
  const text = JSON.stringify({ text: '{[,'.repeat(1_000), quoted: '\\"[,'.repeat(1_000) });
  expect(jsonExcess(text, { values: 10, depth: 1 })).toBeNull();
});

test('[BND7.34] what is within the bounds is never refused, and what is twice past them always is', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      const { values, depth } = measured(JSON.parse(text));
      // A container counts for itself and for what it holds first.
      expect(jsonExcess(text, { values: 2 * values, depth })).toBeNull();
      if (depth > 0) expect(jsonExcess(text, { ...WIDE, depth: depth - 1 })).not.toBeNull();
      if (values > 2)
        expect(jsonExcess(text, { ...WIDE, values: Math.floor((values - 1) / 2) })).not.toBeNull();
    }),
  );
});

test('[BND7.34] a text that is no JSON takes time by its length', () => {
  for (const text of [
    '"',
    '"\\',
    '"'.repeat(1_000_001),
    `"${'\\'.repeat(4_000_000)}`,
    `"${'\\"'.repeat(2_000_000)}`,
  ])
    expect(jsonExcess(text, WIDE)).toBeNull();
});
