import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { ReveilleError } from '@reveille/protocol';
import { checkFile } from './trouble.ts';

/** Readers see the old file or the new one, never half of one; nobody else may read either. */
export function writePrivately(path: string, text: string): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = openSync(draft, 'wx', 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

export interface PrivateText {
  readonly text: string;
  /** Somebody else could have read it. */
  readonly exposed: boolean;
}

/** Null if there is none. Whoever it belongs to wrote it: one that is not this user's is a trap. */
export function readPrivately(path: string): PrivateText | null {
  try {
    checkFile(path);
    const { mode, uid, size } = statSync(path);
    if (uid !== process.getuid?.()) throw refused(path, `belongs to user ${uid}, not to you`);
    if (size > 1_000_000) throw refused(path, 'is far too large');
    return { text: readFileSync(path, 'utf8'), exposed: (mode & 0o077) !== 0 };
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

const refused = (path: string, why: string): ReveilleError =>
  new ReveilleError('not_allowed', `${path} ${why}. Move it away and try again.`, { data: { path } });

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Null if it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
