import { schemaProblem } from './acceptable.ts';
import { fieldsOf, isObject, resolveRef, type Fields } from './shapes.ts';

/**
 * The work that one check may take, counted in visited keywords and values; it is a few hundredths of a second. The check runs
 * where everybody waits for it, and a schema of twenty lines (`$ref`, `anyOf`) can ask for more work than there is time.
 */
const STEPS = 100_000;
/** A `$ref` can name itself. */
const DEEPEST = 200;
const MOST_PROBLEMS = 20;

class OutOfSteps extends Error {}

/** What is wrong with a value, by a JSON schema; empty if nothing is. A schema that cannot be used is said so. */
export function checkJsonSchema(schema: Fields, value: unknown): string[] {
  // A task may have been stored with a schema that is no longer let in.
  const unusable = schemaProblem(schema);
  if (unusable)
    return [
      `the schema of this task cannot be used: ${unusable}. Report with status failed and say so; whoever gave you the task can give it again with another schema`,
    ];
  try {
    const check = new Check(schema);
    check.visit(schema, value, '', 0);
    return check.problems;
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
    return ['checking the result against the schema takes too long; report a smaller or flatter result'];
  }
}

/** One check of one value. Every visit pays for its work, so that no schema and no value can make it long. */
class Check {
  readonly problems: string[] = [];
  readonly #root: Fields;
  #steps = STEPS;

  constructor(root: Fields) {
    this.#root = root;
  }

  visit(schema: unknown, value: unknown, path: string, depth: number): void {
    this.#pay(1);
    if (depth > DEEPEST) throw new OutOfSteps();
    if (this.problems.length >= MOST_PROBLEMS || schema === true) return;
    if (!isObject(schema)) return this.#say(path, 'nothing may be here');
    this.#pay(Object.keys(schema).length);
    if (!this.#hasType(schema, value))
      return this.#say(path, `expected ${[schema['type']].flat().join(' or ')}, got ${typeOf(value)}`);
    this.#visitChoices(schema, value, path);
    if (typeof value === 'string') this.#visitText(schema, value, path);
    if (typeof value === 'number') this.#visitNumber(schema, value, path);
    if (Array.isArray(value)) this.#visitList(schema, value, path, depth);
    if (isObject(value)) this.#visitObject(schema, value, path, depth);
    this.#visitCombined(schema, value, path, depth);
  }

  #hasType({ type }: Fields, value: unknown): boolean {
    if (value === undefined) return false;
    if (type === undefined) return true;
    const is = typeOf(value);
    const isWhole = typeof value === 'number' && Number.isInteger(value);
    return [type].flat().some((each) => each === is || (each === 'integer' && isWhole));
  }

