import { EMPTY, LOOKS, OPAQUE, anyOf, opaqueIf, texts, type Within } from './shell-arguments.ts';
import type { SimpleCommand } from './shell-reader.ts';
import { isPowerful } from './shell-variables.ts';
import { HOLE, type ShellWord } from './shell-words.ts';

interface Wrapper {
  /** Letters of options that take a word. */
  readonly valued?: string;
  /** Letters of options that take a line for a shell. */
  readonly lines?: string;
  /** Words that stand before the command. */
  readonly skip?: number;
}

/** Programs that run the command in their arguments. */
const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  sudo: { valued: 'ughpCrtUDRT' },
  doas: { valued: 'uC' },
  env: { valued: 'uC', lines: 'S' },
  command: { lines: '' },
  builtin: {},
  exec: { valued: 'a' },
  nohup: {},
  nice: { valued: 'n' },
  ionice: { valued: 'cnpPu' },
  setsid: {},
  stdbuf: { valued: 'ioe' },
  timeout: { valued: 'sk', skip: 1 },
  gtimeout: { valued: 'sk', skip: 1 },
  time: { valued: 'fo' },
  xargs: { valued: 'InPLsdEaJRS' },
  gxargs: { valued: 'InPLsdEaJRS' },
  busybox: {},
  toybox: {},
  coreutils: {},
  flock: { valued: 'wE', lines: 'c', skip: 1 },
  chroot: { skip: 1 },
  taskset: { lines: 'p', skip: 1 },
  npx: { valued: 'p', lines: 'c' },
  pnpx: { lines: 'c' },
  bunx: {},
  noglob: {},
  nocorrect: {},
  '-': {},
  chrt: { valued: 'TPD', skip: 1 },
  choom: { valued: 'np' },
  prlimit: {},
  uclampset: { valued: 'mMp' },
  numactl: { valued: 'CNimpP' },
  cpulimit: { valued: 'elp' },
  runcon: { valued: 'lrtu', skip: 1 },
  sg: { lines: 'c', skip: 1 },
  'ssh-agent': { valued: 'aEOPt' },
  'systemd-inhibit': {},
  'systemd-cat': { valued: 'pt' },
  run0: { valued: 'uD' },
  'dbus-launch': {},
  eatmydata: {},
  'ld.so': {},
  repeat: { skip: 1 },
  gosu: { skip: 1 },
  'su-exec': { skip: 1 },
  tini: {},
  'dumb-init': {},
  'cross-env': {},
  catchsegv: {},
  unbuffer: {},
  caffeinate: { valued: 'tw' },
};

/** Programs and builtins whose arguments hold commands in ways that are not read here, or that change what later words mean. */
const OPAQUE_PROGRAMS = new Set(
  `. source alias parallel su runuser script expect watch at batch crontab systemd-run nsenter unshare
   strace ltrace gdb tmux screen entr enable hash bind complete compgen fc ed ex vi vim nvim emacs m4 ssh
   pwsh powershell osascript tclsh wish ipython bpython ptpython view rview rvim gvim vimdiff emacsclient sudoedit rlwrap start-stop-daemon run-parts setarch linux32 linux64 setpriv
   capsh firejail bwrap proot dbus-run-session xvfb-run faketime fakeroot pkexec coproc foreach
   i386 x86_64 uname26 coresched newgrp systemd-nspawn machinectl socat jshell erl
   dc valgrind hyperfine perf concurrently nodemon watchexec onchange chpst nu elvish xonsh nix-shell`.split(
    /\s+/,
  ),
);

const SHELLS = new Set([
  'sh',
  'bash',
  'dash',
  'ash',
  'zsh',
  'ksh',
  'mksh',
  'rbash',
  'fish',
  'csh',
  'tcsh',
  'yash',
]);

