import { constants, readFileSync, statSync, watch } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openDoor } from '../door/door.ts';

/** What a file system can do, found by doing it. `why` is for a person. */
export interface Ability {
  readonly name: string;
  readonly has: boolean;
  /** Without it something is only slower or rarer, not wrong. */
  readonly optional: boolean;
  readonly why: string;
}

/** How long a notice of a change may take; where there is none, this is what finding out costs. */
const NOTICE_MS = 2_000;

/** Tries it in a folder of its own beside where worktrees are made, and leaves nothing. */
export async function tryFileSystem(folder: string): Promise<Ability[]> {
  const scratch = await mkdtemp(join(nearestFolder(folder), '.reveille-doctor-'));
  try {
    const file = join(scratch, 'file');
    await writeFile(file, 'content');
    return [
      await reflinks(scratch, file),
      await tellsCase(scratch),
      await hasLinks(scratch, file),
      locks(scratch),
      await notices(scratch),
      descriptors(scratch),
    ];
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The folder itself may not be there yet. */
function nearestFolder(folder: string): string {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? folder : nearestFolder(dirname(folder));
}

async function reflinks(scratch: string, file: string): Promise<Ability> {
  const has = await succeeds(copyFile(file, join(scratch, 'clone'), constants.COPYFILE_FICLONE_FORCE));
  const why = has
    ? 'Files are copied without copying their content.'
    : 'Worktrees are made by copying: btrfs, XFS or APFS would be faster.';
  return { name: 'copies by reference', has, optional: true, why };
}

async function tellsCase(scratch: string): Promise<Ability> {
  await writeFile(join(scratch, 'case'), '');
  const has = !(await succeeds(stat(join(scratch, 'CASE'))));
  const why = has
    ? 'Names that differ in case are different files.'
    : 'Names that differ in case are one file: tasks may conflict over them.';
  return { name: 'tells upper from lower case', has, optional: true, why };
}

async function hasLinks(scratch: string, file: string): Promise<Ability> {
  const link = join(scratch, 'link');
  const has = (await succeeds(symlink(file, link))) && (await succeeds(readFile(link)));
  const why = has
    ? 'Symbolic links work.'
    : 'There are no symbolic links: a repository that has some is checked out wrong.';
  return { name: 'symbolic links', has, optional: false, why };
}

function locks(scratch: string): Ability {
  const has = isLockable(join(scratch, 'lock.db'));
  const why = has
    ? 'Processes can lock each other out.'
    : 'Files cannot be locked here (a network drive?): two processes may make worktrees at once and fail.';
  return { name: 'locks', has, optional: false, why };
}

function isLockable(path: string): boolean {
  try {
    const database = new DatabaseSync(path);
    try {
      database.exec('BEGIN EXCLUSIVE; CREATE TABLE held (x); COMMIT');
      return true;
    } finally {
      database.close();
    }
  } catch {
    return false;
  }
}

async function notices(scratch: string): Promise<Ability> {
  const has = await isNotified(scratch);
  const why = has
    ? `Changes are noticed at once${watchLimit()}.`
    : 'Changes are not noticed at once: they are looked for every few seconds.';
  return { name: 'notices of changes', has, optional: true, why };
}

async function isNotified(scratch: string): Promise<boolean> {
  const ended = Promise.withResolvers<boolean>();
  const timeout = setTimeout(() => ended.resolve(false), NOTICE_MS);
  try {
    const watcher = watch(scratch, () => ended.resolve(true));
    watcher.on('error', () => ended.resolve(false));
    await writeFile(join(scratch, 'noticed'), 'x');
    const noticed = await ended.promise;
    watcher.close();
    return noticed;
  } catch {
    return false;
  } finally {
    clearTimeout(timeout);
  }
}

function watchLimit(): string {
  try {
    return `, in up to ${readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8').trim()} folders`;
  } catch {
    return '';
  }
}

/** Which way the door of file tools goes here: it is asked itself. */
function descriptors(scratch: string): Ability {
  using door = openDoor(scratch, { access: 'read' });
  const has = door.way === 'descriptor';
  const why = has
    ? 'File tools hold folders open: no race leads them out.'
    : 'File tools go by paths and check again: a race is made hard, not impossible.';
  return { name: 'folders by descriptor', has, optional: true, why };
}

async function succeeds(act: Promise<unknown>): Promise<boolean> {
  return act.then(
    () => true,
    () => false,
  );
}
