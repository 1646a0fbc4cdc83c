import { join } from 'node:path';
import type { Repository } from '../checkout.ts';

/**
 * What lies where under a home.
 *
 *   <home>/<name>/                   a worktree
 *   <home>/.reveille/<name>/         its room: ours, out of every agent's reach
 *   <home>/.reveille/.stage/<id>/    one that is being made; what it will be called is in its claim
 *   <home>/.reveille/.pool/<id>/     a worktree that is ready to be taken
 *   <home>/.reveille/.trash/<id>/    what is to be deleted
 *   <home>/.reveille/.ports/<port>   a block of ports, and who has it
 *   <home>/.reveille/.lock.db        the lock round the administrative steps
 *
 * No name of a worktree begins with a dot, so none can meet ours.
 */
export interface Layout {
  readonly ours: string;
  readonly stages: string;
  readonly pool: string;
  readonly trash: string;
  readonly ports: string;
  readonly lock: string;
  /** Only one process at a time fills the pool. */
  readonly fillerLock: string;
  /** What was found out about the file system under the home. */
  readonly probes: string;
  readonly template: string;
}

export function layoutOf(repository: Repository): Layout {
  const ours = join(repository.home, '.reveille');
  return {
    ours,
    stages: join(ours, '.stage'),
    pool: join(ours, '.pool'),
    trash: join(ours, '.trash'),
    ports: join(ours, '.ports'),
    lock: join(ours, '.lock.db'),
    fillerLock: join(ours, '.filler.db'),
    probes: join(ours, '.probes.json'),
    template: join(ours, '.template'),
  };
}

export const roomOf = (repository: Repository, name: string): string =>
  join(repository.home, '.reveille', name);

export const treeOf = (repository: Repository, name: string): string => join(repository.home, name);

export const ownGitDirOf = (room: string): string => join(room, 'own.git');

export const pinOf = (name: string): string => `refs/reveille/base/${name}`;
