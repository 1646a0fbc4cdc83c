/** Where text is no code: from, to (exclusive), and what it is. */
export interface Region {
  readonly from: number;
  readonly to: number;
  readonly role: 'comment' | 'string';
}

/** All regions of a text, in its order; kept in memory for thousands of files, so three numbers each. */
export class Regions {
  readonly #numbers: Int32Array;

  constructor(regions: readonly Region[]) {
    this.#numbers = new Int32Array(regions.length * 3);
    for (const [i, { from, to, role }] of regions.entries())
      this.#numbers.set([from, to, role === 'string' ? 1 : 0], i * 3);
  }

  at(offset: number): Region | null {
    const numbers = this.#numbers;
    let low = 0;
    let high = numbers.length / 3 - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const from = numbers[middle * 3] ?? 0;
      const to = numbers[middle * 3 + 1] ?? 0;
      if (offset < from) high = middle - 1;
      else if (offset >= to) low = middle + 1;
      else return { from, to, role: numbers[middle * 3 + 2] === 1 ? 'string' : 'comment' };
    }
    return null;
  }

  /** The parts of a text that are code, up to an offset. */
  *code(text: string, until: number): Generator<string> {
    for (const [from, to] of this.spans(until)) yield text.slice(from, to);
  }

  /** From where to where there is code, up to an offset. */
  *spans(until: number): Generator<readonly [number, number]> {
    let at = 0;
    for (let i = 0; i < this.#numbers.length && at < until; i += 3) {
      const from = this.#numbers[i] ?? 0;
      if (from > at) yield [at, Math.min(from, until)];
      at = this.#numbers[i + 1] ?? until;
    }
    if (at < until) yield [at, until];
  }
}

const BEFORE_REGEX = new Set(
  'return typeof instanceof in of new delete void throw case do else yield await extends default'.split(' '),
);
const BEFORE_CONDITION = new Set(['if', 'while', 'for', 'with', 'await']);
/** So far back a parenthesis is looked for, and so far in all for one text. */
const FAR = 4_000;
const FAR_IN_ALL = 4_000_000;
/** So much of a line behind a slash is looked at: all of a minified file is one line. */
const MOST_BEHIND = 2_000;
/** What may begin or end a comment, a string, or code within one; braces count only within a template. */
const SIGNS = /['"`/]/g;
const SIGNS_AND_BRACES = /['"`/{}]/g;

/**
 * The comments and strings of JavaScript and TypeScript, some thirty times as fast as a parser. It knows nothing of JSX, and
 * a slash is only guessed to divide or to begin a regular expression: whenever it might be wrong it says null, and a parser
 * is asked instead. So a string in its answer is one.
 */
export function regionsOf(text: string): Regions | null {
  const found = new Lexer(text).run();
  const regions = found && new Regions(found);
  // JSX has one of these.
  const mayHaveTags = text.includes('</') || text.includes('/>');
  return regions && mayHaveTags && hasTag(regions, text) ? null : regions;
}

/**
 * Whether a tag may begin in code: where a value is expected, and not where two are compared. Up to the first one nothing was
 * misread; so if there is any, it is seen, whatever follows it was taken for.
 */
function hasTag(regions: Regions, text: string): boolean {
  for (const part of regions.code(text, text.length)) if (TAG.test(part)) return true;
  return false;
}
const TAG =
  /(?:^|[^\p{L}\p{N}_$)\]\s]|\b(?:return|default|case|yield|await|else|of|in|do|typeof|void|throw))\s*<[\p{L}_$>]/u;

class Lexer {
  readonly #text: string;
  readonly #regions: Region[] = [];
  /** For each template that is open, how many braces are open in its `${…}`. */
  readonly #templates: number[] = [];
  #lost = false;
  #far = FAR_IN_ALL;

  constructor(text: string) {
    this.#text = text;
  }

  run(): readonly Region[] | null {
    let at = this.#text.startsWith('#!') ? this.#mark('comment', 0, this.#lineEnd(0)) : 0;
    while (!this.#lost) {
      const signs = this.#templates.length > 0 ? SIGNS_AND_BRACES : SIGNS;
      signs.lastIndex = at;
      const match = signs.exec(this.#text);
      if (!match) break;
      at = this.#from(match.index, match[0]);
    }
    return this.#lost || this.#templates.length > 0 ? null : this.#regions;
  }

  /** Takes what begins here, and says where it ends. */
  #from(at: number, sign: string): number {
    if (sign === '/') return this.#slash(at);
    if (sign === '`') return this.#template(at, at + 1);
    if (sign === '{' || sign === '}') return this.#brace(at, sign);
    return this.#quoted(at, sign);
  }

