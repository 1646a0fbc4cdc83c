import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { examineSqlite } from '@reveille/stores';
import { nearestFolder, type Place } from './folder.ts';
import { takeGuard } from './guard.ts';
import { readIdentity } from './identity.ts';
import { checkRoom, inWords } from './trouble.ts';

/** One thing of a place that a start depends on. */
export interface PlaceFinding {
  readonly name: 'data folder' | 'identity' | 'database';
  readonly path: string;
  /** Why a daemon cannot start with it, in the words of that start; null: it can. */
  readonly problem: string | null;
}

/** Looks for whatever keeps a daemon from starting, and changes nothing. */
export function examinePlace(place: Place): readonly PlaceFinding[] {
  const { home, identity, database } = place;
  const finding = (name: PlaceFinding['name'], path: string, check: () => void): PlaceFinding => {
    const problem = problemOf(check, path);
    return { name, path, problem };
  };
  return [
    finding('data folder', home, () => checkFolder(home)),
    ...(existsSync(identity) ? [finding('identity', identity, () => void readIdentity(identity))] : []),
    ...(existsSync(database) ? [finding('database', database, () => examineIfUnused(place))] : []),
  ];
}

function problemOf(check: () => void, path: string): string | null {
  try {
    check();
    return null;
  } catch (error) {
    const told = inWords(error, path);
    return told instanceof Error ? told.message : String(told);
  }
}

function checkFolder(home: string): void {
  const there = nearestFolder(home);
  accessSync(there, constants.R_OK | constants.W_OK | constants.X_OK);
  if (there === home && statSync(home).uid !== process.getuid?.())
    throw new Error(`${home} is not yours. Set REVEILLE_HOME to a folder that is.`);
  if (!statSync(there).isDirectory())
    throw new Error(`${there} is no folder. Set REVEILLE_HOME to a folder that is yours.`);
  checkRoom(there);
}

/** A daemon that runs has looked at its database itself, and lets nobody else do so. */
function examineIfUnused({ guard, database }: Place): void {
  using held = existsSync(guard) ? takeGuard(guard) : null;
  if (held || !existsSync(guard)) examineSqlite(database);
}
