import { fieldsOf, isObject, resolveRef, type Fields } from './shapes.ts';

/**
 * Bounds of a schema that somebody else wrote. It is part of a prompt and is read at every report, so it is small; a
 * schema for the result of one task needs a tenth of this.
 */
export const SCHEMA_LIMITS = { chars: 64_000, values: 4_000, depth: 24 } as const;

/** Keywords that hold one schema, a list of schemas, and schemas by name. */
const ONE = ['additionalProperties', 'items', 'not'];
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items'];
const NAMED = ['properties', '$defs', 'definitions'];
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const NUMBERS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

const INSTEAD = 'say it in the prompt or in a description';
/** Keywords that would change what fits, and that `checkJsonSchema` does not know: each with what to send instead. */
const REFUSED: Readonly<Record<string, string>> = {
  pattern: `use enum, minLength or maxLength, or ${INSTEAD}: patterns are not run`,
  patternProperties: 'name the properties, or use additionalProperties: patterns are not run',
  ...Object.fromEntries(
    ['propertyNames', 'contains', 'minContains', 'maxContains', 'if', 'then', 'else', 'dependencies']
      .concat('dependentSchemas', 'dependentRequired', 'unevaluatedItems', 'unevaluatedProperties')
      .concat('$dynamicRef', '$recursiveRef')
      .map((keyword) => [keyword, `leave it out and ${INSTEAD}`]),
  ),
};

/** Why a schema cannot be used, with its place and what to send instead; null: it can. */
export function schemaProblem(schema: unknown): string | null {
  return sizeProblem(schema) ?? problemIn(schema, 'schema', fieldsOf(schema));
}

/** Without recursion, because this protects everything that recurses; and given up early, because it may be huge. */
function sizeProblem(root: unknown): string | null {
  const { chars, values, depth } = SCHEMA_LIMITS;
  const waiting = [{ value: root, level: 0 }];
  let [length, count] = [0, 0];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, level } = next;
    if (level > depth) return `it is nested deeper than ${depth} levels; make it flatter`;
    if (++count > values) return `it holds more than ${values} values; send a smaller one`;
    if (typeof value === 'string') length += value.length;
    if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) {
        length += key.length;
        waiting.push({ value: inner, level: level + 1 });
        if (waiting.length > values) return `it holds more than ${values} values; send a smaller one`;
      }
    if (length > chars) return `it is longer than ${chars} characters; send a smaller one`;
  }
  return null;
}

/** The first problem of a schema and of those inside it. `sizeProblem` has bounded its depth. */
function problemIn(schema: unknown, at: string, root: Fields): string | null {
  if (typeof schema === 'boolean') return null;
  if (!isObject(schema)) return `${at} must be a schema: an object`;
  const refused = Object.keys(schema).find((keyword) => Object.hasOwn(REFUSED, keyword));
  if (refused !== undefined) return `${at}.${refused} cannot be used; ${REFUSED[refused]}`;
  const own = ownProblem(schema, root);
  if (own) return `${at}.${own}`;
  for (const [place, inner] of innerSchemas(schema)) {
    const problem = problemIn(inner, `${at}.${place}`, root);
    if (problem) return problem;
  }
  return null;
}

/** A keyword of this very schema whose value has the wrong type. */
function ownProblem(schema: Fields, root: Fields): string | null {
  const has = (keyword: string): boolean => Object.hasOwn(schema, keyword);
  const named = NAMED.find((keyword) => has(keyword) && !isObject(schema[keyword]));
  if (named) return `${named} must be an object of schemas`;
  const list = LISTS.find(
    (keyword) => has(keyword) && keyword !== 'items' && !Array.isArray(schema[keyword]),
  );
  if (list) return `${list} must be a list of schemas`;
  const types = [schema['type'] ?? 'object'].flat();
  if (!types.every((type) => TYPES.some((known) => known === type)))
    return `type must be one of ${TYPES.join(', ')}, or a list of them`;
  if (has('enum') && !Array.isArray(schema['enum'])) return 'enum must be a list of values';
  if (has('required') && !isTexts(schema['required'])) return 'required must be a list of names';
  const number = [...COUNTS, ...NUMBERS].find((keyword) => has(keyword) && !Number.isFinite(schema[keyword]));
  if (number) return `${number} must be a number`;
  if (has('multipleOf') && Number(schema['multipleOf']) <= 0) return 'multipleOf must be more than 0';
  if (has('$ref') && resolveRef(schema['$ref'], root) === undefined)
    return '$ref must name a schema of the same document, such as "#/$defs/item"';
  return null;
}

function innerSchemas(schema: Fields): (readonly [place: string, schema: unknown])[] {
  const one = ONE.flatMap((keyword): [string, unknown][] => {
    const inner = schema[keyword];
    return inner === undefined || Array.isArray(inner) ? [] : [[keyword, inner]];
  });
  const listed = LISTS.flatMap((keyword) => {
    const inner = schema[keyword];
    return Array.isArray(inner) ? inner.map((each, i): [string, unknown] => [`${keyword}.${i}`, each]) : [];
  });
  const named = NAMED.flatMap((keyword) =>
    Object.entries(fieldsOf(schema[keyword])).map(([name, each]): [string, unknown] => [
      `${keyword}.${name}`,
      each,
    ]),
  );
  return [...one, ...listed, ...named];
}

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
