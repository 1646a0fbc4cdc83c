import { readFileSync, statfsSync, watch, type FSWatcher } from 'node:fs';
import { statsOf } from './tree.ts';

/** Filesystems that tell of every write: local ones, whose files nobody changes from another machine. */
const TELLING = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x01021994, // tmpfs
  0xf2f52010, // f2fs
]);
/** So many changes at once: to look at everything is no slower, and no list must be kept. */
const MOST_EVENTS = 4_000;
const MOST_FOLDERS = 20_000;

/**
 * Which names of a tree the system says were touched. The kernel puts an event into our line before the call that made
 * the change returns: when the line has been emptied after a question came, all that was written before it is known.
 *
 * Whatever is in doubt makes it `lost`, and then the whole tree must be looked at: the line may have overflown, there are
 * too many folders, the system refuses.
 */
export class TreeWatch implements Disposable {
  readonly #root: string;
  readonly #device: number;
  readonly #folders = new Map<string, FSWatcher>();
  #touched = new Set<string>();
  #events = 0;
  #lost = false;
  #refused = false;

  /** Null: changes of this tree cannot be known this way. */
  static of(root: string): TreeWatch | null {
    return isTelling(root) ? new TreeWatch(root) : null;
  }

  private constructor(root: string) {
    this.#root = root;
    this.#device = statsOf(root)?.dev ?? 0;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** It would be lost again. */
  get refused(): boolean {
    return this.#refused;
  }

  has(folder: string): boolean {
    return this.#folders.has(folder);
  }

  /** The whole tree is about to be looked at: what was touched before does not matter. */
  begin(): void {
    this.#touched.clear();
    this.#events = 0;
  }

  /** What was touched since this was asked last. */
  take(): ReadonlySet<string> {
    const touched = this.#touched;
    this.#touched = new Set();
    return touched;
  }

  add(folder: string): void {
    if (this.#lost || this.#folders.has(folder)) return;
    if (this.#folders.size >= MOST_FOLDERS || folders >= LIMITS.folders) return this.refuse();
    const path = `${this.#root}/${folder}`;
    // What is mounted within a tree may be of a kind that tells nothing.
    if ((statsOf(path)?.dev ?? this.#device) !== this.#device) return this.refuse();
    try {
      const above = folder === '' ? '' : `${folder}/`;
      const watcher = watch(path, { persistent: false }, (_, name) =>
        this.#note(name === null ? null : `${above}${name}`),
      );
      watcher.on('error', () => this.#lose());
      this.#folders.set(folder, watcher);
      folders += 1;
    } catch (error) {
      // What went away since it was listed need not be watched: the folder it was in tells of it.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) this.refuse();
    }
  }

  refuse(): void {
    this.#refused = true;
    this.#lose();
  }

  /** A folder and all beneath it are gone, or are to be watched anew. */
  drop(folder: string): void {
    for (const [path, watcher] of this.#folders) {
      if (path === folder || path.startsWith(`${folder}/`)) this.#close(path, watcher);
    }
  }

  [Symbol.dispose](): void {
    this.#lose();
  }

  #note(path: string | null): void {
    if (this.#lost) return;
    this.#events += 1;
    // The system keeps so many in line and drops the rest: with fewer than half of that, none was dropped.
    if (path === null || this.#events >= Math.min(MOST_EVENTS, LIMITS.events / 2)) return this.#lose();
    this.#touched.add(path);
  }

  #lose(): void {
    this.#lost = true;
    this.#touched.clear();
    for (const [path, watcher] of this.#folders) this.#close(path, watcher);
  }

  #close(path: string, watcher: FSWatcher): void {
    watcher.close();
    this.#folders.delete(path);
    folders -= 1;
  }
}

/** All that was written before this was called has been noted when it is over: the line of events was emptied in between. */
export async function eventsNoted(): Promise<void> {
  // The first ends the round that the caller is in; the second comes after a whole one, in which the line is read to its end.
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
}

const limit = (name: string): number => {
  try {
    return Number(readFileSync(`/proc/sys/fs/inotify/${name}`, 'utf8')) || 0;
  } catch {
    return 0;
  }
};

/** Editors of the same user watch too: all trees together take no more than their share. */
const LIMITS = { events: limit('max_queued_events'), folders: limit('max_user_watches') / 4 };
let folders = 0;

export function isTelling(root: string): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return TELLING.has(statfsSync(root).type);
  } catch {
    return false;
  }
}
