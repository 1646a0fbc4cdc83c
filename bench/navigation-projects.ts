import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CACHE = fileURLToPath(new URL('../.cache/bench-navigation', import.meta.url));

export interface Name {
  readonly symbol: string;
  readonly file: string;
}

/** A large real project that the package registries have with its sources. */
export interface Project {
  readonly name: string;
  readonly languageId: 'typescript' | 'javascript';
  /** Stands in for the person's checkout, which a sandbox keeps out of sight. */
  readonly repository: string;
  readonly root: string;
  readonly files: readonly string[];
  /** From rare to common; the first is the one that is asked while everything is cold. */
  readonly names: readonly [Name, ...Name[]];
}

type Source = Omit<Project, 'repository' | 'root' | 'files'> & {
  readonly packages: readonly string[];
  readonly extension: RegExp;
  /** Of what is in them. */
  readonly leavesOut: readonly string[];
  /** Makes a tree in `target` of what was unpacked in `from`, a folder for each package. */
  readonly arrange: (from: string, target: string) => void;
};

/** Compiled modules, 3,353 of them; without their declarations, so that imports lead to the sources. */
const BABYLON: Source = {
  name: 'babylon',
  languageId: 'javascript',
  packages: ['@babylonjs/core@9.31.0'],
  extension: /\.js$/,
  leavesOut: ['*.d.ts', '*.map', '*.wasm'],
  // Several classes have a `Lerp`, and a list of vectors is called `Vector3` too.
  names: [
    { symbol: 'EncodeArrayBufferToBase64', file: 'Misc/stringTools.js' },
    { symbol: 'Vector3', file: 'Maths/math.vector.pure.js' },
    { symbol: 'Observable', file: 'Misc/observable.pure.js' },
    { symbol: 'TmpVectors', file: 'Maths/math.vector.pure.js' },
    { symbol: 'Lerp', file: 'Maths/math.scalar.functions.js' },
    { symbol: 'Logger', file: 'Misc/logger.js' },
    { symbol: 'Matrix', file: 'Maths/math.vector.pure.js' },
    { symbol: 'Color3', file: 'Maths/math.color.pure.js' },
    { symbol: 'RegisterClass', file: 'Misc/typeStore.js' },
    { symbol: 'Tools', file: 'Misc/tools.pure.js' },
  ],
  arrange: (from, target) => {
    renameSync(join(from, 'core'), target);
    writeConfig(target, { allowJs: true, checkJs: false }, '.');
  },
};

const THEIA_PACKAGES =
  'ai-anthropic ai-chat ai-chat-ui ai-claude-code ai-code-completion ai-codex ai-copilot ai-core ai-editor ai-google ai-history ai-ide ai-llamafile ai-mcp ai-mcp-server ai-mcp-ui ai-ollama ai-openai ai-scanoss ai-terminal application-manager application-package bulk-edit callhierarchy collaboration console core debug dev-container editor editor-preview external-terminal file-search filesystem getting-started keymaps markers memory-inspector messages metrics mini-browser monaco navigator notebook outline-view output ovsx-client plugin plugin-dev plugin-ext plugin-ext-headless plugin-ext-vscode plugin-metrics preferences process property-view remote request scm scm-extra search-in-workspace secondary-window task terminal terminal-manager test timeline toolbar typehierarchy userstorage variable-resolver vsx-registry workspace'.split(
    ' ',
  );

