import { dirname, join } from 'node:path/posix';
import { importAt } from './explain.ts';
import { declarationIn, followed, type Files, type Found } from './exports.ts';
import type { Held } from './contents.ts';
import { firstSpot, type Spot } from './spots.ts';

/** Where a name stands first in a file, and where it most likely leads from there. No more than a guess: a server says. */
export interface Leads {
  readonly spot: Spot;
  readonly target: (Spot & { readonly path: string }) | null;
}

export function leadsFrom(files: Files, path: string, name: string): Leads | null {
  const held = files.hold(path);
  const first = held && firstSpot(held.text, name);
  if (!held || !first) return null;
  const { line, column, offset } = first;
  const imported = importAt(held.text, offset, name);
  const isPlain = imported && imported.name !== '*' && imported.name !== 'default';
  const found =
    isPlain && imported.from.startsWith('.')
      ? followed(files, { module: join(dirname(path), imported.from), name: imported.name }, declared)
      : 'unclear';
  return { spot: { line, column }, target: typeof found === 'string' ? null : placeOf(files, found) };
}

function declared(path: string, held: Held, name: string): Found {
  const found = declarationIn(held, name, { exported: true });
  return typeof found === 'string' ? found : { path, offset: found.offset };
}

function placeOf(
  files: Files,
  { path, offset }: { readonly path: string; readonly offset: number },
): Leads['target'] {
  const lines = files.hold(path)?.lines();
  const line = lines?.at(offset) ?? 0;
  return lines ? { path, line: line + 1, column: offset - lines.start(line) + 1 } : null;
}
