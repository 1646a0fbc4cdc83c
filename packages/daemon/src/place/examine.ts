import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { examineSqlite } from '@reveille/stores';
import { nearestFolder, type Place } from './folder.ts';
import { takeGuard, type Guard } from './guard.ts';
import { readIdentity } from './identity.ts';
import { findLock } from './lock-file.ts';
import { checkRoom, inWords, notAFolder } from './trouble.ts';

/** One thing of a place that a start depends on. */
export interface PlaceFinding {
  readonly name: 'data folder' | 'identity' | 'lock file' | 'guard' | 'database';
  readonly path: string;
  /** Why a daemon cannot start with it, in the words of that start; null: it can. */
  readonly problem: string | null;
}

/** Looks for whatever keeps a daemon from starting, in the order in which a start meets it, and changes nothing. */
export function examinePlace(place: Place): readonly PlaceFinding[] {
  const { home, identity, lockFile, guard, database } = place;
  const folder = findingOf(home, { name: 'data folder', path: home }, () => checkFolder(home));
  // Nothing in it can be judged: a disk that is full or read-only lets no file be looked at as a start would.
  if (folder.problem !== null) return [folder];
  const checks: readonly (readonly [PlaceFinding['name'], string, () => void])[] = [
    ['lock file', lockFile, () => void findLock(lockFile)],
    ['guard', guard, () => takeGuard(guard)?.[Symbol.dispose]()],
    ['identity', identity, () => void readIdentity(identity)],
    ['database', database, () => examineIfUnused(place)],
  ];
  return [
    folder,
    ...checks.flatMap(([name, path, check]) =>
      existsSync(path) ? [findingOf(home, { name, path }, check)] : [],
    ),
  ];
}

function findingOf(
  home: string,
  about: Pick<PlaceFinding, 'name' | 'path'>,
  check: () => void,
): PlaceFinding {
  try {
    check();
    return { ...about, problem: null };
  } catch (error) {
    const told = inWords(error, home);
    return { ...about, problem: told instanceof Error ? told.message : String(told) };
  }
}

function checkFolder(home: string): void {
  const there = nearestFolder(home);
  accessSync(there, constants.R_OK | constants.W_OK | constants.X_OK);
  if (there === home && statSync(home).uid !== process.getuid?.())
    throw new Error(`${home} is not yours. Set REVEILLE_HOME to a folder that is.`);
  if (!statSync(there).isDirectory())
    throw new Error(`${there} is no folder. Set REVEILLE_HOME to a folder that is yours.`);
  const logs = statSync(join(home, 'logs'), { throwIfNoEntry: false });
  if (logs?.isDirectory() === false) throw notAFolder(join(home, 'logs'));
  checkRoom(there);
}

/** A daemon that runs has looked at its database itself, and lets nobody else do so; without the guard nobody may know. */
function examineIfUnused({ guard, database }: Place): void {
  using held = existsSync(guard) ? holdOrNull(guard) : null;
  if (held || !existsSync(guard)) examineSqlite(database);
}

function holdOrNull(guard: string): Guard | null {
  try {
    return takeGuard(guard);
  } catch {
    // A finding of its own says why.
    return null;
  }
}
