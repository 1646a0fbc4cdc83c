import { lstatSync, mkdirSync, readlinkSync, type Stats } from 'node:fs';
import type { Directory } from './directory.ts';
import { checkName, splitNames, withoutRoot, type AskedPath } from './path.ts';
import { errno, keepsChanging, leadsOut, notFound, refuse, wrongState } from './refusal.ts';

/** As in the kernel. */
const MOST_LINKS = 40;
/** Folders opened for one path, all links included: what a crafted heap of links can cost us, about 10 ms. */
const MOST_STEPS = 1_000;

export interface Place {
  readonly root: Directory;
  /** The ways to write the root, for links with an absolute text. */
  readonly roots: readonly (readonly string[])[];
}

export interface WalkOptions {
  /** Missing folders are made; called with the true names of each first, and may throw. */
  readonly make?: (names: readonly string[]) => void;
  /** What a path that ends at a link means: what it leads to (the default), or the link itself. */
  readonly last?: 'follow' | 'keep';
  /** Links on the way are an error, not followed. */
  readonly noLinks?: boolean;
}

/** An entry that was looked for: the folder it is in, held open, and what was there. */
export interface Found extends Disposable {
  readonly parent: Directory;
  readonly name: string;
  /** Its true names from the root on, no link among them. */
  readonly names: readonly string[];
  readonly stats: Stats | undefined;
}

export interface Entered extends Disposable {
  readonly folder: Directory;
  readonly names: readonly string[];
}

/** Walks to the folder of the last name. Whether there is an entry of that name is left to the caller. */
export function find(place: Place, asked: AskedPath, options: WalkOptions = {}): Found {
  using walk = new Walk(place, asked, options);
  for (;;) {
    walk.toLast();
    // None is left at the root, and after a link that ended in `..`: then it is the folder itself.
    const name = walk.queue.shift() ?? '.';
    const names = name === '.' ? walk.names : [...walk.names, name];
    checkName(asked.given, name);
    const stats = lstatSync(walk.folder.at(name), { throwIfNoEntry: false });
    if (!stats?.isSymbolicLink() || options.last === 'keep') {
      const parent = walk.give();
      return { parent, name, names, stats, [Symbol.dispose]: () => parent[Symbol.dispose]() };
    }
    walk.follow(name);
  }
}

/** Walks into the folder that the path names. */
export function enter(place: Place, asked: AskedPath, options: WalkOptions = {}): Entered {
  using walk = new Walk(place, asked, options);
  while (walk.queue.length > 0) walk.next();
  const folder = walk.give();
  return { folder, names: walk.names, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/**
 * One way through the tree, a name at a time, each opened beneath the folder that is held, so that a folder swapped
 * for a link meanwhile is a link that is seen, or a folder that is no longer there; never a way out. A link is read,
 * and its text walked from the root like any other path.
 */
class Walk implements Disposable {
  folder: Directory;
  names: string[] = [];
  /** What is still to be walked; may hold `..` from the text of a link. */
  queue: string[];
  readonly #place: Place;
  readonly #given: string;
  readonly #options: WalkOptions;
  #links = 0;
  #steps = 0;

  constructor(place: Place, asked: AskedPath, options: WalkOptions) {
    this.#place = place;
    this.#given = asked.given;
    this.queue = [...asked.names];
    this.#options = options;
    this.folder = place.root;
  }

  /** Walks until one name is left, or none when the last was `..`. */
  toLast(): void {
    while (this.queue.length > 1 || this.queue[0] === '..') this.next();
  }

  next(): void {
    this.#steps += 1;
    if (this.#steps > MOST_STEPS) throw keepsChanging(this.#given);
    const name = this.queue.shift();
    if (name === undefined) return;
    if (name === '..') {
      if (this.names.length === 0) throw leadsOut(this.#given);
      this.#restart([...this.names.slice(0, -1), ...this.queue]);
      return;
    }
    checkName(this.#given, name);
    try {
      this.#hold(this.folder.step(name));
      this.names.push(name);
    } catch (error) {
      this.#missed(name, error);
    }
  }

  /** The text of a link, which has left the queue, takes its place. A link that is none any more is looked at again. */
  follow(name: string): void {
    this.#steps += 1;
    const text = readLink(this.folder.at(name), this.#given);
    this.folder.confirm();
    if (this.#steps > MOST_STEPS) throw keepsChanging(this.#given);
    if (text === undefined) {
      this.queue.unshift(name);
      return;
    }
    this.#links += 1;
    if (this.#options.noLinks) throw refuse(this.#given, 'links', 'goes through a link.');
    if (this.#links > MOST_LINKS)
      throw refuse(this.#given, 'links', `goes through more than ${MOST_LINKS} links.`);
    const parts = splitNames(text).filter((part) => part !== '.');
    const start = text.startsWith('/') ? withoutRoot(parts, this.#place.roots) : [...this.names, ...parts];
    if (start === undefined) throw leadsOut(this.#given);
    this.#restart([...start, ...this.queue]);
  }

  /** The folder for the caller, who closes it. */
  give(): Directory {
    const folder = this.folder === this.#place.root ? this.folder.again() : this.folder;
    this.folder = this.#place.root;
    return folder;
  }

  [Symbol.dispose](): void {
    this.#hold(this.#place.root);
  }

  #restart(queue: string[]): void {
    this.queue = queue;
    this.names = [];
    this.#hold(this.#place.root);
  }

  /** The root is the door's own and stays open. */
  #hold(next: Directory): void {
    if (this.folder !== this.#place.root) this.folder[Symbol.dispose]();
    this.folder = next;
  }

  /** There was no folder of that name: a link, nothing yet, something else, or it has just been swapped. */
  #missed(name: string, error: unknown): void {
    const code = errno(error);
    if (code !== 'ENOTDIR' && code !== 'ELOOP' && code !== 'ENOENT') throw error;
    const stats = lstatSync(this.folder.at(name), { throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) {
      this.follow(name);
      return;
    }
    if (stats && !stats.isDirectory())
      throw wrongState(this.#given, 'goes through something that is not a folder.');
    if (!stats) this.#make(name);
    this.queue.unshift(name);
  }

  #make(name: string): void {
    const { make } = this.#options;
    if (!make) throw notFound(this.#given);
    make([...this.names, name]);
    this.folder.confirm();
    try {
      mkdirSync(this.folder.at(name));
    } catch (error) {
      // Somebody else made it, or something of that name: it is looked at again.
      if (errno(error) !== 'EEXIST') throw error;
    }
  }
}

/** The text of a link, or undefined when it is none any more. Bytes that are no text lead nowhere we could name. */
function readLink(path: string, given: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readlinkSync(path, { encoding: 'buffer' });
  } catch (error) {
    const code = errno(error);
    if (code === 'EINVAL' || code === 'ENOENT') return undefined;
    throw error;
  }
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) throw leadsOut(given);
  return text;
}
