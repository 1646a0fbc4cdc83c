import { constants } from 'node:fs';
import { access, readFile, realpath } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { LANGUAGES } from './languages.ts';

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
 * is run: no build scripts, no macros, no imports of build tools. Servers that cannot work without that (C#'s; Ruby's, which
 * runs the Gemfile) count only if the user's config names them; the sandbox holds them all.
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
      env: { GOFLAGS: '-mod=readonly', GOPROXY: 'off', GOTOOLCHAIN: 'local' },
      settings: { gopls: { linksInHover: false } },
    },
  ],
  rust: [
    {
      command: ['rust-analyzer'],
      reads: ['~/.cargo/bin', '~/.cargo/registry', '~/.rustup/toolchains', '~/.rustup/settings.toml'],
      // Cargo asks the compiler for its version, and a project's `.cargo/config.toml` could name any program for it.
      env: { CARGO_NET_OFFLINE: 'true', RUSTC: 'rustc', RUSTC_WRAPPER: '', RUSTC_WORKSPACE_WRAPPER: '' },
      initializationOptions: {
        cargo: { buildScripts: { enable: false } },
        procMacro: { enable: false },
        checkOnSave: false,
      },
    },
  ],
  cpp: [
    {
      command: ['clangd', '--background-index', '--enable-config=false', '--log=error'],
      initializationOptions: { clangdFileStatus: true },
    },
  ],
  java: [
    {
      command: ['jdtls'],
      settings: { java: { import: { gradle: { enabled: false }, maven: { enabled: false } } } },
    },
  ],
  php: [
    {
      command: ['intelephense', '--stdio'],
      settings: { intelephense: { telemetry: { enabled: false } } },
    },
  ],
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

/** The program that would be started for a language; null: none, and what to do. */
export interface ServerHere {
  readonly language: string;
  readonly program: string | null;
  readonly advice: string;
}

/** For every language. Nothing is started: one that is there may still not work. */
export async function serversHere(sources: ServerSources): Promise<readonly ServerHere[]> {
  return await Promise.all(
    LANGUAGES.map(async ({ name: language }) => {
      const found = await findServer(language, sources);
      if ('missing' in found) return { language, program: null, advice: found.missing };
      // Behind Node stands the script.
      const program = found.argv.find((each) => each !== process.execPath) ?? '';
      return { language, program, advice: '' };
    }),
  );
}

/** It would have npm fetch the types of every package that a script uses. */
const NO_DOWNLOADS = { tsserver: { automaticTypeAcquisition: { enabled: false } } };

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
      // Errors only: it would note every question that it has answered.
      initializationOptions: { logVerbosity: 5 },
      settings: { 'js/ts': NO_DOWNLOADS, typescript: NO_DOWNLOADS, javascript: NO_DOWNLOADS },
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
  const folders = [await packageFolder(real), folder, ...named.flat()];
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
  (await exists(path)) ? [await packageFolder(await realpath(path))] : [];

/** The installed package a file belongs to; if it needs others, where they lie with it; or the folder the file is in. */
async function packageFolder(file: string): Promise<string> {
  const own = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];
  if (own === undefined) return dirname(file);
  const manifest = await readFile(join(own, 'package.json'), 'utf8').catch(() => '{}');
  const { dependencies = {} } = Manifest.safeParse(parsedJson(manifest)).data ?? {};
  const around = /^.*?\/node_modules(?=\/)/.exec(file)?.[0] ?? own;
  return Object.keys(dependencies).length > 0 ? around : own;
}

const Manifest = z.object({ dependencies: z.record(z.string(), z.unknown()).optional() });

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // One that cannot be read names nothing.
    return {};
  }
}

const exists = async (path: string, mode = constants.F_OK): Promise<boolean> =>
  await access(path, mode).then(
    () => true,
    () => false,
  );
