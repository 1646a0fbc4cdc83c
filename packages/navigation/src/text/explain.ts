import { dirname, join } from 'node:path/posix';
import { extensionOf, hasTypes, languageOf } from '../languages.ts';
import { isBound, isShorthand } from './bound.ts';
import { Brackets } from './brackets.ts';
import type { Held } from './contents.ts';
import { isAtTop } from './declared.ts';
import { ImportStatements, type Imported } from './import-statements.ts';
import type { Members } from './members.ts';
import { lineNear } from './spots.ts';
import { isNamePart } from './words.ts';

/** What can be said of a text hit by its file alone. */
export interface Explained {
  /** Null: a parser must say. */
  readonly role: 'code' | 'comment' | 'string' | null;
  /** Hits with the same group mean the same: one of them need be asked about. Null: it stands for itself. */
  readonly group: string | null;
  /** Where that which it means is declared (`path:line:column`), if the text tells: then nobody need be asked. */
  readonly target?: string;
  /** What its file imports the name from: the path of the module from the root, or as it is written. */
  readonly from?: string;
}

export const UNEXPLAINED: Explained = { role: null, group: null };

/** The hits of one file, each explained as far as its text goes. */
export function explainHits(
  path: string,
  held: Held,
  spots: readonly { readonly offset: number }[],
  members: Members | null = null,
): Explained[] {
  if (languageOf(path)?.name !== 'typescript') return spots.map(() => UNEXPLAINED);
  const { text } = held;
  const regions = held.regions();
  const heads: Heads = {
    known: new Map(),
    imports: new Map(),
    bound: null,
    places: MOST_PLACES,
    brackets: new Brackets(path, text, regions),
    statements: new ImportStatements(text),
  };
  return spots.map(({ offset }) => {
    const region = regions && regions.at(offset);
    // The path of a module leads to a file: the server knows which.
    if (region && PATH_BEFORE.test(text.slice(Math.max(0, region.from - 40), region.from)))
      return UNEXPLAINED;
    const role = regions && (region?.role ?? 'code');
    if (role !== 'code') return { role, group: null };
    return { role, ...groupOf({ path, held, members }, offset, heads) };
  });
}

