import { hasTypes } from '../languages.ts';
import type { Regions } from './regions.ts';
import { lineNear } from './spots.ts';

/** What is open at a place: a bracket; or within one, something that ended before. */
export interface Opening {
  readonly at: number;
  readonly sign: '(' | '[' | '{' | ';';
}

/** So much before a place tells what it is. */
const NEAR = 60;
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
  /** It is TypeScript: what stands behind `<` may be a type. */
  readonly hasTypes: boolean;
  readonly #regions: Regions | null;
  #left = FAR_IN_ALL;

  constructor(path: string, text: string, regions: Regions | null) {
    this.text = text;
    this.hasTypes = hasTypes(path);
    this.#regions = regions;
  }

  /** What stands right before a place, behind the last comment: a word that ends one is none of the code. */
  behind(at: number): string {
    const start = Math.max(0, at - NEAR);
    const before = this.text.slice(start, at);
    for (let end = before.length; end > 0;) {
      const line = before.lastIndexOf('\n', end - 1);
      const block = before.lastIndexOf('*/', end - 1);
      if (line < 0 && block < 0) return before;
      end = Math.max(line, block);
      if (this.#isComment(start + end - (end === line ? 1 : 0)))
        return before.slice(end + (end === line ? 1 : 2));
    }
    return before;
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

  #isComment(at: number): boolean {
    if (this.#regions) return this.#regions.at(at)?.role === 'comment';
    // Where nobody can say, it is one if it may be.
    const start = lineNear(this.text, at + 1) ?? at;
    return /\/\/|\*/.test(this.text.slice(start, at + 1));
  }

  #matters(sign: string): boolean {
    return OPENS.includes(sign) || CLOSES.includes(sign) || sign === ';' || UNCLEAR.includes(sign);
  }
}
