import type { SimpleCommand } from './shell-reader.ts';
import { HOLE, type ShellWord } from './shell-words.ts';

/**
 * How a program treats its arguments, where these hold other commands:
 * - `words`: the command that it runs, with its arguments
 * - `line`: text that it hands to a shell
 * - `opaque`: it runs something that cannot be read here
 */
export type Within =
  | { readonly kind: 'words'; readonly words: readonly ShellWord[] }
  | { readonly kind: 'line'; readonly text: ShellWord }
  | { readonly kind: 'opaque' };

export const OPAQUE: Within = { kind: 'opaque' };
export const EMPTY: readonly Within[] = [];

type Look = (args: readonly ShellWord[], command: Pick<SimpleCommand, 'input'>) => readonly Within[];

export const texts = (words: readonly ShellWord[]): string[] => words.map(({ text }) => text);

/** Assignments that decide what later commands run. */
export function isPowerful(assignment: string): boolean {
  const name = assignment.slice(0, assignment.indexOf('=')).replace(/\+$/, '');
  const value = assignment.slice(assignment.indexOf('=') + 1);
  if (name === 'NODE_OPTIONS') return /require|import|loader|eval|-r/.test(value);
  return (
    /^(?:PATH|IFS|ENV|SHELL|SHELLOPTS|BASHOPTS|PS[0-4]|CDPATH|FPATH|MAKEFLAGS|MAKEFILES|PERL5OPT|PERL5DB|RUBYOPT|PYTHONSTARTUP|PYTHONPATH|LESSOPEN|LESSCLOSE|BROWSER|VISUAL|POSIXLY_CORRECT)$/.test(
      name,
    ) ||
    /^(?:LD_|DYLD_|BASH_|GIT_CONFIG|GIT_EXEC|GIT_EXTERNAL|GIT_TEMPLATE|npm_config_)/.test(name) ||
    /(?:EDITOR|PAGER|COMMAND|ASKPASS|_SSH|PROXY_COMMAND)$/.test(name)
  );
}

const opaqueIf = (isOpaque: boolean): readonly Within[] => (isOpaque ? [OPAQUE] : EMPTY);
export const anyOf = (args: readonly ShellWord[], pattern: RegExp): boolean =>
  args.some(({ text }) => pattern.test(text));

const opaqueWith =
  (pattern: RegExp): Look =>
  (args) =>
    opaqueIf(anyOf(args, pattern));

const joined = (words: readonly ShellWord[]): ShellWord => ({
  text: texts(words).join(' '),
  mask: words.map(({ mask }) => mask).join(' '),
  plain: false,
  filled: words.some(({ filled }) => filled),
});

function inTrap(args: readonly ShellWord[]): readonly Within[] {
  const [text, signal] = args.filter((word) => word.text !== '--' && !/^-[lp]$/.test(word.text));
  return text && signal ? [{ kind: 'line', text }] : EMPTY;
}

/** Everything after `-exec` up to `;` or `+` is a command, with the names of files put in. */
function inFind(args: readonly ShellWord[]): readonly Within[] {
  const found: Within[] = [];
  for (let at = 0; at < args.length; at++) {
    const { text, mask } = args[at] ?? { text: '', mask: '' };
    if (text === '-delete' || mask.startsWith(HOLE)) found.push(OPAQUE);
    if (!/^-(?:exec|ok)(?:dir)?$/.test(text)) continue;
    const rest = args.slice(at + 1);
    const end = rest.findIndex((word) => word.text === ';' || word.text === '+');
    const words = end < 0 ? rest : rest.slice(0, end);
    found.push({
      kind: 'words',
      words: words.map((word) => ({ ...word, mask: word.mask.replaceAll('{}', HOLE) })),
    });
    at += words.length;
  }
  return found;
}

/** Settings of git that run programs, and its own commands that do. */
const GIT_RUNS =
  /^(?:alias|pager|filter|diff|difftool|merge|mergetool|credential|hook)\.|^core\.(?:editor|pager|sshcommand|askpass|fsmonitor|hookspath|gitproxy)|^(?:sequence\.editor|gpg\.|include)/i;
const GIT_RUNNERS = new Set([
  'filter-branch',
  'difftool',
  'mergetool',
  'instaweb',
  'gui',
  'send-email',
  'p4',
  'svn',
]);
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
    (command.text === 'config' && anyOf(more, GIT_RUNS)) ||
    anyOf(more, /^--(?:exec|upload-pack|receive-pack|open-files-in-pager|extcmd|config)|^ext::/) ||
    (command.text === 'rebase' && anyOf(more, /^-x/)) ||
    (command.text === 'grep' && anyOf(more, /^-O/)) ||
    (command.text === 'clone' && anyOf(more, /^-[cu]/)) ||
    (command.text === 'submodule' && anyOf(more, /^foreach$/)) ||
    (command.text === 'bisect' && anyOf(more, /^run$/));
  return opaqueIf(runs);
}

const LONGEST_SCRIPT = 2_000;

/** Its program is read as far as is needed to see that it runs nothing. */
function inAwk(args: readonly ShellWord[]): readonly Within[] {
  const isPlain = ({ text, filled }: ShellWord): boolean =>
    !filled && text.length < LONGEST_SCRIPT && !/system|getline|@|\|&|print[^;}\n]*[^|]\|[^|]/.test(text);
  return opaqueIf(!args.every(isPlain) || anyOf(args, /^(?:-f|--file|-E|--exec|-l|--load|-i|--include)/));
}