  #visitChoices(schema: Fields, value: unknown, path: string): void {
    const { enum: choices } = schema;
    if (Array.isArray(choices) && !choices.some((choice) => this.#same(choice, value)))
      this.#say(path, `must be one of ${brief(choices)}`);
    if (Object.hasOwn(schema, 'const') && !this.#same(schema['const'], value))
      this.#say(path, `must be ${brief(schema['const'])}`);
  }

  #visitText(schema: Fields, value: string, path: string): void {
    if (schema['minLength'] === undefined && schema['maxLength'] === undefined) return;
    this.#pay(Math.ceil(value.length / 16));
    let length = 0;
    for (const _ of value) length++;
    this.#within(schema, ['minLength', 'maxLength'], length, `${path || 'result'}: its length`);
  }

  #visitNumber(schema: Fields, value: number, path: string): void {
    this.#within(schema, ['minimum', 'maximum'], value, path || 'result');
    const { exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema;
    if (typeof above === 'number' && value <= above) this.#say(path, `must be more than ${above}`);
    if (typeof below === 'number' && value >= below) this.#say(path, `must be less than ${below}`);
    if (typeof multipleOf !== 'number') return;
    const times = value / multipleOf;
    // 0.3 / 0.1 is not quite 3.
    if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
      this.#say(path, `must be a multiple of ${multipleOf}`);
  }

  #visitList(schema: Fields, value: readonly unknown[], path: string, depth: number): void {
    const { items, prefixItems, uniqueItems } = schema;
    this.#within(schema, ['minItems', 'maxItems'], value.length, `${path || 'result'}: its length`);
    // Draft 7 and earlier wrote `prefixItems` as a list of `items`.
    const first: readonly unknown[] = Array.isArray(prefixItems)
      ? prefixItems
      : Array.isArray(items)
        ? items
        : [];
    const rest = items === undefined || Array.isArray(items) ? true : items;
    for (const [i, inner] of value.entries()) {
      const itself = i < first.length ? first[i] : rest;
      if (itself !== true) this.visit(itself, inner, join(path, String(i)), depth + 1);
      if (this.problems.length >= MOST_PROBLEMS) return;
    }
    if (uniqueItems !== true) return;
    const seen = new Set(value.map((inner) => this.#canonical(inner)));
    if (seen.size < value.length) this.#say(path, 'its items must differ from each other');
  }

  #visitObject(schema: Fields, value: Fields, path: string, depth: number): void {
    const { required, additionalProperties: more = true } = schema;
    const properties = fieldsOf(schema['properties']);
    const names = Object.keys(value);
    this.#pay(names.length);
    this.#within(
      schema,
      ['minProperties', 'maxProperties'],
      names.length,
      `${path || 'result'}: its number of properties`,
    );
    for (const name of Array.isArray(required) ? required.map(String) : []) {
      this.#pay(1);
      if (!Object.hasOwn(value, name)) this.#say(join(path, name), 'is missing');
    }
    for (const name of names) {
      const itself = Object.hasOwn(properties, name) ? properties[name] : more;
      if (itself === false) this.#say(join(path, name), 'is no property of the schema');
      else if (itself !== true) this.visit(itself, value[name], join(path, name), depth + 1);
      if (this.problems.length >= MOST_PROBLEMS) return;
    }
  }

  #visitCombined(schema: Fields, value: unknown, path: string, depth: number): void {
    const { $ref, allOf, anyOf, oneOf, not } = schema;
    if ($ref !== undefined) this.visit(resolveRef($ref, this.#root), value, path, depth + 1);
    for (const each of Array.isArray(allOf) ? allOf : []) this.visit(each, value, path, depth + 1);
    const fits = (each: unknown): boolean => this.#fits(each, value, depth + 1);
    if (Array.isArray(anyOf) && !anyOf.some(fits)) this.#say(path, 'fits none of the alternatives (anyOf)');
    if (Array.isArray(oneOf)) {
      const count = oneOf.filter(fits).length;
      if (count !== 1) this.#say(path, `must fit exactly one alternative (oneOf), fits ${count}`);
    }
    if (not !== undefined && fits(not)) this.#say(path, 'fits what it must not (not)');
  }

  /** What is wrong with one of several alternatives is nobody's problem. */
  #fits(schema: unknown, value: unknown, depth: number): boolean {
    const before = this.problems.length;
    this.visit(schema, value, '', depth);
    return this.problems.splice(before).length === 0;
  }

  #within(schema: Fields, [least, most]: readonly [string, string], size: number, what: string): void {
    const [low, high] = [schema[least], schema[most]];
    if (typeof low === 'number' && size < low) this.problems.push(`${what} must be at least ${low}`);
    if (typeof high === 'number' && size > high) this.problems.push(`${what} must be at most ${high}`);
  }

  #same(a: unknown, b: unknown): boolean {
    this.#pay(1);
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
    return this.#canonical(a) === this.#canonical(b);
  }

  /** The same text for values that JSON schema calls equal. */
  #canonical(value: unknown): string {
    this.#pay(typeof value === 'string' ? 1 + Math.ceil(value.length / 16) : 1);
    if (Array.isArray(value)) return `[${value.map((each) => this.#canonical(each)).join(',')}]`;
    if (!isObject(value)) return JSON.stringify(value) ?? 'null';
    const names = Object.keys(value).toSorted();
    this.#pay(names.length);
    return `{${names.map((name) => `${JSON.stringify(name)}:${this.#canonical(value[name])}`).join(',')}}`;
  }

  #say(path: string, problem: string): void {
    this.problems.push(`${path || 'result'}: ${problem}`);
  }

  #pay(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new OutOfSteps();
  }
}

function typeOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`).slice(0, 300);

function brief(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