/** TypeScript as it is written, some 2,850 files of 73 packages, which use each other by path aliases. */
const THEIA: Source = {
  name: 'theia',
  languageId: 'typescript',
  packages: THEIA_PACKAGES.map((name) => `@theia/${name}@1.74.1`),
  extension: /\.tsx?$/,
  leavesOut: ['package/lib', 'package/resources', '*.map'],
  names: [
    {
      symbol: 'OPENAI_WEB_SEARCH_REPLAY_DATA_KEY',
      file: 'packages/ai-openai/src/node/openai-server-tools.ts',
    },
    { symbol: 'URI', file: 'packages/core/src/common/uri.ts' },
    { symbol: 'Emitter', file: 'packages/core/src/common/event.ts' },
    { symbol: 'DisposableCollection', file: 'packages/core/src/common/disposable.ts' },
    { symbol: 'CommandRegistry', file: 'packages/core/src/common/command.ts' },
    { symbol: 'FileService', file: 'packages/filesystem/src/browser/file-service.ts' },
    { symbol: 'ApplicationShell', file: 'packages/core/src/browser/shell/application-shell.ts' },
    { symbol: 'Deferred', file: 'packages/core/src/common/promise-util.ts' },
    { symbol: 'MessageService', file: 'packages/core/src/common/message-service.ts' },
    { symbol: 'MonacoEditor', file: 'packages/monaco/src/browser/monaco-editor.ts' },
  ],
  arrange: (from, target) => {
    mkdirSync(target);
    renameSync(from, join(target, 'packages'));
    const aliases = readdirSync(join(target, 'packages')).flatMap((name): [string, string[]][] => {
      const manifest = readFileSync(join(target, 'packages', name, 'package.json'), 'utf8');
      const { main = '' } = JSON.parse(manifest) as { readonly main?: string };
      const source = main.replace(/^lib\//, './').replace(/\.js$/, '');
      return [
        [`@theia/${name}/lib/*`, [`./packages/${name}/src/*`]],
        ...(main === ''
          ? []
          : [[`@theia/${name}`, [`./packages/${name}/src/${source}`]] as [string, string[]]]),
      ];
    });
    const options = { strict: true, experimentalDecorators: true, jsx: 'react' };
    writeConfig(target, { ...options, paths: Object.fromEntries(aliases) }, 'packages/*/src');
  },
};

const PROJECTS = [THEIA, BABYLON];
export const PROJECT_NAMES: readonly string[] = PROJECTS.map(({ name }) => name);

/** The project, fetched once. */
export function obtain(wanted: string): Project {
  const source = PROJECTS.find(({ name }) => name === wanted);
  if (!source) throw new Error(`There is no project "${wanted}", only ${PROJECT_NAMES.join(' and ')}.`);
  const { name, languageId, names, extension } = source;
  const repository = join(CACHE, name);
  const root = join(`${repository}.worktrees`, 'base');
  if (!existsSync(root)) fetchTo(root, repository, source);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => extension.test(file))
    .toSorted();
  return { name, languageId, names, repository, root, files };
}

function fetchTo(root: string, repository: string, { name, packages, leavesOut, arrange }: Source): void {
  console.log(`Fetching ${name} from the package registry (once) …`);
  const stage = join(CACHE, `${name}.stage`);
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(join(stage, 'all'), { recursive: true });
  mkdirSync(join(repository, '.git'), { recursive: true });
  mkdirSync(join(root, '..'), { recursive: true });
  const archives = execFileSync('npm', ['pack', ...packages, '--loglevel=error'], {
    cwd: stage,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    .filter((line) => line.endsWith('.tgz'));
  for (const archive of archives) {
    const excluded = leavesOut.map((pattern) => `--exclude=${pattern}`);
    execFileSync('tar', ['xzf', archive, ...excluded], { cwd: stage });
    const manifest = JSON.parse(readFileSync(join(stage, 'package/package.json'), 'utf8')) as {
      readonly name: string;
    };
    renameSync(join(stage, 'package'), join(stage, 'all', manifest.name.split('/').at(-1) ?? ''));
  }
  arrange(join(stage, 'all'), join(stage, 'tree'));
  renameSync(join(stage, 'tree'), root);
  rmSync(stage, { recursive: true });
}

function writeConfig(root: string, more: object, include: string): void {
  const modules = { noEmit: true, module: 'esnext', moduleResolution: 'bundler', target: 'esnext' };
  const config = { compilerOptions: { ...modules, ...more }, include: [include] };
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify(config));
}
