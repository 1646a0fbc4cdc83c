import { join, relative } from 'node:path';
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

/** Before work begins: settings that are wrong are said now, not by a task that fails, and so are those that do not count. */
export async function checkSettings(io: Io, repository: Repository): Promise<void> {
  const { ignored } = await configHere(io, repository);
  for (const path of ignored) say(io.err, `Note: ${untrustedWords(relative(io.cwd, path))}`);
}
