import { join, relative } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import { isWithin, overlapping, realPathOf } from '../repository/paths.ts';
import type { Mount } from './argv.ts';

export interface FinalMounts {
  /** The system's folders. */
  readonly system: readonly Mount[];
  /** What belongs to the checkout. No link may lead to it: an agent or a repository could have made one. */
  readonly checkout: readonly Mount[];
  /** What the config names. */
  readonly named: readonly Mount[];
}

export interface OwnFolders {
  /** Reveille's own folders: state with tokens and database, config. */
  readonly own: readonly string[];
  /** What of them this sandbox is given by Reveille itself, such as the home of its agent. */
  readonly lent: readonly string[];
}

/**
 * The last look at everything that will be seen inside, whoever asked for it: nothing of Reveille's own folders is
 * mounted (BND6). Answers with what covers one that a folder of the system contains; anything else that contains one
 * is refused, because whoever may write round a covered folder can move it.
 */
export function guardMounts({ system, checkout, named }: FinalMounts, folders: OwnFolders): Mount[] {
  const own = folders.own.map(realPathOf);
  const lent = folders.lent.map(realPathOf);
  const isLent = ({ real }: Source): boolean => lent.some((each) => isWithin(real, each));
  for (const source of sourcesOf(checkout))
    if (source.real !== source.from && !isLent(source))
      throw refuse(source.from, `it leads through a link, to ${source.real}. Remove the link`);
  for (const source of sourcesOf([...checkout, ...named])) {
    const ours = overlapping(source.real, own);
    if (ours !== null && !isLent(source))
      throw refuse(source.from, `Reveille keeps its tokens and settings in ${ours}. Name another place`);
  }
  return masks(sourcesOf(system), own);
}

interface Source {
  readonly at: string;
  readonly from: string;
  readonly real: string;
}

const sourcesOf = (mounts: readonly Mount[]): Source[] =>
  mounts.flatMap((mount) =>
    mount.kind === 'read' || mount.kind === 'write' ? [{ ...mount, real: realPathOf(mount.from) }] : [],
  );

const masks = (sources: readonly Source[], own: readonly string[]): Mount[] =>
  sources.flatMap(({ at, real }) =>
    own
      .filter((folder) => isWithin(folder, real))
      .map((folder) => ({ kind: 'empty', at: join(at, relative(real, folder)), sealed: true }) as const),
  );

const refuse = (from: string, why: string): ReveilleError =>
  new ReveilleError('not_allowed', `A sandbox cannot be given ${from}: ${why}.`, { data: { path: from } });
