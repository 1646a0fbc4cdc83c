import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judge } from '@reveille/core';
import type { PolicyRule, Verdict } from '@reveille/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

const CODER = { backend: 'builtin', name: 'coder' };

function verdictOf(line: string, rules: PolicyRule[]): Verdict {
  const action = { tool: 'run_command', kind: 'command' as const, command: line, paths: [], held: true };
  const layers = [{ from: 'a test', preset: 'normal' as const, rules }];
  return judge([{ agent: CODER, layers }], action).verdict;
}

const NO_TOUCH: PolicyRule[] = [{ command: 'touch*', verdict: 'deny' }];

/** Runs a line in an empty folder, and says whether the file `m` is there afterwards. */
function makesFile(shell: string, line: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'reveille-shell-'));
  try {
    writeFileSync(join(folder, 's.sh'), 'touch m\n', { mode: 0o755 });
    spawnSync(shell, ['-c', line], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' },
      input: 'touch m\n',
      timeout: 20_000,
    });
    return existsSync(join(folder, 'm'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

/** Lines that run `touch` without a word of it where a command stands; each in the shells in which it does. */
const BOTH = ['sh', 'bash'];
const BASH = ['bash'];
/** With other versions of a program, or on a terminal. */
const NOT_HERE: readonly string[] = [];
const HIDDEN: readonly (readonly [line: string, shells: readonly string[], needs?: string])[] = [
  ['{ touch m; }', BOTH],
  ['! touch m', BOTH],
  ['if true; then touch m; fi', BOTH],
  ['if false; then :; elif true; then touch m; fi', BOTH],
  ['if false; then :; else touch m; fi', BOTH],
  ['if touch m; then :; fi', BOTH],
  ['while touch m; do break; done', BOTH],
  ['until touch m; do break; done', BOTH],
  ['while true; do touch m; break; done', BOTH],
  ['for i in 1; do touch m; done', BOTH],
  ['for i in touch; do $i m; done', BOTH],
  ['set -- 1; for i do touch m; done', BOTH],
  ['for i in 1\ndo\ntouch m\ndone', BOTH],
  ['for ((i=0;i<1;i++)); do touch m; done', BASH],
  ['case a in a) touch m;; esac', BOTH],
  ['case a in b) true;; (a|c) touch m;; esac', BOTH],
  ['case a in\nb) true;;\n*) touch m\nesac', BOTH],
  ['x=$(case a in a) touch m;; esac)', BOTH],
  ['select i in 1; do touch m; break; done', BASH],
  ['f(){ touch m; }; f', BOTH],
  ['f () ( touch m ); f', BOTH],
  ['function f { touch m; }; f', BASH],
  ['f(){ "$@"; }; f touch m', BOTH],
  ['trap "touch m" EXIT', BOTH],
  ["trap -- 'touch m' EXIT", BASH],
  ['x=touch; $x m', BOTH],
  ['x=touch; ${x} m', BOTH],
  ['x=ouch; t$x m', BOTH],
  ['x=; $x touch m', BOTH],
  ['set -- touch m; "$@"', BOTH],
  ['set -- touch m; $*', BOTH],
  ['read c; $c', BOTH],
  ['a=(touch m); "${a[@]}"', BASH],
  ['$(echo touch) m', BOTH],
  ['`echo touch` m', BOTH],
  ['`echo \\`echo touch\\`` m', BOTH],
  ['echo $(touch m)', BOTH],
  ['echo "$(touch m)"', BOTH],
  ['echo "a $(echo "b $(touch m)")"', BOTH],
  ['echo ${x:-$(touch m)}', BOTH],
  ['echo $((1 + $(touch m; echo 1)))', BOTH],
  ['x=$(touch m)', BOTH],
  ['eval touch m', BOTH],
  ['eval "to""uch m"', BOTH],
  ['eval "$(echo touch m)"', BOTH],
  ['exec touch m', BOTH],
  ['command touch m', BOTH],
  ['command -p touch m', BOTH],
  ['builtin eval "touch m"', BASH],
  ['env touch m', BOTH],
  ['env A=b touch m', BOTH],
  ['env -u A touch m', BOTH],
  ["env -S 'touch m'", BOTH],
  ['env - PATH=/usr/bin:/bin touch m', BOTH],
  ['A=b touch m', BOTH],
  ['echo m | xargs touch', BOTH],
  ['echo m | xargs -I{} touch {}', BOTH],
  ['echo m | xargs -I % touch %', BOTH],
  ['echo touch | xargs -I{} {} m', NOT_HERE],
  ['echo m | xargs -n 1 touch', BOTH],
  ['echo touch m | xargs env', BOTH],
  ["echo m | xargs sh -c 'touch m'", BOTH],
  ['echo 1 | xargs -I{} sh -c "touch m"', BOTH],
  ['find . -maxdepth 0 -exec touch m \\;', BOTH],
  ['find . -maxdepth 0 -execdir touch m ";"', BOTH],
  ["find . -maxdepth 0 -exec sh -c 'touch m' \\;", BOTH],
  ['find . -maxdepth 0 -exec touch m {} +', BOTH],
  ["git -c alias.x='!touch m' x", BOTH, 'git'],
  ["git init -q . && git config alias.x '!touch m' && git x", BOTH, 'git'],
  ['git -c core.pager="touch m" -p version', NOT_HERE],
  ["sed '1e touch m' s.sh", BOTH],
  ["sed 's/.*/touch m/e' s.sh", BOTH],
  ["sed -n -e '1e touch m' s.sh", BOTH],
  ['awk \'BEGIN { system("touch m") }\'', BOTH, 'awk'],
  ['awk \'BEGIN { "touch m" | getline }\'', BOTH, 'awk'],
  ['awk \'BEGIN { print "touch m" | "sh" }\'', BOTH, 'awk'],
  ['tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec="touch m" s.sh', BOTH, 'tar'],
  ['tar cf - s.sh | tar xf - --to-command="touch m"', BOTH, 'tar'],
  ['sh -c "touch m"', BOTH],
  ["bash -c 'touch m'", BOTH],
  ['sh -ec "touch m"', BOTH],
  ['bash -o pipefail -c "touch m"', BOTH],
  ['bash --norc -c "touch m"', BOTH],
  ["sh -c '$0 m' touch", BOTH],
  ['sh -c "sh -c \'touch m\'"', BOTH],
  ['echo touch m | sh', BOTH],
  ['echo dG91Y2ggbQo= | base64 -d | sh', BOTH],
  ['sh <<EOF\ntouch m\nEOF', BOTH],
  ["sh <<'EOF'\ntouch m\nEOF", BOTH],
  ['sh <<-EOF\n\ttouch m\n\tEOF', BOTH],
  ['cat <<EOF\n$(touch m)\nEOF', BOTH],
  ['cat <<EOF | sh\ntouch m\nEOF', BOTH],
  ['bash <<< "touch m"', BASH],
  ['sh s.sh', BOTH],
  ['sh < s.sh', BOTH],
  ['. ./s.sh', BOTH],
  ['source ./s.sh', BASH],
  ['./s.sh', BOTH],
  ['source <(echo touch m)', BASH],
  ['cat <(touch m)', BASH],
  ['ln -s "$(command -v touch)" q; ./q m', BOTH],
  ['cp "$(command -v touch)" q && PATH=. q m', BOTH],
  ['python3 -c \'open("m", "w")\'', BOTH, 'python3'],
  ["python3 <<'EOF'\nopen('m', 'w')\nEOF", BOTH, 'python3'],
  ['perl -e \'system "touch m"\'', BOTH, 'perl'],
  ['echo \'system "touch m"\' | perl', BOTH, 'perl'],
  ['node -e \'require("fs").writeFileSync("m", "")\'', BOTH, 'node'],
  ['echo \'require("fs").writeFileSync("m", "")\' | node -', BOTH, 'node'],
  ['> m', BOTH],
  [': > m', BOTH],
  ['exec 3> m', BOTH],
  ['nohup touch m', BOTH],
  ['timeout 5 touch m', BOTH],
  ['timeout -k 1 5 touch m', BOTH],
  ['nice touch m', BOTH],
  ['nice -n 5 touch m', BOTH],
  ['stdbuf -oL touch m', BOTH],
  ['setsid -w touch m', BOTH, 'setsid'],
  ['busybox touch m', BOTH, 'busybox'],
  ['flock m.lock touch m', BOTH, 'flock'],
  ['nohup nice timeout 5 env touch m', BOTH],
  ['time touch m', BASH],
  ['time -p touch m', BASH],
  ['time -f %e touch m', NOT_HERE],
  ['\\time touch m', NOT_HERE],
  ['=touch m', NOT_HERE],
  ['noglob touch m', NOT_HERE],
  ['repeat 1 touch m', NOT_HERE],
  ['if [[ -n x ]] { touch m }', NOT_HERE],
  ['cat <<$x\n$(touch m)\n$x', BOTH],
  ['jobs -x touch m', BASH],
  ['poetry run touch m', NOT_HERE],
  ['uv run touch m', NOT_HERE],
  ['npx -c "touch m"', NOT_HERE],
  ['npm exec -- touch m', NOT_HERE],
  ["sqlite3 x.db '.shell touch m'", NOT_HERE],
  ['node --import \'data:text/javascript,import{writeFileSync as w}from"fs";w("m","")\' s.sh', NOT_HERE],
  ['git submodule foreach touch m', NOT_HERE],
  ['git bisect run touch m', NOT_HERE],
  ["git rebase -x 'touch m' HEAD~1", NOT_HERE],
  ["git fetch 'ext::sh -c touch% m'", NOT_HERE],
  ['LD_PRELOAD=./x.so ls', NOT_HERE],
  ['echo m | tee >(xargs touch)', BASH],
  ['t""ouch m', BOTH],
  ["'t'ouch m", BOTH],
  ['\\touch m', BOTH],
  ['to\\\nuch m', BOTH],
  ['true && \\\n touch m', BOTH],
  ["$'touch' m", BASH],
  ["$'\\x74ouch' m", BASH],
  ['$"touch" m', BASH],
  ['{touch,m}', BASH],
  ['/usr/bin/touch m', BOTH],
  ['/usr/bin/t?uch m', BOTH],
  ['/usr/bin/touc[h] m', BOTH],
  ['/usr/bin/touc* m', BOTH],
  ['/usr/bin/../bin/touch m', BOTH],
  ['alias x=touch\nx m', ['sh']],
  ["shopt -s expand_aliases; alias x='touch m'\nx", BASH],
  ['true; touch m', BOTH],
  ['false || touch m', BOTH],
  ['true | touch m', BOTH],
  ['touch m & wait', BOTH],
  ['(touch m)', BOTH],
  ['( ( touch m ) )', BOTH],
  ['# a\ntouch m', BOTH],
  ['echo a#b; touch m', BOTH],
  ['echo \'a\' "b"; touch m', BOTH],
  ['2>/dev/null touch m', BOTH],
  ['>/dev/null touch m', BOTH],
  ['[[ -f x ]] || touch m', BASH],
  ['[ -f x ] || touch m', BOTH],
  ["x='a[$(touch m)]'; echo $((x))", BASH],
  ["printf -v 'a[$(touch m)]' x", BASH],
  ["PS4='$(touch m)'; set -x; :", BASH],
  ["BASH_ENV=./s.sh bash -c ':'", NOT_HERE],
  ['x=\'$(touch m)\'; : "${x@P}"', BASH],
  ['coproc touch m; wait', BASH],
  ['mapfile -c 1 -C "touch m; :" a < s.sh', BASH],
  ["make -f - <<'EOF'\nall:\n\ttouch m\nEOF", BOTH, 'make'],
  ["make --eval='all:;touch m' all", BOTH, 'make'],
  ['GIT_SSH_COMMAND="touch m;" git ls-remote ssh://localhost/x', BOTH, 'git'],
];

describe('a rule against a command', () => {
  test.each(HIDDEN.map(([line]) => line))('[INB2.50] is not passed by ordinary shell: %s', (line) => {
    expect(verdictOf(line, NO_TOUCH)).not.toBe('auto');
    expect(verdictOf(line, [{ command: 'touch*', verdict: 'ask' }])).toBe('ask');
    // Without a rule about commands nothing is asked, however the command is written.
    expect(verdictOf(line, [])).toBe('auto');
    expect(verdictOf(line, [{ path: 'secret/**', verdict: 'deny' }])).toBe('auto');
  });

  const runs = HIDDEN.flatMap(([line, shells, needs]) =>
    needs === undefined || has(needs) ? shells.map((shell) => [shell, line] as const) : [],
  );
  test.each(runs)('[INB2.50] which a real shell does run: %s, %s', (shell, line) => {
    expect(makesFile(shell, line)).toBe(true);
  });
});

/** Lines that say all that they run, and none of it is `touch`. */
const PLAIN = [
  'ls -la',
  'npm test',
  'npm test -- --run a.test.ts',
  'npm run build && npm test',
  'npx vitest run',
  'npx --yes prettier --check .',
  'node --version',
  'node x.js --flag',
  'node --test',
  'python3 -m pytest -q',
  'python3 x.py',
  'make',
  'make -j4 all CFLAGS=-O2',
  'cargo build --release',
  'go test ./...',
  'git status',
  'git pushes',
  'poetry run pytest',
  'uv run pytest -q',
  'bundle exec rspec',
  'jobs',
  "sqlite3 x.db 'select 1'",
  'time npm test',
  'git log --format=%H HEAD..main',
  'kill %1',
  'git -C sub log --oneline -5',
  'git add -A && git commit -m "touch up the docs"',
  "git commit -m 'Use `touch` less'",
  'git diff HEAD~1 -- src',
  'git config user.name Ann',
  'git show HEAD@{1}',
  'grep -rn touch src',
  'grep -rn "touch m; touch" src | head -5',
  "grep -E '(touch|mkdir) ' -r .",
  'rg touch',
  'echo touch m',
  'echo "touch m"',
  "echo 'a; touch m'",
  'echo a # touch m',
  'echo $HOME',
  'echo "$USER is here" > out.txt',
  'cd src && ls',
  'cat a.txt 2>/dev/null',
  'npm test > out.txt 2>&1',
  'npm test 2>&1 | tail -20',
  'for f in *.ts; do echo "$f"; done',
  'for f in touch mkdir; do echo "$f"; done',
  'for i in 1 2 3; do echo $i; done',
  'while read -r line; do echo "$line"; done < a.txt',
  'if [ -f a.txt ]; then cat a.txt; fi',
  'if [[ -f a.txt && -n "$X" ]]; then cat a.txt; fi',
  'test -f touch && echo yes',
  'case "$1" in touch) echo yes;; *) echo no;; esac',
  'f() { echo hi; }; f',
  '{ echo a; echo b; } > out.txt',
  '(cd src && ls)',
  '! grep -q x a.txt',
  "cat > s.sh <<'EOF'\ntouch m\nEOF",
  'cat <<EOF\ntouch $HOME\nEOF',
  'cat <<< "touch m"',
  "sed -n '1,5p' a.txt",
  "sed -i 's/touch/mkdir/g' a.txt",
  "sed -e 's|a|b|' -e '/x/d' a.txt",
  "sed '/^$/d;s/ *$//' a.txt",
  "awk '{print $1}' a.txt",
  "awk -F: '/touch|x/ {print $2}' a.txt",
  'find . -name "*.ts" -type f',
  'find . -name touch',
  "find . -name '*.ts' | xargs grep -l touch",
  'find . -type f -exec grep -l touch {} +',
  'ls | xargs -n 1 echo',
  'tar -czf a.tgz src',
  'env',
  'env | sort',
  'X=1 Y=2 npm test',
  'NODE_OPTIONS=--max-old-space-size=4096 npm test',
  'export FOO=bar',
  'timeout 60 npm run touch',
  'nohup npm start &',
  'command -v touch',
  'which touch',
  'type touch',
  'sudo -u bob ls',
  'sh -c "ls && npm test"',
  "bash -lc 'cd src && npm test'",
  'sh --version',
  'x=$(date +%s); echo "$x"',
  'echo "$(git rev-parse HEAD)"',
  'echo $((1 + 2))',
  'i=$((i + 1))',
  '/usr/bin/git status',
  'mkdir -p a/{b,c}',
  'rm -rf dist && mkdir dist',
  "jq '.scripts.touch' package.json",
  'curl -s https://example.com | head',
  "printf '%s\\n' touch",
  'diff <(ls a) <(ls b)',
  'sort a.txt | uniq -c | sort -rn',
  'trap - EXIT',
  "trap 'echo bye' EXIT",
  'set -euo pipefail; npm test',
  'docker ps',
  'rsync -a src/ dst/',
];

describe('a command that can be read', () => {
  test.each(PLAIN)('[INB2.51] is not asked about for the sake of another: %s', (line) => {
    expect(verdictOf(line, NO_TOUCH)).toBe('auto');
  });
});

describe('whatever is written', () => {
  const piece = fc.constantFrom(
    "'",
    '"',
    '`',
    '$(',
    ')',
    '${',
    '}',
    '((',
    '))',
    '{',
    ';',
    '&&',
    '|',
    '\n',
    ' ',
    '\\',
    '<<EOF',
    'EOF',
    '<(',
    '#',

    'if',
    'then',
    'fi',
    'case',
    'esac',
    'in',
    'for',
    'do',
    'done',
    'touch',
    'm',
    'x=',
    '$x',
    '*',
    '[',
    ']',
    '\t',
    '\0',

    'sh -c',
    'eval',
    'find -exec',
    'sudo',
    'xargs',
    "sed '",
    "awk '",
    'é',
    '\u202E',
    ';;',
    '>',
    '2>&1',
    '$((',
    '-',
    '=(',
  );
  const line = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));

  test('[INB2.52] a judgement comes, and what bash runs of it is not let through', () => {
    fc.assert(
      fc.property(line, (written) => {
        expect(['auto', 'ask', 'deny']).toContain(verdictOf(written, NO_TOUCH));
      }),
      { numRuns: 5_000 },
    );
    // The real shell has the last word on those that are let through.
    const free = fc
      .sample(line, { numRuns: 3_000, seed: 7 })
      .filter((written) => written.includes('touch') && verdictOf(written, NO_TOUCH) === 'auto');
    for (const written of free.slice(0, 150)) {
      expect(makesFile('bash', written.replaceAll('\0', '')), JSON.stringify(written)).toBe(false);
      expect(makesFile('sh', written.replaceAll('\0', '')), JSON.stringify(written)).toBe(false);
    }
  }, 120_000);

  test.each([
    ['`'.repeat(100_000)],
    ['$('.repeat(60_000)],
    ['('.repeat(100_000)],
    ['${x:-'.repeat(30_000)],
    ['"$('.repeat(40_000)],
    ['$(('.repeat(40_000)],
    ['{'.repeat(100_000)],
    ['\\'.repeat(100_000)],
    [`sed '${'s/a/b/;'.repeat(10_000)}'`],
    [`sed '${' '.repeat(100_000)}'`],
    [`awk '${'print'.repeat(20_000)}'`],
    ['<<A '.repeat(30_000)],
    [`${'<<A '.repeat(100)}\n${'x\n'.repeat(50_000)}`],
    [`${'sudo '.repeat(30_000)}touch m`],
    [`${'sh -c '.repeat(30_000)}touch m`],
    [`eval ${'eval '.repeat(30_000)}touch m`],
    [`find ${'-exec x '.repeat(20_000)}`],
    [`echo ${'['.repeat(150_000)}`],
    ['a=b '.repeat(50_000)],
    ['if '.repeat(60_000)],
    ['case a in '.repeat(20_000)],
  ])('[INB2.52] what has no end is judged in time: %#', (hostile) => {
    const began = process.cpuUsage();
    expect(verdictOf(`${hostile}; touch m`, NO_TOUCH)).not.toBe('auto');
    const { user } = process.cpuUsage(began);
    expect(user / 1e6).toBeLessThan(5);
  });
});
