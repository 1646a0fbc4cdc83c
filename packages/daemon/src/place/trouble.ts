import { statSync, statfsSync } from 'node:fs';
import { ReveilleError, isReveilleError, type ErrorCode } from '@reveille/protocol';

/** What kind of trouble the machine has; each has its words, so that it is told alike wherever it is met. */
type Trouble = 'full' | 'unwritable' | 'failing' | 'exhausted' | 'not a file' | 'not a folder';

const BY_CODE: Readonly<Record<string, Trouble>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EROFS: 'unwritable',
  EACCES: 'unwritable',
  EPERM: 'unwritable',
  EIO: 'failing',
  EMFILE: 'exhausted',
  ENFILE: 'exhausted',
  EAGAIN: 'exhausted',
  ENOMEM: 'exhausted',
  EISDIR: 'not a file',
  ENOTDIR: 'not a folder',
  EEXIST: 'not a folder',
};
/** Result codes of SQLite, whose low byte is the kind. */
const BY_SQLITE: Readonly<Record<number, Trouble>> = {
  3: 'unwritable',
  7: 'exhausted',
  8: 'unwritable',
  10: 'failing',
  13: 'full',
  14: 'unwritable',
};

const WORDS: Record<Trouble, (path: string, detail: string) => string> = {
  'not a file': (path) => `${path} is a folder, and Reveille needs a file there. Move it away and try again.`,
  'not a folder': (path) => `${path} is no folder, and Reveille needs one there. Move it away and try again.`,
  full: (folder) => `The disk that holds ${folder} is full. Free some space and try again.`,
  unwritable: (folder, detail) =>
    `${folder} cannot be used (${detail}). Look at its permissions and whether its disk is mounted read-only; REVEILLE_HOME names another folder for Reveille.`,
  failing: (folder, detail) =>
    `The disk that holds ${folder} fails (${detail}). Look at the log of the system before you try again.`,
  exhausted: (_folder, detail) =>
    `The system has no room for another file, process or page of memory (${detail}). End other programs or raise the limit, and try again.`,
};
const CODES: Record<Trouble, ErrorCode> = {
  'not a file': 'not_allowed',
  'not a folder': 'not_allowed',
  full: 'store_full',
  unwritable: 'store_failed',
  failing: 'store_failed',
  exhausted: 'store_failed',
};

/** Below this nothing useful can be written. */
const LEAST_BYTES = 2 ** 20;

function troubleOf(error: unknown): Trouble | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('errcode' in error) return BY_SQLITE[Number(error.errcode) & 0xff];
  return 'code' in error ? BY_CODE[String(error.code)] : undefined;
}

/** The error in words that say what to do, if the machine is the cause; else as it is. */
export function inWords(error: unknown, folder: string): unknown {
  const trouble = isReveilleError(error) ? undefined : troubleOf(error);
  if (trouble === undefined) return error;
  const detail = error instanceof Error ? error.message : String(error);
  const isOfKind = trouble === 'not a file' || trouble === 'not a folder';
  const path = isOfKind ? pathOf(error) : folder;
  // Of files elsewhere whoever opened them knows better what belongs there.
  if (isOfKind && !path.startsWith(`${folder}/`)) return error;
  return new ReveilleError(CODES[trouble], WORDS[trouble](path, detail), {
    data: { folder },
    cause: error,
  });
}

const pathOf = (error: unknown): string =>
  error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : '';

export const notAFolder = (path: string): ReveilleError =>
  new ReveilleError('not_allowed', WORDS['not a folder'](path, ''), { data: { path } });

/** Throws if a folder lies where a file belongs. */
export function checkFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new ReveilleError('not_allowed', WORDS['not a file'](path, ''), { data: { path } });
}

/** The machine has run out of something, or its disk fails: no defect of ours, and it may pass. */
export function mayPass(error: unknown): boolean {
  const trouble = troubleOf(error);
  return trouble === 'full' || trouble === 'failing' || trouble === 'exhausted';
}

/** Throws if the disk of a folder is full. What only root may use counts for root. */
export function checkRoom(folder: string): void {
  const { bsize, bavail, bfree } = statfsSync(folder);
  const free = (process.getuid?.() === 0 ? bfree : bavail) * bsize;
  if (free < LEAST_BYTES)
    throw new ReveilleError('store_full', WORDS.full(folder, ''), { data: { folder, free } });
}
