import type { Doc, Shape } from '../columns.ts';
import { byHand, fieldsRead } from './accessors.ts';

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
  /** By identity: whoever makes the next version of a row copies what it leaves alone. */
  readonly sameFixed: (a: Doc, b: Doc) => boolean;
  readonly #live: (doc: Doc) => readonly unknown[];

  constructor({ table, fixed }: Shape, fields: Fields) {
    this.#fields = fields;
    const quick = byHand(table);
    const isFixed =
      quick &&
      sameValues(
        fieldsRead((doc) => quick.sameFixed(doc, {} as Doc)),
        fixed,
      );
    this.sameFixed = isFixed ? quick.sameFixed : (a, b) => sameValues(valuesOf(a, fixed), valuesOf(b, fixed));
    const isLive = quick && sameValues(fieldsRead(quick.live), fields.live);
    this.#live = isLive ? quick.live : (doc) => valuesOf(doc, fields.live);
  }

  fixedText(doc: Doc): string {
    return textOf(valuesOf(doc, this.#fields.fixed));
  }

  liveText(doc: Doc): string {
    return textOf(this.#live(doc));
  }

  join(fixed: string, live: string): Doc {
    const doc: Record<string, unknown> = {};
    fill(doc, this.#fields.fixed, fixed);
    fill(doc, this.#fields.live, live);
    return doc as unknown as Doc;
  }
}

/** A bit for each place of a text; beyond 31 they are no longer whole numbers of the machine, so no `<<`. */
const BITS = Array.from({ length: 53 }, (_, at) => 2 ** at);

/** Where a value is missing the array has null, and in front of it stands a number with the bits of these places. */
function textOf(values: readonly unknown[]): string {
  let missing = 0;
  for (let at = 0; at < values.length; at++) if (values[at] === undefined) missing += BITS[at] as number;
  const text = JSON.stringify(values);
  return missing === 0 ? text : `${missing}${text}`;
}

const valuesOf = (doc: Doc, names: readonly string[]): unknown[] =>
  names.map((name) => (doc as unknown as Record<string, unknown>)[name]);

const sameValues = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, at) => value === b[at]);

function fill(doc: Record<string, unknown>, names: readonly string[], text: string): void {
  // Rows in which something was missing were once written with the names of their fields.
  if (text.startsWith('{')) {
    Object.assign(doc, JSON.parse(text));
    return;
  }
  const start = text.indexOf('[');
  let missing = Number(text.slice(0, start));
  for (const [at, value] of (JSON.parse(text.slice(start)) as unknown[]).entries()) {
    if (missing % 2 === 0) doc[names[at] as string] = value;
    missing = Math.floor(missing / 2);
  }
}
