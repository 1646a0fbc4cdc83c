import type { Regions } from './lexer.ts';

/** What is open at a place: a bracket; or within one, something that ended before. */
export interface Opening {
  readonly at: number;
  readonly sign: '(' | '[' | '{' | ';';
}

/** So far a bracket is looked for, and so far in all for one file. */
const FAR = 2_000;
const FAR_IN_ALL = 1_000_000;

const OPENS = '([{';
const CLOSES = ')]}';
/** Where strings, patterns and comments cannot be told apart, brackets mean nothing behind these. */
const UNCLEAR = `'"\`/`;

/** The brackets of a text, as far as they are near. Whoever looks for many of them in one file asks one of these. */
export class Brackets {
  readonly text: string;
  readonly #regions: Regions | null;
  #left = FAR_IN_ALL;

  constructor(text: string, regions: Regions | null) {
    this.text = text;
    this.#regions = regions;
  }

  /** Null: it is not near, or the text does not tell. */
  opening(before: number): Opening | null {
    let depth = 0;
    for (let at = before - 1; at >= 0 && before - at < FAR && this.#left > 0; at--) {
      this.#left -= 1;
      const sign = this.text[at] ?? '';
      if (!this.#matters(sign)) continue;
      const region = this.#regions?.at(at);
      if (region) at = region.from;
      else if (UNCLEAR.includes(sign) && !this.#regions) return null;
      else if (CLOSES.includes(sign)) depth += 1;
      else if (sign === ';') {
        if (depth === 0) return { at, sign };
      } else if (!OPENS.includes(sign)) continue;
      else if (depth > 0) depth -= 1;
      else return { at, sign: sign as Opening['sign'] };
    }
    return null;
  }

  /** Where the bracket at a place is closed. */
  closing(open: number): number | null {
    let depth = 0;
    for (let at = open; at < this.text.length && at - open < FAR && this.#left > 0; at++) {
      this.#left -= 1;
      const sign = this.text[at] ?? '';
      if (!this.#matters(sign)) continue;
      const region = this.#regions?.at(at);
      if (region) at = region.to - 1;
      else if (UNCLEAR.includes(sign) && !this.#regions) return null;
      else if (OPENS.includes(sign)) depth += 1;
      else if (CLOSES.includes(sign) && --depth === 0) return at;
    }
    return null;
  }

  #matters(sign: string): boolean {
    return OPENS.includes(sign) || CLOSES.includes(sign) || sign === ';' || UNCLEAR.includes(sign);
  }
}
