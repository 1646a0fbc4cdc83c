import { ReveilleError } from '@reveille/protocol';
import { GitError } from '../git/git.ts';

/** The error of the contract for whatever kept `doing` from being done. */
export function workspaceError(doing: string, error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof ReveilleError) return error;
  // Who gives up may do so with an error of its own.
  if (signal?.aborted || (error instanceof Error && error.name === 'AbortError'))
    return new ReveilleError('aborted', `${doing} was given up.`, { cause: error });
  const reason = reasonOf(error);
  return new ReveilleError('workspace_failed', `${doing} failed: ${WORDS[reason](error)}`, {
    cause: error,
    data: { reason, scarce: isScarce(reason) },
  });
}

type Reason = 'disk_full' | 'exhausted' | 'read_only' | 'git' | 'other';

/** What the machine lacks now and may have again, without anybody having changed anything of Reveille's. */
const isScarce = (reason: Reason): boolean => reason === 'disk_full' || reason === 'exhausted';

const WORDS: Record<Reason, (error: unknown) => string> = {
  disk_full: () => 'the disk is full. Nothing was left behind; free some space and try again.',
  exhausted: (error) =>
    `the system has no room for another file, process or page of memory (${codeOf(error)}). End other programs, or raise the limit.`,
  read_only: (error) =>
    `${pathIn(error)} cannot be written. Check its permissions and whether it is mounted read-only, or choose another home for worktrees in the settings.`,
  git: (error) => (error instanceof GitError ? error.message : String(error)),
  other: (error) => (error instanceof Error ? error.message : String(error)),
};

const EXHAUSTED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);
// Result codes of SQLite, which keeps our locks; an extended code has its kind in the low byte.
const [SQLITE_READONLY, SQLITE_FULL, SQLITE_CANTOPEN] = [8, 13, 14];

function reasonOf(error: unknown): Reason {
  const code = codeOf(error);
  const kind = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  const words = error instanceof GitError ? error.stderr : '';
  if (code === 'ENOSPC' || code === 'EDQUOT' || kind === SQLITE_FULL) return 'disk_full';
  if (
    EXHAUSTED.has(code) ||
    /Too many open files|Resource temporarily unavailable|Cannot allocate memory/i.test(words)
  )
    return 'exhausted';
  // Git writes some files, such as a ref's, without saying what the system said.
  if (/No space left|Out of diskspace|quota exceeded|couldn't write '/i.test(words)) return 'disk_full';
  if (['EROFS', 'EACCES', 'EPERM'].includes(code) || [SQLITE_READONLY, SQLITE_CANTOPEN].includes(kind))
    return 'read_only';
  if (/Read-only file system|Permission denied/i.test(words)) return 'read_only';
  return error instanceof GitError ? 'git' : 'other';
}

/** A disk that is full or read-only is not the fault of who wrote a repository; permissions may be. */
export const isOfTheDisk = (error: unknown): boolean =>
  reasonOf(error) === 'disk_full' ||
  codeOf(error) === 'EROFS' ||
  (error instanceof GitError && /Read-only file system/i.test(error.stderr));

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

const pathIn = (error: unknown): string =>
  error instanceof Error && 'path' in error ? String(error.path) : 'the folder';
