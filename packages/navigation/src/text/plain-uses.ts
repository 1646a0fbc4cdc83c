import { hasTypes, languageOf } from '../languages.ts';
import { isUse } from '../syntax/uses.ts';
import { isBound } from './bound.ts';
import { Brackets } from './brackets.ts';
import type { Held } from './contents.ts';
import { ImportStatements } from './import-statements.ts';
import type { Regions } from './regions.ts';
import { spotsOf, type Spot, type TextSpot } from './spots.ts';

/** Where a server is asked what a name means in a file that does not define it. */
export interface PlainUses {
  readonly spots: readonly Spot[];
  /** How many there are besides of members of something (`other.name`), which the name alone does not mean. */
  readonly members: number;
  /** An import binds it, and in these lines it may be something else: a variable, a parameter, a member. */
  readonly others: readonly number[];
  /** One of them may be a definition that others can ask for. */
  readonly mayDefine: boolean;
}

/** Where a file uses a name, if it imports it or defines none of it for certain; null: a parser must say. */
export function plainUses(path: string, held: Held, name: string): PlainUses | null {
  if (languageOf(path)?.name !== 'typescript') return null;
  const { text } = held;
  const regions = held.regions();
  const used = spotsOf(text, name, held.lines()).filter(({ offset }) => !regions?.at(offset));
  const brackets = new Brackets(path, text, regions);
  const isPlain = regions ? plainIn(path, { brackets, regions }, name) : () => false;
  const imported = importedUses(brackets, { used, name, isPlain });
  if (imported || !regions || !used.every(isPlain)) return imported;
  const own = used.filter((spot) => !isMember(text, spot));
  const taken = own.length > 0 ? differing(brackets, own, name) : used;
  if (taken.length === 0) return null;
  return {
    spots: taken.map(({ line, column }) => ({ line, column })),
    members: own.length > 0 ? used.length - own.length : 0,
    others: [],
    mayDefine: false,
  };
}

type IsPlain = (spot: TextSpot) => boolean;

/** Says what defines nothing for certain. */
function plainIn(
  path: string,
  { brackets, regions }: { readonly brackets: Brackets; readonly regions: Regions },
  name: string,
): IsPlain {
  const { text } = brackets;
  const rowOf = ({ offset, column }: TextSpot): string => {
    const [rest = ''] = text.slice(offset, offset + MOST_REST).split('\n', 1);
    return text.slice(offset - column + 1, offset + rest.length);
  };
  // In TypeScript a method may be declared without a body.
  const hasBodies = !hasTypes(path);
  const isCalled = callsIn(text, regions);
  return (spot) =>
    isUse(rowOf(spot), spot.column, name) ||
    isListed(brackets, spot.offset, name) ||
    (hasBodies && isCalled(spot.offset + name.length));
}

/** Three dots before it spread it. */
const isMember = (text: string, { offset }: TextSpot): boolean =>
  text[offset - 1] === '.' && text[offset - 2] !== '.';

/**
 * What an import binds is what the name means in its file, whatever else has the name there within something. Null: none binds it, or
 * more than one may, as where the signs of a file cannot be told apart and one stands in a comment.
 */
function importedUses(
  brackets: Brackets,
  { used, name, isPlain }: { used: readonly TextSpot[]; name: string; isPlain: IsPlain },
): PlainUses | null {
  const { text } = brackets;
  const binding = used.filter(({ offset }) => !isBound(brackets, offset, name));
  if (binding.length > MOST_BINDING) return null;
  const statements = new ImportStatements(text);
  const imports = binding.filter(({ offset }) => statements.importAt(offset, name) !== null);
  const [own] = imports;
  if (!own || imports.length > 1) return null;
  const others = binding.filter((spot) => spot !== own);
  return {
    spots: [{ line: own.line, column: own.column }],
    members: used.filter((spot) => isMember(text, spot)).length,
    others: [...new Set(others.map(({ line }) => line))],
    mayDefine: !others.every(isPlain),
  };
}

/** So much of a line behind a name: all of a minified file is one. */
const MOST_REST = 2_000;
/** So many places may bind a name: what is around each is looked at. */
const MOST_BINDING = 200;
/** Signs that are looked at for one name: calls within calls could make it the square of a file's length. */
const MOST_SIGNS = 20_000;

/** Says what is called for certain where it ends: arguments follow and no body, as where a method is defined. */
function callsIn(text: string, regions: Regions): (offset: number) => boolean {
  let left = MOST_SIGNS;
  return (offset) => {
    if (text[offset] !== '(') return false;
    const signs = /[()]/g;
    signs.lastIndex = offset;
    let depth = 0;
    for (let sign = signs.exec(text); sign && left > 0; sign = signs.exec(text)) {
      left -= 1;
      if (regions.at(sign.index)) continue;
      depth += sign[0] === '(' ? 1 : -1;
      if (depth === 0) return /^[ \t]*[;,.)\]]/.test(text.slice(sign.index + 1, sign.index + 40));
    }
    return false;
  };
}

/** Says what stands between commas in parentheses: an argument, or a parameter, which nobody looks for. */
function isListed(brackets: Brackets, offset: number, name: string): boolean {
  const { text } = brackets;
  if (!/^\s{0,40}[,)]/.test(text.slice(offset + name.length, offset + name.length + 50))) return false;
  const before = text.slice(Math.max(0, offset - 50), offset).trimEnd();
  const open = before.endsWith(',') ? brackets.opening(offset) : null;
  return open?.sign === '(' && !/^\s*(?:let|const|var)\s/.test(text.slice(open.at + 1, open.at + 50));
}

/** Those of them that can mean something else than the others: where nothing can bind a name, all mean the same. */
function differing(brackets: Brackets, spots: readonly TextSpot[], name: string): readonly TextSpot[] {
  return spots.every(({ offset }) => isBound(brackets, offset, name)) ? spots.slice(0, 1) : spots;
}
