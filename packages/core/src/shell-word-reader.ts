import { isPowerfulName } from './shell-variables.ts';
import { Unreadable, WordParts, type ShellWord } from './shell-words.ts';

/** Anything in anything, no deeper than this. */
export const DEEPEST = 30;
const BLANK = /[ \t]/;
export const META = /[ \t\n;&|()<>]/;

/** `${x@P}` runs what is in the variable, `${PATH:=x}` sets it, `${!x:=y}` sets the one that is named in it. */
function isPowerfulParameter(text: string): boolean {
  const set = /^(!?\w*):?=/.exec(text)?.[1];
  return text.endsWith('@P') || (set !== undefined && (set.startsWith('!') || isPowerfulName(set)));
}

/** Reads the words of a line for the shell, with all that can stand in them. */
export abstract class WordReader {
  protected readonly line: string;
  protected at = 0;
  protected nesting = 0;

  constructor(line: string) {
    this.line = line;
  }

  /** Reads commands up to `end`, which is taken too. */
  protected abstract list(end: '' | ')'): void;
  /** Reads commands that stand in a text of their own. */
  protected abstract inner(text: string): void;

  protected get next(): string {
    return this.line[this.at] ?? '';
  }

  protected sees(text: string): boolean {
    return this.line.startsWith(text, this.at);
  }

  /**
   * After `((`, to its `))`. Bash evaluates the value of a name in there. A substitution in that value is found where it
   * is written, but not if the line decodes it first: then only the sandbox holds it.
   */
  protected arithmetic(): void {
    for (let depth = 0; ;) {
      const character = this.next;
      if (character === '') throw new Unreadable();
      if (character === '$' || character === '`') {
        this.#expansion();
        continue;
      }
      this.at++;
      if (character === '\\' || character === "'" || character === '"') throw new Unreadable();
      if (character === '(') depth++;
      if (character !== ')') continue;
      if (depth-- > 0) continue;
      // `$((a); b)` is a subshell in a substitution.
      if (this.next !== ')') throw new Unreadable();
      this.at++;
      return;
    }
  }

  protected skipBlanks(): void {
    for (;;) {
      if (BLANK.test(this.next)) this.at++;
      else if (this.sees('\\\n')) this.at += 2;
      else return;
    }
  }

  protected word(): ShellWord {
    const parts = new WordParts();
    for (;;) {
      const character = this.next;
      if (
        character === '' ||
        (META.test(character) && !(/[<>]/.test(character) && this.line[this.at + 1] === '('))
      )
        break;
      if (/[<>]/.test(character)) {
        this.at += 2;
        this.list(')');
        parts.hole('');
      } else if (character === "'") {
        const end = this.line.indexOf("'", this.at + 1);
        if (end < 0) throw new Unreadable();
        parts.quoted(this.line.slice(this.at + 1, end));
        this.at = end + 1;
      } else if (character === '"') {
        this.at++;
        parts.join(this.quoted('"'));
      } else if (character === '\\') {
        // At the end of all, it stands for itself; a line that is continued has nothing there.
        if (!this.sees('\\\n')) parts.quoted(this.line[this.at + 1] ?? '\\');
        this.at += 2;
      } else if (character === '$' || character === '`') this.#expand(parts);
      else if (/[*?[\]{},]/.test(character)) {
        parts.pattern(character);
        this.at++;
      } else parts.literal(this.#run(/[^ \t\n;&|()<>'"\\$`*?[\]{},]+/y));
    }
    return parts.word();
  }

  /** Text in double quotes, up to `end`; the empty end is the end of all. */
  protected quoted(end: '"' | ''): ShellWord {
    const parts = new WordParts();
    for (;;) {
      const character = this.next;
      if (character === '' && end === '') break;
      if (character === '') throw new Unreadable();
      if (character === end) {
        this.at++;
        break;
      }
      if (character === '\\') {
        const escaped = this.line[this.at + 1] ?? '';
        if (escaped !== '\n') parts.quoted(/[$`"\\]/.test(escaped) ? escaped : `\\${escaped}`);
        this.at += 2;
      } else if (character === '$' || character === '`') this.#expand(parts);
      else parts.quoted(this.#run(end === '"' ? /[^"\\$`]+/y : /[^\\$`]+/y));
    }
    parts.quoted('');
    return parts.word();
  }

  /** All of the characters from here on that a pattern takes. */
  #run(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [text = ''] = pattern.exec(this.line) ?? [];
    this.at += text.length;
    return text;
  }

  #expand(parts: WordParts): void {
    const start = this.at;
    const isDollar = this.#expansion();
    if (isDollar) return parts.literal('$');
    const written = this.line.slice(start, Math.min(this.at, start + 64));
    parts.hole(/^\$\w+$/.test(written) ? written : '');
  }

  /** Something that the shell puts in. True: it is only a dollar. */
  #expansion(): boolean {
    if (++this.nesting > DEEPEST) throw new Unreadable();
    const isDollar = this.#expanded();
    this.nesting--;
    return isDollar;
  }

  #expanded(): boolean {
    if (this.next === '`') {
      this.#backticks();
      return false;
    }
    this.at++;
    if (this.sees('((')) {
      this.at += 2;
      this.arithmetic();
    } else if (this.sees('(')) {
      this.at++;
      this.list(')');
    } else if (this.sees('{')) {
      this.at++;
      if (isPowerfulParameter(this.#parameter().text)) throw new Unreadable();
    } else if (this.sees("'") || this.sees('[')) throw new Unreadable();
    else if (this.sees('"')) return false;
    else {
      const name = /^(?:[A-Za-z_]\w*|[0-9@*#?$!-])/.exec(this.line.slice(this.at, this.at + 256))?.[0];
      if (name === undefined) return true;
      this.at += name.length;
    }
    return false;
  }

  /** After `${`: quotes count in it, and so do substitutions. */
  #parameter(): ShellWord {
    const parts = new WordParts();
    for (;;) {
      const character = this.next;
      if (character === '') throw new Unreadable();
      if (character === '}') {
        this.at++;
        return parts.word();
      }
      if (character === "'" || character === '\\') throw new Unreadable();
      if (character === '"') {
        this.at++;
        parts.join(this.quoted('"'));
      } else if (character === '$' || character === '`') this.#expand(parts);
      else {
        parts.literal(character);
        this.at++;
      }
    }
  }

  #backticks(): void {
    const start = ++this.at;
    while (this.next !== '`') {
      if (this.next === '') throw new Unreadable();
      this.at += this.next === '\\' ? 2 : 1;
    }
    this.inner(this.line.slice(start, this.at++).replaceAll(/\\([$`\\])/g, '$1'));
  }
}
