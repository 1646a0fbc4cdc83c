import { accessSync, chmodSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { ReveilleError, isReveilleError } from '@reveille/protocol';
import { inWords } from './trouble.ts';

/** Where the daemon of one user keeps what is its own. */
export interface Place {
  readonly home: string;
  /** Port, token and identity of the daemon that runs; see lock-file.ts. */
  readonly lockFile: string;
  /** Where the person's own programs reach the daemon; see http/server.ts. */
  readonly socket: string;
  /** Held, by the operating system, as long as a daemon lives; see guard.ts. */
  readonly guard: string;
  /** The secret that credentials are made with, and the name of this host. */
  readonly identity: string;
  /** The browsers that are let in; see dashboard/pages.ts. */
  readonly pages: string;
  /** Where the last daemon listened. */
  readonly port: string;
  readonly database: string;
  readonly log: string;
  /** What a daemon says before it has a log. */
  readonly startLog: string;
  /** Who starts the daemon again when it dies; see supervision/record.ts. */
  readonly supervision: string;
  /** Compiled code, so that the next start takes half the time. */
  readonly cache: string;
  readonly userConfig: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** `REVEILLE_HOME` holds everything; without it, the folders of the XDG standard do. */
export function placeOf(env: Environment): Place {
  const chosen = env['REVEILLE_HOME'];
  if (chosen !== undefined && !isAbsolute(chosen))
    throw new ReveilleError('invalid_input', `REVEILLE_HOME must be an absolute path, not "${chosen}".`);
  const home = chosen ?? join(xdg(env, 'XDG_STATE_HOME', '.local/state'), 'reveille');
  const config = chosen ?? join(xdg(env, 'XDG_CONFIG_HOME', '.config'), 'reveille');
  return {
    home,
    lockFile: join(home, 'daemon.json'),
    socket: join(home, 'daemon.sock'),
    guard: join(home, 'daemon.guard'),
    identity: join(home, 'identity.json'),
    pages: join(home, 'pages.json'),
    port: join(home, 'daemon.port'),
    database: join(home, 'reveille.db'),
    log: join(home, 'logs', 'daemon.log'),
    startLog: join(home, 'logs', 'start.log'),
    supervision: join(home, 'supervision.json'),
    cache: join(home, 'cache'),
    userConfig: join(config, 'config.yaml'),
  };
}

/** The folders that no agent and no repository may reach: tokens, database, transcripts, settings, cache. */
export const ownFolders = ({ home, userConfig }: Place): readonly string[] => [
  ...new Set([home, dirname(userConfig)]),
];

function xdg(env: Environment, name: string, otherwise: string): string {
  const value = env[name];
  // The standard: a relative path is to be ignored.
  return value && isAbsolute(value) ? value : join(env['HOME'] ?? homedir(), otherwise);
}

/** Makes the folders. Nobody else may look into them: they hold tokens, prompts and results. */
export function openPlace(place: Place): void {
  for (const folder of [place.home, join(place.home, 'logs')]) {
    try {
      // Where nothing can be written, the recursive way of Node says that something is missing.
      accessSync(nearestFolder(folder), constants.W_OK);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const { mode, uid } = statSync(folder);
      if (uid !== process.getuid?.()) throw new Error(`it belongs to user ${uid}`);
      if ((mode & 0o077) !== 0) chmodSync(folder, 0o700);
    } catch (cause) {
      const told = inWords(cause, place.home);
      if (isReveilleError(told)) throw told;
      const detail = cause instanceof Error ? cause.message : String(cause);
      const words = `The folder ${folder} cannot be used (${detail}). Set REVEILLE_HOME to one that is yours.`;
      throw new ReveilleError('store_failed', words, { data: { folder }, cause });
    }
  }
}

/** The folder itself, or the one that it would be made in. */
export const nearestFolder = (folder: string): string =>
  existsSync(folder) || folder === dirname(folder) ? folder : nearestFolder(dirname(folder));
