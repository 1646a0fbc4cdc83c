import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createCheckout,
  findRepository,
  WORKTREE_DEFAULTS,
  type Checkout,
  type FoundRepository,
} from '@reveille/worktrees';

/** A person's repository with worktrees beside it, in a folder of its own. */
export interface World extends Disposable {
  readonly folder: string;
  readonly repository: FoundRepository;
  readonly home: Place;
  checkout(task: string, options?: CheckoutOptions): Promise<AgentPlace>;
  /** Throws unless everything a person does with their repository works. */
  healthy(): void;
}

interface CheckoutOptions {
  readonly start?: string;
  readonly kind?: Checkout['kind'];
}

/** A folder that somebody uses git in, as they would: with the hooks and settings that are there. */
export interface Place {
  readonly path: string;
  git(...args: string[]): string;
  /** Null if it fails. */
  tryGit(...args: string[]): string | null;
  write(files: Record<string, string>): void;
  /** Writes and commits; the new commit. */
  commit(files: Record<string, string>, message?: string): string;
  head(): string;
}

export interface AgentPlace extends Place {
  readonly checkout: Checkout;
}

const SOMEBODY = { name: 'Agent', email: 'agent@example.com' };

/** How leftovers are committed in tests. */
export const AGENT = { author: { name: 'Coder', email: 'coder@example.com' }, message: 'What was left' };

export function placeAt(path: string, home: string): Place {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    // Nothing goes on in the background when a test is over.
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'gc.auto',
    GIT_CONFIG_VALUE_0: '0',
    GIT_CONFIG_KEY_1: 'maintenance.auto',
    GIT_CONFIG_VALUE_1: 'false',
    GIT_AUTHOR_NAME: SOMEBODY.name,
    GIT_AUTHOR_EMAIL: SOMEBODY.email,
    GIT_COMMITTER_NAME: SOMEBODY.name,
    GIT_COMMITTER_EMAIL: SOMEBODY.email,
  };
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: path, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  const write = (files: Record<string, string>): void => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), text);
    }
  };
  return {
    path,
    git,
    tryGit: (...args) => {
      const { status, stdout } = spawnSync('git', args, { cwd: path, env, encoding: 'utf8' });
      return status === 0 ? stdout.trim() : null;
    },
    write,
    commit: (files, message = 'a commit') => {
      write(files);
      git('add', '-A');
      git('commit', '-q', '--allow-empty', '-m', message);
      return git('rev-parse', 'HEAD');
    },
    head: () => git('rev-parse', 'HEAD'),
  };
}

const FILES = { 'a.txt': 'one\ntwo\nthree\n', 'src/b.txt': 'b\n', '.gitignore': '*.log\n' };

export async function makeWorld(files: Record<string, string> = FILES, init: string[] = []): Promise<World> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-work-')));
  const root = join(folder, 'repo');
  mkdirSync(root);
  const home = placeAt(root, folder);
  home.git('init', '-q', '-b', 'main', ...init);
  home.commit(files, 'first');
  return await worldIn(folder, home);
}

/** A clone of another world's repository with nothing but its last commit. */
export async function makeShallow(origin: World): Promise<World> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reveille-work-')));
  placeAt(folder, folder).git('clone', '-q', '--depth', '1', `file://${origin.home.path}`, 'repo');
  return await worldIn(folder, placeAt(join(folder, 'repo'), folder));
}

async function worldIn(folder: string, home: Place): Promise<World> {
  const repository = await findRepository(home.path, { home: null });
  return {
    folder,
    repository,
    home,
    checkout: async (task, { start, kind = 'clone' } = {}) => {
      const { checkout } = await createCheckout(repository, {
        plan: 'plan',
        task,
        id: `task_${task}`,
        start: { commit: start ?? home.head() },
        author: SOMEBODY,
        settings: { ...WORKTREE_DEFAULTS, kind, pool: 0 },
      });
      return { ...placeAt(checkout.path, folder), checkout };
    },
    healthy: () => checkHealth(home),
    [Symbol.dispose]: () => removeAll(folder),
  };
}

function checkHealth(home: Place): void {
  home.git('log', '--all', '--oneline');
  home.git('fsck', '--full', '--strict', '--no-dangling');
  home.git('fetch', '-q', home.path, 'refs/heads/*:refs/fetched/*');
  home.git('for-each-ref', '--format=delete %(refname)', 'refs/fetched/');
  home.git('-c', 'gc.auto=0', 'gc', '-q', '--prune=now');
  const left = readdirSync(join(home.path, '.git'), { recursive: true, encoding: 'utf8' });
  const locks = left.filter((name) => /\.lock$|\.keep$|reveille-/.test(name));
  if (locks.length > 0) throw new Error(`Left behind: ${locks.join(', ')}`);
}

/** Also what an agent made unreadable. */
function removeAll(folder: string): void {
  const open = [folder];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    chmodSync(next, 0o700);
    for (const entry of readdirSync(next, { withFileTypes: true }))
      if (entry.isDirectory()) open.push(join(next, entry.name));
  }
  rmSync(folder, { recursive: true, force: true });
}
