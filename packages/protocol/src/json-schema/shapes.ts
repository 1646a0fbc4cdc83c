export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

/** The schema that a `$ref` names in its own document; undefined: none. */
export function resolveRef(ref: unknown, root: Fields): Fields | boolean | undefined {
  if (typeof ref !== 'string' || !/^#(?:\/|$)/.test(ref)) return undefined;
  let at: unknown = root;
  for (const part of ref.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Fields)[key];
  }
  return isObject(at) || typeof at === 'boolean' ? at : undefined;
}
