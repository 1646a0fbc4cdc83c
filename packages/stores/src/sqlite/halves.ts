import type { Doc, Shape } from '../columns.ts';

/**
 * A document in two texts: what is fixed is written once, what is live with every version. A prompt of many kilobytes is
 * not written again because its task began to run.
 */
export class Halves {
  readonly #fixed: readonly string[];
  /** The other fields, as the first document shows them: all of a table have the same. */
  #live: readonly string[] | undefined;

  constructor(shape: Shape) {
    this.#fixed = shape.fixed;
  }

  fixedText(doc: Doc): string {
    return textOf(doc, this.#fixed);
  }

  liveText(doc: Doc): string {
    this.#live ??= Object.keys(doc).filter((name) => !this.#fixed.includes(name));
    return textOf(doc, this.#live);
  }

  /** By identity: whoever makes the next version of a row copies what it leaves alone. */
  sameFixed(a: Doc, b: Doc): boolean {
    const left = a as unknown as Record<string, unknown>;
    const right = b as unknown as Record<string, unknown>;
    return this.#fixed.every((name) => left[name] === right[name]);
  }

  join(fixed: string, live: string): Doc {
    return { ...JSON.parse(fixed), ...JSON.parse(live) } as Doc;
  }
}

function textOf(doc: Doc, names: readonly string[]): string {
  const fields = doc as unknown as Record<string, unknown>;
  const half: Record<string, unknown> = {};
  for (const name of names) half[name] = fields[name];
  return JSON.stringify(half);
}
