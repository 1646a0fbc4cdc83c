import { createHash } from 'node:crypto';
import { lstat, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * An index remembers of each file when it was changed and which inode it has; a copied tree has other ones, and git
 * would read every file again to find that it is the same. This writes the new ones, for files whose size and time of
 * change were copied along. It knows versions 2 and 3 of the format, which is what git writes if not told otherwise.
 */
export async function restatIndex(indexFile: string, tree: string, objectFormat: string): Promise<boolean> {
  const index = await readFile(indexFile);
  const layout = layoutOf(index, objectFormat);
  if (!layout) return false;
  let at = HEADER;
  for (let done = 0; done < layout.entries;) {
    const some = entriesFrom(index, at, { layout, most: Math.min(AT_ONCE, layout.entries - done) });
    await Promise.all(some.map((entry) => restat(index, entry, tree)));
    done += some.length;
    at = some.at(-1)?.end ?? at;
  }
  seal(index, objectFormat);
  await writeFile(indexFile, index);
  return true;
}

// Of the format: signature, version, count; then, per entry, 40 bytes of stat, the object's name, flags and the path,
// filled with zeros to a multiple of eight, one at least.
const HEADER = 12;
const [CTIME, MTIME, INODE, SIZE, OBJECT] = [0, 8, 20, 36, 40];
const [EXTENDED, NAME_LENGTH] = [0x4000, 0x0fff];
const AT_ONCE = 256;

interface IndexLayout {
  readonly entries: number;
  readonly objectBytes: number;
}

interface Entry {
  readonly at: number;
  readonly end: number;
  readonly path: string;
}

function layoutOf(index: Buffer, objectFormat: string): IndexLayout | null {
  const version = index.length < HEADER ? 0 : index.readUInt32BE(4);
  if (index.toString('latin1', 0, 4) !== 'DIRC' || (version !== 2 && version !== 3)) return null;
  return { entries: index.readUInt32BE(8), objectBytes: objectFormat === 'sha256' ? 32 : 20 };
}

function entriesFrom(
  index: Buffer,
  from: number,
  { layout, most }: { layout: IndexLayout; most: number },
): Entry[] {
  const found: Entry[] = [];
  for (let at = from; found.length < most; at = found.at(-1)?.end ?? at) {
    const flags = index.readUInt16BE(at + OBJECT + layout.objectBytes);
    const nameAt = at + OBJECT + layout.objectBytes + (flags & EXTENDED ? 4 : 2);
    // A path too long for the field ends where its zeros begin.
    const length = flags & NAME_LENGTH;
    const nameEnd = length < NAME_LENGTH ? nameAt + length : index.indexOf(0, nameAt);
    const end = at + (((nameEnd - at) >> 3) + 1) * 8;
    found.push({ at, end, path: index.toString('utf8', nameAt, nameEnd) });
  }
  return found;
}

async function restat(index: Buffer, { at, path }: Entry, tree: string): Promise<void> {
  const found = await lstat(join(tree, path), { bigint: true }).catch(() => null);
  // Anything but the copy of what git wrote stays as it was remembered; git then looks at it itself.
  if (!found || !isCopy(index, at, found)) return;
  index.writeUInt32BE(Number((found.ctimeNs / BILLION) & WORD), at + CTIME);
  index.writeUInt32BE(Number(found.ctimeNs % BILLION), at + CTIME + 4);
  index.writeUInt32BE(Number(found.ino & WORD), at + INODE);
}

/** The same size, and changed at the same nanosecond. */
const isCopy = (index: Buffer, at: number, found: { size: bigint; mtimeNs: bigint }): boolean =>
  index.readUInt32BE(at + SIZE) === Number(found.size & WORD) &&
  index.readUInt32BE(at + MTIME) === Number((found.mtimeNs / BILLION) & WORD) &&
  index.readUInt32BE(at + MTIME + 4) === Number(found.mtimeNs % BILLION);

const [BILLION, WORD] = [1_000_000_000n, 0xff_ff_ff_ffn];

/** The hash of everything, at the end. */
function seal(index: Buffer, objectFormat: string): void {
  const bytes = objectFormat === 'sha256' ? 32 : 20;
  const body = index.subarray(0, index.length - bytes);
  createHash(objectFormat === 'sha256' ? 'sha256' : 'sha1')
    .update(body)
    .digest()
    .copy(index, body.length);
}
