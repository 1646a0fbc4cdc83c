import { within } from './shell-programs.ts';
import { readShell, type SimpleCommand } from './shell-reader.ts';
import { HOLE, type ShellWord } from './shell-words.ts';

const MOST_NAMES = 60;
const MOST_UNKNOWN = 20;
const MOST_FOLDERS = 8;
const DEEPEST = 3;

/** Files that a program reads without being told, and runs what is in them. */
const NPM = ['package.json', '.npmrc'];
const YARN = [...NPM, '.yarnrc', '.yarnrc.yml'];
const MAKE = ['Makefile', 'makefile', 'GNUmakefile'];
const PYTEST = ['conftest.py', 'pytest.ini', 'pyproject.toml', 'setup.cfg', 'tox.ini'];
const IMPLIED: Readonly<Record<string, readonly string[]>> = {
  make: MAKE,
  gmake: MAKE,
  npm: NPM,
  npx: NPM,
  pnpm: [...NPM, '.pnpmfile.cjs', 'pnpm-workspace.yaml'],
  yarn: YARN,
  bun: [...NPM, 'bunfig.toml'],
  bunx: [...NPM, 'bunfig.toml'],
  just: ['justfile', 'Justfile', '.justfile'],
  task: ['Taskfile.yml', 'Taskfile.yaml'],
  rake: ['Rakefile'],
  bundle: ['Gemfile'],
  gradle: ['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts'],
  gradlew: ['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts'],
  mvn: ['pom.xml'],
  cargo: ['Cargo.toml', 'build.rs', '.cargo/config.toml', '.cargo/config'],
  composer: ['composer.json'],
  deno: ['deno.json'],
  pytest: PYTEST,
  tox: ['tox.ini'],
  nox: ['noxfile.py'],
};

/** What a command line says of the files that it reads or runs. */
export interface NamedFiles {
  /** Every word that may be a path, from the folder that the line is run in, and what programs read by themselves. */
  readonly names: readonly string[];
  /** Words that stand for files which only the shell can name, and names beyond what is looked for. */
  readonly unknown: readonly string[];
}

/** The files that a command line may name. The caller finds out which of them exist. */
export function filesNamedBy(line: string): NamedFiles {
  const gathering: Gathering = { names: new Set(), unknown: new Set(), folders: new Set(['']), depth: 0 };
  gather(line, gathering);
  return { names: [...gathering.names], unknown: [...gathering.unknown] };
}

interface Gathering {
  readonly names: Set<string>;
  readonly unknown: Set<string>;
  /** Where the line may be when it runs something. */
  readonly folders: Set<string>;
  readonly depth: number;
}

function gather(line: string, gathering: Gathering): void {
  const { commands, lost } = readShell(line);
  for (const command of commands) gatherFrom(command, gathering);
  if (lost) addUnknown(gathering, line);
}

function gatherFrom(command: SimpleCommand, gathering: Gathering): void {
  const { words, sources } = command;
  const at = words.findIndex(({ text }) => !/^[A-Za-z_]\w*=/.test(text));
  const [program, ...args] = at < 0 ? [] : words.slice(at);
  const name = (program?.text ?? '').replace(/^.*\//, '');
  for (const folder of foldersIn(name, args)) enter(gathering, folder);
  const implied = Object.hasOwn(IMPLIED, name) ? (IMPLIED[name] ?? []) : [];
  const module = /^(?:python|pypy)/.test(name) ? moduleFiles(args) : [];
  for (const each of [...implied, ...module]) add(gathering, each);
  for (const word of [...sources, ...words]) addWord(gathering, word);
  if (gathering.depth >= DEEPEST) return;
  const deeper = { ...gathering, depth: gathering.depth + 1 };
  for (const inner of within(name, args, command)) {
    if (inner.kind === 'line') gather(inner.text.text, deeper);
    if (inner.kind === 'words') gatherFrom({ ...command, words: inner.words }, deeper);
  }
}

function addWord(gathering: Gathering, { text, mask }: ShellWord): void {
  if (mask.includes(HOLE)) return addUnknown(gathering, text);
  add(gathering, text);
  // `--require=./hook.js`
  if (text.includes('=')) add(gathering, text.slice(text.indexOf('=') + 1));
}

function add(gathering: Gathering, name: string): void {
  if (name === '' || name.length > 4_096 || name.startsWith('-') || name.includes('\n')) return;
  const { names, folders } = gathering;
  for (const folder of folders) {
    const path = joined(folder, name);
    if (names.size < MOST_NAMES) names.add(path);
    else if (!names.has(path)) addUnknown(gathering, name);
  }
}

function addUnknown({ unknown }: Gathering, words: string): void {
  if (unknown.size < MOST_UNKNOWN && !words.startsWith('-')) unknown.add(words.slice(0, 200));
}

/** The line may be in the folder from now on, seen from each that it may be in before. */
function enter(gathering: Gathering, { text, mask }: ShellWord): void {
  if (mask.includes(HOLE)) return addUnknown(gathering, text);
  const { folders } = gathering;
  for (const path of [...folders].map((folder) => joined(folder, text))) {
    if (folders.size < MOST_FOLDERS) folders.add(path);
    else if (!folders.has(path)) addUnknown(gathering, text);
  }
}

const joined = (folder: string, name: string): string =>
  folder === '' || name.startsWith('/') ? name : `${folder}/${name}`;

/** `cd folder`, `make -C folder`, `npm --prefix=folder`. */
function foldersIn(name: string, args: readonly ShellWord[]): ShellWord[] {
  if (name === 'cd' || name === 'pushd') return args.filter(({ text }) => !text.startsWith('-')).slice(0, 1);
  return args.flatMap(({ text, mask }, at) => {
    if (/^(?:-C|--(?:prefix|directory|cwd|dir|chdir))$/.test(text)) return args.slice(at + 1, at + 2);
    const folder = /^(?:-C|--(?:prefix|directory|cwd|dir|chdir)=)(.+)$/.exec(text)?.[1];
    return folder === undefined ? [] : [{ text: folder, mask, plain: false, filled: false }];
  });
}

/** `python -m a.b` */
function moduleFiles(args: readonly ShellWord[]): string[] {
  const at = args.findIndex(({ text }) => text === '-m');
  const module = at < 0 ? undefined : args[at + 1]?.text;
  if (module === undefined) return [];
  const path = module.replaceAll('.', '/');
  if (module === 'pytest') return [...PYTEST];
  return [`${path}.py`, `${path}/__main__.py`, `${path}/__init__.py`];
}
