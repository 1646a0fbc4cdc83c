import type { SimpleCommand } from './shell-reader.ts';
import { isPowerful, isPowerfulName } from './shell-variables.ts';
import { HOLE, type ShellWord } from './shell-words.ts';

/**
 * How a program treats its arguments, where these hold other commands:
 * - `words`: the command that it runs, with its arguments
 * - `line`: text that it hands to a shell
 * - `maybe`: words that it may run; nobody knows
 * - `opaque`: it runs something that cannot be read here
 */
export type Within =
  | { readonly kind: 'words' | 'maybe'; readonly words: readonly ShellWord[] }
  | { readonly kind: 'line'; readonly text: ShellWord }
  | { readonly kind: 'opaque' };

export const OPAQUE: Within = { kind: 'opaque' };
export const EMPTY: readonly Within[] = [];

type Look = (args: readonly ShellWord[], command: Pick<SimpleCommand, 'input'>) => readonly Within[];

export const texts = (words: readonly ShellWord[]): string[] => words.map(({ text }) => text);

/** Whether a word is one of these long options, with or without a value. GNU programs and git let them be cut short. */
export const isLongOption = (text: string, names: readonly string[]): boolean => {
  const written = /^--([A-Za-z][\w-]*)(?:=|$)/.exec(text)?.[1];
  return written !== undefined && names.some((name) => name.startsWith(written));
};

export const opaqueIf = (isOpaque: boolean): readonly Within[] => (isOpaque ? [OPAQUE] : EMPTY);
export const anyOf = (args: readonly ShellWord[], pattern: RegExp): boolean =>
  args.some(({ text }) => pattern.test(text));

const opaqueWith =
  (pattern: RegExp): Look =>
  (args) =>
    opaqueIf(anyOf(args, pattern));

/** A program that runs something if it has one of these long options, or a word that fits the pattern. */
const opaqueWithLong =
  (names: readonly string[], pattern = NOTHING): Look =>
  (args) =>
    opaqueIf(args.some(({ text }) => pattern.test(text) || isLongOption(text, names)));
const NOTHING = /^(?!)/;

const joined = (words: readonly ShellWord[]): ShellWord => ({
  text: texts(words).join(' '),
  mask: words.map(({ mask }) => mask).join(' '),
  plain: false,
  filled: words.some(({ filled }) => filled),
});

function inEval(args: readonly ShellWord[]): readonly Within[] {
  const words = args[0]?.text === '--' ? args.slice(1) : args;
  return words.length === 0 ? EMPTY : [{ kind: 'line', text: joined(words) }];
}

function inTrap(args: readonly ShellWord[]): readonly Within[] {
  const [text, signal] = args.filter((word) => word.text !== '--' && !/^-[lp]$/.test(word.text));
  return text && signal ? [{ kind: 'line', text }] : EMPTY;
}

/** Everything after `-exec` up to `;` or `+` is a command, with the names of files put in. */
function inFind(args: readonly ShellWord[]): readonly Within[] {
  const found: Within[] = [];
  // The words of the command that is being read; null: none is.
  let words: ShellWord[] | null = null;
  for (const word of args) {
    const { text, mask } = word;
    if (words && (text === ';' || text === '+')) words = null;
    else if (words) words.push({ ...word, mask: mask.replaceAll('{}', HOLE) });
    else if (text === '-delete' || mask.startsWith(HOLE)) found.push(OPAQUE);
    else if (/^-(?:exec|ok)(?:dir)?$/.test(text)) found.push({ kind: 'words', words: (words = []) });
  }
  return found;
}

/** Settings of git that run no program, whatever they are set to. Of all others there are too many that do. */
const GIT_HARMLESS =
  /^(?:user|author|committer|color|advice|push|pull|branch|log|status|tag|safe|feature|index|rerere|init\.defaultbranch|core\.(?:autocrlf|eol|filemode|ignorecase|quotepath|abbrev|symlinks|longpaths|whitespace|safecrlf|precomposeunicode)|merge\.(?:ff|conflictstyle|renames)|diff\.(?:renames|algorithm|colormoved)|rebase\.auto(?:stash|squash)|commit\.(?:gpgsign|verbose)|fetch\.(?:prune|parallel)|http\.postbuffer|remote\.[^.]+\.(?:url|fetch|prune))(?:\.|$)/i;
