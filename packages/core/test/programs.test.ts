import { judge } from '@reveille/core';
import { describe, expect, test } from 'vitest';
import { LOOKS } from '../src/shell-arguments.ts';

const AGENT = { backend: 'builtin', name: 'coder' };

function isLetThrough(command: string, denied = 'touch*'): boolean {
  const action = { tool: 'run_command', kind: 'command' as const, command, paths: [], held: true };
  const rules = [{ command: denied, verdict: 'deny' as const }];
  const layers = [{ from: 'a test', preset: 'normal' as const, rules }];
  return judge([{ agent: AGENT, layers }], action).verdict === 'auto';
}

const each = (names: string, rest: string): [string, string][] =>
  names.split(' ').map((name) => [name, `${name} ${rest}`]);

/** Programs that run a command in a way of their own, each with a line that does. */
const LINES = new Map<string, string>([
  ...each('eval', `'touch m'`),
  ...each('trap', `'touch m' EXIT`),
  ...each('find gfind', '. -exec touch m ;'),
  ...each('fd fdfind', '-Hx ./m'),
  ...each('rg', '--pre ./m x'),
  ...each('git', `-c alias.x='!touch m' x`),
  ...each('tar gtar', `xf a.tar --to-command='touch m'`),
  ...each('sed gsed', `'1e touch m' a`),
  ...each('awk gawk mawk nawk original-awk', `'BEGIN { system("touch m") }'`),
  ...each('make gmake', `--eval='all:;touch m' all`),
  ...each('npm pnpm yarn', 'exec -- touch m'),
  ...each('poetry uv pipenv pdm rye hatch bundle rbenv pyenv asdf mise conda', 'run touch m'),
  ...each('direnv', 'exec . touch m'),
  ...each('jobs', '-x touch m'),
  ...each('sqlite3', `x.db '.shell touch m'`),
  ...each('mysql mariadb psql', `-e '\\! touch m'`),
  ...each('split', `--filter='touch m' a`),
  ...each('sort', '--compress-program=./m a'),
  ...each('rsync', `-ae 'touch m' a b:c`),
  ...each('scp', `-oProxyCommand='touch m' a b:c`),
  ...each('sftp', '-D ./m'),
  ...each('zip', `a.zip a -T --unzip-command 'touch m'`),
  ...each('less more', `'+!touch m' a`),
  ...each('nc ncat netcat', '-e ./m localhost 1'),
  ...each('gcc g++ cc c++', '-wrapper touch,m a.c'),
  ...each('clang clang++', '-fplugin=./m.so a.c'),
  ...each('cargo', `--config 'build.rustc="./m"' build`),
  ...each('cpio', '-o --rsh-command=./m'),
  ...each('diff3 sdiff', '--diff-program=./m a b c'),
  ...each('just', '-c touch m'),
  ...each('pip pip3', 'config edit --editor ./m'),
  ...each('getopts', 'x PATH'),
  ...each('read', 'PATH'),
  ...each('wait', '-p PATH'),
  ...each('printf', `-v PATH ./`),
  ...each('apt apt-get dpkg', `--pre-invoke='touch m' -i a`),
  ...each('rpm', `--eval '%(touch m)'`),
  ...each('cmake', '-E env touch m'),
  ...each('go', 'test -exec touch ./...'),
  ...each('install', '-s --strip-program=./m a b'),
  ...each('man', `-P 'touch m' ls`),
  ...each('mapfile readarray', `-C 'touch m' a`),
  ...each('export declare typeset local readonly', `LD_PRELOAD=./m.so`),
]);

/** Programs that run what follows. */
const BEFORE =
  `sudo doas env command builtin exec nohup nice ionice setsid stdbuf time xargs gxargs busybox toybox
  coreutils npx bunx noglob nocorrect - choom prlimit uclampset numactl cpulimit ssh-agent systemd-inhibit systemd-cat
  run0 dbus-launch eatmydata ld.so tini dumb-init cross-env catchsegv unbuffer caffeinate`.split(/\s+/);
const BEFORE_A_WORD = 'timeout gtimeout flock chroot taskset chrt runcon sg repeat gosu su-exec'.split(' ');