  #slash(at: number): number {
    const next = this.#text[at + 1];
    if (next === '/') return this.#mark('comment', at, this.#lineEnd(at));
    if (next === '*') {
      const end = this.#text.indexOf('*/', at + 2);
      return end < 0 ? this.#lose() : this.#mark('comment', at, end + 2);
    }
    const divides = this.#divides(at);
    if (divides !== null) return divides ? at + 1 : this.#regex(at);
    // Both are possible. It matters only if what follows would begin or end a string or a comment.
    const [rest = ''] = this.#text.slice(at + 1, at + 1 + MOST_BEHIND).split('\n', 1);
    const isHarmless = rest.length < MOST_BEHIND && !/['"`]|\/[/*]/.test(rest);
    return isHarmless || this.#isBehindValue(at) ? at + 1 : this.#lose();
  }

  /** Behind a parenthesis a slash divides, unless it is that of `if`, `while` and their like. */
  #isBehindValue(slash: number): boolean {
    let depth = 0;
    let at = slash - 1;
    for (let i = this.#regions.length; at > slash - FAR && at >= 0 && this.#far > 0; at--) {
      this.#far -= 1;
      const region = this.#regions[i - 1];
      if (region && at < region.to) {
        at = region.from;
        i -= 1;
        continue;
      }
      const character = this.#text[at];
      if (character === ')') depth += 1;
      if (character === '(') depth -= 1;
      if (depth === 0 && character === '(') break;
      if (depth === 0 && character !== ' ') return false;
    }
    if (this.#text[at] !== '(') return false;
    const [word = ''] = WORD_BEFORE.exec(this.#text.slice(Math.max(0, at - 40), at).trimEnd()) ?? [];
    return word.startsWith('.') || !BEFORE_CONDITION.has(word.trim());
  }

  /** Whether a slash divides, by what is before it; null: it may or not. */
  #divides(slash: number): boolean | null {
    let at = slash - 1;
    for (; at >= 0; at--) {
      const region = this.#regions.at(-1);
      if (region?.to === at + 1 && region.role === 'comment') return null;
      if ((this.#text.codePointAt(at) ?? 0) > 32) break;
    }
    const last = this.#text[at] ?? '';
    if (last === ')' || last === '}') return null;
    if (last === ']' || last === '"' || last === "'" || last === '`' || last === '/') return true;
    if (last === '+' || last === '-') return this.#text[at - 1] === last;
    if (!NAME_END.test(last)) return false;
    const [word = ''] = WORD_BEFORE.exec(this.#text.slice(Math.max(0, at - 40), at + 1)) ?? [];
    return word.startsWith('.') || !BEFORE_REGEX.has(word.trim());
  }

  #regex(at: number): number {
    let inClass = false;
    for (let i = at + 1; i < this.#text.length; i++) {
      const character = this.#text[i];
      if (character === '\n') break;
      if (character === '\\') i += 1;
      else if (character === '[') inClass = true;
      else if (character === ']') inClass = false;
      else if (character === '/' && !inClass) return this.#mark('string', at, i + 1);
    }
    return this.#lose();
  }

  #quoted(at: number, quote: string): number {
    for (let i = at + 1; i < this.#text.length; i++) {
      const character = this.#text[i];
      if (character === '\\') i += 1;
      else if (character === '\n') break;
      else if (character === quote) return this.#mark('string', at, i + 1);
    }
    return this.#lose();
  }

  /** From within a template on: to its end, or to the code in it. */
  #template(at: number, from: number): number {
    for (let i = from; i < this.#text.length; i++) {
      const character = this.#text[i];
      if (character === '\\') i += 1;
      else if (character === '`') return this.#mark('string', at, i + 1);
      else if (character === '$' && this.#text[i + 1] === '{') {
        this.#templates.push(0);
        return this.#mark('string', at, i + 2);
      }
    }
    return this.#lose();
  }

  #brace(at: number, sign: string): number {
    const depth = this.#templates.at(-1) ?? 0;
    if (sign === '}' && depth === 0) {
      this.#templates.pop();
      return this.#template(at, at + 1);
    }
    this.#templates[this.#templates.length - 1] = depth + (sign === '{' ? 1 : -1);
    return at + 1;
  }

  #mark(role: Region['role'], from: number, to: number): number {
    this.#regions.push({ from, to, role });
    return to;
  }

  #lineEnd(from: number): number {
    const end = this.#text.indexOf('\n', from);
    return end < 0 ? this.#text.length : end;
  }

  #lose(): number {
    this.#lost = true;
    return this.#text.length;
  }
}

const NAME_END = /[\p{L}\p{N}_$]/u;
const WORD_BEFORE = /\.?\s*[\p{L}\p{N}_$]+$/u;
