import { expect, test } from 'vitest';
import { SpawnInput, checkJsonSchema, parseInput, schemaProblem } from '@reveille/protocol';

type Schema = Record<string, unknown>;
const object = (properties: Schema, more: Schema = {}): Schema => ({ type: 'object', properties, ...more });

test('[SUB6] every keyword that is let in is checked', () => {
  const cases: [Schema, fits: unknown[], not: unknown[]][] = [
    [{ type: ['string', 'null'] }, ['x', null], [1, undefined, {}]],
    [{ type: 'integer' }, [1, 2.0], [1.5, '1']],
    [{ enum: ['a', { b: [1, { c: 2, d: 3 }] }] }, ['a', { b: [1, { d: 3, c: 2 }] }], ['b', { b: [1] }, null]],
    [{ const: [1] }, [[1]], [[1, 2], 1]],
    [object({ n: { type: 'number' } }, { required: ['n'] }), [{ n: 1 }, { n: 1, m: 2 }], [{}, { n: '1' }]],
    [object({ n: true }, { additionalProperties: false }), [{}, { n: 1 }], [{ m: 1 }]],
    [object({}, { additionalProperties: { type: 'string' } }), [{ a: 'b' }], [{ a: 1 }]],
    [{ items: { type: 'number' }, minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], [1, 2, 3], ['a']]],
    [{ prefixItems: [{ type: 'string' }], items: false }, [['a'], []], [[1], ['a', 'b']]],
    [{ items: [{ type: 'string' }] }, [['a', 1]], [[1]]],
    [
      { uniqueItems: true },
      [[1, '1', { a: 1 }]],
      [
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    ],
    [{ minLength: 2, maxLength: 3 }, ['ab', '👍👍'], ['a', 'abcd']],
    [{ minimum: 1, exclusiveMaximum: 3 }, [1, 2.9], [0, 3]],
    [{ exclusiveMinimum: 1, maximum: 3 }, [1.1, 3], [1, 4]],
    [{ multipleOf: 0.1 }, [0.3, 1e9], [0.25]],
    [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }], [{}, { a: 1, b: 2 }]],
    [{ anyOf: [{ type: 'string' }, { minimum: 3 }] }, ['a', 3], [2]],
    [{ oneOf: [{ type: 'number' }, { minimum: 3 }] }, [2], [4]],
    [{ allOf: [{ type: 'number' }, { minimum: 3 }] }, [3], [2, '']],
    [{ not: { type: 'string' } }, [1], ['a']],
    [{ type: 'string', format: 'email', title: 'An annotation' }, ['not an address'], [1]],
    [
      { $defs: { tree: object({ of: { items: { $ref: '#/$defs/tree' } } }) }, $ref: '#/$defs/tree' },
      [{ of: [{ of: [] }] }],
      [{ of: [{ of: [1] }] }],
    ],
  ];
  for (const [schema, fits, not] of cases) {
    for (const value of fits)
      expect([schema, value, checkJsonSchema(schema, value)]).toEqual([schema, value, []]);
    for (const value of not)
      expect([schema, value, checkJsonSchema(schema, value)]).not.toEqual([schema, value, []]);
  }
});

test('[BND7.20] a schema is refused at the door for its size, its depth and its patterns, with what to send instead', () => {
  let deep: Schema = { type: 'string' };
  for (let i = 0; i < 5_000; i++) deep = { not: deep };
  const wide = { enum: Array.from({ length: 10_000 }, (_, i) => i) };
  const refused: [Schema, RegExp][] = [
    [object({ x: { type: 'string', pattern: '^(a+)+$' } }), /properties\.x\.pattern.*enum/],
    [object({}, { patternProperties: { '^(a+)+$': true } }), /patternProperties.*additionalProperties/],
    [{ anyOf: [{ items: { $defs: { a: { pattern: 'x' } } } }] }, /anyOf\.0\.items\.\$defs\.a\.pattern/],
    [{ if: {}, else: {} }, /\.if cannot be used/],
    [{ propertyNames: { pattern: '(a+)+$' } }, /propertyNames/],
    [deep, /deeper than 24/],
    [wide, /more than 4000 values/],
    [{ description: 'x'.repeat(70_000) }, /longer than 64000/],
    [{ $ref: 'https://example.org/schema' }, /\$ref must name/],
    [{ $ref: '#/nowhere' }, /\$ref must name/],
    [{ type: 'text' }, /type must be one of/],
    [{ properties: [] }, /properties must be/],
    [{ anyOf: {} }, /anyOf must be/],
    [{ minLength: 'x' }, /minLength must be a number/],
    [{ multipleOf: 0 }, /multipleOf/],
    [{ required: [1] }, /required/],
  ];
  for (const [resultSchema, words] of refused) {
    expect(schemaProblem(resultSchema)).toMatch(words);
    expect(() => parseInput(SpawnInput, { prompt: 'x', resultSchema })).toThrow(words);
  }
});

test('[BND7.20] a task that was stored with such a schema is told what to do, and its pattern is not run', () => {
  const stored = object({ x: { type: 'string', pattern: '^(a+)+$' } });
  // With the pattern this would take longer than the universe is old.
  const [problem, ...more] = checkJsonSchema(stored, { x: `${'a'.repeat(100)}!` });
  expect(more).toEqual([]);
  expect(problem).toMatch(/cannot be used.*pattern.*status failed/);
});

test('[BND7.21] no schema and no result makes a check long: it ends, and says what to report instead', () => {
  const names = Array.from({ length: 40 }, (_, i) => `a${i}`);
  /** Each asks for the next one twice: 2^40 visits. */
  const doubling = (keyword: string): Schema => ({
    $ref: '#/$defs/a0',
    $defs: Object.fromEntries(
      names.map((name, i) => {
        const next = i === names.length - 1 ? { type: 'string' } : { $ref: `#/$defs/a${i + 1}` };
        return [name, { [keyword]: [next, next] }];
      }),
    ),
  });
  const list = Array.from({ length: 200_000 }, (_, i) => `item ${i}`);
  const some = list.slice(0, 3_000);
  const alternatives = Array.from({ length: 1_000 }, (_, i) => (i < 999 ? { const: i } : {}));
  const long: [Schema, unknown][] = [
    [doubling('anyOf'), 1],
    [doubling('allOf'), 'x'],
    [doubling('oneOf'), 1],
    [{ $ref: '#' }, 1],
    [{ anyOf: [{ $ref: '#' }] }, 1],
    [{ uniqueItems: true }, [list, list]],
    [{ items: { anyOf: alternatives } }, list],
    [{ items: { enum: [[...some]] } }, list.map(() => some)],
    [{ items: { minLength: 1 } }, Array.from({ length: 10 }, () => 'x'.repeat(5_000_000))],
    [
      object({}, { additionalProperties: { type: 'number' } }),
      Object.fromEntries(list.map((name) => [name, 1])),
    ],
  ];
  for (const [schema, value] of long)
    expect(checkJsonSchema(schema, value)).toEqual([expect.stringContaining('smaller')]);
});
