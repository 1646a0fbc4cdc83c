import { BudgetLimits } from '@reveille/protocol';
import { z } from 'zod';
import type { Tool } from './tool.ts';

export type JsonSchema = Record<string, unknown>;

/** An id as an input takes it. Ids of protocol cannot be said in JSON schema, so this says their form. */
const id = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}_[0-9a-z]{1,60}$`), `expected an id like "${prefix}_…"`);

/** The form was checked; the types of protocol want it as their own. */
export const taskId = (words: string) =>
  id('task')
    .describe(words)
    .transform((value) => value as `task_${string}`);
export const planId = (words: string) =>
  id('plan')
    .describe(words)
    .transform((value) => value as `plan_${string}`);
export const requestId = (words: string) =>
  id('req')
    .describe(words)
    .transform((value) => value as `req_${string}`);
export const workerId = (words: string) =>
  z
    .string()
    .regex(/^(?:task|session)_[0-9a-z]{1,60}$/, 'expected an id like "task_…" or "session_…"')
    .describe(words)
    .transform((value) => value as `task_${string}` | `session_${string}`);

const cache = new WeakMap<z.ZodObject, { input?: JsonSchema; output?: JsonSchema }>();

/** As models and clients are given it. What has a default need not be sent, so it is the input's side that counts. */
export function inputSchema(tool: Tool): JsonSchema {
  const kept = entry(tool.input);
  kept.input ??= schemaOf(tool.input, 'input');
  return kept.input;
}

export function outputSchema(tool: Tool): JsonSchema {
  const kept = entry(tool.output);
  kept.output ??= schemaOf(tool.output, 'output');
  return kept.output;
}

function entry(type: z.ZodObject): { input?: JsonSchema; output?: JsonSchema } {
  const kept = cache.get(type) ?? {};
  cache.set(type, kept);
  return kept;
}

/** Without what some vendors' parsers stumble over and nobody needs. */
function schemaOf(type: z.ZodObject, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(type, {
    io,
    target: 'draft-7',
    override({ jsonSchema, zodSchema }) {
      delete jsonSchema.propertyNames;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (io === 'input') dropBounds(jsonSchema);
      if (budgets.has(zodSchema)) delete jsonSchema.properties;
    },
  });
  return Object.freeze(schema);
}

/** Keywords that say which inputs are refused. A model seldom meets them, and pays for them in every request (TOL4). */
const BOUNDS = [
  'pattern',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'additionalProperties',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
] as const;

/** The same fields without their words, where another tool of the same caller has said them. */
export function withoutWords<T extends z.ZodRawShape>(shape: T): T {
  const bare = Object.entries(shape).map(([name, field]) => [name, (field as z.ZodType).describe('')]);
  // Only the descriptions are others.
  return Object.fromEntries(bare) as T;
}

const budgets = new WeakSet<object>();

/** A budget as an input takes it. Its fields are named in its words, which is shorter than their schema, and only once in a tool. */
export function budget(words: string, naming = true) {
  const limits = BudgetLimits.strict();
  budgets.add(limits);
  const names = Object.keys(BudgetLimits.shape).join(', ');
  return limits.optional().describe(naming ? `${words} Numbers: ${names}.` : words);
}

/** `callTool` checks the bounds with words that say what to send instead (TOL3.1), so the catalogue does not repeat them. */
function dropBounds(schema: JsonSchema): void {
  for (const keyword of BOUNDS) delete schema[keyword];
  const { default: usual } = schema;
  if (usual === false || (Array.isArray(usual) && usual.length === 0)) delete schema['default'];
  if (schema['description'] === '') delete schema['description'];
}

/** What to send, in one line: `a2a_cancel_subtask({ taskId: string, reason?: string })`. */
export function signature(tool: Tool): string {
  return `${tool.name}(${words(inputSchema(tool), 0)})`;
}

const MOST_CHOICES = 8;

function words(schema: JsonSchema, depth: number): string {
  const { type, enum: choices, properties, items, required } = schema;
  if (Array.isArray(choices))
    return choices
      .slice(0, MOST_CHOICES)
      .map((choice) => JSON.stringify(choice))
      .join(' | ');
  if (type === 'array') return isSchema(items) ? `[${words(items, depth + 1)}, …]` : '[…]';
  if (type !== 'object') return typeof type === 'string' ? type : 'any';
  if (!isSchema(properties) || depth > 2) return '{ … }';
  const needed = new Set(Array.isArray(required) ? required : []);
  const fields = Object.entries(properties).map(
    ([name, field]) =>
      `${name}${needed.has(name) ? '' : '?'}: ${isSchema(field) ? words(field, depth + 1) : 'any'}`,
  );
  return fields.length > 0 ? `{ ${fields.join(', ')} }` : '{}';
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
