import { closeSync, constants, fstatSync, lstatSync, openSync, realpathSync, statSync } from 'node:fs';
import { splitNames, withoutRoot } from './path.ts';
import { keepsChanging } from './refusal.ts';

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** How folders are held: by descriptor no race can lead out; by path a race is made hard, not impossible. */
export type Way = 'descriptor' | 'path';

/**
 * An open folder. It stays the same folder whatever happens to its name, until it is closed.
 *
 * `at(name)` is a path for one system call on one entry. The name must be a single one, never `..`, and the call must
 * not follow a link (O_NOFOLLOW, lstat, rename, unlink, mkdir).
 */
export interface Directory extends Disposable {
  at(name: string): string;
  /** The folder beneath, opened; a link or a file is ENOTDIR or ELOOP. */
  step(name: string): Directory;
  /** The same folder, opened once more. */
  again(): Directory;
  /** Throws when `at` may have named something else meanwhile. Called after opening and before changing anything. */
  confirm(): void;
}

/** Opens the root. Its last name is not followed: who can replace a worktree by a link must not choose the root. */
export function openRoot(path: string, way: Way): Directory {
  const fd = openSync(path, FOLDER);
  if (way === 'descriptor') return new HeldDirectory(fd);
  try {
    const real = realpathSync.native(path);
    return new NamedDirectory(fd, real, real);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

let known: Way | undefined;

/** Linux with /proc mounted: a path through `/proc/self/fd/<n>/` starts at that open folder, as openat(2) would. */
export function bestWay(): Way {
  known ??= probe();
  return known;
}

function probe(): Way {
  const fd = openSync('/', FOLDER);
  try {
    const through = statSync(`/proc/self/fd/${fd}/.`, { throwIfNoEntry: false });
    const direct = fstatSync(fd);
    return through?.ino === direct.ino && through.dev === direct.dev ? 'descriptor' : 'path';
  } catch {
    // Whatever /proc is here, it is not what is needed.
    return 'path';
  } finally {
    closeSync(fd);
  }
}

/** Node has no openat(2). On Linux /proc gives the same: measured 9 µs per folder, opened and closed. */
class HeldDirectory implements Directory {
  #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  at(name: string): string {
    return `/proc/self/fd/${this.#fd}/${name}`;
  }

  step(name: string): Directory {
    return new HeldDirectory(openSync(this.at(name), FOLDER));
  }

  again(): Directory {
    return this.step('.');
  }

  confirm(): void {}

  [Symbol.dispose](): void {
    if (this.#fd === -1) return;
    // The number may be given to another file at once: it must never be used, nor closed, a second time.
    const fd = this.#fd;
    this.#fd = -1;
    closeSync(fd);
  }
}

/**
 * For systems without `/proc/self/fd` (macOS). The descriptor says which folder it must be; its name is compared with
 * it, and the real path with the root, after every open and before every change. What is left is the moment between
 * the last look and the call: against a process that swaps a folder for a link as fast as it can, 100 of 20,000
 * writes got out (by descriptor none). So a system that needs this needs a sandbox for its commands all the more.
 * The rules are tested on Linux; on macOS itself this is untested.
 */
class NamedDirectory implements Directory {
  #fd: number;
  readonly #path: string;
  readonly #root: string;

  constructor(fd: number, path: string, root: string) {
    this.#fd = fd;
    this.#path = path;
    this.#root = root;
  }

  at(name: string): string {
    return `${this.#path}/${name}`;
  }

  step(name: string): Directory {
    return this.#open(this.at(name));
  }

  again(): Directory {
    return this.#open(this.#path);
  }

  #open(path: string): Directory {
    this.confirm();
    const next = new NamedDirectory(openSync(path, FOLDER), path, this.#root);
    try {
      this.confirm();
      next.confirm();
      return next;
    } catch (error) {
      next[Symbol.dispose]();
      throw error;
    }
  }

  confirm(): void {
    const held = fstatSync(this.#fd);
    const named = lstatSync(this.#path, { throwIfNoEntry: false });
    if (!named?.isDirectory() || named.ino !== held.ino || named.dev !== held.dev)
      throw keepsChanging(this.#path);
    // Case may differ from what was asked for, on a file system that does not care.
    const real = splitNames(realpathSync.native(this.#path).toLowerCase());
    if (!withoutRoot(real, [splitNames(this.#root.toLowerCase())])) throw keepsChanging(this.#path);
  }

  [Symbol.dispose](): void {
    if (this.#fd === -1) return;
    const fd = this.#fd;
    this.#fd = -1;
    closeSync(fd);
  }
}
