import { filesNamedBy } from '@reveille/core';
import { expect, test } from 'vitest';

test.each([
  ['sh build.sh', ['build.sh']],
  ['./run', ['./run']],
  ['node x.js --flag', ['x.js']],
  ['node --require=./hook.js x.js', ['./hook.js', 'x.js']],
  ['bash -c "sh build.sh && node y.js"', ['build.sh', 'y.js']],
  ['sudo timeout 5 sh build.sh', ['build.sh']],
  ['make', ['Makefile']],
  ['make -f rules.mk', ['rules.mk']],
  ['npm test', ['package.json', '.npmrc']],
  ['yarn build', ['package.json', '.yarnrc.yml']],
  ['cargo test', ['build.rs', '.cargo/config.toml']],
  ['python3 -m pytest -q', ['conftest.py']],
  ['python3 -m tools.release', ['tools/release.py', 'tools/release/__main__.py']],
  ['cd sub && sh build.sh', ['build.sh', 'sub/build.sh']],
  ['make -C sub', ['sub/Makefile']],
  ['sh < script.sh', ['script.sh']],
  ['if true; then . ./env.sh; fi', ['./env.sh']],
  ['find . -exec sh each.sh {} +', ['each.sh']],
  ['X=1 sh "my build.sh"', ['my build.sh']],
  ['X=1 Y=2 make -C sub', ['sub/Makefile']],
  ['X=1 python3 -m tools', ['tools.py']],
  ['echo $(sh inner.sh)', ['inner.sh']],
  ['cd a && cd b && sh build.sh', ['build.sh', 'a/build.sh', 'b/build.sh', 'a/b/build.sh']],
  ['make -Csub', ['sub/Makefile']],
  ['npm --prefix=sub test', ['sub/package.json']],
  ['env --chdir=sub sh build.sh', ['sub/build.sh']],
  ['perl "a*.pl"', ['a*.pl']],
])('[INB3.2] the files of %s', (line, expected) => {
  expect(filesNamedBy(line).names).toEqual(expect.arrayContaining(expected));
});

test.each([
  ['sh b*.sh', ['b*.sh']],
  ['sh $script', ['$script']],
  ['sh < "$script"', ['$script']],
  ['cd $sub && sh build.sh', ['$sub']],
  ['sh {build,test}.sh', ['{build,test}.sh']],
  ['sh build.sh --jobs $n -$x', ['$n']],
  ['coproc sh build.sh', ['coproc sh build.sh']],
  ['sh build.sh', []],
])('[INB3.3] which files only the shell can name: %s', (line, expected) => {
  expect(filesNamedBy(line).unknown).toEqual(expected);
});

const NPM = ['package.json', '.npmrc'];
const MAKE = ['Makefile', 'makefile', 'GNUmakefile'];
const GRADLE = ['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts'];
test.each([
  ['make gmake', MAKE],
  ['npm npx', NPM],
  ['pnpm', [...NPM, '.pnpmfile.cjs', 'pnpm-workspace.yaml']],
  ['yarn', [...NPM, '.yarnrc', '.yarnrc.yml']],
  ['bun bunx', [...NPM, 'bunfig.toml']],
  ['just', ['justfile', 'Justfile', '.justfile']],
  ['task', ['Taskfile.yml', 'Taskfile.yaml']],
  ['rake', ['Rakefile']],
  ['bundle', ['Gemfile']],
  ['gradle gradlew', GRADLE],
  ['mvn', ['pom.xml']],
  ['cargo', ['Cargo.toml', 'build.rs', '.cargo/config.toml', '.cargo/config']],
  ['composer', ['composer.json']],
  ['deno', ['deno.json']],
  ['pytest', ['conftest.py', 'pytest.ini', 'pyproject.toml', 'setup.cfg', 'tox.ini']],
  ['tox', ['tox.ini']],
  ['nox', ['noxfile.py']],
])('[INB3.2] what %s reads without being told', (programs, files) => {
  for (const program of programs.split(' '))
    expect(filesNamedBy(program).names, program).toEqual([...files, program]);
});

test('[INB3.2] an option, an empty word and what no path is as long as name no file', () => {
  const { names } = filesNamedBy(`node --flag '' x.js '${'x'.repeat(4_097)}' 'a\nb'`);
  expect(names).toEqual(['node', 'x.js']);
});

test('[INB3.2] are not without number, and what is beyond is said', () => {
  expect(filesNamedBy('a '.repeat(50_000)).names.length).toBeLessThanOrEqual(60);
  const many = Array.from({ length: 5_000 }, (_, i) => `f${i}`).join(' ');
  const { names, unknown } = filesNamedBy(`sh ${many}`);
  expect(names.length).toBeLessThanOrEqual(60);
  expect(unknown).toContain('f60');
  const deep = filesNamedBy(`${Array.from({ length: 9 }, (_, i) => `cd d${i} && `).join('')}sh build.sh`);
  expect(deep.unknown).toContain('d8');
});