/** Options of interpreters that bring a program along. */
const INLINE: Readonly<Record<string, RegExp>> = {
  python: /^-[A-Za-z]*c/,
  pypy: /^-[A-Za-z]*c/,
  node: /^(?:-[a-z]*[ep]|--eval|--print|--import=data|-$)/,
  nodejs: /^(?:-[a-z]*[ep]|--eval|--print|--import=data|-$)/,
  deno: /^eval$|^-$/,
  bun: /^(?:-[a-z]*[ep]|--eval|--print|-$|exec$|x$)/,
  tsx: /^(?:-[a-z]*[ep]|--eval|--print)/,
  'ts-node': /^(?:-[a-z]*[ep]|--eval|--print)/,
  // A module of `-M` may be followed by a program.
  perl: /^-(?:[A-Za-z0-9.]*[eE]|[mM].*[^\w:=,.+-])/,
  ruby: /^-[A-Za-z]*e/,
  php: /^(?:-[a-z]*[rBRE]|--run)/,
  lua: /^-e/,
  luajit: /^-e/,
  r: /^-e/,
  rscript: /^-e/,
  octave: /^--eval/,
  ghci: /^-e/,
  racket: /^-[a-z]*e/,
  sbcl: /^--(?:eval|load)/,
  swipl: /^-[gt]/,
  gnuplot: /^-e/,
  groovy: /^-e/,
  scala: /^-e/,
  julia: /^-[eE]/,
  guile: /^-c/,
  elixir: /^-e/,
};
/** Options of interpreters that take the next word. */
const VALUED = /^-(?:[A-Za-z]*[WXQ]|[IrlCd]|-(?:require|import|loader|conditions|env-file|input-type))$/;
/** Modules of Python that run what they are given or sent, or another module. */
const RUNS_INPUT =
  /^(?:timeit|code|pdb|asyncio|c?profile|trace|runpy|idlelib.*|ipython|bpython|ptpython|coverage|debugpy|viztracer|memory_profiler|kernprof)$/i;
const ASKS_ONLY = /^(?:-[vVh]|--version|--help|--test|--check)$/;

/** What the arguments of a program hold besides; empty: what it is called is all that is to be known. */
export function within(name: string, args: readonly ShellWord[], command: SimpleCommand): readonly Within[] {
  const program = plainName(name);
  const look = LOOKS.get(program);
  if (look) return look(args, command);
  if (OPAQUE_PROGRAMS.has(program)) return [OPAQUE];
  if (SHELLS.has(program)) return inShell(args, command);
  if (Object.hasOwn(WRAPPERS, program)) return inWrapper(program, args);
  const inline = INLINE[program.replace(/[\d.]+$/, '')];
  return inline ? inInterpreter(program, inline, args) : inUnknown(program, args);
}

/** Programs whose arguments are text, names or numbers. Of all others nobody knows whether they run what they are given. */
const RUNS_NOTHING = new Set(
  `echo test [ [[ : true false which type whereis whatis apropos help grep egrep fgrep zgrep ag ack cat tac ls dir tree
   head tail wc uniq cut paste tr rev nl od xxd hexdump strings diff cmp comm join column fold fmt expand mkdir rmdir rm cp
   mv ln chmod chown chgrp touch truncate mktemp tee stat file du df pwd cd pushd popd basename dirname realpath readlink
   date cal sleep seq expr kill pkill killall pgrep ps top free uptime uname hostname id whoami groups set unset shift
   return exit break continue unalias umask ulimit jq yq dd gzip gunzip xz bzip2 zcat md5sum sha1sum sha256sum base64
   curl wget ping brew apk pacman dnf yum gem rustup rake gradle mvn tsc eslint prettier vitest jest pytest`.split(
    /\s+/,
  ),
);

const inUnknown = (program: string, args: readonly ShellWord[]): readonly Within[] =>
  RUNS_NOTHING.has(program) ? EMPTY : [{ kind: 'maybe', words: args }];

/** Not every file system tells capitals from small letters; and there are `vim.basic`, `nc.traditional`, `bash-static`. */
const plainName = (name: string): string =>
  name.toLowerCase().replace(/[.-](?:basic|tiny|nox|gtk3|traditional|openbsd|distrib|static)$/, '');

function inShell(args: readonly ShellWord[], { input }: Pick<SimpleCommand, 'input'>): readonly Within[] {
  const all = texts(args);
  if (all.length > 0 && all.every((text) => /^--(?:version|help)$/.test(text))) return EMPTY;
  // Of `fish`, and of shells that nobody thought of.
  if (all.some((text) => /^--(?:command|init-command)/.test(text))) return [OPAQUE];
  const flag = all.findIndex((text) => /^[-+][A-Za-z]*c[A-Za-z]*$/.test(text));
  const isValue = (i: number): boolean => /^[-+][A-Za-z]*[oO]$/.test(all[i] ?? '');
  const script = all.findIndex((text, i) => !/^[-+]/.test(text) && !isValue(i - 1));
  if (flag >= 0 && (script < 0 || flag < script)) {
    const line = args.find(
      ({ text }, i) => i > flag && !/^[-+]/.test(text) && (i - 1 === flag || !isValue(i - 1)),
    );
    return line ? [{ kind: 'line', text: line }] : [OPAQUE];
  }
  // Otherwise it reads a file, or whatever it is sent.
  if (script >= 0 && !all.some((text) => /^-[A-Za-z]*s/.test(text))) return [OPAQUE];
  return input === 'unknown' ? [OPAQUE] : [{ kind: 'line', text: input }];
}

