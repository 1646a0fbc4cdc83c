/**
 * Stands in a word for text that only the shell knows: a variable, a substitution, a pattern for file names. It can be any
 * text, also none, also several words. No command line can hold this character itself.
 */
export const HOLE = '\0';

/** A word of a command. */
export interface ShellWord {
  /** Without its quotes; what the shell would put in stands there as it was written. */
  readonly text: string;
  /** The same, with a `HOLE` for everything the shell would put in. */
  readonly mask: string;
  /** Nothing in it was quoted or put in: only then it can be a word of the shell's grammar. */
  readonly plain: boolean;
  /** The shell puts something in besides names of files. */
  readonly filled: boolean;
}

/** Thrown where a line cannot be read any further. */
export class Unreadable extends Error {}

/** A word as it is put together. */
export class WordParts {
  readonly #text: string[] = [];
  readonly #mask: string[] = [];
  /** Characters that may stand for others, and the places of `[` in the mask. */
  #patterns = '';
  readonly #brackets: number[] = [];
  #plain = true;
  #filled = false;

  literal(text: string): void {
    this.#text.push(text);
    this.#mask.push(text);
  }

  quoted(text: string): void {
    this.#plain = false;
    this.literal(text);
  }

  hole(text: string): void {
    this.#plain = false;
    this.#filled = true;
    this.#text.push(text);
    this.#mask.push(HOLE);
  }

  /** A character that may stand for others: `*`, `?`, `[…]` for names of files, `{a,b}` for words. */
  pattern(character: string): void {
    if (character === '[') this.#brackets.push(this.#mask.length);
    this.#patterns += character;
    this.#text.push(character);
    this.#mask.push(character === '*' || character === '?' ? HOLE : character);
  }

  join({ text, mask, filled }: ShellWord): void {
    this.#plain = false;
    this.#filled ||= filled;
    this.#text.push(text);
    this.#mask.push(mask);
  }

  word(): ShellWord {
    const [text, patterns] = [this.#text.join(''), this.#patterns];
    // `[` alone is a command, `{}` a word of `find`.
    if (patterns.includes(']')) for (const at of this.#brackets) this.#mask[at] = HOLE;
    const spreads =
      patterns.includes('{') && patterns.includes('}') && (patterns.includes(',') || text.includes('..'));
    const mask = spreads ? HOLE : this.#mask.join('');
    return { text, mask, plain: this.#plain, filled: this.#filled };
  }
}

export const isWord = ({ text, plain }: ShellWord, wanted: string): boolean => plain && text === wanted;
