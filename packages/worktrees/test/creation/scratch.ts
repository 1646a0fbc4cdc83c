import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { DirtyPolicy } from '@reveille/protocol';
import {
  createCheckout,
  findRepository,
  resolveStart,
  WORKTREE_DEFAULTS,
  type CheckoutSpec,
  type CreatedCheckout,
  type FoundRepository,
  type RepositorySearch,
  type WorktreeSettings,
} from '@reveille/worktrees';

const run = promisify(execFile);

/** A folder of its own with a home for the person in it. The person's git and ours see no other config. */
export class Scratch implements AsyncDisposable {
  readonly path: string;
  readonly #before: readonly (readonly [string, string | undefined])[];

  private constructor(path: string) {
    this.path = path;
    const mine = { HOME: join(path, 'home'), XDG_CONFIG_HOME: undefined, GIT_CONFIG_NOSYSTEM: '1' };
    this.#before = Object.keys(mine).map((key) => [key, process.env[key]] as const);
    setEnv(Object.entries(mine));
  }

  static async make(parent = tmpdir()): Promise<Scratch> {
    const path = await realpath(await mkdtemp(join(parent, 'reveille-wkt-')));
    const scratch = new Scratch(path);
    await scratch.write('home/.gitconfig', '[user]\n\tname = Person\n\temail = person@example.org\n');
    return scratch;
  }

  async write(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.path, path)), { recursive: true });
    await writeFile(join(this.path, path), text);
  }

  /** A repository with one commit of these files on `main`. */
  async repository(
    files: Readonly<Record<string, string>> = { 'a.txt': 'a\n' },
    name = 'repo',
  ): Promise<string> {
    const root = join(this.path, name);
    await mkdir(root, { recursive: true });
    await asPerson(root, 'init', '-q', '-b', 'main');
    await this.commit(root, files);
    return root;
  }

  async commit(root: string, files: Readonly<Record<string, string>>): Promise<string> {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    await asPerson(root, 'add', '-A');
    await asPerson(root, 'commit', '-qm', 'files');
    return (await asPerson(root, 'rev-parse', 'HEAD')).trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    setEnv(this.#before);
    await rm(this.path, { recursive: true, force: true });
  }
}

function setEnv(values: readonly (readonly [string, string | undefined])[]): void {
  for (const [key, value] of values) {
    if (value === undefined) delete process.env[key];
    else process.env[key] = value;
  }
}

/** The person's own git, or an agent's: not hardened. */
export async function asPerson(cwd: string, ...args: string[]): Promise<string> {
  return (await run('git', args, { cwd, maxBuffer: 64 * 1024 * 1024 })).stdout;
}

/** Everything the person's git must be able to do at every moment. */
export async function personIsWell(root: string): Promise<void> {
  await asPerson(root, 'fetch', '--all', '-q');
  await asPerson(root, 'log', '--all', '--oneline');
  await asPerson(root, 'fsck', '--full', '--strict', '--no-dangling');
  await asPerson(root, 'gc', '-q', '--prune=now');
}

export const AUTHOR = { name: 'Agent', email: 'agent@example.org' };

type Wish = Partial<Omit<CheckoutSpec, 'settings' | 'start'>> & {
  readonly settings?: Partial<WorktreeSettings>;
  readonly branch?: string;
  readonly dirty?: DirtyPolicy;
  readonly commit?: string;
  /** What the repository may not meet. */
  readonly search?: RepositorySearch;
};

/** A worktree of the repository at `root`, with whatever is not said as it is by default. */
export async function make(
  root: string,
  wish: Wish = {},
): Promise<CreatedCheckout & { repository: FoundRepository }> {
  const { settings: some, branch, dirty = 'fail', commit, search, ...rest } = wish;
  const settings = { ...WORKTREE_DEFAULTS, ...some };
  const repository = await findRepository(root, { ...search, home: settings.home });
  const start =
    commit === undefined ? await resolveStart(repository, { branch: branch ?? null, dirty }) : { commit };
  const spec = { plan: 'plan', task: 'task', id: 'task_1', author: AUTHOR, start, ...rest, settings };
  return { ...(await createCheckout(repository, spec)), repository };
}
