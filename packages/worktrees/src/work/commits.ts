import type { Repository } from '../checkout.ts';
import { COMMITTER, identity, type Person } from './identity.ts';
import { atHome } from './refs.ts';

export interface NewCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly author?: Person;
  /** Seconds since 1970. The same input at the same time is the same commit. */
  readonly at?: number;
}

/** Written into the person's repository, which has the tree and the parents already. Nothing points to it yet. */
export async function commit(
  repository: Repository,
  { tree, parents, message, author, at }: NewCommit,
): Promise<string> {
  const date =
    at === undefined ? {} : { GIT_AUTHOR_DATE: `@${at} +0000`, GIT_COMMITTER_DATE: `@${at} +0000` };
  const { stdout } = await atHome(repository, {
    args: ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent])],
    input: `${message.replaceAll('\0', '').trim()}\n`,
    env: { ...identity(author ?? COMMITTER), ...date },
  });
  return stdout.trim();
}

/** When the youngest of these was committed, in seconds. */
export async function latestTime(repository: Repository, commits: readonly string[]): Promise<number> {
  const args = ['log', '--no-walk', '--format=%ct', '--end-of-options', ...commits];
  const { stdout } = await atHome(repository, { args });
  return Math.max(...stdout.trim().split('\n').map(Number));
}
