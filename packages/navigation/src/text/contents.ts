import { Depths } from './depths.ts';
import { regionsOf } from './lexer.ts';
import { Lines } from './lines.ts';
import { passedOnIn, type PassedOn } from './passed-on.ts';
import type { Regions } from './regions.ts';
import { lineNear } from './spots.ts';

/** A text in memory, with what was found out about it. */
export interface Held {
  readonly text: string;
  /** Null: the text alone does not tell. */
  readonly regions: () => Regions | null;
  readonly lines: () => Lines;
  /** Null: likewise. */
  readonly depths: () => Depths | null;
  /** Where its first namespace begins; infinite: it has none. */
  readonly firstSpace: () => number;
  readonly passedOn: () => PassedOn;
}

const MOST_BYTES = 96 * 2 ** 20;

/** A file as it was read, before anything was found out about it. */
interface Raw {
  readonly bytes: Buffer;
  held: Held | null;
}

/**
 * Texts of files by their content, so that trees that are alike share them: opening and reading a file takes ten times as long as
 * looking through it. Those that were used longest ago make room. What was read and not looked into yet is there by its file.
 */
export class Contents {
  readonly #held = new Map<string, Held & { readonly bytes: number }>();
  readonly #raw = new Map<object, Raw>();
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

  keep(content: string, file: Buffer, read: Held | null = null): Held {
    const known = this.get(content);
    if (known) return known;
    const held = read ?? heldText(file.toString('utf8'));
    // One byte for a character, if there are only plain ones.
    const bytes = held.text.length === file.length ? file.length : 2 * held.text.length;
    this.#held.set(content, { ...held, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#raw.keys()) if (this.#bytes > this.#most) this.dropRaw(oldest);
    for (const [oldest, { bytes: freed }] of this.#held) {
      if (this.#bytes <= this.#most) break;
      this.#held.delete(oldest);
      this.#bytes -= freed;
    }
    return held;
  }

  /** What was just read of a file, if there is room for it. */
  keepRaw(file: object, bytes: Buffer): void {
    if (this.#raw.has(file) || !this.hasRoom(bytes.length)) return;
    this.#raw.set(file, { bytes, held: null });
    this.#bytes += bytes.length;
  }

  rawBytes(file: object): Buffer | null {
    return this.#raw.get(file)?.bytes ?? null;
  }

  rawText(file: object): Held | null {
    const raw = this.#raw.get(file);
    return raw ? (raw.held ??= heldText(raw.bytes.toString('utf8'))) : null;
  }

  /** It is known by its content now, or not at all any more. */
  dropRaw(file: object): void {
    const raw = this.#raw.get(file);
    if (!raw) return;
    this.#raw.delete(file);
    this.#bytes -= raw.bytes.length;
  }

  /** There is room for this without another going. */
  hasRoom(bytes: number): boolean {
    return this.#bytes + 2 * bytes <= this.#most;
  }
}

export function heldText(text: string): Held {
  let regions: Regions | null | undefined;
  let lines: Lines | undefined;
  let depths: Depths | null | undefined;
  let firstSpace: number | undefined;
  let passedOn: PassedOn | undefined;
  const held: Held = {
    text,
    regions: () => (regions === undefined ? (regions = regionsOf(text)) : regions),
    lines: () => (lines ??= new Lines(text)),
    depths: () => {
      const known = held.regions();
      return depths === undefined ? (depths = known && new Depths(text, held.lines(), known)) : depths;
    },
    firstSpace: () =>
      (firstSpace ??= Math.min(firstLineWith(text, 'namespace '), firstLineWith(text, 'module '))),
    passedOn: () => (passedOn ??= passedOnIn(text)),
  };
  return held;
}

/** Where a line begins with a word, or with what may stand before it; infinite: none does. */
function firstLineWith(text: string, word: string): number {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    const start = lineNear(text, at);
    if (start !== null && /^\s*(?:export\s+)?(?:declare\s+)?$/.test(text.slice(start, at))) return at;
  }
  return Infinity;
}
