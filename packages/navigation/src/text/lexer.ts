import { Regions, type Region } from './regions.ts';

const BEFORE_REGEX = new Set(
  'return typeof instanceof in of new delete void throw case do else yield await extends default'.split(' '),
);
const BEFORE_CONDITION = new Set(['if', 'while', 'for', 'with', 'await']);
/** So far back a parenthesis is looked for, and so far in all for one text. */
const FAR = 4_000;
const FAR_IN_ALL = 4_000_000;
/** So much of a line behind a slash is looked at: all of a minified file is one line. */
const MOST_BEHIND = 2_000;
/** What may begin or end a comment, a string, or code within one; braces count only within something, and angles where elements are. */
const SIGNS = /['"`/]/g;
const SIGNS_AND_BRACES = /['"`/{}]/g;
const SIGNS_AND_ANGLES = /['"`/<]/g;
const ALL_SIGNS = /['"`/{}<]/g;

/**
 * The comments and strings of JavaScript and TypeScript, some thirty times as fast as a parser. A slash is only guessed to divide or to
 * begin a regular expression, and an angle to begin an element: whenever it might be wrong it says null, and a parser is asked
 * instead. So a string in its answer is one, or text within an element.
 */
export function regionsOf(text: string): Regions | null {
  const found = new Lexer(text, { hasElements: false }).run();
  const plain = found && new Regions(found);
  const mayHaveElements = text.includes('</') || text.includes('/>');
  if (!mayHaveElements || (plain && !hasTag(plain, text))) return plain;
  const within = new Lexer(text, { hasElements: true }).run();
  return within && new Regions(within);
}

/**
 * Whether a tag may begin in code: where a value is expected, and not where two are compared. Up to the first one nothing was
 * misread; so if there is any, it is seen, whatever follows it was taken for.
 */
function hasTag(regions: Regions, text: string): boolean {
  for (const part of regions.code(text, text.length)) if (TAG.test(part)) return true;
  return false;
}
const BEFORE_TAG = 'return default case yield await else of in do typeof void throw'.split(' ');
const TAG = new RegExp(
  String.raw`(?:^|[^\p{L}\p{N}_$)\]\s]|\b(?:${BEFORE_TAG.join('|')}))\s*<[\p{L}_$>]`,
  'u',
);

/** An element that is not closed yet. */
interface Element {
  readonly name: string;
  /** It stands in another, and not in code. */
  readonly isWithin: boolean;
}

/** Code in braces: how many more are open in it, and where it stands. */
interface Inner {
  depth: number;
  readonly where: 'template' | 'tag' | 'content';
}

class Lexer {
  readonly #text: string;
  readonly #hasElements: boolean;
  readonly #regions: Region[] = [];
  /** For each template, tag or content of an element with code that is not closed yet. */
  readonly #inner: Inner[] = [];
  readonly #elements: Element[] = [];
  #where: 'code' | 'tag' | 'content' = 'code';
  #lost = false;
  #far = FAR_IN_ALL;

  constructor(text: string, { hasElements }: { readonly hasElements: boolean }) {
    this.#text = text;
    this.#hasElements = hasElements;
  }

  run(): readonly Region[] | null {
    let at = this.#text.startsWith('#!') ? this.#mark('comment', 0, this.#lineEnd(0)) : 0;
    while (!this.#lost && at < this.#text.length) {
      if (this.#where === 'tag') at = this.#inTag(at);
      else if (this.#where === 'content') at = this.#inContent(at);
      else at = this.#inCode(at);
    }
    const isOpen = this.#inner.length > 0 || this.#elements.length > 0;
    return this.#lost || isOpen ? null : this.#regions;
  }

  #inCode(at: number): number {
    const isInner = this.#inner.length > 0;
    const plain = isInner ? SIGNS_AND_BRACES : SIGNS;
    const signs = this.#hasElements ? (isInner ? ALL_SIGNS : SIGNS_AND_ANGLES) : plain;
    signs.lastIndex = at;
    const match = signs.exec(this.#text);
    return match ? this.#from(match.index, match[0]) : this.#text.length;
  }

  /** Takes what begins here, and says where it ends. */
  #from(at: number, sign: string): number {
    if (sign === '/') return this.#slash(at);
    if (sign === '`') return this.#template(at, at + 1);
    if (sign === '{' || sign === '}') return this.#brace(at, sign);
    if (sign === '<') return this.#angle(at);
    return this.#quoted(at, sign);
  }

  /** An element begins where a value is expected. `<T,>` and `<T extends A>` are parameters of a function. */
  #angle(at: number): number {
    if (!NAME_BEGINS.test(this.#text[at + 1] ?? '') || !this.#expectsValue(at)) return at + 1;
    const isGeneric = /^<[\p{L}\p{N}_$]+(?:\s*,|\s+extends\s)/u.test(this.#text.slice(at, at + MOST_NAME));
    return isGeneric ? at + 1 : this.#element(at, false);
  }

  #expectsValue(angle: number): boolean {
    const before = this.#behind(angle);
    if (before < 0) return true;
    const last = this.#text[before] ?? '';
    if (last === ')' || last === ']') return false;
    if (!NAME_END.test(last)) return true;
    const [word = ''] = WORD_BEFORE.exec(this.#text.slice(Math.max(0, before - 40), before + 1)) ?? [];
    return BEFORE_TAG.includes(word.trim());
  }

  /** Where the code before an offset ends, comments left out. */
  #behind(offset: number): number {
    let at = offset - 1;
    for (let i = this.#regions.length - 1; at >= 0;) {
      const region = this.#regions[i];
      if (region?.role === 'comment' && at < region.to && at >= region.from) {
        at = region.from - 1;
        i -= 1;
      } else if ((this.#text.codePointAt(at) ?? 0) > 32) return at;
      else at -= 1;
    }
    return at;
  }

  #element(at: number, isWithin: boolean): number {
    const [, name] = ELEMENT.exec(this.#text.slice(at + 1, at + MOST_NAME)) ?? [];
    if (name === undefined) return this.#lose();
    this.#elements.push({ name, isWithin });
    this.#where = 'tag';
    return at + 1 + name.length;
  }

  /** Attributes, one by one; then the content, or nothing. */
  #inTag(at: number): number {
    const sign = this.#text[at] ?? '';
    if (ATTRIBUTE.test(sign)) return at + 1;
    if (sign === '{') return this.#begin('tag', at + 1);
    if (sign === '"' || sign === "'") {
      const end = this.#text.indexOf(sign, at + 1);
      return end < 0 ? this.#lose() : this.#mark('string', at, end + 1);
    }
    if (sign === '>') {
      this.#where = 'content';
      return at + 1;
    }
    const next = this.#text[at + 1];
    if (sign === '/' && next === '>') return this.#close(at + 2);
    return sign === '/' && (next === '*' || next === '/') ? this.#slash(at) : this.#lose();
  }

  /** Text up to the next tag or braces. Other signs of code do not stand there: then this was no element. */
  #inContent(at: number): number {
    CONTENT_ENDS.lastIndex = at;
    const end = CONTENT_ENDS.exec(this.#text)?.index;
    const sign = end === undefined ? '' : (this.#text[end] ?? '');
    if (end === undefined || sign === '>' || sign === '}') return this.#lose();
    if (end > at) this.#mark('string', at, end);
    if (sign === '{') return this.#begin('content', end + 1);
    if (this.#text[end + 1] !== '/') return this.#element(end, true);
    const [closing, name] = CLOSES.exec(this.#text.slice(end, end + MOST_NAME)) ?? [];
    return closing === undefined || name !== this.#elements.at(-1)?.name
      ? this.#lose()
      : this.#close(end + closing.length);
  }

  #close(to: number): number {
    this.#where = this.#elements.pop()?.isWithin ? 'content' : 'code';
    return to;
  }

  #begin(where: Inner['where'], at: number): number {
    this.#inner.push({ depth: 0, where });
    this.#where = 'code';
    return at;
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
    const at = this.#behind(slash);
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
        return this.#begin('template', this.#mark('string', at, i + 2));
      }
    }
    return this.#lose();
  }

  #brace(at: number, sign: string): number {
    const inner = this.#inner.at(-1);
    if (!inner) return at + 1;
    if (sign === '{') inner.depth += 1;
    else if (inner.depth > 0) inner.depth -= 1;
    else {
      this.#inner.pop();
      if (inner.where === 'template') return this.#template(at, at + 1);
      this.#where = inner.where;
    }
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
/** A point at the end of the line above is most likely that of a comment. */
const WORD_BEFORE = /\.?[ \t]*[\p{L}\p{N}_$]+$/u;
const NAME_BEGINS = /[\p{L}_$>]/u;
/** No name of an element is longer. */
const MOST_NAME = 200;
const ELEMENT = /^((?:[\p{L}_$][\p{L}\p{N}_$.:-]*)?)(?=[\s/>])/u;
const CLOSES = /^<\/\s*([\p{L}\p{N}_$.:-]*)\s*>/u;
/** What names of attributes consist of, and what stands between them. */
const ATTRIBUTE = /[\p{L}\p{N}_$:=.\s-]/u;
const CONTENT_ENDS = /[<{>}]/g;
