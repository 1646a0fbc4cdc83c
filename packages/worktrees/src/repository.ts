import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import type { Repository } from './checkout.ts';
import type { WorktreeSettings } from './creation/settings.ts';
import { git } from './git/git.ts';
import { checkGitVersion } from './git/version.ts';
import {
  bare,
  discover,
  refused,
  type RepositoryPlace,
  type ReservedFolders,
} from './repository/discover.ts';
import { refuseLinks } from './repository/links.ts';
import { objectStoresOf } from './repository/objects.ts';
import { refuseForeign } from './repository/owner.ts';
import { isWithin, realPathOf } from './repository/paths.ts';

/** What about a repository decides how its worktrees are made. */
export interface RepositoryTraits {
  readonly objectFormat: string;
  readonly shallow: boolean;
  /** Of a partial clone, the remote that objects are fetched from when they are needed. A clone that shares them cannot. */
  readonly promisor: string | null;
  /** The settings of its own config that would make git run a program, as `key=value`. They need trust (BND5). */
  readonly commands: readonly string[];
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

export type RepositorySearch = Pick<WorktreeSettings, 'home'> & ReservedFolders;

/** The repository that a path lies in, or an error that says why tasks cannot work on it. */
export async function findRepository(path: string, search: RepositorySearch): Promise<FoundRepository> {
  await checkGitVersion(tmpdir());
  const { config, ...found } = await inspect(path, search);
  await refuseEmpty(found);
  const home = homeOf(found, search);
  return { ...found, home, traits: await traitsOf(found, config) };
}

/** Looks again at what a repository says about itself: it may be another one by now, at the same place. */
export async function lookAgain(
  repository: FoundRepository,
  search: RepositorySearch,
): Promise<FoundRepository> {
  const { config, ...found } = await inspect(repository.root, search);
  if (found.gitDir !== repository.gitDir || found.headDir !== repository.headDir)
    throw refused(
      `${repository.root} has another git directory than before. Restart the daemon to work on it.`,
      repository.root,
    );
  const commands = commandsIn(config);
  return { ...repository, objectStores: found.objectStores, traits: { ...repository.traits, commands } };
}

interface Inspected extends RepositoryPlace {
  readonly objectStores: readonly string[];
  readonly config: readonly ConfigEntry[];
}

/** Everything that is checked before git is run on a repository, or anything of it is used. */
async function inspect(path: string, search: RepositorySearch): Promise<Inspected> {
  const found = await discover(path, search);
  await refuseForeign(found);
  for (const dir of new Set([found.gitDir, found.headDir])) await refuseLinks(dir, found.gitDir);
  const objectStores = await objectStoresOf(found.gitDir, search);
  const config = await configOf(found.headDir);
  refuseOtherCheckout(found, valuesOf(config));
  return { ...found, objectStores, config };
}

/** The person's own git would work in the folder that `core.worktree` names. */
function refuseOtherCheckout({ root, gitDir, headDir }: RepositoryPlace, config: ConfigValues): void {
  if (headDir !== gitDir) return;
  if (config.get('core.bare') === 'true') throw bare(root);
  const worktree = config.get('core.worktree');
  if (worktree !== undefined && realPathOf(resolve(gitDir, worktree)) !== root)
    throw refused(
      `The config of ${gitDir} says that its files are in ${worktree} (core.worktree), not in ${root}. Name that folder, or remove the setting.`,
      root,
    );
}

async function refuseEmpty({ root, headDir }: RepositoryPlace): Promise<void> {
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
    throw new ReveilleError(
      'not_a_repository',
      `The repository ${root} has no commits. Commit something first: a worktree starts from a commit.`,
      { data: { path: root, reason: 'empty' } },
    );
}

function homeOf({ root }: RepositoryPlace, { home: setting, own = [] }: RepositorySearch): string {
  const named = setting ?? `${root}.worktrees`;
  if (!isAbsolute(named))
    throw new ReveilleError('invalid_input', `The home of worktrees must be an absolute path, not ${named}.`);
  // The folders above it may be links, as `/tmp` is on a Mac. The home itself is checked when it is opened.
  const home = join(realPathOf(dirname(named)), basename(named));
  const real = realPathOf(home);
  // Programs look upwards for their settings and packages: in there they would find the person's.
  if (isWithin(home, root) || isWithin(real, root))
    throw new ReveilleError(
      'invalid_input',
      `The home of worktrees (${home}) must lie outside the repository ${root}.`,
    );
  const ours = own.map(realPathOf).find((folder) => isWithin(real, folder));
  if (ours !== undefined)
    throw new ReveilleError(
      'invalid_input',
      `The home of worktrees (${home}) must lie outside Reveille's own folder ${ours}. Set worktrees.home to another one.`,
    );
  return home;
}

interface ConfigEntry {
  readonly scope: string;
  readonly key: string;
  readonly value: string;
}

type ConfigValues = ReadonlyMap<string, string>;

/** A config may include anything, also a pipe. */
const CONFIG_MS = 10_000;

/** The config the person's git goes by there. What we set ourselves for the call is left out. */
async function configOf(gitDir: string): Promise<ConfigEntry[]> {
  const args = ['config', '--includes', '--list', '--show-scope', '-z'];
  const { stdout } = await git({ gitDir, args, asPerson: true, patienceMs: CONFIG_MS });
  const pieces = stdout.split('\0');
  const entries: ConfigEntry[] = [];
  for (let i = 0; i + 1 < pieces.length; i += 2) {
    const [key = '', ...value] = (pieces[i + 1] ?? '').split('\n');
    const scope = pieces[i] ?? '';
    if (scope !== 'command') entries.push({ scope, key, value: value.join('\n') });
  }
  return entries;
}

/** The last value of each key. */
const valuesOf = (config: readonly ConfigEntry[]): ConfigValues =>
  new Map(config.map(({ key, value }) => [key, value]));

/** Settings by which git, as Reveille calls it in the person's checkout, runs a program. */
const RUNS = /^(?:filter\..*\.(?:clean|smudge|process)|core\.alternaterefscommand)$/s;
/** Also those of a fetch, which only a partial clone needs. */
const FETCH_RUNS =
  /^(?:core\.(?:sshcommand|gitproxy|askpass)|credential\.(?:.*\.)?helper|remote\..*\.(?:uploadpack|vcs)|protocol\..*allow)$/s;

function commandsIn(config: readonly ConfigEntry[]): string[] {
  const fetches = promisorIn(valuesOf(config)) !== null;
  const runs = (key: string): boolean => RUNS.test(key) || (fetches && FETCH_RUNS.test(key));
  return config
    .filter(({ scope, key, value }) => OF_REPOSITORY.has(scope) && runs(key) && value !== '')
    .map(({ key, value }) => `${key}=${value}`);
}

/** The scopes of what the repository's own files say, also by way of an include. */
const OF_REPOSITORY = new Set(['local', 'worktree']);

function promisorIn(config: ConfigValues): string | null {
  // Git takes `yes`, `1` or no value for `true`, and a filter alone for the rest.
  const promisors = [...config].flatMap(([key, value]) => {
    const [, remote, setting] = /^remote\.(.*)\.(promisor|partialclonefilter)$/s.exec(key) ?? [];
    const isOff = setting === 'promisor' && /^(?:false|no|off|0+)$/i.test(value);
    return remote === undefined || isOff ? [] : [remote];
  });
  return config.get('extensions.partialclone') ?? promisors[0] ?? null;
}

const CHECKOUT_KEYS: readonly string[] = [
  'core.autocrlf',
  'core.eol',
  'core.filemode',
  'core.symlinks',
  'core.ignorecase',
  'core.precomposeunicode',
];

async function traitsOf(place: RepositoryPlace, entries: readonly ConfigEntry[]): Promise<RepositoryTraits> {
  const config = valuesOf(entries);
  const [name, email] = [config.get('user.name'), config.get('user.email')];
  return {
    objectFormat: config.get('extensions.objectformat') ?? 'sha1',
    shallow: existsSync(join(place.gitDir, 'shallow')),
    promisor: promisorIn(config),
    reftable: config.get('extensions.refstorage') === 'reftable',
    excludesFile: await excludesFileOf(place),
    commands: commandsIn(entries),
    person: name && email ? { name, email } : null,
    checkoutConfig: CHECKOUT_KEYS.flatMap((key) => {
      const value = config.get(key);
      return value === undefined ? [] : [[key, value] as const];
    }),
  };
}

/**
 * Its content goes into every worktree, so one that the repository's own config names must lie in the repository:
 * it could name any file of the person.
 */
async function excludesFileOf({ root, gitDir }: RepositoryPlace): Promise<string> {
  const args = ['config', '--includes', '--type=path', '--show-scope', '--get', 'core.excludesFile'];
  const { stdout } = await git({ gitDir, args, asPerson: true, patienceMs: CONFIG_MS, accept: [1] });
  const [scope = '', ...named] = stdout.replace(/\n$/, '').split('\t');
  const file = realPathOf(resolve(gitDir, named.join('\t')));
  if (named.length > 0 && (!OF_REPOSITORY.has(scope) || isWithin(file, root))) return file;
  const settings = process.env['XDG_CONFIG_HOME'] || join(process.env['HOME'] ?? '/', '.config');
  return realPathOf(join(settings, 'git', 'ignore'));
}
