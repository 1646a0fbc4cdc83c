import { dirname, join } from 'node:path/posix';
import { languageOf } from '../languages.ts';
import type { Held } from './contents.ts';

/** What can be said of a text hit by its file alone. */
export interface Explained {
  /** Null: a parser must say. */
  readonly role: 'code' | 'comment' | 'string' | null;
  /** Hits with the same group mean the same: one of them need be asked about. Null: it stands for itself. */
  readonly group: string | null;
}

export const UNEXPLAINED: Explained = { role: null, group: null };

/** The hits of one file, each explained as far as its text goes. */
export function explainHits(
  path: string,
  held: Held,
  spots: readonly { readonly offset: number }[],
): Explained[] {
  if (languageOf(path)?.name !== 'typescript') return spots.map(() => UNEXPLAINED);
  const { text } = held;
  const regions = held.regions();
  const heads: Heads = new Map();
  return spots.map(({ offset }) => {
    const region = regions && regions.at(offset);
    // The path of a module leads to a file: the server knows which.
    if (region && PATH_BEFORE.test(text.slice(Math.max(0, region.from - 40), region.from)))
      return UNEXPLAINED;
    const role = regions && (region?.role ?? 'code');
    return { role, group: role === 'code' ? groupOf({ path, text }, offset, heads) : null };
  });
}

const PATH_BEFORE = /\b(?:from|import|require\s*\(|import\s*\()\s*$/;

/**
 * `Head.name` means the same throughout a file in which `Head` is bound by an import or not at all. That is so if it stands
 * nowhere else but where no name is bound anew, as a variable, a parameter or a function is.
 * What is imported by a relative path is the same for all files that lead to it.
 */
function groupOf(
  file: { readonly path: string; readonly text: string },
  offset: number,
  heads: Heads,
): string | null {
  const { path, text } = file;
  const match = /(?:^|[^\w$.)\]?!])([A-Za-z_$][\w$]*)\.$/.exec(text.slice(Math.max(0, offset - 120), offset));
  const head = match?.[1];
  if (head === undefined || head === 'this' || head === 'super') return null;
  const meaning = heads.get(head) ?? meaningOf(text, head);
  heads.set(head, meaning);
  if (meaning === 'unclear') return null;
  // A type and a value of one name are two things.
  const before = text.slice(Math.max(0, offset - 200), offset - head.length - 1).trimEnd();
  const kind = /[:<|&]$/.test(before) ? 'type' : 'value';
  if (meaning === 'free' || !meaning.from.startsWith('.')) return `${kind} ${head} in ${path}`;
  return `${kind} ${meaning.name} of ${join(dirname(path), meaning.from)}`;
}

type Meaning = 'free' | 'unclear' | { readonly from: string; readonly name: string };
type Heads = Map<string, Meaning>;

function meaningOf(text: string, head: string): Meaning {
  let bound: Meaning = 'free';
  for (let at = text.indexOf(head); at >= 0; at = text.indexOf(head, at + head.length)) {
    if (isPart(text[at - 1]) || isPart(text[at + head.length])) continue;
    if (isBound(text, at, head)) continue;
    const imported: Meaning | null = bound === 'free' ? importAt(text, at, head) : null;
    if (!imported) return 'unclear';
    bound = imported;
  }
  return bound;
}

/** It is used here and not bound anew: before a dot, called, or behind a word that only a value or a type follows. */
export function isBound(text: string, at: number, head: string): boolean {
  const next = text[at + head.length];
  if (next === '.' && text[at + head.length + 1] !== '.') return true;
  const before = text.slice(Math.max(0, at - 40), at);
  if (/\b(?:new|instanceof|extends|typeof)\s+$/.test(before)) return true;
  return next === '(' && !/(?:\bfunction|\*)\s*$/.test(before);
}

/** What a name stands for that is bound by the import around it; null: there is none. */
export function importAt(text: string, at: number, head: string): Meaning | null {
  const start = text.lastIndexOf('import', at);
  const before = text.slice(start, at);
  if (start < 0 || (start > 0 && text[start - 1] !== '\n') || /[;'"`=(]/.test(before)) return null;
  const after = /^[^;'"`=(]*\bfrom\s*(['"])([^'"\n]+)\1/.exec(text.slice(at, at + 20_000));
  const from = after?.[2];
  if (from === undefined) return null;
  if (/\*\s*as\s+$/.test(before)) return { from, name: '*' };
  const original = /([\w$]+)\s+as\s+$/.exec(before)?.[1];
  if (original !== undefined) return { from, name: original };
  // `{ Head as other }` binds the other.
  if (/^[\w$]+\s+as\s/.test(text.slice(at, at + head.length + 40))) return null;
  return { from, name: before.includes('{') ? head : 'default' };
}

const isPart = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}_$\u{80}-\u{10ffff}]/u.test(character);
