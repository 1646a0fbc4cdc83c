import { dirname, join } from 'node:path/posix';
import type { Held } from './contents.ts';
import { importAt } from './explain.ts';
import { declarationIn, followed, type Files, type Found } from './exports.ts';
import { firstSpot, type Spot } from './spots.ts';

/** Where a name that a file imports by a relative path is most likely declared. No more than a guess: a server says. */
export function leadsTo(files: Files, path: string, name: string): (Spot & { readonly path: string }) | null {
  const held = files.hold(path);
  const first = held && firstSpot(held.text, name);
  const imported = first && importAt(held.text, first.offset, name);
  if (!imported?.from.startsWith('.') || imported.name === '*' || imported.name === 'default') return null;
  const module = join(dirname(path), imported.from);
  const found = followed(files, { module, name: imported.name }, declared);
  return typeof found === 'string' ? null : placeOf(files, found);
}

function declared(path: string, held: Held, name: string): Found {
  const found = declarationIn(held, name, { exported: true });
  return typeof found === 'string' ? found : { path, offset: found.offset };
}

function placeOf(
  files: Files,
  { path, offset }: { readonly path: string; readonly offset: number },
): (Spot & { readonly path: string }) | null {
  const lines = files.hold(path)?.lines();
  if (!lines) return null;
  const line = lines.at(offset);
  return { path, line: line + 1, column: offset - lines.start(line) + 1 };
}
