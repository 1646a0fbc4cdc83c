import { languageOf } from '../languages.ts';
import { isUse } from '../syntax/uses.ts';
import type { Held } from './contents.ts';
import { importAt, isBound } from './explain.ts';
import type { Regions } from './lexer.ts';
import { spotsOf, type Spot, type TextSpot } from './spots.ts';

/** Where a file uses a name and does not define it. */
export interface PlainUses {
  readonly spots: readonly Spot[];
  /** How many there are besides of members of something (`other.name`), which the name alone does not mean. */
  readonly members: number;
}

/** Where a file uses a name, if it defines none of it for certain; null: a parser must say. */
export function plainUses(path: string, held: Held, name: string): PlainUses | null {
  if (languageOf(path)?.name !== 'typescript') return null;
  const regions = held.regions();
  if (!regions) return importedUses(held, name);
  const rowOf = ({ offset, column }: TextSpot): string => {
    const [rest = ''] = held.text.slice(offset, offset + MOST_REST).split('\n', 1);
    return held.text.slice(offset - column + 1, offset + rest.length);
  };
  const used = spotsOf(held.text, name, held.lines()).filter(({ offset }) => !regions.at(offset));
  // In TypeScript a method may be declared without a body.
  const hasBodies = !/\.[cm]?tsx?$/.test(path);
  const isCalled = callsIn(held.text, regions);
  const isListed = listsIn(held.text, regions);
  const isPlain = (spot: TextSpot): boolean =>
    isUse(rowOf(spot), spot.column, name) ||
    isListed(spot.offset, name) ||
    (hasBodies && isCalled(spot.offset + name.length));
  if (!used.every(isPlain)) return null;
  // Three dots before it spread it.
  const isMember = ({ offset }: TextSpot): boolean =>
    held.text[offset - 1] === '.' && held.text[offset - 2] !== '.';
  const own = used.filter((spot) => !isMember(spot));
  const taken = own.length > 0 ? differing(held.text, own, name) : used;
  if (taken.length === 0) return null;
  return {
    spots: taken.map(({ line, column }) => ({ line, column })),
    members: own.length > 0 ? used.length - own.length : 0,
  };
}

/**
 * Where the signs of a file cannot be told apart, as in one with elements: what an import binds, its file does not define but within
 * something. Whatever else may bind it there is asked about too, in a comment as well.
 */
function importedUses(held: Held, name: string): PlainUses | null {
  const { text } = held;
  const spots = spotsOf(text, name, held.lines());
  const binding = spots.filter(({ offset }) => !isBound(text, offset, name));
  if (binding.length > MOST_ASKED) return null;
  const imports = binding.filter(({ offset }) => importAt(text, offset, name) !== null);
  const [own] = imports;
  if (!own || imports.length > 1) return null;
  const others = binding.filter((spot) => spot !== own);
  return {
    spots: [own, ...others].map(({ line, column }) => ({ line, column })),
    members: spots.filter(({ offset }) => text[offset - 1] === '.').length,
  };
}

const MOST_ASKED = 20;
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

/** So far back the parenthesis of a list is looked for, and so far in all for one name. */
const FAR = 2_000;
const FAR_IN_ALL = 1_000_000;

/** Says what stands between commas in parentheses: an argument, or a parameter, which nobody looks for. */
function listsIn(text: string, regions: Regions): (offset: number, name: string) => boolean {
  let left = FAR_IN_ALL;
  return (offset, name) => {
    if (!/^\s{0,40}[,)]/.test(text.slice(offset + name.length, offset + name.length + 50))) return false;
    if (
      !text
        .slice(Math.max(0, offset - 50), offset)
        .trimEnd()
        .endsWith(',')
    )
      return false;
    let depth = 0;
    for (let at = offset - 1; at >= 0 && offset - at < FAR && left > 0; at--) {
      left -= 1;
      const sign = text[at] ?? '';
      if (!'()[]{};'.includes(sign)) continue;
      const region = regions.at(at);
      if (region) at = region.from;
      else if (sign === ';') return false;
      else if (')]}'.includes(sign)) depth += 1;
      else if (depth > 0) depth -= 1;
      else return sign === '(' && !/^\s*(?:let|const|var)\s/.test(text.slice(at + 1, at + 50));
    }
    return false;
  };
}

/**
 * Those of them that can mean something else than the others. Where a name is bound by an import, all do that are not bound anew;
 * where nothing can bind it, all mean the same.
 */
function differing(text: string, spots: readonly TextSpot[], name: string): readonly TextSpot[] {
  const binding = spots.filter(({ offset }) => !isBound(text, offset, name));
  if (binding.length > MOST_BINDING) return spots;
  const imports = binding.filter(({ offset }) => importAt(text, offset, name) !== null);
  if (imports.length === 1) return [...imports, ...binding.filter((spot) => spot !== imports[0])];
  return binding.length === 0 ? spots.slice(0, 1) : spots;
}