function inSed(args: readonly ShellWord[]): readonly Within[] {
  const scripts: string[] = [];
  let isGiven = false;
  for (let at = 0; at < args.length; at++) {
    const { text } = args[at] ?? { text: '' };
    const attached = /^(?:-[nErszu]*e|--expression=)([\s\S]*)$/.exec(text)?.[1];
    if (/^(?:-[nErszu]*f|--file)/.test(text)) return [OPAQUE];
    if (attached !== undefined) {
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
  const file = args.findIndex(({ text }) => /^(?:-[a-z]*f|--file|--makefile)$/.test(text));
  const sent = file >= 0 && /^(?:-$|\/dev\/|\/proc\/)/.test(args[file + 1]?.text ?? '');
  return opaqueIf(
    sent || anyOf(args, /^(?:--eval|-E|-f-|--file=-)|^\w+[?:+!]*=[\s\S]*[$`]|^(?:\.?SHELL\w*)=|!=/),
  );
}

/** `npm exec` runs what it is given; scripts of the repository are what they are called. */
function inNpm(args: readonly ShellWord[]): readonly Within[] {
  const at = args.findIndex(({ text }) => /^(?:exec|x|dlx)$/.test(text));
  if (anyOf(args, /^(?:-c|--call|--script-shell|--shell-mode)/))
    return opaqueIf(at >= 0 || anyOf(args, /shell/));
  if (at < 0 || args.slice(0, at).some(({ text }) => !text.startsWith('-'))) return EMPTY;
  const words = args.slice(at + 1);
  const start = words.findIndex(({ text }) => !text.startsWith('-'));
  return start < 0 ? EMPTY : [{ kind: 'words', words: words.slice(start) }];
}

/** `poetry run touch m` */
function inRunner(args: readonly ShellWord[]): readonly Within[] {
  const at = args.findIndex(({ text }) => text === 'run' || text === 'exec' || text === 'x');
  const words = at < 0 ? [] : args.slice(at + 1);
  const start = words.findIndex(({ text }) => !text.startsWith('-'));
  return start < 0 ? EMPTY : [{ kind: 'words', words: words.slice(start) }];
}

const RUNNERS = ['poetry', 'uv', 'pipenv', 'pdm', 'rye', 'hatch', 'bundle', 'rbenv', 'pyenv', 'asdf', 'mise'];

const inAssignments: Look = (args) =>
  opaqueIf(args.some(({ text }) => /^\w+\+?=/.test(text) && isPowerful(text)) || anyOf(args, /^-[A-Za-z]*n/));

/** Each program with a way of its own. */
export const LOOKS: ReadonlyMap<string, Look> = new Map<string, Look>([
  ['eval', (args) => (args.length === 0 ? EMPTY : [{ kind: 'line', text: joined(args) }])],
  ['trap', inTrap],
  ['find', inFind],
  ['gfind', inFind],
  ['fd', opaqueWith(/^(?:-[xX]|--exec)/)],
  ['fdfind', opaqueWith(/^(?:-[xX]|--exec)/)],
  ['rg', opaqueWith(/^--(?:pre|hostname-bin)/)],
  ['git', inGit],
  ['tar', opaqueWith(/^(?:--(?:check|to-c|use|rmt|rsh|info|new-vol|index)|-[A-Za-z]*[IF])/)],
  ['gtar', opaqueWith(/^(?:--(?:check|to-c|use|rmt|rsh|info|new-vol|index)|-[A-Za-z]*[IF])/)],
  ['sed', inSed],
  ['gsed', inSed],
  ...['awk', 'gawk', 'mawk', 'nawk', 'original-awk'].map((name): [string, Look] => [name, inAwk]),
  ['make', inMake],
  ['gmake', inMake],
  ...['npm', 'pnpm', 'yarn'].map((name): [string, Look] => [name, inNpm]),
  ...RUNNERS.map((name): [string, Look] => [name, inRunner]),
  ['conda', opaqueWith(/^run$/)],
  ['direnv', opaqueWith(/^exec$/)],
  ['jobs', opaqueWith(/^-x/)],
  ['sqlite3', opaqueWith(/\.(?:shell|system|read|load)|edit\(/)],
  ['psql', opaqueWith(/\\[!g]|^-f|program/i)],
  ['split', opaqueWith(/^--filter/)],
  ['sort', opaqueWith(/^--compress-prog/)],
  ['rsync', opaqueWith(/^(?:-[a-zA-Z]*e|--rsh|--rsync-path)/)],
  ['scp', opaqueWith(/^-[oSD]/)],
  ['sftp', opaqueWith(/^-[oSD]/)],
  ['zip', opaqueWith(/^(?:-[A-Za-z]*T|--unzip)/)],
  ['man', opaqueWith(/^-[PH]|^--(?:pager|html)/)],
  ['mapfile', opaqueWith(/^-[A-Za-z]*C/)],
  ['readarray', opaqueWith(/^-[A-Za-z]*C/)],
  ...['export', 'declare', 'typeset', 'local', 'readonly'].map((name): [string, Look] => [
    name,
    inAssignments,
  ]),
]);
