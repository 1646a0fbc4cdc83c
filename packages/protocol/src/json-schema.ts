import { z } from 'zod';

/** What is wrong with a value, by a JSON schema; empty if nothing is. A schema that cannot be read is said so. */
export function checkJsonSchema(schema: Record<string, unknown>, value: unknown): string[] {
  let type: z.ZodType;
  try {
    type = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (error) {
    return [`the schema cannot be used: ${String(error)}`];
  }
  const parsed = type.safeParse(value);
  return parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path.map(String).join('.') || 'result'}: ${issue.message}`);
}