/** Tools of a language that run what follows, past options of their own. */
const OF_TOOLS =
  `npm exec, npm exec --, pnpm exec, pnpm dlx, yarn exec, yarn dlx, poetry run, uv run, pipenv run, bundle exec, mise x --`.split(
    /,\s+/,
  );

/** Words of the grammar of a shell, each with what it takes to be one. */
const OF_GRAMMAR = [
  'if',
  'while',
  'until',
  'for i in',
  'select i in',
  'case',
  'function',
  'time',
  'then',
  '!',
  '{',
];

/** Commands of git that run a program that is set, or named. */
const OF_GIT =
  'filter-branch difftool mergetool instaweb gui send-email imap-send web--browse citool cvsimport archimport shell p4 svn'.split(
    ' ',
  );

describe('a program that runs another', () => {
  test.each(OF_GIT)('[INB2.50] is not let through to run it: git %s', (command) => {
    expect(isLetThrough(`git ${command} x`)).toBe(false);
  });

  test('[INB2.51] git alone says what it is', () => {
    for (const line of ['git', 'git --version', 'git -C sub status']) expect(isLetThrough(line)).toBe(true);
  });

  test('[INB2.50] each that is known has a line here', () => {
    expect([...LOOKS.keys()].toSorted()).toEqual([...LINES.keys()].toSorted());
  });

  test.each([...LINES.values()])('[INB2.50] is not let through to run it: %s', (line) => {
    expect(isLetThrough(line)).toBe(false);
  });

  test.each(OF_TOOLS)('[INB2.50] what follows is read as a command of its own: %s', (tool) => {
    expect(isLetThrough(`${tool} env -S 't""ouch m'`)).toBe(false);
    expect(isLetThrough(`${tool} ls m`)).toBe(true);
  });

  test.each(OF_GRAMMAR)('[INB2.50] a quoted word of the grammar is the name of a program: %s', (words) => {
    const [word, ...more] = words.split(' ');
    const line = `'${word}' ${[...more, 'm'].join(' ')}`;
    expect(isLetThrough(line)).toBe(true);
    expect(isLetThrough(line, `${word} *`)).toBe(false);
  });

  test('[INB2.50] what stands after a here-document is a command again', () => {
    for (const end of ['EOF', `'EOF'`, '-EOF']) {
      const line = `cat <<${end}\ntouch m\nEOF\n`;
      expect(isLetThrough(`${line}ls m`), line).toBe(true);
      expect(isLetThrough(`${line}touch m`), line).toBe(false);
    }
  });

  test('[INB2.52] a line that breaks off is judged, wherever it does', () => {
    const lines = [
      'for i in a b; do touch m; done',
      'for ((i = 0; i < 1; i++)); do touch m; done',
      'select i in a b\ndo touch m; done',
      'case a in (a|b) touch m;; *) ls;; esac',
      'if a; then b; elif c; then d; else e; fi',
      'function f () { touch m; }; f() ( ls )',
      "cat <<EOF <<-'END'\n$(touch m)\nEOF\n\ta\n\tEND\n",
      'echo ${x:-$(touch m)} "$((1 + 2)) `touch m`" {a,b}[c]',
      "[[ -n 'x' ]] && x=(a b) 2>&1 | time -p touch m # not m",
      ...LINES.values(),
    ];
    for (const line of lines)
      for (let end = 0; end < line.length; end++)
        expect(isLetThrough(line.slice(0, end)), line.slice(0, end)).toBeTypeOf('boolean');
  });

  test('[INB2.51] a word that looks like an assignment is none after the name of a program', () => {
    expect(isLetThrough('LD_PRELOAD=./m.so ls')).toBe(false);
    expect(isLetThrough('ls LD_PRELOAD=./m.so')).toBe(true);
  });

  test.each(BEFORE)('[INB2.50] what follows is judged: %s', (program) => {
    expect(isLetThrough(`${program} touch m`)).toBe(false);
    expect(isLetThrough(`${program} ls m`)).toBe(true);
  });

  test.each(BEFORE_A_WORD)('[INB2.50] what follows its first word is judged: %s', (program) => {
    expect(isLetThrough(`${program} 5 touch m`)).toBe(false);
    expect(isLetThrough(`${program} 5 ls m`)).toBe(true);
  });
});
