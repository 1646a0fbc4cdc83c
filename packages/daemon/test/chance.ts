import { z } from 'zod';

/** Chance that a seed decides, so that what failed can be tried again. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). Mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  one<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  often(probability: number): boolean {
    return this.next() < probability;
  }
}

const WORDS = [
  '',
  'a',
  'Do it.',
  '../..',
  '\u0000',
  '\ud800',
  '😀',
  '<img onerror=x>',
  '$(id)',
  '-x',
  '%2e%2e',
  'null',
  'a\nb',
];
const JUNK: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1.5,
  1e308,
  '',
  'x',
  [],
  {},
  [[]],
  { a: 1 },
  'task_1',
  '\u202e',
  { constructor: 1 },
];

/** Something that a schema may take; mostly it does. `ids` are those of things that exist. */
export function valueFor(schema: z.ZodType, chance: Chance, ids: readonly string[]): unknown {
  const again = (inner: unknown): unknown => valueFor(inner as z.ZodType, chance, ids);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return chance.often(0.5) ? undefined : again(schema.unwrap());
  if (schema instanceof z.ZodNullable) return chance.often(0.3) ? null : again(schema.unwrap());
  if (schema instanceof z.ZodPipe) return again(schema.in);
  if (schema instanceof z.ZodUnion) return again(chance.one(schema.options));
  if (schema instanceof z.ZodLiteral) return schema.value;
  if (schema instanceof z.ZodEnum) return chance.one(schema.options);
  if (schema instanceof z.ZodBoolean) return chance.often(0.5);
  if (schema instanceof z.ZodNumber) return chance.one([0, 1, 2, 5, 100, 0.5, -1]);
  if (schema instanceof z.ZodString) return chance.often(0.8) ? `w${chance.below(1_000)}` : chance.one(WORDS);
  if (schema instanceof z.ZodArray)
    return Array.from({ length: chance.below(4) }, () => again(schema.element));
  if (schema instanceof z.ZodObject) {
    const entries = Object.entries(schema.shape as Record<string, z.ZodType>);
    return Object.fromEntries(entries.map(([key, inner]) => [key, again(inner)]));
  }
  if (schema instanceof z.ZodCustom) return chance.one(ids);
  return chance.one(JUNK);
}

/** The same with something wrong in it, somewhere. */
export function spoil(value: unknown, chance: Chance): unknown {
  if (chance.often(0.3) || typeof value !== 'object' || value === null) return chance.one(JUNK);
  if (Array.isArray(value)) {
    const at = chance.below(value.length + 1);
    return value.toSpliced(at, chance.below(2), spoil(value[at], chance));
  }
  const key = chance.one([...Object.keys(value), 'extra', '__proto__', 'constructor', 'toJSON']);
  const copy: Record<string, unknown> = Object.fromEntries(Object.entries(value));
  Object.defineProperty(copy, key, {
    value: spoil(copy[key], chance),
    enumerable: true,
    writable: true,
    configurable: true,
  });
  return copy;
}

/** Bytes with some of them changed, doubled or gone. */
export function garble(text: string, chance: Chance): Buffer {
  const bytes = [...Buffer.from(text)];
  for (let n = 1 + chance.below(5); n > 0; n--) {
    const at = chance.below(bytes.length);
    bytes.splice(at, chance.below(3), ...Array.from({ length: chance.below(3) }, () => chance.below(256)));
  }
  return Buffer.from(bytes);
}
