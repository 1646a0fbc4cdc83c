import { watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';
import { VENDORS, type Roots } from './discovery.ts';
import { realPath } from './folder.ts';

/**
 * Hears of changes in the folders of definitions. A hint only: where the system cannot watch (no more watches, a
 * network file system), nothing is heard, and whoever reads finds the change by looking.
 */
export class FolderWatch {
  readonly #hear: () => void;
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(hear: () => void) {
    this.#hear = hear;
  }

  /** From now on these: the folders that hold definitions, and the way to those that may come to be. */
  set(folders: readonly string[], roots: Roots): void {
    const wanted = new Map<string, readonly string[] | null>();
    for (const place of [roots.repository, roots.home]) {
      const root = place === undefined ? null : realPath(place);
      if (root === null) continue;
      wanted.set(root, VENDORS);
      for (const vendor of VENDORS) wanted.set(join(root, vendor), ['agents']);
    }
    for (const folder of folders) wanted.set(folder, null);
    for (const [folder, watcher] of this.#watchers) if (!wanted.has(folder)) this.#drop(folder, watcher);
    for (const [folder, names] of wanted) if (!this.#watchers.has(folder)) this.#add(folder, names);
  }

  close(): void {
    for (const [folder, watcher] of this.#watchers) this.#drop(folder, watcher);
  }

  /** Of a folder on the way only the next step matters: a home is written to all the time. */
  #add(folder: string, names: readonly string[] | null): void {
    if (realPath(folder) === null) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (names === null || name === null || names.includes(name)) this.#changed(folder, name);
      });
      watcher.on('error', () => this.#drop(folder, watcher));
      this.#watchers.set(folder, watcher);
    } catch {
      // The system gives no more watches, or the folder has just gone: a hint less.
    }
  }

  /** A watch follows the folder it was set on, not its name: one that was replaced is watched anew. */
  #changed(folder: string, name: string | null): void {
    const below = name === null ? folder : join(folder, name);
    for (const [watched, watcher] of this.#watchers)
      if (watched === below || watched.startsWith(`${below}/`)) this.#drop(watched, watcher);
    this.#hear();
  }

  #drop(folder: string, watcher: FSWatcher): void {
    if (this.#watchers.get(folder) === watcher) this.#watchers.delete(folder);
    watcher.close();
  }
}
