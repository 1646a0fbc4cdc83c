import { dirname, join } from 'node:path/posix';
import type { Held } from './contents.ts';
import { ImportStatements } from './import-statements.ts';
import { declarationsIn, followed, type Files, type Found } from './exports.ts';
import { firstSpot, type Spot, type TextSpot } from './spots.ts';

type PathSpot = Spot & { readonly path: string };

/**
 * Where a name that a file imports by a relative path is most likely declared; it may be an interface and a symbol at once. No
 * more than a guess: a server says.
 */
export function leadsTo(files: Files, path: string, name: string): readonly PathSpot[] {
  const held = files.hold(path);
  const first = held && meaningSpot(held.text, name);
  const imported = first && new ImportStatements(held.text).importAt(first.offset, name);
  if (!imported?.from.startsWith('.') || imported.name === '*' || imported.name === 'default') return [];
  let places: readonly PathSpot[] = [];
  const find = (at: string, text: Held, as: string): Found => {
    const declared = declarationsIn(text, as).filter(({ exporting }) => exporting);
    const [one] = declared;
    if (!one) return 'absent';
    places = declared.slice(0, MOST_PLACES).map(({ offset }) => placeAt(at, text, offset));
    return { path: at, offset: one.offset };
  };
  const found = followed(files, { module: join(dirname(path), imported.from), name: imported.name }, find);
  return typeof found === 'string' ? [] : places;
}

/** Where a text most likely says what a name means: where it is imported, or else its first place. */
export function meaningSpot(text: string, name: string): TextSpot | null {
  const statements = new ImportStatements(text);
  return (
    firstSpot(text, name, (offset) => statements.importAt(offset, name) !== null) ?? firstSpot(text, name)
  );
}

/** Nobody puts more together under one name. */
const MOST_PLACES = 4;

function placeAt(path: string, held: Held, offset: number): PathSpot {
  const lines = held.lines();
  const line = lines.at(offset);
  return { path, line: line + 1, column: offset - lines.start(line) + 1 };
}
