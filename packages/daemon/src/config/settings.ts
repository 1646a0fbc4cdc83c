import { z } from 'zod';
import { Config } from './schema.ts';

/** One thing that can be set. */
export interface Setting {
  readonly path: readonly string[];
  /** `engine.health.graceMs` is `REVEILLE_ENGINE_HEALTH_GRACE_MS`. */
  readonly variable: string;
  readonly schema: z.ZodType;
}

/** All of them, in the order of the schema. */
export const SETTINGS: readonly Setting[] = settingsOf(Config, []);

function settingsOf(schema: z.ZodType, path: readonly string[]): Setting[] {
  const inside = insideOf(schema);
  if (!(inside instanceof z.ZodObject)) return [{ path, variable: variableOf(path), schema }];
  return Object.entries(inside.shape as Record<string, z.ZodType>).flatMap(([key, value]) =>
    settingsOf(value, [...path, key]),
  );
}

/** Without what says that it may be absent or null. */
function insideOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodNullable)
    return insideOf(schema.unwrap() as z.ZodType);
  return schema;
}

function variableOf(path: readonly string[]): string {
  const words = path.map((key) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase());
  return ['REVEILLE', ...words].join('_');
}

/** The names that a group has: `engine.depth` → orchestrator, standalone. */
export function keysOf(group: string): string[] {
  const prefix = group === '' ? [] : group.split('.');
  const below = SETTINGS.filter(({ path }) => prefix.every((key, i) => path[i] === key));
  return [...new Set(below.flatMap(({ path }) => path[prefix.length] ?? []))];
}
