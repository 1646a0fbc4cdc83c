import { existsSync } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import type { Repository } from './checkout.ts';
import { git } from './git/git.ts';
import { checkGitVersion } from './git/version.ts';
import type { WorktreeSettings } from './creation/settings.ts';

/** What about a repository decides how its worktrees are made. */
export interface RepositoryTraits {
  readonly objectFormat: string;
  readonly shallow: boolean;
  /** Of a partial clone, the remote that objects are fetched from when they are needed. A clone that shares them cannot. */
  readonly promisor: string | null;
  /** Its object directory, and all it borrows objects from. */
  readonly objectDirs: readonly string[];
  /** The settings of its config that decide how files look when they are checked out. */
  readonly checkoutConfig: readonly (readonly [key: string, value: string])[];
  /** Refs are kept in a way that only git itself can write. */
  readonly reftable: boolean;
  /** The file in which the person says what to ignore in every repository. It may not be there. */
  readonly excludesFile: string;
  /** Who the person is, for git. */
  readonly person: { readonly name: string; readonly email: string } | null;
}

export interface FoundRepository extends Repository {
  /** The git directory of the checkout the person works in. Another than `gitDir` where that is a linked worktree. */
  readonly headDir: string;
  readonly traits: RepositoryTraits;
}

/** The repository that a path lies in, or an error that says why tasks cannot work on it. */
export async function findRepository(
  path: string,
  settings: Pick<WorktreeSettings, 'home'>,
): Promise<FoundRepository> {
  const found = await discover(path);
  await checkGitVersion(found.headDir);
  const config = await configOf(found.gitDir);
  if (found.headDir === found.gitDir && config.get('core.bare') === 'true') throw bare(found.root);
  await refuseEmpty(found);
  const home = homeOf(found.root, settings.home);
  return { ...found, home, traits: await traitsOf(found.gitDir, config) };
}

interface Place {
  readonly root: string;
  readonly gitDir: string;
  readonly headDir: string;
}

/**
 * Looks upwards as git does, but runs nothing: the folder may be anybody's, and git would read a config on its way.
 */
async function discover(path: string): Promise<Place> {
  const from = await realpath(path).catch((error: unknown) => {
    throw refused(`${path} does not exist or cannot be read.`, path, error);
  });
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(dirname(folder), '.reveille', basename(folder), 'checkout.json')))
      throw refused(
        `${path} lies in a worktree that Reveille made. Name the repository it was made from instead.`,
        path,
      );
    const headDir = await gitDirAt(folder);
    if (headDir) return { root: folder, headDir, gitDir: await commonDirOf(headDir) };
    if (await isGitDir(folder)) throw basename(folder) === '.git' ? inside(path) : bare(folder);
    if (folder === dirname(folder))
      throw refused(`${path} is not in a git repository. Run git init there first.`, path);
  }
}

async function gitDirAt(folder: string): Promise<string | null> {
  const at = join(folder, '.git');
  const found = await stat(at).catch(() => null);
  if (!found) return null;
  if (found.isDirectory()) return (await isGitDir(at)) ? await realpath(at) : null;
  const target = gitDirIn(await readFile(at, 'utf8'));
  if (target === '') throw refused(`${at} is no git directory and names none.`, folder);
  return await realpath(resolve(folder, target)).catch((error: unknown) => {
    throw refused(`${at} names the git directory ${target}, which is not there.`, folder, error);
  });
}

/** What the file `.git` of a worktree names; nothing if it names none. */
function gitDirIn(text: string): string {
  const start = 'gitdir: '.length;
  let end = text.length;
  while (end > start && '\r\n'.includes(text[end - 1] ?? ' ')) end -= 1;
  return text.startsWith('gitdir: ') ? text.slice(start, end) : '';
}

const isGitDir = async (folder: string): Promise<boolean> =>
  (await stat(join(folder, 'HEAD')).catch(() => null)) !== null &&
  ((await stat(join(folder, 'commondir')).catch(() => null)) !== null ||
    ((await stat(join(folder, 'objects')).catch(() => null))?.isDirectory() ?? false));

async function commonDirOf(gitDir: string): Promise<string> {
  const common = await readFile(join(gitDir, 'commondir'), 'utf8').catch(() => null);
  return common === null ? gitDir : await realpath(resolve(gitDir, common.trim()));
}

