import { DEEPEST, META, WordReader } from './shell-word-reader.ts';
import { isPowerfulName } from './shell-variables.ts';
import { HOLE, Unreadable, isWord, type ShellWord } from './shell-words.ts';

/** A command with its arguments, as one process or builtin would get them. */
export interface SimpleCommand {
  readonly words: readonly ShellWord[];
  /** It has redirections, or something in it is put in by the shell. */
  readonly opaque: boolean;
  /** The text of its here-document or here-string; `unknown`: it reads something else. */
  readonly input: ShellWord | 'unknown';
  /** Files that its redirections read. */
  readonly sources: readonly ShellWord[];
}

export interface ShellReading {
  readonly commands: readonly SimpleCommand[];
  /** The line has a grammar of its own (`if`, `{`, a function): its commands alone do not say what happens. */
  readonly compound: boolean;
  /** Something in the line could not be read, so anything may happen. */
  readonly lost: boolean;
}

const MOST_COMMANDS = 200;
const OPENERS = new Set(['{', '!', 'if', 'then', 'elif', 'else', 'while', 'until', 'do', 'time']);
const CLOSERS = new Set(['}', 'fi', 'done', 'esac']);

/** Reads a line as `sh` and `bash` would; where these two differ, it is lost. Takes time in proportion to its length. */
export function readShell(line: string): ShellReading {
  const reader = new ShellReader(line, 0);
  return reader.readAll();
}

interface HereDocument {
  readonly end: string;
  readonly quoted: boolean;
  readonly tabs: boolean;
  readonly of: Draft;
}

/** A command that is being read. */
interface Draft {
  words: ShellWord[];
  opaque: boolean;
  redirected: boolean;
  input: ShellWord | 'unknown';
  sources: ShellWord[];
}

const draft = (): Draft => ({ words: [], opaque: false, redirected: false, input: 'unknown', sources: [] });

/** Where a list of commands is. */
interface ListState {
  readonly end: '' | ')';
  /** How many `case` are open. */
  cases: number;
  /** A pattern of a `case` stands here. */
  pattern: boolean;
  current: Draft;
  /** What was read last ends a compound command. */
  afterCompound: boolean;
}

class ShellReader extends WordReader {
  readonly #depth: number;
  readonly #commands: SimpleCommand[] = [];
  #compound = false;
  #documents: HereDocument[] = [];

  constructor(line: string, depth: number) {
    super(line);
    this.#depth = depth;
  }

  readAll(): ShellReading {
    let lost = false;
    try {
      if (this.line.includes(HOLE) || this.#depth > DEEPEST) throw new Unreadable();
      this.list('');
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      lost = true;
    }
    return { commands: this.#commands, compound: this.#compound, lost };
  }

  protected list(end: '' | ')'): void {
    if (++this.nesting > DEEPEST) throw new Unreadable();
    const state: ListState = { end, cases: 0, pattern: false, current: draft(), afterCompound: false };
    while (this.#step(state));
    this.nesting--;
  }

  /** One token. False: the list is over. */
  #step(state: ListState): boolean {
    this.skipBlanks();
    switch (this.next) {
      case '':
        this.#finish(state);
        this.#readDocuments();
        if (state.end !== '') throw new Unreadable();
        return false;
      case '#':
        this.#skipComment();
        return true;
      case '\n':
        this.#finish(state);
        this.at++;
        this.#readDocuments();
        return true;
      case ')':
        this.at++;
        return this.#closing(state);
      case '(':
        this.at++;
        if (!state.pattern) this.#bracket(state);
        return true;
      default:
        if (this.#redirection(state.current)) return true;
        if (/[;&|]/.test(this.next)) this.#separator(state);
        else this.#place(state, this.word());
        return true;
    }
  }

  #finish(state: ListState): void {
    const { words, opaque, redirected, input, sources } = state.current;
    // A redirection after `}` or `done` is that of the whole.
    if (words.length > 0 || (redirected && !state.afterCompound))
      this.#take([{ words, opaque: opaque || redirected, input, sources }]);
    state.current = draft();
    state.afterCompound = false;
  }

  #closing(state: ListState): boolean {
    if (state.pattern) {
      // `word)` of a case.
      state.pattern = false;
      state.current = draft();
      return true;
    }
    if (state.end !== ')') throw new Unreadable();
    this.#finish(state);
    return false;
  }

  #separator(state: ListState): void {
    if (state.pattern && this.next === '|') {
      this.at++;
      return;
    }
    this.#finish(state);
    const start = this.at;
    while (/[;&|]/.test(this.next)) this.at++;
    const separator = this.line.slice(start, this.at);
    // The end of one branch of a case.
    state.pattern = state.cases > 0 && (separator.startsWith(';;') || separator === ';&');
  }

