import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '@reveille/daemon/connect';
import type { Client } from '@reveille/protocol';

const PROGRAM = fileURLToPath(new URL('daemon-process.ts', import.meta.url));
/** Shared by all: a start takes half as long. */
const COMPILED = fileURLToPath(new URL('../../.cache/compiled', import.meta.url));

const GIT_CONFIG = `[user]
	name = Ann
	email = ann@example.invalid
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
[advice]
	detachedHead = false
	addIgnoredFile = false
[gc]
	auto = 0
[maintenance]
	auto = false
`;

/** A person's home with a daemon of its own, in a process of its own. */
export class Station implements AsyncDisposable {
  readonly folder: string;
  readonly home: string;
  readonly client: Client;
  readonly #child: ChildProcess;
  readonly #keep: boolean;

  private constructor(folder: string, child: ChildProcess, client: Client, keep: boolean) {
    this.folder = folder;
    this.home = join(folder, 'home');
    this.client = client;
    this.#child = child;
    this.#keep = keep;
  }

  static async open(onConflict: 'ask' | 'resolve', keep = false): Promise<Station> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-differential-')));
    const home = join(folder, 'home');
    mkdirSync(home);
    for (const name of ['cases', 'templates']) mkdirSync(join(folder, name));
    writeFileSync(join(home, '.gitconfig'), GIT_CONFIG);
    const env = {
      PATH: process.env['PATH'],
      HOME: home,
      REVEILLE_HOME: join(folder, 'state'),
      REVEILLE_ENGINE_DEFAULT_BACKEND: 'scripted',
      REVEILLE_ENGINE_CONCURRENCY: '12',
      REVEILLE_GOVERNOR_ENABLED: 'false',
      REVEILLE_NAVIGATION_ENABLED: 'false',
      REVEILLE_INTEGRATION_ON_CONFLICT: onConflict,
      // Both ways in which a worktree can come to be.
      REVEILLE_WORKTREES_POOL: onConflict === 'ask' ? '1' : '0',
      GIT_CONFIG_NOSYSTEM: '1',
      NODE_COMPILE_CACHE: COMPILED,
      NODE_NO_WARNINGS: '1',
    };
    const child = fork(PROGRAM, {
      env,
      execArgv: ['--conditions=source'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    try {
      await Promise.race([once(child, 'message'), ended(child)]);
      return new Station(folder, child, await connect({ env, start: false }), keep);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null) {
      const gone = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await gone;
    }
    if (!this.#keep) rmSync(this.folder, { recursive: true, force: true });
  }
}

async function ended(child: ChildProcess): Promise<never> {
  const [code] = (await once(child, 'exit')) as [number | null];
  throw new Error(`The daemon of the suite ended with ${code} before it was ready.`);
}
