import { lstatSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkFolders, writeNew, type Written } from './files.ts';

/** How to start `reveille mcp`. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

interface Client {
  /** From the root of the repository. */
  readonly path: string;
  /** The whole file, if there is none yet; or what is to be added to it. */
  readonly text: (launch: Launch) => string;
  /** Where in a file of JSON the entry goes; null: the file is none. */
  readonly key: string | null;
  readonly entry: (launch: Launch) => Record<string, unknown>;
}

const plain = ({ command, args }: Launch): Record<string, unknown> => ({ command, args });
const typed = (launch: Launch): Record<string, unknown> => ({ type: 'stdio', ...plain(launch) });

const inJson = (path: string, key: string, entry: Client['entry']): Client => ({
  path,
  key,
  entry,
  text: (launch) => `${JSON.stringify({ [key]: { reveille: entry(launch) } }, null, 2)}\n`,
});

export const CLIENTS = {
  claude: inJson('.mcp.json', 'mcpServers', typed),
  vscode: inJson('.vscode/mcp.json', 'servers', typed),
  codex: {
    path: '.codex/config.toml',
    key: null,
    entry: plain,
    text: ({ command, args }) =>
      `[mcp_servers.reveille]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`,
  },
  gemini: inJson('.gemini/settings.json', 'mcpServers', plain),
} as const satisfies Record<string, Client>;
export type ClientName = keyof typeof CLIENTS;

const LARGEST = 2 ** 20;

/** Adds our entry to a client's file. What is there stays; a file that cannot be read is not touched, but told about. */
export function writeEntry(root: string, name: ClientName, launch: Launch): Written {
  const client: Client = CLIENTS[name];
  const { path } = client;
  checkFolders(root, dirname(path));
  const text = readIfPlain(join(root, path));
  if (text === null) return writeNew(root, path, client.text(launch));
  const left = (why: string): Written => ({
    path,
    what: 'left',
    note: `${why}; add this yourself:\n${client.text(launch).trimEnd()}`,
  });
  if (text === undefined) return left('it is no plain file');
  if (client.key === null)
    return /^[ \t]*\[mcp_servers\.reveille\]/m.test(text)
      ? { path, what: 'kept', note: 'it has the entry already' }
      : left('only its own program should change it');
  const settings = parsed(text);
  const entries = settings && (settings[client.key] ?? {});
  if (!settings || !isObject(entries)) return left('it is not understood');
  if (Object.hasOwn(entries, 'reveille')) return { path, what: 'kept', note: 'it has the entry already' };
  const merged = { ...settings, [client.key]: { ...entries, reveille: client.entry(launch) } };
  replace(
    join(root, path),
    `${JSON.stringify(merged, null, indentOf(text))}${text.endsWith('\n') ? '\n' : ''}`,
  );
  return { path, what: 'changed', note: 'the entry was added' };
}

/** Null: there is none. Undefined: it is something that must not be written to. */
function readIfPlain(file: string): string | null | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return null;
  return stat.isFile() && stat.size <= LARGEST ? readFileSync(file, 'utf8') : undefined;
}

/** Comments and the like would be lost: then it is not understood. */
function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const indentOf = (text: string): string => /^([ \t]+)"/m.exec(text)?.[1] ?? '  ';

function replace(file: string, text: string): void {
  const draft = `${file}.reveille-new`;
  writeFileSync(draft, text, { flag: 'wx', mode: lstatSync(file).mode });
  renameSync(draft, file);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