  /** A word: of the grammar, of a pattern, or of the command. */
  #place(state: ListState, word: ShellWord): void {
    const { current } = state;
    if (state.pattern) {
      if (!isWord(word, 'esac')) return;
      state.pattern = false;
      state.cases--;
      state.afterCompound = true;
    } else if (current.words.length > 0 || !this.#grammar(word)) {
      // In zsh a brace may begin a block here.
      if (isWord(word, '{')) throw new Unreadable();
      current.words.push(word);
      current.opaque ||= word.filled;
    } else {
      if (word.text === 'case') {
        this.#caseHead();
        state.cases++;
        state.pattern = true;
      } else if (word.text === 'esac') state.cases--;
      state.afterCompound = CLOSERS.has(word.text);
    }
  }

  /** Whether a word at the place of a command belongs to the grammar. Reads what it takes along. */
  #grammar(word: ShellWord): boolean {
    if (!word.plain) return false;
    const { text } = word;
    if (OPENERS.has(text) || CLOSERS.has(text) || text === 'case') {
      this.#compound = true;
      if (text === 'time') this.#timeOption();
      return true;
    }
    if (text === 'for' || text === 'select') this.#loopHead();
    else if (text === 'function') {
      this.skipBlanks();
      this.word();
      this.skipBlanks();
      if (this.sees('(')) this.#emptyBrackets();
    } else if (text === 'coproc') throw new Unreadable();
    else return false;
    this.#compound = true;
    return true;
  }

  #timeOption(): void {
    this.skipBlanks();
    if (/^-p[ \t]/.test(this.line.slice(this.at, this.at + 3))) {
      this.at += 2;
      this.skipBlanks();
    }
    // Where `time` is a program, it has more options.
    if (this.next === '-') throw new Unreadable();
  }

  /** `for name in words`: these are no commands. Substitutions in them are, and are found as the words are read. */
  #loopHead(): void {
    this.skipBlanks();
    if (this.sees('((')) {
      this.at += 2;
      return this.arithmetic();
    }
    if (isPowerfulName(this.word().text)) throw new Unreadable();
    this.skipBlanks();
    // `for name do`: the next word is of the grammar.
    if (!/^in[ \t;\n]/.test(this.line.slice(this.at, this.at + 3))) return;
    for (;;) {
      this.skipBlanks();
      if (this.next === '' || /[;\n]/.test(this.next)) return;
      if (META.test(this.next)) throw new Unreadable();
      this.word();
    }
  }

  #caseHead(): void {
    for (;;) {
      while (/[ \t\n]/.test(this.next)) this.at++;
      if (this.next === '' || META.test(this.next)) throw new Unreadable();
      const word = this.word();
      if (isWord(word, 'in')) return;
    }
  }

  /** `(…)`, `((…))`, or the `()` of a function. */
  #bracket(state: ListState): void {
    const { length } = state.current.words;
    state.current = draft();
    state.afterCompound = true;
    if (length === 0) {
      if (!this.sees('(')) return this.list(')');
      this.#compound = true;
      this.at++;
      return this.arithmetic();
    }
    // An array, or a pattern that only bash knows, is not read.
    if (length !== 1) throw new Unreadable();
    this.at--;
    this.#emptyBrackets();
    this.#compound = true;
  }

  #emptyBrackets(): void {
    this.at++;
    this.skipBlanks();
    if (this.next !== ')') throw new Unreadable();
    this.at++;
  }

  /** A redirection at this place; false: there is none. */
  #redirection(current: Draft): boolean {
    const found = /^(?:\d*|\{\w+\})(?:<<-|<<<|<<|<>|<&|>>|>&|>\||<|>)|^&>>?/.exec(
      this.line.slice(this.at, this.at + 64),
    )?.[0];
    if (found === undefined) return false;
    const operator = found.replace(/^(?:\d+|\{\w+\})/, '');
    // `<(…)` is a word.
    if (/^[<>]$/.test(operator) && this.line[this.at + found.length] === '(') {
      if (operator !== found) throw new Unreadable();
      return false;
    }
    this.at += found.length;
    this.skipBlanks();
    if (this.next === '' || (META.test(this.next) && !/^[<>]\(/.test(this.line.slice(this.at, this.at + 2))))
      throw new Unreadable();
    const target = this.word();
    current.redirected = true;
    if (operator.startsWith('<<') && operator !== '<<<' && target.filled) throw new Unreadable();
    if (operator === '<' || operator === '<>') current.sources.push(target);
    if (operator === '<<<') current.input = target;
    else if (operator === '<<' || operator === '<<-')
      this.#documents.push({
        end: target.text,
        quoted: !target.plain,
        tabs: operator === '<<-',
        of: current,
      });
    return true;
  }

  /** The here-documents of the line that has just ended. */
  #readDocuments(): void {
    const documents = this.#documents;
    this.#documents = [];
    for (const { end, quoted, tabs, of } of documents) {
      const lines: string[] = [];
      while (this.at < this.line.length) {
        const stop = this.line.indexOf('\n', this.at);
        const raw = this.line.slice(this.at, stop < 0 ? undefined : stop);
        this.at = stop < 0 ? this.line.length : stop + 1;
        const read = tabs ? raw.replace(/^\t+/, '') : raw;
        if (read === end) break;
        if (!quoted && this.#isContinued(read, end)) throw new Unreadable();
        lines.push(read);
      }
      const text = lines.join('\n');
      const body = quoted ? { text, mask: text, plain: false, filled: false } : this.#documentText(text);
      const at = this.#commands.findLastIndex(({ words }) => words === of.words);
      const command = this.#commands[at];
      if (command) this.#commands[at] = { ...command, input: body };
    }
  }

  /**
   * Whether shells differ in where a document ends: some put a line that ends in `\\` and the next one together before they
   * look whether it is the end.
   */
  #isContinued(read: string, end: string): boolean {
    if (!/(?<!\\)(?:\\\\)*\\$/.test(read)) return false;
    const next = /[^\n]*/.exec(this.line.slice(this.at))?.[0] ?? '';
    return [next, next.replace(/^\t+/, '')].some((each) => each === end || read.slice(0, -1) + each === end);
  }

  /** As in double quotes, but that quotes are text. */
  #documentText(text: string): ShellWord {
    const inner = new ShellReader(text, this.#depth + 1);
    const word = inner.quoted('');
    this.#take(inner.#commands);
    return word;
  }

  #take(commands: readonly SimpleCommand[]): void {
    this.#commands.push(...commands);
    if (this.#commands.length > MOST_COMMANDS) throw new Unreadable();
  }

  #skipComment(): void {
    const end = this.line.indexOf('\n', this.at);
    this.at = end < 0 ? this.line.length : end;
  }

  protected inner(text: string): void {
    const { commands, lost, compound } = new ShellReader(text, this.#depth + 1).readAll();
    if (lost) throw new Unreadable();
    this.#compound ||= compound;
    this.#take(commands);
  }
}
