import { ReveilleError } from '@reveille/protocol';

/** Which rule refused, as `data.rule`: for logs and counts, so that nobody has to read the words. */
export type Rule =
  | 'outside'
  | 'malformed'
  | 'git'
  | 'node_modules'
  | 'protected'
  | 'hard_link'
  | 'kind'
  | 'links'
  | 'access';

/** The path as it may be shown: quoted, so that control characters and direction marks do nothing, and short. */
export function show(path: string): string {
  const quoted = JSON.stringify(path).replaceAll(/[\u007f-\u009f\p{Cf}]/gu, '?');
  return quoted.length > 200 ? `${quoted.slice(0, 197)}…"` : quoted;
}

export function refuse(path: string, rule: Rule, words: string): ReveilleError {
  return new ReveilleError('not_allowed', `${show(path)} ${words}`, { data: { path, rule } });
}

export const leadsOut = (path: string): ReveilleError =>
  refuse(
    path,
    'outside',
    'leads out of the worktree. File tools reach nothing outside it; give a path relative to its root.',
  );

export const notFound = (path: string): ReveilleError =>
  new ReveilleError('not_found', `${show(path)} does not exist. List its folder to see what is there.`, {
    data: { path },
  });

export const wrongState = (path: string, words: string): ReveilleError =>
  new ReveilleError('wrong_state', `${show(path)} ${words}`, { data: { path } });

export const keepsChanging = (path: string): ReveilleError =>
  new ReveilleError(
    'contention',
    `The folders of ${show(path)} kept changing while they were walked. Try again.`,
    { data: { path } },
  );

/** The code of a system error, or undefined for anything else that was thrown. */
export function errno(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

const DENIED = new Set(['EACCES', 'EPERM', 'EROFS', 'ENAMETOOLONG', 'ENXIO', 'ETXTBSY']);
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const SCARCE = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);
const LATER = new Set([...SCARCE, 'ELOOP', 'EBUSY', 'EINTR', 'ESTALE']);

/** Whatever went wrong, as an error of ours about the path that was asked for, never about a descriptor. */
export function translate(error: unknown, path: string): ReveilleError {
  if (error instanceof ReveilleError) return error;
  const code = errno(error) ?? '';
  const options = { data: { path, errno: code }, cause: error };
  if (code === 'ENOENT') return notFound(path);
  if (code === 'ENOTDIR') return wrongState(path, 'goes through something that is not a folder.');
  if (code === 'EISDIR') return wrongState(path, 'is a folder.');
  if (code === 'EEXIST') return wrongState(path, 'exists already.');
  if (DENIED.has(code))
    return new ReveilleError('not_allowed', `The system refused ${show(path)} (${code}).`, options);
  if (FULL.has(code))
    return new ReveilleError(
      'store_full',
      `${show(path)} was not written: the disk is full (${code}).`,
      options,
    );
  if (LATER.has(code))
    return new ReveilleError('contention', `${show(path)} cannot be reached now (${code}). Try again.`, {
      data: { ...options.data, scarce: SCARCE.has(code) },
      cause: error,
    });
  return new ReveilleError('internal', `${show(path)} failed (${code || String(error)}).`, options);
}