/** Commands of git that run others. */
const GIT_RUNNERS = new Set([
  'filter-branch',
  'difftool',
  'mergetool',
  'instaweb',
  'gui',
  'send-email',
  'imap-send',
  'web--browse',
  'citool',
  'cvsimport',
  'archimport',
  'daemon',
  'for-each-repo',
  'hook',
  'shell',
  'p4',
  'svn',
]);
/** Options of git's commands that name a program, or settings. */
const GIT_PROGRAMS =
  'exec upload-pack receive-pack open-files-in-pager extcmd config template access-hook'.split(' ');
/** Options before the command of git that take a word. */
const GIT_VALUED = new Set([
  '-C',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--super-prefix',
  '--attr-source',
]);

/** The arguments of git from its command on: what stands before it only says where. Null: there is no command. */
export function gitArguments(args: readonly ShellWord[]): readonly ShellWord[] | null {
  for (let at = 0; at < args.length; at++) {
    const { text } = args[at] ?? { text: '' };
    if (!text.startsWith('-')) return args.slice(at);
    if (GIT_VALUED.has(text)) at++;
  }
  return null;
}

/** What is set on its command line, an alias, and several options of it run any program. */
function inGit(args: readonly ShellWord[]): readonly Within[] {
  const rest = gitArguments(args);
  const before = args.slice(0, args.length - (rest?.length ?? 0));
  if (anyOf(before, /^(?:-c|--config-env|--exec-path=)/)) return [OPAQUE];
  const [command, ...more] = rest ?? [];
  if (!command) return EMPTY;
  const runs =
    GIT_RUNNERS.has(command.text) ||
    (command.text === 'config' && setsProgram(more)) ||
    more.some(({ text }) => text.startsWith('ext::') || isLongOption(text, GIT_PROGRAMS)) ||
    (command.text === 'rebase' && anyOf(more, /^-[a-z]*x/)) ||
    (command.text === 'grep' && anyOf(more, /^-O/)) ||
    (command.text === 'clone' && anyOf(more, /^-[cu]/)) ||
    (command.text.startsWith('submodule') && anyOf(more, /^foreach$/)) ||
    (command.text === 'bisect' && anyOf(more, /^run$/));
  return opaqueIf(runs);
}

/** `git config` that may set what runs a program. Any word with a dot but the last may be the name. */
function setsProgram(args: readonly ShellWord[]): boolean {
  if (args[0]?.text === 'edit' || anyOf(args, /^(?:-e|--ed)/)) return true;
  if (/^(?:get|list)$/.test(args[0]?.text ?? '') || anyOf(args, /^(?:-l|--li.*|--get.*)$/)) return false;
  const names = args.slice(0, -1).filter(({ text }) => /^[^-].*\./.test(text));
  return names.some(({ text, mask }) => mask.includes(HOLE) || !GIT_HARMLESS.test(text));
}

const LONGEST_SCRIPT = 2_000;

