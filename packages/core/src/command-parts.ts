/** One simple command out of a line for the shell, without its quotes. */
export interface CommandPart {
  readonly text: string;
  /** The same without what only stands before it: variables, `sudo`, `env`, the folder of the program. */
  readonly bare: string;
  /** More happens than the words show: a substitution, a redirection, a variable. Nothing that names it can vouch for it. */
  readonly opaque: boolean;
}

const MOST_PARTS = 100;
const WRAPPERS = /^(?:sudo|doas|env|command|exec|nohup|time|nice|builtin|xargs|setsid|stdbuf|timeout)$/;
const SHELLS = /^(?:sh|bash|dash|zsh|ksh|busybox|eval)$/;

/**
 * The commands of a line, as far as they can be seen without running it: those joined by `&&`, `;` or pipes, those in
 * brackets and substitutions, those handed to a shell. It is for rules about commands, which say what a person wants to
 * be asked about; what a command can do is held by the sandbox. Null: more than anybody would want to judge.
 */
export function commandParts(line: string, depth = 0): readonly CommandPart[] | null {
  const found: CommandPart[] = [];
  for (const { words, opaque } of simpleCommands(line)) {
    if (words.length === 0) continue;
    const bare = bareWords(words);
    found.push({ text: words.join(' '), bare: bare.join(' '), opaque });
    const inner = depth < 3 ? innerLine(bare) : null;
    if (inner !== null) found.push(...(commandParts(inner, depth + 1) ?? [LOST]));
    if (found.length > MOST_PARTS) return null;
  }
  return found;
}

const LOST: CommandPart = { text: '', bare: '', opaque: true };

/** What a shell is given to run. */
function innerLine([program = '', ...rest]: readonly string[]): string | null {
  if (!SHELLS.test(program)) return null;
  if (program === 'eval') return rest.join(' ');
  const flag = rest.findIndex((word) => /^-[a-z]*c$/.test(word));
  return flag < 0 ? null : (rest[flag + 1] ?? null);
}

function bareWords(words: readonly string[]): readonly string[] {
  let at = 0;
  for (; at < words.length - 1; at++) {
    const word = words[at] ?? '';
    const wraps = WRAPPERS.test(baseName(word));
    if (!wraps && !/^[A-Za-z_]\w*=/.test(word) && !(at > 0 && /^(?:-|\d)/.test(word))) break;
  }
  const [program = '', ...rest] = words.slice(at);
  return [baseName(program), ...rest];
}

const baseName = (word: string): string => word.slice(word.lastIndexOf('/') + 1);

interface Simple {
  words: string[];
  opaque: boolean;
}

/** Splits at what ends a command; quotes and backslashes are taken off, as the shell would. */
function simpleCommands(line: string): Simple[] {
  const all: Simple[] = [{ words: [], opaque: false }];
  let word: string | null = null;
  let quote: string | null = null;
  const current = (): Simple => all.at(-1) ?? { words: [], opaque: true };
  const endWord = (): void => {
    if (word !== null) current().words.push(word);
    word = null;
  };
  const endCommand = (): void => {
    endWord();
    all.push({ words: [], opaque: false });
  };
  for (let i = 0; i < line.length && all.length <= MOST_PARTS + 1; i++) {
    const [character = '', next = ''] = [line[i], line[i + 1]];
    if (quote === "'" && character !== "'") word = (word ?? '') + character;
    else if (character === '\\' && quote !== "'") {
      if (next !== '\n') word = (word ?? '') + next;
      i++;
    } else if (character === quote) quote = null;
    else if (quote === null && (character === '"' || character === "'")) {
      quote = character;
      word ??= '';
    } else if (character === '`' || (/[$<>]/.test(character) && next === '(')) {
      // What is inside is a command of its own, in quotes too.
      current().opaque = true;
      endCommand();
      if (character !== '`') i++;
    } else if (character === '$') {
      current().opaque = true;
      word = (word ?? '') + character;
    } else if (quote !== null) word = (word ?? '') + character;
    else if (/[;&|()\n]/.test(character)) endCommand();
    else if (/\s/.test(character)) endWord();
    else if (/[<>]/.test(character)) {
      current().opaque = true;
      endWord();
    } else word = (word ?? '') + character;
  }
  endWord();
  return all;
}
