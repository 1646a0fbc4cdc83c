import { join, relative } from 'node:path';
import { isReveilleError } from '@reveille/protocol';
import type { LoadedConfig } from '@reveille/daemon/config';
import type { TrustItem } from '@reveille/worktrees';
import type { Io } from './io.ts';
import type { Repository } from './repository.ts';
import { say } from './say.ts';

export type { TrustItem };

/** What the person has agreed to of a repository, as of now. */
export interface Trusted {
  readonly has: (item: TrustItem) => boolean;
  readonly grant: (items: readonly TrustItem[]) => Promise<void>;
}

export async function trustIn({ env }: Pick<Io, 'env'>, { common }: Repository): Promise<Trusted> {
  const [{ Trust }, { placeOf }] = await Promise.all([
    import('@reveille/worktrees'),
    import('@reveille/daemon/connect'),
  ]);
  const trust = new Trust({ folder: join(placeOf(env).home, 'trust') });
  return { has: await trust.grantedIn(common), grant: (items) => trust.grant(common, items) };
}

/** What a repository says about itself in its git directory and beside it. */
export interface Brought {
  readonly items: readonly Omit<BroughtQuestion, 'trusted'>[];
  /** The home of its worktrees, if Reveille did not make it. */
  readonly home: readonly BroughtQuestion[];
  readonly adoptHome: () => Promise<void>;
}

interface BroughtQuestion {
  readonly item: TrustItem;
  readonly path: string;
  readonly means: readonly string[];
  readonly trusted: boolean;
}

export async function broughtHere({ env }: Pick<Io, 'env'>, { top }: Repository): Promise<Brought> {
  const [worktrees, { placeOf, ownFolders }, { config }] = await Promise.all([
    import('@reveille/worktrees'),
    import('@reveille/daemon/connect'),
    configHere({ env }, null),
  ]);
  const { home } = config.worktrees;
  const place = placeOf(env);
  const search = { home, own: ownFolders(place) };
  const found = await worktrees.findRepository(top, search).catch((error: unknown) => {
    // There is nothing in it yet that could be used.
    if (isReveilleError(error, 'not_a_repository') && error.data['reason'] === 'empty') return null;
    throw error;
  });
  if (!found) return { items: [], home: [], adoptHome: async () => {} };
  const trust = new worktrees.Trust({ folder: join(place.home, 'trust') });
  const isTrusted = await trust.grantedIn(found.gitDir);
  const strange = home === null && (await worktrees.homeMaker(found, isTrusted)) === 'strange';
  const question = {
    item: { kind: 'home', name: 'worktrees', content: '' },
    path: found.home,
    means: ['it was there before Reveille made it: trust it only if it did not come with the repository'],
    trusted: false,
  } as const;
  return {
    items: await worktrees.broughtBy(found),
    home: strange ? [question] : [],
    adoptHome: () => worktrees.adoptHome(found, trust),
  };
}

/** Everything that is set, as a daemon started here would have it, with what the repository says. */
export async function configHere(
  io: Pick<Io, 'env'>,
  repository: Repository | null,
  flags: Readonly<Record<string, string>> = {},
): Promise<LoadedConfig> {
  const [{ loadConfig, repositoryItem }, { placeOf }] = await Promise.all([
    import('@reveille/daemon/config'),
    import('@reveille/daemon/connect'),
  ]);
  const loaded = loadConfig({ flags, env: io.env, userFile: placeOf(io.env).userConfig });
  if (!repository) return loaded;
  const trust = await trustIn(io, repository);
  return loaded.in({ root: repository.top, trusts: ({ content }) => trust.has(repositoryItem(content)) });
}

export const untrustedWords = (path: string): string =>
  `${path} does not count: you have not trusted it as it is now (reveille init).`;

/** The file that names ignored files to copy into worktrees, if the person has not trusted it. */
async function untrustedInclude(io: Io, repository: Repository): Promise<string[]> {
  const { INCLUDE_FILE, includeItem, readInclude } = await import('@reveille/worktrees');
  const text = await readInclude(repository.top);
  if (text === null || (await trustIn(io, repository)).has(includeItem(text))) return [];
  return [join(repository.top, INCLUDE_FILE)];
}

/** Before work begins: settings that are wrong are said now, not by a task that fails, and so are those that do not count. */
export async function checkSettings(io: Io, repository: Repository): Promise<void> {
  const { ignored } = await configHere(io, repository);
  const include = await untrustedInclude(io, repository);
  for (const path of [...ignored, ...include]) say(io.err, `Note: ${untrustedWords(relative(io.cwd, path))}`);
}
