import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  readdirSync,
  type Dirent,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';

/** Made by tools, not by people: never looked into. */
const SKIPPED = new Set([
  'node_modules',
  '.git',
  '.hg',
  '.svn',
  '.venv',
  'venv',
  '__pycache__',
  '.next',
  '.turbo',
  '.cache',
  '.mypy_cache',
  '.pytest_cache',
  '.tox',
  '.gradle',
]);
export const LARGEST = 2 * 2 ** 20;
const MOST_FILES = 200_000;

export interface SeenFile {
  readonly path: string;
  readonly size: number;
  readonly stamp: Stamp;
  /** It has another name, maybe elsewhere, by which it can be written. */
  readonly linked: boolean;
}

/** Differs if the file does. Numbers, for they are compared for every file of a tree with every question. */
export interface Stamp {
  readonly modified: number;
  readonly changed: number;
  readonly size: number;
  readonly inode: number;
}

export const isSameStamp = (one: Stamp, other: Stamp): boolean =>
  one.changed === other.changed &&
  one.modified === other.modified &&
  one.size === other.size &&
  one.inode === other.inode;

/** Systems keep times in ticks of up to 10 ms: a file that was written again within one has the same stamp. */
const TICK_MS = 50;
export const isFresh = ({ changed }: Stamp, now: number): boolean => changed > now - TICK_MS;

/** Higher than any that was counted up to before, in microseconds: no tree changes as often. */
export const firstVersion = (): number => Math.round((performance.timeOrigin + performance.now()) * 1_000);

/** What a folder with all beneath it holds. */
export interface Scan {
  readonly files: readonly SeenFile[];
  readonly folders: readonly string[];
  /** False: there are more files than are looked at. */
  readonly whole: boolean;
}

/**
 * All plain files of a tree, or of a folder in it, no link followed. Only names and times are looked at, and none of them is
 * shown. `entering` is called before a folder is listed: whoever watches it from then on misses nothing.
 */
export function scanTree(
  root: string,
  { within = '', entering = () => undefined }: { within?: string; entering?: (folder: string) => void } = {},
): Scan {
  const files: SeenFile[] = [];
  const folders: string[] = [];
  const waiting = [within];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    entering(folder);
    folders.push(folder);
    const above = folder === '' ? '' : `${folder}/`;
    for (const entry of entriesOf(`${root}/${folder}`)) {
      const path = `${above}${entry.name}`;
      if (entry.isDirectory() && isLookedInto(entry.name)) waiting.push(path);
      if (!entry.isFile()) continue;
      if (files.length >= MOST_FILES) return { files, folders, whole: false };
      const stats = statsOf(`${root}/${path}`);
      if (stats?.isFile()) files.push(seenFile(path, stats));
    }
  }
  return { files, folders, whole: true };
}

export const isLookedInto = (folder: string): boolean => !SKIPPED.has(folder);

export function seenFile(path: string, stats: Stats): SeenFile {
  const { size, mtimeMs: modified, ctimeMs: changed, ino: inode, nlink } = stats;
  return { path, size, stamp: { modified, changed, size, inode }, linked: nlink > 1 };
}

export const statsOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // It went away since it was listed.
    return [];
  }
}

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads files of a tree. Every folder on the way is held by descriptor, so that no link leads out of the tree, also when one is put
 * there meanwhile (BND1). Where the system cannot do that, by path. The last folder stays open for the next file.
 */
export class TreeReader implements Disposable {
  readonly #root: string;
  #folder: { readonly path: string; readonly fd: number } | null = null;

  constructor(root: string) {
    this.#root = root;
  }

  /** The bytes of a file, or null if it is no text or not there. */
  read(path: string): Buffer | null {
    let file: number | null = null;
    try {
      const cut = path.lastIndexOf('/');
      file = openSync(`${this.#at(path.slice(0, Math.max(0, cut)))}/${path.slice(cut + 1)}`, FILE);
      const stats = fstatSync(file);
      return stats.isFile() && stats.size <= LARGEST ? readAll(file, stats.size) : null;
    } catch {
      return null;
    } finally {
      if (file !== null) closeSync(file);
    }
  }

  [Symbol.dispose](): void {
    if (this.#folder) closeSync(this.#folder.fd);
    this.#folder = null;
  }

  #at(path: string): string {
    if (process.platform !== 'linux') return join(this.#root, path);
    if (this.#folder?.path !== path) {
      this[Symbol.dispose]();
      this.#folder = { path, fd: openFolder(this.#root, path) };
    }
    return `/proc/self/fd/${this.#folder?.fd}`;
  }
}

function openFolder(root: string, path: string): number {
  let fd = openSync(root, DIRECTORY);
  for (const name of path.split('/').filter((each) => each !== '')) {
    try {
      const next = openSync(`/proc/self/fd/${fd}/${name}`, DIRECTORY);
      closeSync(fd);
      fd = next;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }
  return fd;
}

function readAll(fd: number, size: number): Buffer | null {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const read = readSync(fd, bytes, length, size - length, null);
    if (read === 0) break;
    length += read;
  }
  const text = bytes.subarray(0, length);
  return text.subarray(0, 8_192).includes(0) ? null : text;
}
