import { readShell, type SimpleCommand } from './shell-reader.ts';
import { within } from './shell-programs.ts';

const MOST_NAMES = 60;
const DEEPEST = 3;

/** Files that a program reads without being told, and runs what is in them. */
const IMPLIED: Readonly<Record<string, readonly string[]>> = {
  make: ['Makefile', 'makefile', 'GNUmakefile'],
  gmake: ['Makefile', 'makefile', 'GNUmakefile'],
  npm: ['package.json'],
  npx: ['package.json'],
  pnpm: ['package.json'],
  yarn: ['package.json'],
  bun: ['package.json'],
  just: ['justfile', 'Justfile'],
  task: ['Taskfile.yml', 'Taskfile.yaml'],
  rake: ['Rakefile'],
  gradle: ['build.gradle', 'build.gradle.kts'],
  gradlew: ['build.gradle', 'build.gradle.kts'],
  mvn: ['pom.xml'],
  cargo: ['Cargo.toml', 'build.rs'],
  composer: ['composer.json'],
  deno: ['deno.json'],
  tox: ['tox.ini'],
  nox: ['noxfile.py'],
};

/**
 * The files that a command line may name, from the folder it is run in: every word that may be a path, and what programs read
 * by themselves. Whoever calls looks which of them there are.
 */
export function filesNamedBy(line: string): readonly string[] {
  const found = new Set<string>();
  const folders = new Set(['']);
  gather(line, { found, folders, depth: 0 });
  return [...found].slice(0, MOST_NAMES);
}

interface Gathering {
  readonly found: Set<string>;
  /** Where the line goes before it runs something. */
  readonly folders: Set<string>;
  readonly depth: number;
}

function gather(line: string, gathering: Gathering): void {
  for (const command of readShell(line).commands) gatherFrom(command, gathering);
}

function gatherFrom(command: SimpleCommand, gathering: Gathering): void {
  const words = command.words.map(({ text }) => text);
  const { folders, depth } = gathering;
  const at = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  const [program = '', ...args] = at < 0 ? [] : words.slice(at);
  const name = program.slice(program.lastIndexOf('/') + 1);
  for (const folder of foldersIn(name, args)) if (folders.size < 5) folders.add(folder);
  const implied = Object.hasOwn(IMPLIED, name) ? (IMPLIED[name] ?? []) : [];
  const module = /^(?:python|pypy)/.test(name) ? moduleFiles(args) : [];
  const named = [...command.sources, ...words].flatMap((word) => [word, word.slice(word.indexOf('=') + 1)]);
  for (const each of [...implied, ...module, ...named]) add(gathering, each);
  if (depth >= DEEPEST) return;
  for (const inner of within(name, command.words.slice(at + 1), command)) {
    if (inner.kind === 'line') gather(inner.text.text, { ...gathering, depth: depth + 1 });
    if (inner.kind === 'words')
      gatherFrom({ ...command, words: inner.words }, { ...gathering, depth: depth + 1 });
  }
}

function add({ found, folders }: Gathering, name: string): void {
  if (name === '' || name.length > 4_096 || name.startsWith('-') || /[\n*?]/.test(name)) return;
  for (const folder of folders)
    if (found.size < MOST_NAMES) found.add(folder === '' ? name : `${folder}/${name}`);
}

/** `cd folder`, `make -C folder`, `npm --prefix folder`. */
function foldersIn(name: string, args: readonly string[]): string[] {
  if (name === 'cd' || name === 'pushd') return args.filter((arg) => !arg.startsWith('-')).slice(0, 1);
  const at = args.findIndex((arg) => /^(?:-C|--prefix|--directory|--cwd|--dir)$/.test(arg));
  const folder = at < 0 ? undefined : args[at + 1];
  return folder === undefined ? [] : [folder];
}

/** `python -m a.b` */
function moduleFiles(args: readonly string[]): string[] {
  const module = args[args.indexOf('-m') + 1];
  if (!args.includes('-m') || module === undefined) return [];
  const path = module.replaceAll('.', '/');
  return [`${path}.py`, `${path}/__main__.py`, `${path}/__init__.py`];
}
