import { z } from 'zod';

/** The kinds of settings: each with what holds if nobody sets it, and what it means. */
export const count = (least: number, most: number, preset: number, means: string) =>
  z.number().int().min(least).max(most).default(preset).describe(means);
export const ms = (preset: number, means: string, least = 0) => count(least, 86_400_000, preset, means);
export const switched = (preset: boolean, means: string) => z.boolean().default(preset).describe(means);
export const texts = (means: string) =>
  z.array(z.string().min(1).max(4_096)).max(1_000).default([]).describe(means);
export const paths = (means: string) =>
  z
    .array(
      z
        .string()
        .max(4_096)
        .regex(/^(\/|~$|~\/)/, 'must be an absolute path, or begin with ~/'),
    )
    .max(1_000)
    .default([])
    .describe(means);
export const choice = <const T extends readonly [string, ...string[]]>(
  values: T,
  preset: T[number],
  means: string,
) =>
  z
    .enum(values)
    .default(preset as never)
    .describe(means);
export const group = <T extends z.ZodRawShape>(shape: T, means: string) =>
  z
    .strictObject(shape)
    // Every key has a default, so an absent group is one without keys.
    .prefault({} as never)
    .describe(means);
export const name = (preset: string, means: string) =>
  z.string().min(1).max(64).default(preset).describe(means);
export const maybe = <T extends z.ZodType>(type: T, means: string) =>
  type.nullable().default(null).describe(means);