function inWrapper(program: string, args: readonly ShellWord[]): readonly Within[] {
  // It only says where a command is.
  if (program === 'command' && anyOf(args.slice(0, 1), /^-[vV]+$/)) return EMPTY;
  const { skip = 0 } = WRAPPERS[program] ?? {};
  let at = 0;
  let opaque = false;
  for (; at < args.length; at++) {
    const { text, mask } = args[at] ?? { text: '', mask: '' };
    if (text === '--') {
      at++;
      break;
    }
    const isOption = text.startsWith('-');
    // These take any name before the `=`, also one that no shell would.
    const isAssignment = !isOption && text.includes('=') && /^(?:env|sudo|cross-env)$/.test(program);
    if (!isOption && !isAssignment) break;
    const option = isAssignment ? NO_WORD : optionOf(text, WRAPPERS[program] ?? {});
    opaque ||= mask.includes(HOLE) || (isAssignment ? isPowerful(text) : option.opaque);
    if (option.takesNext) opaque ||= isSpread(args[++at]);
  }
  // A line for a shell may come after the words that are skipped.
  opaque ||= args.slice(at, at + skip).some(isSpread);
  opaque ||= args.slice(at, at + skip + 1).some(({ text }, i) => i > 0 && text.startsWith('-'));
  const words = args.slice(at + skip);
  if (words.length === 0) return opaque || /^(?:sudo|doas|chroot)$/.test(program) ? [OPAQUE] : EMPTY;
  const inner = program.endsWith('xargs') ? fedWords(args.slice(0, at), words) : words;
  return [{ kind: 'words', words: inner }, ...(opaque ? [OPAQUE] : EMPTY)];
}

/** What the shell puts in may be several words, of which the last are a command. */
const isSpread = (word: ShellWord | undefined): boolean =>
  word?.filled === true && word.mask.startsWith(HOLE);

const NO_WORD = { takesNext: false, opaque: false };
const LONG_WITHOUT_WORD =
  /^--(?:[a-z-]+=|(?:null|verbose|no-run-if-empty|yes|foreground|preserve-status|ignore-environment)$)/;

/** What an option of a wrapper means for the words after it; of most long ones that is not known. */
function optionOf(text: string, { valued = '', lines = '' }: Wrapper): typeof NO_WORD {
  if (/^--(?:split|call|command)/.test(text)) return { takesNext: false, opaque: true };
  if (text.startsWith('--')) return { takesNext: false, opaque: !LONG_WITHOUT_WORD.test(text) };
  const letters = text.slice(1).split('');
  if (letters.some((letter) => lines.includes(letter))) return { takesNext: false, opaque: true };
  const first = letters.findIndex((letter) => valued.includes(letter));
  return { takesNext: first >= 0 && first === letters.length - 1, opaque: false };
}

/** `xargs` puts in more words, at the end or where its `-I` says. */
function fedWords(options: readonly ShellWord[], words: readonly ShellWord[]): readonly ShellWord[] {
  const at = options.findIndex(({ text }) => /^-[IiJ]/.test(text));
  const option = options[at]?.text ?? '';
  const place = at < 0 ? null : option.slice(2) || (option === '-i' ? '{}' : (options[at + 1]?.text ?? '{}'));
  if (place === null) return [...words, { text: '', mask: HOLE, plain: false, filled: true }];
  return words.map((word) => ({ ...word, mask: word.mask.replaceAll(place, HOLE) }));
}

/** A script in a file is what the program is called with; one in the arguments, or one that it is sent, is not read. */
function inInterpreter(program: string, inline: RegExp, args: readonly ShellWord[]): readonly Within[] {
  if (anyOf(args, /(?:^|=)data:/)) return [OPAQUE];
  for (let at = 0; at < args.length; at++) {
    const { text, mask } = args[at] ?? { text: '', mask: '' };
    if (mask.startsWith(HOLE) || /^(?:-$|\/dev\/|\/proc\/)/.test(text) || inline.test(text)) return [OPAQUE];
    // `python -m name`
    const module = program.startsWith('py') ? /^-[A-Za-z]*?m(.*)$/.exec(text)?.[1] : undefined;
    if (module !== undefined) return opaqueIf(RUNS_INPUT.test(module || (args[at + 1]?.text ?? '')));
    // Of some, as `-l` of Perl, the word is left out: what looks like an option is one.
    if (VALUED.test(text) && !args[at + 1]?.text.startsWith('-')) at++;
    else if (!text.startsWith('-')) {
      // It may be the value of the option before it, and the program come later.
      const isValue = at > 0 && /^-[^=]*$/.test(args[at - 1]?.text ?? '');
      return opaqueIf(isValue && anyOf(args.slice(at + 1), inline));
    }
  }
  return opaqueIf(!anyOf(args, ASKS_ONLY));
}
