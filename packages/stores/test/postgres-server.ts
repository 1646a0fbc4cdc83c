import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/**
 * A Postgres for tests. `REVEILLE_TEST_PG_URL` names one that is there already; otherwise a throwaway one is
 * made from the programs found on this machine, shared by everything in this process that asks for it, and
 * stopped and deleted with its last user, or with this process, however it ends.
 */
export interface PostgresForTests {
  readonly url: string;
  release(): Promise<void>;
}

interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

let shared: Promise<Running> | undefined;
let users = 0;

/** Null: there is none to be had, and none is demanded. `reason` says what to install. */
export async function acquirePostgres(
  options: { /** Where the programs may be. */ readonly folders?: readonly string[] } = {},
): Promise<PostgresForTests | { readonly url: null; readonly reason: string }> {
  const given = process.env['REVEILLE_TEST_PG_URL'];
  if (given) return { url: given, release: async () => {} };
  const programs = (options.folders ?? usualFolders()).find(isComplete) ?? null;
  const user = programs === null ? null : serverUser();
  if (programs === null || user === null) return missing(programs === null ? NO_PROGRAMS : NO_USER);
  users++;
  shared ??= startServer(programs, user);
  const running = await shared;
  let released: Promise<void> | undefined;
  return { url: running.url, release: () => (released ??= release(running)) };
}

const NO_PROGRAMS =
  'The Postgres tests need a Postgres: install one (Debian: apt install postgresql; macOS: brew install postgresql), or set REVEILLE_TEST_PG_URL.';
const NO_USER = 'Postgres does not run as root: create a user named postgres, or set REVEILLE_TEST_PG_URL.';

function missing(reason: string): { url: null; reason: string } {
  if (process.env['REVEILLE_REQUIRE_POSTGRES'] === '1') throw new Error(reason);
  return { url: null, reason };
}

async function release(running: Running): Promise<void> {
  if (--users > 0) return;
  shared = undefined;
  await running.stop();
}

/** On the path, or where the packages of the systems put it; of several versions the newest comes first. */
function usualFolders(): string[] {
  const version = (name: string): number => Number(name.replace(/\D/g, ''));
  const versions = (root: string, pattern: RegExp): string[] => {
    const names = existsSync(root) ? readdirSync(root).filter((name) => pattern.test(name)) : [];
    return names.toSorted((a, b) => version(b) - version(a)).map((name) => join(root, name, 'bin'));
  };
  return [
    ...(process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''),
    ...versions('/usr/lib/postgresql', /^\d+$/),
    ...['/opt/homebrew/opt', '/usr/local/opt'].flatMap((root) => versions(root, /^postgresql(@\d+)?$/)),
    '/usr/local/pgsql/bin',
  ];
}

const isComplete = (folder: string): boolean =>
  ['initdb', 'postgres', 'pg_isready'].every((name) => existsSync(join(folder, name)));

/** The server refuses to run as root, so root lends it another user. */
function serverUser(): { args: string[] } | null {
  if (process.getuid?.() !== 0) return { args: [] };
  const lines = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = lines.find(([name]) => name === 'postgres') ?? lines.find(([name]) => name === 'nobody');
  return user?.[2] && user[3] ? { args: [user[2], user[3]] } : null;
}

async function startServer(programs: string, user: { args: string[] }): Promise<Running> {
  // Root’s own place for temporary files may be closed to the user it lends.
  const place = user.args.length > 0 ? '/tmp' : tmpdir();
  const script = fileURLToPath(import.meta.resolve('./postgres-watch.ts'));
  // A group of its own: whoever kills this process's group leaves the watcher alive to clean up.
  const watcher = spawn(process.execPath, [script, programs, place, ...user.args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  const folder = await readyFolder(watcher as ChildProcessByStdio<Socket, Socket, null>);
  return {
    url: `postgres://reveille@localhost/postgres?host=${encodeURIComponent(folder)}`,
    stop: async () => {
      const ended = once(watcher, 'exit');
      watcher.ref();
      watcher.stdin.end();
      await ended;
    },
  };
}

async function readyFolder(watcher: ChildProcessByStdio<Socket, Socket, null>): Promise<string> {
  const ended = once(watcher, 'exit').then(() => ['']);
  const [line] = (await Promise.race([once(createInterface(watcher.stdout), 'line'), ended])) as string[];
  if (!line?.startsWith('ready ')) throw new Error('No Postgres could be started for the tests; see above.');
  // It ends with this process, and must not keep it alive.
  watcher.unref();
  watcher.stdin.unref();
  watcher.stdout.unref();
  return line.slice('ready '.length);
}