/** A `|` hands text to a command, but for those in a pattern that the program begins with. */
const AWK_PIPES = /^(?:\s*\/[^/\\"[\n]*\/)?(?:[^|]|\|\|)*$/;

/** Its program is read as far as is needed to see that it runs nothing. */
function inAwk(args: readonly ShellWord[]): readonly Within[] {
  const isPlain = ({ text, filled }: ShellWord): boolean =>
    !filled && text.length < LONGEST_SCRIPT && !/system|getline|@/.test(text) && AWK_PIPES.test(text);
  const brings = ({ text }: ShellWord): boolean =>
    /^-[fEliW]/.test(text) || isLongOption(text, ['file', 'exec', 'load', 'include']);
  return opaqueIf(!args.every(isPlain) || args.some(brings));
}

const SED_BRINGS = ['expression', 'file'];

function inSed(args: readonly ShellWord[]): readonly Within[] {
  const scripts: string[] = [];
  let isGiven = false;
  for (let at = 0; at < args.length; at++) {
    const { text } = args[at] ?? { text: '' };
    const attached = /^(?:-[nErszu]*e|--expression=)([\s\S]*)$/.exec(text)?.[1];
    if (/^-[nErszu]*f/.test(text) || (attached === undefined && isLongOption(text, SED_BRINGS)))
      return [OPAQUE];
    if (/^-[nErszu]*l$/.test(text) || (!text.includes('=') && isLongOption(text, ['line-length']))) at++;
    else if (attached !== undefined) {
      isGiven = true;
      scripts.push(attached === '' ? (args[++at]?.text ?? '') : attached);
    } else if (!text.startsWith('-') && !isGiven) {
      isGiven = true;
      scripts.push(text);
    }
  }
  return opaqueIf(!scripts.every(isPlainSed) || args.some(({ filled }) => filled));
}

/** Whether a script of sed has no `e`, and nothing that is not known here. */
export function isPlainSed(script: string): boolean {
  const address = String.raw`(?:\d+(?:~\d+)?|\$|\/(?:[^\/\\\n]|\\.)*\/[IM]*)`;
  const command = new RegExp(
    String.raw`[\s;{}]*(?:${address}(?:,[+~]?${address})?)? ?!? ?` +
      String.raw`(?:[pdqDPNnGgHhxlzF=]\d*|[sy]([^\w\s\\])(?:(?!\1)[^\\\n]|\\[\s\S])*\1(?:(?!\1)[^\\\n]|\\[\s\S])*\1[gpiImM\d]*|[aic]\b[^\n]*|[bt:][^\n;}]*)?(?=[\s;{}]|$)`,
    'y',
  );
  if (script.length > LONGEST_SCRIPT) return false;
  for (let at = 0; at < script.length;) {
    command.lastIndex = at;
    const [taken = ''] = command.exec(script) ?? [];
    if (taken === '') return false;
    at += taken.length;
  }
  return true;
}

function inMake(args: readonly ShellWord[]): readonly Within[] {
  const isSent = args.some((word, at) => {
    const isLong = isLongOption(word.text, ['file', 'makefile']);
    const attached = (isLong ? /^[^=]*=?([\s\S]*)$/ : /^-[A-Za-z]*f([\s\S]*)$/).exec(word.text)?.[1];
    const file = attached === '' ? args[at + 1] : word;
    const name = attached || (file?.text ?? '');
    const isFilled = [word, file].some((each) => each?.mask.includes(HOLE));
    return attached !== undefined && (isFilled || /^(?:-$|\/dev\/|\/proc\/)/.test(name));
  });
  return opaqueIf(
    isSent ||
      args.some(({ text }) => isLongOption(text, ['eval'])) ||
      anyOf(
        args,
        /^-E|^\w+\s*[?:+!]*=[\s\S]*[$`]|^\s*(?:\.?SHELL\w*|(?:GNU)?MAKEFLAGS|MAKEFILES)\s*[?:+!]*=|!=/,
      ),
  );
}

/** Commands of SQLite's shell that only show something. Every other may be cut short, and may run a program. */
const SQLITE_SHOWS =
  /^\.(?:schema|tables?|indexes|mode|headers?|databases|width|nullvalue|separator|timer|dump|quit|help)\b/;

/** With no statement it reads commands that it is sent. */
function inSqlite(args: readonly ShellWord[]): readonly Within[] {
  const isCommand = ({ text }: ShellWord): boolean =>
    /^\s*\.[a-z]/.test(text) && !SQLITE_SHOWS.test(text.trim());
  const operands = args.filter(({ text }) => !text.startsWith('-'));
  return opaqueIf(
    operands.length < 2 || args.some(isCommand) || anyOf(args, /^-init|(?:edit|load_extension)\s*\(/),
  );
}

/** The first word of `tar` may be options without a dash. */
const inTar: Look = (args) =>
  opaqueIf(
    /^[A-Za-z]*[IF]/.test(args[0]?.text ?? '') ||
      anyOf(args, /^-[A-Za-z]*[IF]/) ||
      args.some(({ text }) => isLongOption(text, TAR_PROGRAMS)),
  );
const TAR_PROGRAMS =
  'checkpoint-action to-command use-compress-program rmt-command rsh-command info-script new-volume-script'.split(
    ' ',
  );

/** `npm exec` runs what it is given; scripts of the repository are what they are called. */
function inNpm(args: readonly ShellWord[]): readonly Within[] {
  const at = args.findIndex(({ text }) => /^(?:exec|x|dlx)$/.test(text));
  if (anyOf(args, /^(?:-c|--call|explore$|node$|(?:--)?script-shell|--shell-mode)/))
    return opaqueIf(at >= 0 || anyOf(args, /shell|^(?:explore|node)$/));
  if (at < 0 || !texts(args.slice(0, at)).every(isBeforeExec)) return EMPTY;
  return [...commandAfter(args.slice(at + 1)), { kind: 'maybe', words: args.slice(at + 1) }];
}

/** An option, what it takes, or a workspace: `npm run x` has a script of that name. */
const isBeforeExec = (text: string, at: number, all: readonly string[]): boolean =>
  text.startsWith('-') ||
  /^workspaces?$|^foreach$/.test(text) ||
  /^(?:-[^=]*|workspace)$/.test(all[at - 1] ?? '');

/** What is no command of `pnpm` is run as a program. */
const inPnpm: Look = (args) => [...inNpm(args), { kind: 'maybe', words: args }];

/** The command after options. One of them may take the first word: then the command comes later. */
function commandAfter(words: readonly ShellWord[]): readonly Within[] {
  const start = words.findIndex(({ text }) => !text.startsWith('-'));
  return start < 0 ? EMPTY : [{ kind: 'words', words: words.slice(start) }];
}

/** `poetry run touch m` */
function inRunner(args: readonly ShellWord[]): readonly Within[] {
  const at = args.findIndex(({ text }) => text === 'run' || text === 'exec' || text === 'x');
  if (at < 0) return EMPTY;
  return [...commandAfter(args.slice(at + 1)), { kind: 'maybe', words: args.slice(at + 1) }];
}

/** `go env -w CC=…` */
const setsGo = (args: readonly ShellWord[]): boolean =>
  args[0]?.text === 'env' && anyOf(args.slice(1), /^--?w/);

const RUNNERS = ['poetry', 'uv', 'pipenv', 'pdm', 'rye', 'hatch', 'bundle', 'rbenv', 'pyenv', 'asdf', 'mise'];

/** What the shell puts in before a `=` may be a name, or a whole assignment. */
const inAssignments: Look = (args) =>
  opaqueIf(
    args.some(({ text, mask }) => /^[^=]*\0/.test(mask) || (/^\w+\+?=/.test(text) && isPowerful(text))) ||
      anyOf(args, /^-[A-Za-z]*n/),
  );

/** Builtins that put what they read or write into the variables that they are given. */
const inSetter: Look = (args) =>
  opaqueIf(
    args.some(({ text, mask }) => {
      const name = /^(?:-[A-Za-z]*?[av])?([A-Z_a-z]\w*)(?:\[|$)/.exec(text)?.[1];
      return mask.startsWith(HOLE) || (name !== undefined && isPowerfulName(name));
    }),
  );
const inMapfile: Look = (args, command) => (anyOf(args, /^-[A-Za-z]*C/) ? [OPAQUE] : inSetter(args, command));
const inPrintf: Look = (args, command) => (args[0]?.text.startsWith('-v') ? inSetter(args, command) : EMPTY);

/** Each program with a way of its own. */
export const LOOKS: ReadonlyMap<string, Look> = new Map<string, Look>([
  ['eval', inEval],
  ['trap', inTrap],
  ['find', inFind],
  ['gfind', inFind],
  ['fd', opaqueWith(/^(?:-[A-Za-z]*[xX]|--exec)/)],
  ['fdfind', opaqueWith(/^(?:-[A-Za-z]*[xX]|--exec)/)],
  ['rg', opaqueWith(/^--(?:pre|hostname-bin)/)],
  ['git', inGit],
  ['tar', inTar],
  ['gtar', inTar],
  ['sed', inSed],
  ['gsed', inSed],
  ...['awk', 'gawk', 'mawk', 'nawk', 'original-awk'].map((name): [string, Look] => [name, inAwk]),
  ['make', inMake],
  ['gmake', inMake],
  ...['npm', 'yarn'].map((name): [string, Look] => [name, inNpm]),
  ['pnpm', inPnpm],
  ['just', opaqueWithLong(['command', 'shell'], /^-c/)],
  ...RUNNERS.map((name): [string, Look] => [name, inRunner]),
  ['conda', opaqueWith(/^run$/)],
  ['direnv', opaqueWith(/^exec$/)],
  ['jobs', opaqueWith(/^-x/)],
  ['sqlite3', inSqlite],
  ...['mysql', 'mariadb'].map((name): [string, Look] => [name, opaqueWith(/\\!|system/i)]),
  ['psql', opaqueWith(/\\[!g]|^-f|program/i)],
  ['split', opaqueWithLong(['filter'])],
  ['sort', opaqueWithLong(['compress-program'])],
  ...['sdiff', 'diff3'].map((name): [string, Look] => [name, opaqueWithLong(['diff-program'])]),
  ['cpio', opaqueWithLong(['rsh-command'])],
  ['cargo', opaqueWith(/^--config/)],
  ...['pip', 'pip3'].map((name): [string, Look] => [name, opaqueWith(/^--(?:editor|python)/)]),
  ['rsync', opaqueWith(/^(?:-[a-zA-Z]*e|--rsh|--rsync-path)/)],
  ['scp', opaqueWith(/^-[oSD]/)],
  ['sftp', opaqueWith(/^-[oSD]/)],
  ['zip', opaqueWithLong(['unzip-command'], /^-[A-Za-z]*T/)],
  ...['less', 'more'].map((name): [string, Look] => [name, opaqueWith(/^\+/)]),
  ...['nc', 'ncat', 'netcat'].map((name): [string, Look] => [
    name,
    opaqueWith(/^(?:-[a-z]*[ec]|--(?:sh-|lua-)?exec)/),
  ]),
  ...['gcc', 'g++', 'cc', 'c++', 'clang', 'clang++'].map((name): [string, Look] => [
    name,
    opaqueWith(/^(?:-wrapper|-fplugin|-B|-?-specs|-fuse-ld|@)/),
  ]),
  ...['apt', 'apt-get', 'dpkg'].map((name): [string, Look] => [
    name,
    opaqueWith(/^(?:-o|--option|--(?:pre|post)-invoke)/),
  ]),
  ['rpm', opaqueWith(/^(?:-E|--eval|-D|--define|--pipe)/)],
  ['cmake', opaqueWith(/^-[EP]/)],
  ['go', (args) => opaqueIf(anyOf(args, /^--?(?:exec|toolexec|vettool)|-extld/) || setsGo(args))],
  ['install', opaqueWithLong(['strip-program'])],
  ['man', opaqueWithLong(['pager', 'html'], /^-[PH]/)],
  ['mapfile', inMapfile],
  ['readarray', inMapfile],
  ['printf', inPrintf],
  ...['read', 'getopts'].map((name): [string, Look] => [name, inSetter]),
  ['wait', (args, command) => (anyOf(args, /^-\w*p/) ? inSetter(args, command) : EMPTY)],
  ...['export', 'declare', 'typeset', 'local', 'readonly'].map((name): [string, Look] => [
    name,
    inAssignments,
  ]),
]);
