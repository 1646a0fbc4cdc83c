import type { Checkout } from '../checkout.ts';
import { openAgentGitDir, readBytes } from './agent-files.ts';

/** One entry of an index. The path has one character for each byte. */
export interface IndexEntry {
  readonly path: string;
  readonly mode: number;
  readonly oid: string;
}

export const LINK_MODE = 0o160000;
/** Larger indexes, and longer paths, are not looked at. */
const [MOST_BYTES, LONGEST_PATH] = [64 * 1024 ** 2, 4_096];

/**
 * What an agent's index names. The file is data: it is read here and never given to git. Empty if there is none, or
 * none that can be read.
 */
export function readStaged(checkout: Checkout, oidBytes: number): readonly IndexEntry[] {
  using folder = openAgentGitDir(checkout);
  const bytes = folder && readBytes(folder, 'index', MOST_BYTES);
  return (bytes && readIndex(bytes, oidBytes)) ?? [];
}

// Before the object's name: times, device, inode, mode, owner and size. Behind it: the flags.
const [HEADER, BEFORE_OID, MODE_AT] = [12, 40, 24];
const [EXTENDED, STAGE] = [0x4000, 0x3000];

/** The merged entries of an index in one of git's formats 2 to 4; null if it is none, damaged or split in two. */
export function readIndex(bytes: Buffer, oidBytes: number): IndexEntry[] | null {
  if (bytes.length < HEADER || bytes.toString('latin1', 0, 4) !== 'DIRC') return null;
  const version = bytes.readUInt32BE(4);
  if (version < 2 || version > 4) return null;
  const entries: IndexEntry[] = [];
  let [at, before] = [HEADER, ''];
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    const read = readEntry(bytes, { at, before, version, oidBytes });
    // An entry without a name stands for one in another file.
    if (!read || read.path === '' || read.path.length > LONGEST_PATH) return null;
    const { path, mode, flags } = read;
    const oid = bytes.toString('hex', at + BEFORE_OID, at + BEFORE_OID + oidBytes);
    if ((flags & STAGE) === 0) entries.push({ path, mode, oid });
    at = read.end;
    before = path;
  }
  return isSplit(bytes, at) ? null : entries;
}

/** Behind the entries are extensions, each with a name and a size. One of them says that most entries are elsewhere. */
function isSplit(bytes: Buffer, from: number): boolean {
  for (let at = from; at + 8 <= bytes.length; at += 8 + bytes.readUInt32BE(at + 4))
    if (bytes.toString('latin1', at, at + 4) === 'link') return true;
  return false;
}

interface EntryPlace {
  readonly at: number;
  /** The path of the entry before it: format 4 says only what differs from that. */
  readonly before: string;
  readonly version: number;
  readonly oidBytes: number;
}

function readEntry(bytes: Buffer, { at, before, version, oidBytes }: EntryPlace) {
  const flagsAt = at + BEFORE_OID + oidBytes;
  if (flagsAt + 4 > bytes.length) return null;
  const flags = bytes.readUInt16BE(flagsAt);
  let nameAt = flagsAt + ((flags & EXTENDED) === 0 ? 2 : 4);
  let prefix = '';
  if (version === 4) {
    const dropped = readOffset(bytes, nameAt);
    if (!dropped || dropped.value > before.length) return null;
    prefix = before.slice(0, before.length - dropped.value);
    nameAt = dropped.end;
  }
  const nul = bytes.indexOf(0, nameAt);
  if (nul < 0) return null;
  const length = nul - at;
  return {
    path: `${prefix}${bytes.toString('latin1', nameAt, nul)}`,
    mode: bytes.readUInt32BE(at + MODE_AT),
    flags,
    // Formats 2 and 3 fill up with one to eight NULs.
    end: version === 4 ? nul + 1 : at + length + 8 - (length % 8),
  };
}

/** A number in git's offset encoding: seven bits in each byte, the highest first, and one more than they say. */
function readOffset(bytes: Buffer, from: number): { value: number; end: number } | null {
  let value = -1;
  for (let at = from; at < bytes.length && at < from + 4; at += 1) {
    const byte = bytes[at] ?? 0;
    value = (value + 1) * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) return { value, end: at + 1 };
  }
  return null;
}
