import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** How the server of a language is started and set up. */
export interface ServerSpec {
  readonly argv: readonly string[];
  /** What it must be able to read besides the tree and the system. */
  readonly reads: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly initializationOptions: unknown;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** There is none; the words say what to do. */
export interface NoServer {
  readonly missing: string;
}

export interface ServerSources {
  /** Commands of the user's config, by language. A repository cannot name any. */
  readonly configured: Readonly<Record<string, readonly string[]>>;
  /** Folders that are searched like the path, before it: where servers were installed for us. */
  readonly folders: readonly string[];
  readonly path: string;
}

interface Candidate {
  readonly command: readonly string[];
  readonly reads?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly initializationOptions?: unknown;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/**
 * The servers that are looked for on the path, the first that is there. They are set up so that nothing of the repository
 * is run: no build scripts, no macros, no imports of build tools. Servers that cannot work without that (C#) count only
 * if the user's config names them; the sandbox holds them all.
 */
const CANDIDATES: Readonly<Record<string, readonly Candidate[]>> = {
  python: ['basedpyright-langserver', 'pyright-langserver'].map((program) => ({
    command: [program, '--stdio'],
    settings: {
      python: { analysis: { diagnosticMode: 'openFilesOnly', autoSearchPaths: true } },
      basedpyright: { analysis: { diagnosticMode: 'openFilesOnly', autoSearchPaths: true } },
    },
  })),
  go: [
    {
      command: ['gopls'],
      reads: ['~/go/pkg', '~/.cache/go-build'],
      env: { GOFLAGS: '-mod=readonly', GOPROXY: 'off' },
    },
  ],
  rust: [
    {
      command: ['rust-analyzer'],
      reads: ['~/.cargo/bin', '~/.cargo/registry', '~/.rustup/toolchains', '~/.rustup/settings.toml'],
      env: { CARGO_NET_OFFLINE: 'true' },
      initializationOptions: {
        cargo: { buildScripts: { enable: false } },
        procMacro: { enable: false },
        checkOnSave: false,
      },
    },
  ],
  cpp: [{ command: ['clangd', '--background-index', '--enable-config=false', '--log=error'] }],
  java: [
    {
      command: ['jdtls'],
      settings: { java: { import: { gradle: { enabled: false }, maven: { enabled: false } } } },
    },
  ],
  php: [{ command: ['intelephense', '--stdio'] }],
  ruby: [{ command: ['ruby-lsp'] }],
  bash: [{ command: ['bash-language-server', 'start'] }],
};

const HOW_TO: Readonly<Record<string, string>> = {
  python: 'install basedpyright so that basedpyright-langserver is on the PATH',
};

export async function findServer(language: string, sources: ServerSources): Promise<ServerSpec | NoServer> {
  const configured = sources.configured[language];
  if (configured && configured.length > 0) return await located({ command: configured }, language, sources);
  if (language === 'typescript') return await typescriptServer();
  for (const candidate of CANDIDATES[language] ?? []) {
    const found = await located(candidate, language, sources);
    if (!('missing' in found)) return found;
  }
  const how =
    HOW_TO[language] ?? `put one on the PATH, or name it in the config (navigation.servers.${language})`;
  return { missing: `there is no language server for ${language} here; ${how}` };
}

/** The native server of TypeScript 7 comes with us. It knows no plugins, so none of the repository is run. */
async function typescriptServer(): Promise<ServerSpec | NoServer> {
  try {
    const manifest = createRequire(import.meta.url).resolve('typescript/package.json');
    // Not part of what the package exports, but how its own `tsc` finds the program of this system.
    const module: unknown = await import(pathToFileURL(join(dirname(manifest), 'lib', 'getExePath.js')).href);
    const program = (module as { default: () => string }).default();
    return {
      argv: [program, '--lsp', '--stdio'],
      reads: [dirname(program)],
      env: {},
      initializationOptions: { disableAutomaticTypingAcquisition: true },
      settings: {},
    };
  } catch (error) {
    return { missing: `TypeScript's server cannot be started on this system: ${String(error)}` };
  }
}

async function located(
  { command, reads = [], env = {}, initializationOptions = {}, settings = {} }: Candidate,
  language: string,
  sources: ServerSources,
): Promise<ServerSpec | NoServer> {
  const [name = '', ...args] = command;
  const program = await findProgram(name, sources);
  if (program === null) return { missing: `the language server for ${language}, ${name}, is not there` };
  const real = await realpath(program);
  // The folder as it is, for the sandbox mounts no links; the name as it is, for some programs go by it.
  const folder = await realpath(dirname(program));
  // A script of Node is started with our own Node: the sandbox has it.
  const argv = isScript(real)
    ? [process.execPath, real, ...args]
    : [join(folder, basename(program)), ...args];
  const home = reads.map((path) => path.replace(/^~/, homedir()));
  const existing = await Promise.all(home.map(async (path) => ((await exists(path)) ? [path] : [])));
  // What a command names by its full path it needs.
  const named = await Promise.all(args.filter((arg) => arg.startsWith('/')).map(packageFolderOf));
  const folders = [packageFolder(real), folder, ...named.flat()];
  return {
    argv,
    reads: [...new Set([...folders, ...existing.flat()])],
    env,
    initializationOptions,
    settings,
  };
}

async function findProgram(name: string, { folders, path }: ServerSources): Promise<string | null> {
  const mode = isScript(name) ? constants.R_OK : constants.X_OK;
  if (name.startsWith('/')) return (await exists(name, mode)) ? name : null;
  for (const folder of [...folders, ...path.split(delimiter)]) {
    const file = join(folder, name);
    if (folder.startsWith('/') && (await exists(file, constants.X_OK))) return file;
  }
  return null;
}

const isScript = (file: string): boolean => /\.[cm]?js$/.test(file);

const packageFolderOf = async (path: string): Promise<string[]> =>
  (await exists(path)) ? [packageFolder(await realpath(path))] : [];

/** The installed package a file belongs to, or the folder it is in. */
const packageFolder = (file: string): string =>
  /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? dirname(file);

const exists = async (path: string, mode = constants.F_OK): Promise<boolean> =>
  await access(path, mode).then(
    () => true,
    () => false,
  );
