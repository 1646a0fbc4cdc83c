import { randomUUID } from 'node:crypto';

/** What a name may weigh: the limit of every file system we know, in bytes. */
export const NAME_BYTES = 255;

/** Code points that HFS+ leaves out when it compares names, and whatever else cannot be seen. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;

/**
 * A name as the most forgiving file system would compare it: without case, compatibility forms, unseen code points,
 * trailing dots and spaces. Used to recognise names, never to open them; it is the same on every system, because a
 * worktree may be moved to another one.
 */
export function fold(name: string): string {
  return name
    .normalize('NFKC')
    .replaceAll(UNSEEN, '')
    .toLowerCase()
    .replace(/[. ]+$/u, '');
}

/** `.git` in any disguise: `.GIT`, `.git.`, `.g\u200cit`, `git~1` (its DOS name), `.git::$INDEX_ALLOCATION`. */
export function isGitName(name: string): boolean {
  const [base = ''] = name.split(':', 1);
  const folded = fold(base);
  return folded === '.git' || /^git~\d+$/u.test(folded);
}

const TEMPORARY = /^\.reveille-(\d{1,10})-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

/** What a file of an agent's tree is called while we write it. It names the process, so that it is known when it is dead. */
export const temporaryName = (): string => `.reveille-${process.pid}-${randomUUID()}.tmp`;

/** For .gitignore. */
export const TEMPORARY_PATTERN = '.reveille-*-*.tmp';

/** The process that writes a file of this name; null for any other name. */
export function writerOf(name: string): number | null {
  const found = TEMPORARY.exec(name);
  return found ? Number(found[1]) : null;
}
