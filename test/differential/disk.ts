import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

const SLASH = Buffer.from('/');

/**
 * What lies in a folder, by path: files with their mode and a hash, links with where they lead. Git's own files are left out.
 * `sameLineEnds`: CRLF counts as LF.
 */
export function filesOnDisk(root: string, { sameLineEnds = false } = {}): Map<string, string> {
  const found = new Map<string, string>();
  const walk = (folder: Buffer, prefix: string): void => {
    for (const name of readdirSync(folder, { encoding: 'buffer' })) {
      const shown = `${prefix}${name.toString('latin1')}`;
      if (name.toString('latin1') === '.git') continue;
      const path = Buffer.concat([folder, SLASH, name]);
      const stat = lstatSync(path);
      if (stat.isDirectory()) walk(path, `${shown}/`);
      else if (stat.isSymbolicLink()) found.set(shown, `link ${readlinkSync(path, 'latin1')}`);
      else found.set(shown, `${stat.mode & 0o100 ? 'program' : 'file'} ${hashOf(path, sameLineEnds)}`);
    }
  };
  walk(Buffer.from(root), '');
  return found;
}

function hashOf(path: Buffer, sameLineEnds: boolean): string {
  const bytes = readFileSync(path);
  const counted = sameLineEnds ? bytes.toString('latin1').replaceAll('\r\n', '\n') : bytes;
  return createHash('sha1').update(counted).digest('hex');
}

const MOST_SHOWN = 8;

/** How two maps differ, in words; null: not at all. */
export function differenceOf(
  git: ReadonlyMap<string, string>,
  reveille: ReadonlyMap<string, string>,
): string | null {
  const paths = [...new Set([...git.keys(), ...reveille.keys()])].filter(
    (path) => git.get(path) !== reveille.get(path),
  );
  if (paths.length === 0) return null;
  const shown = paths
    .slice(0, MOST_SHOWN)
    .map(
      (path) =>
        `${JSON.stringify(path)}: git ${git.get(path) ?? 'none'}, Reveille ${reveille.get(path) ?? 'none'}`,
    );
  return `${shown.join('; ')}${paths.length > MOST_SHOWN ? `; and ${paths.length - MOST_SHOWN} more` : ''}`;
}
