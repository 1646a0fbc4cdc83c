import type { Doc, Shape } from '../columns.ts';

/** The names of the fields of a table's two halves, in the order in which the file has their values. */
export interface Fields {
  readonly fixed: readonly string[];
  readonly live: readonly string[];
}

/**
 * A document in two texts: what is fixed is written once, what is live with every version. A prompt of many kilobytes is
 * not written again because its task began to run. A text is the array of the values: their names are the same for all
 * rows and would be half of what is written.
 */
export class Halves {
  readonly #fields: Fields;
  readonly #fixed: readonly string[];

  constructor(shape: Shape, fields: Fields) {
    this.#fixed = shape.fixed;
    this.#fields = fields;
  }

  fixedText(doc: Doc): string {
    return textOf(doc, this.#fields.fixed);
  }

  liveText(doc: Doc): string {
    return textOf(doc, this.#fields.live);
  }

  /** By identity: whoever makes the next version of a row copies what it leaves alone. */
  sameFixed(a: Doc, b: Doc): boolean {
    const left = a as unknown as Record<string, unknown>;
    const right = b as unknown as Record<string, unknown>;
    return this.#fixed.every((name) => left[name] === right[name]);
  }

  join(fixed: string, live: string): Doc {
    const doc: Record<string, unknown> = {};
    fill(doc, this.#fields.fixed, fixed);
    fill(doc, this.#fields.live, live);
    return doc as unknown as Doc;
  }
}

function textOf(doc: Doc, names: readonly string[]): string {
  const fields = doc as unknown as Record<string, unknown>;
  const values: unknown[] = [];
  for (const name of names) {
    const value = fields[name];
    // An array cannot say that there is none.
    if (value === undefined)
      return JSON.stringify(Object.fromEntries(names.map((each) => [each, fields[each]])));
    values.push(value);
  }
  return JSON.stringify(values);
}

function fill(doc: Record<string, unknown>, names: readonly string[], text: string): void {
  const half = JSON.parse(text) as unknown[] | Record<string, unknown>;
  if (!Array.isArray(half)) Object.assign(doc, half);
  else for (const [at, value] of half.entries()) doc[names[at] as string] = value;
}
