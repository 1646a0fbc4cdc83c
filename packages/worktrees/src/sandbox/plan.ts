import { existsSync, realpathSync } from 'node:fs';
import { totalmem } from 'node:os';
import { basename, dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import { isWithin } from '../repository/paths.ts';
import type { Mount } from './argv.ts';
import type { Confinement, Limits } from './confinement.ts';

/** What of a person's repository a linked worktree needs to be read by git. Not its config, which may hold passwords. */
const LINKED_READS = ['HEAD', 'refs', 'packed-refs', 'shallow', 'info'];

/**
 * Where things are inside. Of the repository there is only an empty, sealed folder where the checkout, its git directory
 * and the home of the worktrees are, and in it the one tree and the objects. So a write to the checkout is refused,
 * not lost, and another worktree or our own records have no path at all.
 */
export function checkoutMounts({ checkout, write }: Confinement, home: string): Mount[] {
  const { repository, path, kind } = checkout;
  if (repository.root === '/') throw invalid('A repository at / cannot be confined: everything is in it.');
  return [
    ...veils(repository)
      .filter((at) => at !== home)
      .map((at) => ({ kind: 'empty', at, sealed: true }) as const),
    { kind: write ? 'write' : 'read', at: path, from: path },
    ...repository.objectStores.filter((store) => existsSync(store)).map(reading),
    ...(kind === 'linked' ? linkedMounts(checkout) : []),
  ];
}

function veils({ root, gitDir, home }: Confinement['checkout']['repository']): string[] {
  // The checkout may be a linked worktree of the person's: then the git directory is in another checkout.
  const main = basename(gitDir) === '.git' ? dirname(gitDir) : gitDir;
  return [...new Set([home, root, main])];
}

/**
 * A linked worktree's index and HEAD are in the person's repository, whose own commands read them. So an agent in a sandbox
 * can read history there, and not commit: what it leaves is committed for it.
 */
function linkedMounts({ repository, path, agentGitDir }: Confinement['checkout']): Mount[] {
  const files = LINKED_READS.map((name) => join(repository.gitDir, name)).filter((file) => existsSync(file));
  return [...files, agentGitDir, join(path, '.git')].map(reading);
}

const reading = (path: string): Mount => ({ kind: 'read', at: path, from: path });

/** What the config names besides, if it is there. What lies in another that is named is part of it. */
export function namedMounts(confinement: Confinement, home: string): Mount[] {
  const named = [
    ...(confinement.writes ?? []).map((at) => ({ kind: 'write', at: normalize(at) }) as const),
    ...(confinement.reads ?? []).map((at) => ({ kind: 'read', at: normalize(at) }) as const),
  ].map(({ kind, at }) => ({ kind, at: at.length > 1 && at.endsWith(sep) ? at.slice(0, -1) : at }));
  for (const { at } of named) checkNamed(at, confinement, home);
  const mounts = named.flatMap(({ kind, at }): (Mount & { from: string })[] => {
    const from = sourceOf(at, home);
    return from === null ? [] : [{ kind, at, from }];
  });
  for (const { from } of mounts) checkNamed(from, confinement, home);
  return mounts.filter(
    (mount) =>
      !mounts.some((other) => other.kind === 'write' && other !== mount && isBelow(mount.at, other.at)),
  );
}

const isBelow = (path: string, folder: string): boolean => path !== folder && isWithin(path, folder);

/** Nothing that is named may uncover what is hidden: the home as a whole, the repository, its worktrees. */
function checkNamed(at: string, { checkout }: Confinement, home: string): void {
  if (!isAbsolute(at))
    throw invalid(`The config names '${at}' for a sandbox: only absolute paths can be named.`);
  if (isWithin(home, at))
    throw invalid(
      `The config names '${at}' for a sandbox: that is the whole home. Name what is needed in it.`,
    );
  for (const hidden of veils(checkout.repository).filter((veil) => veil !== home)) {
    if (isWithin(at, hidden) || isWithin(hidden, at))
      throw invalid(
        `The config names '${at}' for a sandbox: the repository and its worktrees ('${hidden}') stay hidden.`,
      );
  }
}

/**
 * Where a named path really is; null if it is not there. A link is followed only where no agent can have put it: directly
 * in the home. Anywhere else one could have pointed it at what it wants to read.
 */
function sourceOf(at: string, home: string): string | null {
  if (!existsSync(at)) return null;
  const inHome = isBelow(at, home);
  const [first = '', ...rest] = inHome ? relative(home, at).split(sep) : [];
  const expected = inHome ? join(realpathSync(join(home, first)), ...rest) : at;
  const real = realpathSync(at);
  if (real !== expected)
    throw invalid(
      `The config names '${at}' for a sandbox, which leads through a link: name '${real}' if that is meant.`,
    );
  return real;
}

const invalid = (message: string): ReveilleError => new ReveilleError('invalid_input', message);

/** Wide enough for builds and tests of large projects, narrow enough that the machine stays usable. */
export function limitsOf(given: Partial<Limits> = {}, hardOpenFiles = Infinity): Limits {
  const limits = {
    processes: 4_096,
    memoryBytes: Math.floor(totalmem() * 0.75),
    fileBytes: 16 * 1024 ** 3,
    openFiles: 65_536,
    ...given,
  };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw invalid(`The limit ${name} of a sandbox must be a whole number above 0.`);
  }
  return { ...limits, openFiles: Math.min(limits.openFiles, hardOpenFiles) };
}
