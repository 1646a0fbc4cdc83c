import type { Doc, Shape } from '../columns.ts';

/**
 * A document in two texts: what is fixed is written once, what is live with every version. A prompt of many kilobytes is
 * not written again because its task began to run.
 */
export class Halves {
  readonly #fixed: readonly string[];
  readonly #isFixed: ReadonlySet<string>;

  constructor(shape: Shape) {
    this.#fixed = shape.fixed;
    this.#isFixed = new Set(shape.fixed);
  }

  fixedText(doc: Doc): string {
    const fields = doc as unknown as Record<string, unknown>;
    const half: Record<string, unknown> = {};
    for (const name of this.#fixed) half[name] = fields[name];
    return JSON.stringify(half);
  }

  liveText(doc: Doc): string {
    const half: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(doc)) if (!this.#isFixed.has(name)) half[name] = value;
    return JSON.stringify(half);
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
