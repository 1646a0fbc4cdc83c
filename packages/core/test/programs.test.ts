import { judge } from '@reveille/core';
import { describe, expect, test } from 'vitest';
import { LOOKS } from '../src/shell-arguments.ts';

const AGENT = { backend: 'builtin', name: 'coder' };

function isLetThrough(command: string): boolean {
  const action = { tool: 'run_command', kind: 'command' as const, command, paths: [], held: true };
  const rules = [{ command: 'touch*', verdict: 'deny' as const }];
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
  ...each('fd fdfind', '-Hx touch'),
  ...each('rg', '--pre ./touch-m x'),
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
  ...each('sort', '--compress-program=./touch-m a'),
  ...each('rsync', `-ae 'touch m' a b:c`),
  ...each('scp', `-oProxyCommand='touch m' a b:c`),
  ...each('sftp', '-D ./touch-m'),
  ...each('zip', `a.zip a -T --unzip-command 'touch m'`),
  ...each('less more', `'+!touch m' a`),
  ...each('nc ncat netcat', '-e ./touch-m localhost 1'),
  ...each('gcc g++ cc c++', '-wrapper touch,m a.c'),
  ...each('clang clang++', '-fplugin=./touch-m.so a.c'),
  ...each('cargo', `--config 'build.rustc="./touch-m"' build`),
  ...each('cpio', '-o --rsh-command=./touch-m'),
  ...each('diff3 sdiff', '--diff-program=./touch-m a b c'),
  ...each('just', '-c touch m'),
  ...each('pip pip3', 'config edit --editor ./touch-m'),
  ...each('getopts', 'x PATH'),
  ...each('read', 'PATH'),
  ...each('wait', '-p PATH'),
  ...each('printf', `-v PATH ./`),
  ...each('apt apt-get dpkg', `--pre-invoke='touch m' -i a`),
  ...each('rpm', `--eval '%(touch m)'`),
  ...each('cmake', '-E env touch m'),
  ...each('go', 'test -exec touch ./...'),
  ...each('install', '-s --strip-program=./touch-m a b'),
  ...each('man', `-P 'touch m' ls`),
  ...each('mapfile readarray', `-C 'touch m' a`),
  ...each('export declare typeset local readonly', `LD_PRELOAD=./touch-m.so`),
]);

/** Programs that run what follows. */
const BEFORE =
  `sudo doas env command builtin exec nohup nice ionice setsid stdbuf time xargs gxargs busybox toybox
  coreutils npx bunx noglob nocorrect - choom prlimit uclampset numactl cpulimit ssh-agent systemd-inhibit systemd-cat
  run0 dbus-launch eatmydata ld.so tini dumb-init cross-env catchsegv unbuffer caffeinate`.split(/\s+/);
const BEFORE_A_WORD = 'timeout gtimeout flock chroot taskset chrt runcon sg repeat gosu su-exec'.split(' ');

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

  test.each(BEFORE)('[INB2.50] what follows is judged: %s', (program) => {
    expect(isLetThrough(`${program} touch m`)).toBe(false);
    expect(isLetThrough(`${program} ls m`)).toBe(true);
  });

  test.each(BEFORE_A_WORD)('[INB2.50] what follows its first word is judged: %s', (program) => {
    expect(isLetThrough(`${program} 5 touch m`)).toBe(false);
    expect(isLetThrough(`${program} 5 ls m`)).toBe(true);
  });
});
