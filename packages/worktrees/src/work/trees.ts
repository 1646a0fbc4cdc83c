import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ReveilleError } from '@reveille/protocol';
import type { LinkFolders, TreeChange } from './lay.ts';
import type { Scratch } from './scratch-place.ts';

export interface RawChange {
  /** One character for each byte. */
  readonly path: string;
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldOid: string;
  readonly newOid: string;
}

/** The mode of what is not there. */
export const NONE = '000000';

/** Whether it is the mode of a link to another repository: a submodule. */
export const isLink = (mode: string): boolean => mode === '160000';

/** What differs between two trees, by path; a rename is a file that went and one that came. */
export async function changesBetween(scratch: Scratch, from: string, to: string): Promise<RawChange[]> {
  if (from === to) return [];
  const args = [
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    '--no-abbrev',
    '--no-renames',
    '--ignore-submodules=none',
    from,
    to,
  ];
  const { stdout } = await scratch.bytes({ args });
  const parts = stdout.toString('latin1').split('\0');
  const changes: RawChange[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [oldMode = '', newMode = '', oldOid = '', newOid = ''] = (parts[i] ?? '')
      .replace(/^:/, '')
      .split(' ');
    changes.push({ path: parts[i + 1] ?? '', oldMode, newMode, oldOid, newOid });
  }
  return changes;
}

/** What is to be done to files. A link to another repository is none: it is an empty folder. */
export function toTreeChanges(changes: readonly RawChange[]): TreeChange[] {
  const isFile = (mode: string): boolean => mode !== NONE && !isLink(mode);
  return changes
    .map(({ path, oldMode, newMode }) => ({
      path: textOf(path),
      had: isFile(oldMode),
      puts: isFile(newMode),
    }))
    .filter(({ had, puts }) => had || puts);
}

/** The folders of links to other repositories that come or go. Git takes a link without a folder for a deleted one. */
export function linkFolders(changes: readonly RawChange[]): LinkFolders {
  const [come, go]: [string[], string[]] = [[], []];
  for (const { path, oldMode, newMode } of changes) {
    if (isLink(newMode)) come.push(textOf(path));
    else if (isLink(oldMode)) go.push(textOf(path));
  }
  return { come, go };
}

/** We only make files whose names are text. Git shows the others to nobody either without quoting them. */
function textOf(path: string): string {
  const text = Buffer.from(path, 'latin1').toString('utf8');
  if (Buffer.from(text).toString('latin1') === path) return text;
  throw new ReveilleError(
    'workspace_failed',
    `${text} has a name that is not UTF-8, and cannot be written by Reveille.`,
  );
}

/** Writes files of a tree into a new folder of the scratch, as a checkout would. */
export async function stageFiles(scratch: Scratch, tree: string, paths: readonly string[]): Promise<string> {
  const folder = join(scratch.folder, 'staged');
  await mkdir(folder);
  if (paths.length === 0) return folder;
  const indexFile = join(scratch.folder, 'staged-index');
  await scratch.git({ args: ['read-tree', tree], indexFile });
  await scratch.git({
    args: ['checkout-index', '-z', '--stdin'],
    input: `${paths.join('\0')}\0`,
    indexFile,
    workTree: folder,
  });
  return folder;
}
