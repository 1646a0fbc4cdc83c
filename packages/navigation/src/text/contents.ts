import { regionsOf, type Regions } from './lexer.ts';

/** A text in memory, with what was found out about it. */
export interface Held {
  readonly text: string;
  /** Null: the text alone does not tell. */
  readonly regions: () => Regions | null;
}

const MOST_BYTES = 96 * 2 ** 20;

/**
 * Texts of files by their content, so that trees that are alike share them: opening and reading a file takes ten times as long as
 * looking through it. Those that were used longest ago make room.
 */
export class Contents {
  readonly #held = new Map<string, Held & { readonly bytes: number }>();
  readonly #most: number;
  #bytes = 0;

  constructor(most = MOST_BYTES) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(content: string): Held | null {
    const held = this.#held.get(content);
    if (!held) return null;
    this.#held.delete(content);
    this.#held.set(content, held);
    return held;
  }

  keep(content: string, file: Buffer): Held {
    const known = this.get(content);
    if (known) return known;
    const held = heldText(file.toString('utf8'));
    // One byte for a character, if there are only plain ones.
    const bytes = held.text.length === file.length ? file.length : 2 * held.text.length;
    this.#held.set(content, { ...held, bytes });
    this.#bytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#held) {
      if (this.#bytes <= this.#most) break;
      this.#held.delete(oldest);
      this.#bytes -= freed;
    }
    return held;
  }

  /** There is room for this without another going. */
  hasRoom(bytes: number): boolean {
    return this.#bytes + 2 * bytes <= this.#most;
  }
}

export function heldText(text: string): Held {
  let known: Regions | null | undefined;
  return { text, regions: () => (known === undefined ? (known = regionsOf(text)) : known) };
}
