import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  opendirSync,
  readSync,
  realpathSync,
  type Dirent,
  type Stats,
} from 'node:fs';
import { join, sep } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from './definition.ts';

/** A file that may be read: it is where it says it is, or a link of the same folder leads to it. */
export interface FoundFile {
  readonly path: string;
  /** The file itself, links followed. */
  readonly real: string;
}

export interface Listing {
  readonly files: readonly FoundFile[];
  /** The folders that were looked into, for whoever watches them. */
  readonly folders: readonly string[];
  readonly problems: readonly Problem[];
}

export interface ListOptions {
  /** The folder must not lead out of this one, links followed. */
  readonly within: string;
  /** Links in it must not lead out of the folder itself, or only not out of `within`. */
  readonly links: 'folder' | 'within';
  readonly accept: (name: string) => boolean;
  /** Levels of folders below it that are looked into. */
  readonly depth: number;
  readonly most: number;
}

export const problem = (path: string, message: string): Problem => ({
  path,
  line: null,
  column: null,
  severity: 'error',
  message,
});

/** Entries of a folder and of all below it. Whoever fills one with millions must not keep us busy. */
const MOST_ENTRIES = 5_000;

interface Finding {
  readonly files: FoundFile[];
  readonly folders: string[];
  readonly problems: Problem[];
  /** Entries that may still be looked at. */
  left: number;
}

/** The files of a folder, by name. A folder that is not there has none; what cannot be used is reported. */
export function listFiles(folder: string, options: ListOptions): Listing {
  const listing: Finding = { files: [], folders: [], problems: [], left: MOST_ENTRIES };
  const real = realPath(folder);
  const within = realPath(options.within);
  if (real === null || within === null) return listing;
  if (!isInside(real, within)) {
    listing.problems.push(problem(folder, `the folder is a link that leads out of ${options.within}`));
    return listing;
  }
  visit({ folder, real, bound: options.links === 'folder' ? real : within, level: 0 }, options, listing);
  if (listing.files.length <= options.most) return listing;
  const message = `there are more than ${options.most} files; those after ${listing.files[options.most - 1]?.path} are not read`;
  listing.problems.push(problem(folder, message));
  return { ...listing, files: listing.files.slice(0, options.most) };
}

interface Visit {
  readonly folder: string;
  readonly real: string;
  readonly bound: string;
  readonly level: number;
}

function visit(at: Visit, options: ListOptions, into: Finding): void {
  // A link may lead to where we have been.
  if (into.folders.includes(at.real)) return;
  const entries = entriesOf(at.real, into.left);
  if (typeof entries === 'string') {
    into.problems.push(problem(at.folder, entries));
    return;
  }
  into.folders.push(at.real);
  into.left -= entries.length;
  for (const entry of entries) {
    if (into.files.length > options.most) return;
    const path = join(at.folder, entry.name);
    const found = follow(join(at.real, entry.name), entry, at.bound);
    if (found.kind === 'folder') {
      const below = { folder: path, real: found.real, bound: at.bound, level: at.level + 1 };
      if (at.level < options.depth && !entry.name.startsWith('.')) visit(below, options, into);
    } else if (found.kind === 'file') {
      if (options.accept(entry.name)) into.files.push({ path, real: found.real });
    } else if (options.accept(entry.name) || entry.isSymbolicLink()) {
      into.problems.push(problem(path, found.why));
    }
  }
}

/** Sorted by code units, so that it is the same everywhere which of two files of one name comes first. */
function entriesOf(folder: string, most: number): Dirent[] | string {
  const entries: Dirent[] = [];
  try {
    using dir = opendirSync(folder);
    for (let entry = dir.readSync(); entry !== null; entry = dir.readSync()) {
      if (entries.length === most)
        return `there are more than ${MOST_ENTRIES} entries; the folder is not read`;
      entries.push(entry);
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    return codeOf(error) === 'ENOTDIR'
      ? 'this is not a folder'
      : `the folder cannot be read (${codeOf(error)})`;
  }
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

type Found =
  | { readonly kind: 'file'; readonly real: string }
  | { readonly kind: 'folder'; readonly real: string }
  | { readonly kind: 'none'; readonly why: string };

function follow(path: string, entry: Dirent, bound: string): Found {
  const real = entry.isSymbolicLink() ? realPath(path) : path;
  if (real === null) return { kind: 'none', why: 'the link leads nowhere' };
  if (!isInside(real, bound)) return { kind: 'none', why: 'the link leads out of its folder' };
  const stat: Stats | Dirent | undefined = entry.isSymbolicLink()
    ? lstatSync(real, { throwIfNoEntry: false })
    : entry;
  if (stat?.isDirectory()) return { kind: 'folder', real };
  return stat?.isFile() ? { kind: 'file', real } : { kind: 'none', why: 'this is not a file' };
}

/** The text of a file of bounded size, or why not. Never waits for a pipe and never follows a link. */
export function readText(file: FoundFile, most: number): string | Problem {
  let handle: number;
  try {
    handle = openSync(file.real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return problem(file.path, `the file cannot be read (${codeOf(error)})`);
  }
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) return problem(file.path, 'this is not a file');
    // One byte more than allowed tells whether there is more, however it has grown since.
    const bytes = Buffer.alloc(Math.min(stat.size, most) + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(handle, bytes, length, bytes.length - length, null);
    if (length > most) return problem(file.path, `the file is larger than ${most} bytes`);
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(0, length));
  } catch (error) {
    const why =
      error instanceof TypeError
        ? 'the file is not UTF-8 text'
        : `the file cannot be read (${codeOf(error)})`;
    return problem(file.path, why);
  } finally {
    closeSync(handle);
  }
}

/** How long after a change the time stamps of a file may not yet tell it from the next change. */
const RACY_MS = 2_000;

/** What was made of a file, kept until the file is another. */
export class FileCache<T> {
  #kept = new Map<string, { readonly stamp: Stamp; readonly text: string | Problem; readonly value: T }>();

  /** `make` is called only if the text is another than the last time. */
  get(file: FoundFile, most: number, make: (text: string | Problem) => T): T {
    const stamp = stampOf(file.real);
    const kept = this.#kept.get(file.path);
    if (kept && stamp && !stamp.racy && isDeepStrictEqual(kept.stamp, stamp)) return kept.value;
    const text = readText(file, most);
    const value = kept && isDeepStrictEqual(kept.text, text) ? kept.value : make(text);
    if (stamp) this.#kept.set(file.path, { stamp, text, value });
    return value;
  }

  /** Lets go of the files that are no longer there. */
  keep(paths: ReadonlySet<string>): void {
    for (const path of this.#kept.keys()) if (!paths.has(path)) this.#kept.delete(path);
  }
}

type Stamp = { readonly is: readonly bigint[]; readonly racy: boolean };

/** Two writes within one tick of the file system's clock look the same, so a young file is always read again. */
function stampOf(path: string): Stamp | null {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = lstatSync(path, { bigint: true });
    return { is: [dev, ino, size, mtimeNs, ctimeNs], racy: Math.abs(Date.now() - Number(ctimeMs)) < RACY_MS };
  } catch {
    return null; // Gone, or out of reach: reading it says which.
  }
}

export function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null; // Not there, a link in a circle, or not ours to see: in every case there is nothing to read.
  }
}

export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : String(error);