const PATH_BEFORE = /\b(?:from|import|require\s*\(|import\s*\()\s*$/;

/**
 * `Head.name` means the same throughout a file in which `Head` is bound by an import or not at all. That is so if it stands
 * nowhere else but where no name is bound anew, as a variable, a parameter or a function is.
 * What is imported by a relative path is the same for all files that lead to it.
 */
function groupOf(
  file: { readonly path: string; readonly held: Held; readonly members: Members | null },
  offset: number,
  heads: Heads,
): Omit<Explained, 'role'> {
  const { path, held, members } = file;
  const { text } = held;
  const head = headBefore(text, offset);
  const declared = text[offset - 1] === '.' ? null : members?.declaredAt(path, held, offset);
  if (declared) return { group: null, target: declared };
  if (head === 'this' || head === 'super') return ALONE;
  if (head === null) return text[offset - 1] === '.' ? ALONE : boundGroup(path, held, offset, heads);
  const meaning = known(held, head, heads);
  if (meaning === 'unclear') return ALONE;
  const kind = kindAt(path, text, offset - head.length - 1);
  if (meaning === 'own') {
    const target = kind === 'value' ? members?.own(path, head) : null;
    return { group: `${kind} ${head} in ${path}`, ...(target ? { target } : {}) };
  }
  if (meaning === 'free' || !meaning.from.startsWith('.')) return { group: `${kind} ${head} in ${path}` };
  const module = join(dirname(path), meaning.from);
  const isNamed = kind === 'value' && meaning.name !== '*' && meaning.name !== 'default';
  const target = isNamed ? members?.imported(module, meaning.name) : null;
  return { group: `${kind} ${meaning.name} of ${module}`, ...(target ? { target } : {}) };
}

/** What an import binds, or the file declares once, and nothing else binds, is the same wherever it stands in the file. */
function boundGroup(
  path: string,
  held: Held,
  offset: number,
  heads: Heads,
): Pick<Explained, 'group' | 'from'> {
  const { text } = held;
  heads.bound ??= boundIn(path, held, offset, heads);
  const { name, within, alone } = heads.bound;
  const renamed = heads.statements.renamedAt(offset, name);
  if (renamed !== null) return importedAs(path, { from: renamed, name }).value;
  if (within === null) return alone;
  if (isShorthand(heads.brackets, offset, name) && !heads.statements.importAt(offset, name)) return alone;
  return within[kindAt(path, text, offset)];
}

/** What the hits of a file are that nothing binds anew. */
interface Bound {
  readonly name: string;
  /** Null: something may. */
  readonly within: Readonly<Record<Kind, Pick<Explained, 'group' | 'from'>>> | null;
  readonly alone: Pick<Explained, 'group' | 'from'>;
}

/** All hits are of the same name. */
function boundIn(path: string, held: Held, offset: number, heads: Heads): Bound {
  const name = /^[\p{L}\p{N}_$]+/u.exec(held.text.slice(offset, offset + MOST_NAME))?.[0] ?? '';
  const meaning = name === '' ? 'unclear' : known(held, name, heads);
  const imported = heads.imports.get(name);
  const alone = { group: null, ...(imported ? { from: moduleFrom(path, imported.from) } : {}) };
  if (meaning === 'free' || meaning === 'unclear') return { name, within: null, alone };
  const own = `bound in ${path}`;
  const within = imported
    ? importedAs(path, imported)
    : { type: { group: `type ${own}` }, value: { group: `value ${own}` } };
  return { name, within, alone };
}

/** What all files that import the same mean by it. */
function importedAs(
  path: string,
  imported: Imported,
): Readonly<Record<Kind, Pick<Explained, 'group' | 'from'>>> {
  const from = moduleFrom(path, imported.from);
  // A path that is not relative means the same to all files of a folder, of one kind.
  const within = imported.from.startsWith('.') ? '' : ` in ${dirname(path)} ${extensionOf(path)}`;
  const what = `bound to ${imported.name} of ${from}${within}`;
  return { type: { group: `type ${what}`, from }, value: { group: `value ${what}`, from } };
}

/** A module by its path from the root, as it is written; one that is not relative has its name only. */
const moduleFrom = (path: string, from: string): string =>
  from.startsWith('.') ? join(dirname(path), from) : from;

const MOST_NAME = 200;

function known(held: Held, head: string, heads: Heads): Meaning {
  const meaning = heads.known.get(head) ?? meaningOf(held, head, heads);
  heads.known.set(head, meaning);
  return meaning;
}

type Kind = 'type' | 'value';

/** A type and a value of one name are two things. */
function kindAt(path: string, text: string, offset: number): Kind {
  const before = text.slice(Math.max(0, offset - 200), offset).trimEnd();
  return hasTypes(path) && /[:<|&]$/.test(before) ? 'type' : 'value';
}

const ALONE = { group: null };

/** `Head` right before `.name`, if it is no member itself. */
function headBefore(text: string, offset: number): string | null {
  if (text[offset - 1] !== '.') return null;
  return (
    /(?:^|[^\w$.)\]?!])([A-Za-z_$][\w$]*)\.$/.exec(text.slice(Math.max(0, offset - 120), offset))?.[1] ?? null
  );
}

/** `own`: the file declares it, once, at its top. */
type Meaning = 'free' | 'own' | 'unclear' | Imported;
interface Heads {
  readonly known: Map<string, Meaning>;
  /** What is imported, also if something else may bind it too. */
  readonly imports: Map<string, Imported>;
  bound: Bound | null;
  /** How many more places are looked at. */
  places: number;
  readonly brackets: Brackets;
  readonly statements: ImportStatements;
}
/** Each head is followed through all of its file: what more there are of in one file is left to the server. */
const MOST_HEADS = 500;
const MOST_PLACES = 100_000;

function meaningOf(held: Held, head: string, heads: Heads): Meaning {
  const { text } = held;
  if (heads.known.size >= MOST_HEADS) return 'unclear';
  let bound: Meaning = 'free';
  for (let at = text.indexOf(head); at >= 0; at = text.indexOf(head, at + head.length)) {
    heads.places -= 1;
    if (heads.places < 0) return 'unclear';
    if (isNamePart(text, at - 1) || isNamePart(text, at + head.length)) continue;
    // In a comment or a string nothing is bound.
    if (isBound(heads.brackets, at, head) || held.regions()?.at(at)) continue;
    // `import { head as other }` binds the other.
    if (heads.statements.renamedAt(at, head) !== null) continue;
    if (bound !== 'free') return 'unclear';
    const imported = heads.statements.importAt(at, head);
    if (imported) heads.imports.set(head, imported);
    const meaning = imported ?? ownAt(held, at);
    if (!meaning) return 'unclear';
    bound = meaning;
  }
  return bound;
}

const OWN = /^(?:export\s+)?(?:default\s+|declare\s+|abstract\s+|const\s+(?=enum))*(?:class|enum)\s+$/;

function ownAt(held: Held, at: number): 'own' | null {
  const start = lineNear(held.text, at);
  if (start === null) return null;
  return OWN.test(held.text.slice(start, at)) && isAtTop(held, start) ? 'own' : null;
}