async function refuseEmpty({ root, headDir }: Place): Promise<void> {
  const head = await git({
    gitDir: headDir,
    args: ['rev-parse', '-q', '--verify', 'HEAD^{commit}'],
    accept: [1, 128],
  });
  if (head.code === 0) return;
  const any = await git({
    gitDir: headDir,
    args: ['for-each-ref', '--count=1', 'refs/heads', 'refs/remotes'],
  });
  if (any.stdout === '')
    throw refused(
      `The repository ${root} has no commits. Commit something first: a worktree starts from a commit.`,
      root,
    );
}

function homeOf(root: string, setting: string | null): string {
  const home = setting ?? `${root}.worktrees`;
  if (!isAbsolute(home))
    throw new ReveilleError('invalid_input', `The home of worktrees must be an absolute path, not ${home}.`);
  const way = relative(root, home);
  // Programs look upwards for their settings and packages: in there they would find the person's.
  if (way === '' || (way !== '..' && !way.startsWith('../')))
    throw new ReveilleError(
      'invalid_input',
      `The home of worktrees (${home}) must lie outside the repository ${root}.`,
    );
  return resolve(home);
}

/** The config the person's git goes by there, the last value of each key. What we set ourselves for the call is left out. */
async function configOf(gitDir: string): Promise<ReadonlyMap<string, string>> {
  const args = ['config', '--includes', '--list', '--show-scope', '-z'];
  const { stdout } = await git({ gitDir, args, asPerson: true });
  const pieces = stdout.split('\0');
  const config = new Map<string, string>();
  for (let i = 0; i + 1 < pieces.length; i += 2) {
    const [key = '', ...value] = (pieces[i + 1] ?? '').split('\n');
    if (pieces[i] !== 'command') config.set(key, value.join('\n'));
  }
  return config;
}

const CHECKOUT_KEYS: readonly string[] = [
  'core.autocrlf',
  'core.eol',
  'core.filemode',
  'core.symlinks',
  'core.ignorecase',
  'core.precomposeunicode',
];

async function traitsOf(gitDir: string, config: ReadonlyMap<string, string>): Promise<RepositoryTraits> {
  const [name, email] = [config.get('user.name'), config.get('user.email')];
  const promisors = [...config].flatMap(([key, value]) => {
    const remote = /^remote\.(.*)\.promisor$/s.exec(key)?.[1];
    return remote === undefined || value !== 'true' ? [] : [remote];
  });
  return {
    objectFormat: config.get('extensions.objectformat') ?? 'sha1',
    shallow: existsSync(join(gitDir, 'shallow')),
    promisor: config.get('extensions.partialclone') ?? promisors[0] ?? null,
    reftable: config.get('extensions.refstorage') === 'reftable',
    excludesFile: await excludesFileOf(gitDir),
    person: name && email ? { name, email } : null,
    objectDirs: await objectDirsOf(join(gitDir, 'objects')),
    checkoutConfig: CHECKOUT_KEYS.flatMap((key) => {
      const value = config.get(key);
      return value === undefined ? [] : [[key, value] as const];
    }),
  };
}

async function excludesFileOf(gitDir: string): Promise<string> {
  const args = ['config', '--type=path', '--get', 'core.excludesFile'];
  const { stdout } = await git({ gitDir, args, asPerson: true, accept: [1] });
  if (stdout !== '') return resolve(gitDir, stdout.replace(/\n$/, ''));
  const settings = process.env['XDG_CONFIG_HOME'] || join(process.env['HOME'] ?? '/', '.config');
  return join(settings, 'git', 'ignore');
}

/** The directory and what its `alternates` name, and theirs. */
async function objectDirsOf(first: string): Promise<string[]> {
  const found = new Set<string>();
  const open = [first];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const folder = await realpath(next).catch(() => null);
    if (folder === null || found.has(folder)) continue;
    found.add(folder);
    const lines = await readFile(join(folder, 'info', 'alternates'), 'utf8').catch(() => '');
    for (const line of lines.split('\n'))
      if (line !== '' && !line.startsWith('#')) open.push(resolve(folder, line));
  }
  return [...found];
}

const refused = (message: string, path: string, cause?: unknown): ReveilleError =>
  new ReveilleError('not_a_repository', message, { data: { path }, cause });

const bare = (path: string): ReveilleError =>
  refused(`${path} is a bare repository. Clone it, or add a worktree to it, and name that.`, path);

const inside = (path: string): ReveilleError =>
  refused(`${path} lies in a git directory. Name the checkout it belongs to.`, path);
