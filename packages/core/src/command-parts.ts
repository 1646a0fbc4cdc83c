import { gitArguments } from './shell-arguments.ts';
import { within } from './shell-programs.ts';
import { readShell, type SimpleCommand } from './shell-reader.ts';
import { isPowerful } from './shell-variables.ts';
import { HOLE, type ShellWord } from './shell-words.ts';

/** One simple command out of a line for the shell, without its quotes. */
export interface CommandPart {
  readonly text: string;
  /**
   * The same without what only stands before it: variables, the folder of the program, where git works; and the command
   * that it runs, if it is one like `sudo` or `find`.
   */
  readonly readings: readonly string[];
  /** Those in which the shell puts something in, with a `HOLE` for that: only the shell knows what it is. */
  readonly masks: readonly string[];
  /** Words that its program may run as a command. A rule that forbids them may be meant. */
  readonly maybe: readonly string[];
  /** More happens than the words show: a substitution, a redirection, a variable. Nothing that names it can vouch for it. */
  readonly opaque: boolean;
  /** Any command may run in it: a rule that forbids one may be meant. */
  readonly unread: boolean;
}

const MOST_PARTS = 100;
const LONGEST_LINE = 200_000;
const LONGEST_TEXT = 16_000;
const DEEPEST = 4;
const MOST_SUFFIXES = 40;
const LONGEST_SUFFIX = 2_000;
/** The folder of a program. */
const BEFORE_NAME = /^(?:\/[\w.-]+)*\/s?bin\//;

/**
 * The commands of a line, as far as they can be seen without running it: those joined by `&&`, `;` or pipes, those in
 * brackets, functions, loops and substitutions, those handed to a shell or to a program that runs others. It is for rules
 * about commands, which say what a person wants to be asked about; what a command can do is held by the sandbox. Null: more
 * than anybody would want to judge.
 */
export function commandParts(line: string, depth = 0): readonly CommandPart[] | null {
  if (line.length > LONGEST_LINE) return null;
  const { commands, compound, lost } = readShell(line);
  const found: CommandPart[] = [];
  const composes = composesIndex(commands);
  for (const command of commands) {
    found.push(...partsOf(command, { compound, depth }));
    if (found.length > MOST_PARTS) return null;
  }
  return lost || composes ? [...found, UNREAD] : found;
}

