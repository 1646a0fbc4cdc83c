/**
 * What agents send, read leniently: each has its own idea of what is required, and one odd field must not cost a
 * session. What is not understood is left out.
 */
export type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A value deep inside, or undefined. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((inner, key) => fieldsOf(inner)[key], value);
}

/** As JSON, cut. */
export function brief(value: unknown, most: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** About how much of memory a value takes, in characters. */
export function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.entries(value).reduce((sum, [key, inner]) => sum + key.length + charsOf(inner), 8);
}
