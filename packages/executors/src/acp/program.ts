import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, sep } from 'node:path';

/** The first program of one of these names on a path, or at its own place; null: there is none. Nothing is run. */
export function findProgram(names: readonly string[], path: string): string | null {
  const folders = path.split(delimiter).filter(isAbsolute);
  const places = names.flatMap((name) =>
    isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name)),
  );
  return places.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * What a sandbox has to show for a program to run: the outermost `node_modules` it is in, with all it was installed
 * with, else its folder; of one that lies about in the home, itself.
 */
export function installedWith(
  program: string,
  home: string,
): {
  readonly program: string;
  readonly reads: readonly string[];
} {
  const real = realpathSync(program);
  const parts = real.split(sep);
  const outermost = parts.indexOf('node_modules');
  const folder = outermost > 0 ? parts.slice(0, outermost + 1).join(sep) : dirname(real);
  const open = [dirname(home), home, sep].includes(folder);
  return { program: real, reads: [open ? real : folder] };
}
