/** How much a JSON text may hold. A short value such as `{}` takes twenty times its length in memory when it is parsed. */
export interface JsonBounds {
  readonly values: number;
  readonly depth: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** The code of a bracket without the bit that tells `[` from `{`, and `]` from `}`. */
const OPENING = 0x5b;
const CLOSING = 0x5d;
const SQUARE_OR_CURLY = 0x20;

/**
 * How a JSON text goes past the bounds; null if it does not. Only the text is looked at, so a text that somebody else wrote
 * can be refused before `JSON.parse` makes a hundred megabytes of four. Whether it is JSON at all is left to the parser.
 */
export function jsonExcess(text: string, { values, depth }: JsonBounds): string | null {
  let [count, level] = [1, 0];
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) i = endOfString(text, i);
    else if (char === COMMA) count++;
    else if ((char & ~SQUARE_OR_CURLY) === CLOSING) level--;
    else if ((char & ~SQUARE_OR_CURLY) === OPENING) {
      count++;
      if (++level > depth) return `nested deeper than ${depth} levels`;
    }
    if (count > values) return `more than ${values} values`;
  }
  return null;
}

/** The place of the quote that ends a string, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}
