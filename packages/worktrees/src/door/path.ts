import { isGitName, NAME_BYTES } from './names.ts';
import { leadsOut, refuse } from './refusal.ts';

/** A path as somebody gave it, taken apart. Nothing has been looked at yet. */
export interface AskedPath {
  /** As it was given, for words. */
  readonly given: string;
  /** Names from the root on: no `.`, no `..`, none empty. */
  readonly names: readonly string[];
  /** It can only mean a folder: it ends with a slash or a dot, or is the root. */
  readonly folder: boolean;
}

const PATH_BYTES = 4_096;
const MOST_NAMES = 256;

/** Names that are never what they seem: nothing here expands a tilde or a variable, so a folder would be called so. */
const EXPANDED = /^(?:~$|~[^/]*\/|\$\{?[A-Z_][A-Z0-9_]*\}?(?:\/|$)|%[^%/]+%(?:\/|$))/u;

/**
 * Takes a path apart by its words alone. `..` is resolved here, as `path.resolve` does; in the text of a link it is
 * resolved by walking. `roots` are the ways to write the root itself, for absolute paths.
 */
export function parsePath(given: string, roots: readonly (readonly string[])[]): AskedPath {
  checkWords(given);
  const absolute = given.startsWith('/');
  const names = given.split('/').reduce<string[]>((above, name) => {
    if (name === '' || name === '.') return above;
    if (name !== '..') return [...above, name];
    if (above.length === 0 && !absolute) throw leadsOut(given);
    return above.slice(0, -1);
  }, []);
  const inside = absolute ? withoutRoot(names, roots) : names;
  if (inside === undefined) throw leadsOut(given);
  for (const name of inside) checkName(given, name);
  return { given, names: inside, folder: inside.length === 0 || /(?:^|\/)\.{0,2}$/u.test(given) };
}

/** What is left of an absolute path below a root, name by name: `/wt-2` is not below `/wt`. */
export function withoutRoot(
  names: readonly string[],
  roots: readonly (readonly string[])[],
): readonly string[] | undefined {
  const root = roots.find((candidate) => candidate.every((name, i) => names[i] === name));
  return root && names.slice(root.length);
}

export const splitNames = (path: string): string[] => path.split('/').filter((name) => name !== '');

/** Holds for every name that is walked, those from the text of a link included. */
export function checkName(given: string, name: string): void {
  if (Buffer.byteLength(name) > NAME_BYTES)
    throw refuse(given, 'malformed', `has a name longer than ${NAME_BYTES} bytes.`);
  if (isGitName(name))
    throw refuse(
      given,
      'git',
      "leads into git's own files, or looks as if it did. File tools neither read nor write them; use git commands.",
    );
}

function checkWords(given: string): void {
  if (typeof given !== 'string') throw refuse(String(given), 'malformed', 'is not a path.');
  if (!given.isWellFormed()) throw refuse(given, 'malformed', 'is not valid Unicode.');
  if (Buffer.byteLength(given) > PATH_BYTES)
    throw refuse(given, 'malformed', `is longer than ${PATH_BYTES} bytes.`);
  if (given.split('/', MOST_NAMES + 1).length > MOST_NAMES)
    throw refuse(given, 'malformed', `has more than ${MOST_NAMES} parts.`);
  if (/[\p{Cc}]/u.test(given)) throw refuse(given, 'malformed', 'has a control character in it.');
  if (/^(?:file:|[a-z][a-z0-9+.-]*:\/)/iu.test(given))
    throw refuse(
      given,
      'malformed',
      'is a URI or a drive. Give a path relative to the root of the worktree.',
    );
  if (given.includes('\\'))
    throw refuse(given, 'malformed', 'has a backslash in it. Folders are separated by /.');
  if (EXPANDED.test(given))
    throw refuse(given, 'malformed', 'begins with a tilde or a variable, and neither is expanded here.');
}
