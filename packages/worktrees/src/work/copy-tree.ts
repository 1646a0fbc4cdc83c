import { lstatSync, readlinkSync, symlinkSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Directory } from '../door/directory.ts';
import { copyPlain, descend, openFolder, type Copied } from './agent-files.ts';

export interface FileCopies {
  /** Copied; and what is no file there. Paths have one character for each byte. */
  readonly present: readonly string[];
  readonly absent: readonly string[];
  /** Folders where git knows an entry: the file is gone, or it is a submodule. */
  readonly folders: readonly string[];
  /** Sentences about what is there and could not be copied. */
  readonly leftOut: readonly string[];
}

const LIMITS = { fileBytes: 256 * 1024 ** 2, bytes: 2 * 1024 ** 3 } as const;

/** Copies files of a checkout into a folder of ours, following no link. Nobody else's processes can write there. */
export async function copyTree(root: string, paths: readonly string[], to: string): Promise<FileCopies> {
  await mkdir(to, { recursive: true });
  const copies = {
    present: [] as string[],
    absent: [] as string[],
    folders: [] as string[],
    leftOut: [] as string[],
  };
  using tree = openFolder(root);
  let left: number = LIMITS.bytes;
  for (const [folder, names] of byFolder(paths)) {
    using from = descend(tree, folder === '' ? [] : asText(folder).split('/'));
    for (const name of names) {
      const path = folder === '' ? name : `${folder}/${name}`;
      const size = await copyEntry({
        from,
        name,
        to: join(to, asText(path)),
        most: Math.min(left, LIMITS.fileBytes),
      });
      if (typeof size === 'number') {
        left -= size;
        copies.present.push(path);
      } else if (size === 'absent') copies.absent.push(path);
      else if (size === 'folder') copies.folders.push(path);
      else copies.leftOut.push(`${asText(path)} ${WHY[size]}`);
    }
  }
  return copies;
}

const WHY: Record<Exclude<Copied, 'copied' | 'absent'> | 'unnameable', string> = {
  special: 'is a pipe, a socket or a device.',
  'too large': `is larger than what is taken (${LIMITS.fileBytes} bytes for a file, ${LIMITS.bytes} together).`,
  unreadable: 'cannot be read: its permissions do not allow it.',
  unnameable: 'has a name that is not UTF-8.',
};

const asText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');
const isText = (bytes: string): boolean => Buffer.from(asText(bytes), 'utf8').toString('latin1') === bytes;

function byFolder(paths: readonly string[]): Map<string, string[]> {
  const folders = new Map<string, string[]>();
  for (const path of paths) {
    const slash = path.lastIndexOf('/');
    const folder = path.slice(0, Math.max(slash, 0));
    const names = folders.get(folder);
    if (names) names.push(path.slice(slash + 1));
    else folders.set(folder, [path.slice(slash + 1)]);
  }
  return folders;
}

interface EntryCopy {
  readonly from: Directory | null;
  readonly name: string;
  readonly to: string;
  readonly most: number;
}

/** Its size, or why there is no copy. */
async function copyEntry({
  from,
  name,
  to,
  most,
}: EntryCopy): Promise<number | keyof typeof WHY | 'absent' | 'folder'> {
  if (!isText(name)) return 'unnameable';
  const stats = from && lstatSync(from.at(asText(name)), { throwIfNoEntry: false });
  if (!from || !stats) return 'absent';
  if (stats.isDirectory()) return 'folder';
  await mkdir(dirname(to), { recursive: true });
  if (stats.isSymbolicLink()) {
    symlinkSync(readlinkSync(from.at(asText(name)), { encoding: 'buffer' }), to);
    return 0;
  }
  const copied = await copyPlain(from, asText(name), { to, most });
  return copied === 'copied' ? stats.size : copied;
}