/** A substitution that is only text somewhere, and an index into which something is put: together bash may run it. */
function composesIndex(commands: readonly SimpleCommand[]): boolean {
  const words = commands.flatMap((command) => command.words);
  return words.some(({ text }) => /\$\(|`/.test(text)) && words.some(({ mask }) => FILLED_INDEX.test(mask));
}

export const UNREAD: CommandPart = {
  text: '',
  readings: [],
  masks: [],
  maybe: [],
  opaque: true,
  unread: true,
};

interface Surroundings {
  readonly compound: boolean;
  readonly depth: number;
}

function partsOf(command: SimpleCommand, around: Surroundings): readonly [CommandPart, ...CommandPart[]] {
  const { words } = command;
  const bare = withoutAssignments(words);
  const [program, ...args] = bare;
  const name = program ? programName(program) : null;
  const inner = name === null ? [] : within(name, args, command);
  const plain = program && name !== null ? [{ ...program, text: name, mask: name }, ...args] : bare;
  const own = partOf([words, plain, gitWords(plain)], {
    opaque: command.opaque || around.compound,
    unread: isUnread(command, name) || inner.some(({ kind }) => kind === 'opaque'),
  });
  const isBounded = around.depth < DEEPEST && inner.length <= MOST_PARTS;
  if (inner.length > 0 && !isBounded) return [{ ...own, unread: true }];
  const deeper = { ...around, depth: around.depth + 1 };
  let part = own;
  const more: CommandPart[] = [];
  for (const each of inner) {
    if (each.kind === 'maybe') part = { ...part, maybe: [...part.maybe, ...suffixesOf(each.words)] };
    if (each.kind === 'line') more.push(...partsOfLine(each.text, deeper));
    if (each.kind !== 'words') continue;
    const [run, ...others] = partsOf({ ...command, words: each.words }, deeper);
    part = joinedParts(part, run);
    more.push(...others);
  }
  return [part, ...more];
}

/** Commands that do nothing themselves: if they have a redirection, that is what they are for. */
const IDLE = new Set(['exec', ':', 'true', 'false']);
/** A name with a substitution in its index: bash evaluates it in many places, whatever the quotes. */
const EVALUATED = /\[[^\]]{0,200}(?:\$\(|`)/;

/** The same with something put in. A pattern for names of files has a hole where its bracket begins. */
const FILLED_INDEX = /\[[^\]\0]{0,200}\0/;

function isUnread({ words, opaque }: SimpleCommand, name: string | null): boolean {
  const bare = withoutAssignments(words);
  const assigned = words.slice(0, words.length - bare.length);
  if (assigned.some(({ text }) => isPowerful(text)) || words.some(({ text }) => EVALUATED.test(text)))
    return true;
  if (bare.length === 0) return assigned.length === 0;
  return name === null || (opaque && bare.length === 1 && IDLE.has(name));
}

function partsOfLine({ text, mask }: ShellWord, { depth }: Surroundings): readonly CommandPart[] {
  const parts = commandParts(text, depth) ?? [UNREAD];
  // What the shell puts into a line may be more than a word of it.
  return mask.includes(HOLE) ? [...parts, UNREAD] : parts;
}

/** Each word with those after it, as a command: without the option or the sign that it is attached to. */
const suffixesOf = (words: readonly ShellWord[]): string[] =>
  words.slice(0, MOST_SUFFIXES).map((word, at) => {
    const text = words
      .slice(at, at + MOST_SUFFIXES)
      .map((each) => each.text)
      .join(' ');
    return text
      .slice(0, LONGEST_SUFFIX)
      .replace(/^(?:--?[\w:-]*=?|[:!|@+]+)(?=[^\s=])/, '')
      .replace(BEFORE_NAME, '');
  });

/** A command with the one that it runs: whoever names the first lets both through, and rules against either apply. */
const joinedParts = (outer: CommandPart, inner: CommandPart): CommandPart => ({
  ...outer,
  readings: [...outer.readings, ...inner.readings],
  masks: [...outer.masks, ...inner.masks],
  maybe: [...outer.maybe, ...inner.maybe],
  unread: outer.unread || inner.unread,
});

function partOf(
  forms: readonly (readonly ShellWord[])[],
  { opaque, unread }: Pick<CommandPart, 'opaque' | 'unread'>,
): CommandPart {
  const cut = (text: string): string => text.slice(0, LONGEST_TEXT);
  const texts = forms.map((words) => words.map(({ text }) => text).join(' '));
  const masks = forms.map((words) => words.map(({ mask }) => mask).join(' '));
  const isLong = texts.some((text) => text.length > LONGEST_TEXT);
  const shown = masks.map((mask) => (isLong ? `${cut(mask)}${HOLE}` : mask));
  return {
    text: cut(texts[0] ?? ''),
    readings: [...new Set(texts.map(cut))],
    masks: [...new Set(shown)].filter((mask) => mask.includes(HOLE)),
    maybe: [],
    opaque: opaque || isLong,
    unread,
  };
}

function withoutAssignments(words: readonly ShellWord[]): readonly ShellWord[] {
  const at = words.findIndex(({ text }) => !/^[A-Za-z_]\w*\+?=/.test(text));
  return at < 0 ? [] : words.slice(at);
}

/** Folders whose programs are what they are called. */
const SYSTEM = /^(?:\/usr(?:\/local)?|\/opt\/homebrew)?\/s?bin\/$/;

/** What a program is called; null: that does not say what it is. A file of the worktree may be any program. */
function programName({ text, mask }: ShellWord): string | null {
  // zsh runs `=name` by its path.
  if (mask.includes(HOLE) || text.startsWith('=')) return null;
  const at = text.lastIndexOf('/') + 1;
  if (at > 0 && !SYSTEM.test(text.slice(0, at))) return null;
  return text.slice(at);
}

/** What stands between `git` and its command says only where. */
function gitWords(words: readonly ShellWord[]): readonly ShellWord[] {
  const [program, ...args] = words;
  if (program?.text !== 'git') return words;
  return [program, ...(gitArguments(args) ?? args)];
}
