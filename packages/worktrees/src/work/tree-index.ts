import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkout } from '../checkout.ts';
import { orNull } from '../creation/files.ts';
import type { FileCopies } from './copy-tree.ts';
import { copyIndex, replaceIndex } from './index-file.ts';
import type { Scratch, ScratchCall } from './scratch-place.ts';

type Call = Pick<ScratchCall, 'args' | 'input' | 'accept'>;

/**
 * Our index of a checkout's files, for one capture. Every command that may write it is told where the files are: git
 * looks once more at those that were changed in the second of its last look, and forgets to if it does not find them.
 *
 * Paths are the bytes of file names, one character each: a name need not be text.
 */
export class TreeIndex {
  readonly #scratch: Scratch;
  readonly #kept: string;
  readonly #place: Pick<ScratchCall, 'workTree' | 'patienceMs'>;

  /** It has entries whose files it has not looked at. */
  #hasNew = false;

  constructor(scratch: Scratch, checkout: Checkout, patienceMs: number) {
    this.#scratch = scratch;
    this.#kept = join(checkout.ownGitDir, 'index');
    this.#place = { workTree: checkout.path, patienceMs };
  }

  async #ask(call: Call): Promise<string> {
    return (await this.#scratch.bytes({ ...call, ...this.#place })).stdout.toString('latin1');
  }

  /** Files that are the same as in the commit keep what is known about them on disk, and are not read again. */
  async begin(head: string): Promise<void> {
    await orNull(copyIndex(this.#kept, this.#scratch.index));
    await this.#ask({ args: ['read-tree', '--reset', head] });
  }

  /** What differs or is not known; a folder with a repository of its own ends in `/`. */
  async changed(): Promise<string[]> {
    const listed = await this.#ask({ args: ['ls-files', '-z', '-m', '-d', '-o', '--exclude-standard'] });
    return [...new Set(listed.split('\0'))].filter((path) => path !== '');
  }

  async remove(paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    await this.#ask({ args: ['update-index', '-z', '--force-remove', '--stdin'], input: pathList(paths) });
  }

  /** Sets links to other repositories, which are no files; null: the link goes. */
  async link(links: ReadonlyMap<string, string | null>): Promise<void> {
    if (links.size === 0) return;
    const none = '0'.repeat([...links.values()].find((oid) => oid !== null)?.length ?? 40);
    const lines = [...links].map(([path, oid]) =>
      oid === null ? `0 ${none}\t${path}\0` : `160000 ${oid}\t${path}\0`,
    );
    const input = Buffer.from(lines.join(''), 'latin1');
    await this.#ask({ args: ['update-index', '-z', '--add', '--replace', '--index-info'], input });
  }

  /** Takes over what was copied. Answers with the submodules in which something else is checked out. */
  async take({ present, absent, folders }: FileCopies, copies: string): Promise<readonly string[]> {
    // The person's own submodules stay what they are; what an agent did inside them is theirs to commit.
    const submodules = folders.length === 0 ? new Set() : await this.#submodules();
    await this.remove([...absent, ...folders.filter((path) => !submodules.has(path))]);
    const stay = folders.filter((path) => submodules.has(path));
    if (present.length === 0) return stay;
    this.#hasNew = true;
    const entries = await this.#entriesOf(present, copies);
    const input = Buffer.from(entries.map((entry) => `${entry}\0`).join(''), 'latin1');
    await this.#ask({ args: ['update-index', '-z', '--add', '--replace', '--index-info'], input });
    return stay;
  }

  async #submodules(): Promise<ReadonlySet<string>> {
    const entries = (await this.#ask({ args: ['ls-files', '-z', '-s'] })).split('\0');
    return new Set(entries.filter((entry) => entry.startsWith('160000 ')).map(pathOf));
  }

  /** Made in another index: this one would learn the copies' times. It has the same attributes as this one. */
  async #entriesOf(paths: readonly string[], copies: string): Promise<string[]> {
    const indexFile = join(this.#scratch.folder, 'copies-index');
    await rm(indexFile, { force: true });
    await copyIndex(this.#scratch.index, indexFile);
    const place = { indexFile, workTree: copies };
    const args = ['update-index', '-z', '--add', '--replace', '--stdin'];
    await this.#scratch.git({ args, input: pathList(paths), ...place });
    const { stdout } = await this.#scratch.bytes({ args: ['ls-files', '-z', '-s'], ...place });
    const wanted = new Set(paths);
    return stdout
      .toString('latin1')
      .split('\0')
      .filter((entry) => entry !== '' && wanted.has(pathOf(entry)));
  }

  async writeTree(): Promise<string> {
    return (await this.#ask({ args: ['write-tree'] })).trim();
  }

  /** Keeps it for the next capture. What it names must be in the person's repository by now. */
  async keep(): Promise<void> {
    if (this.#hasNew) await this.#ask({ args: ['update-index', '-q', '--refresh'], accept: [1] });
    await replaceIndex(this.#scratch.index, this.#kept, `${this.#kept}.new`);
  }
}

const pathList = (paths: readonly string[]): Buffer =>
  Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1');

/** `<mode> <oid> <stage>\t<path>`. */
const pathOf = (entry: string): string => entry.slice(entry.indexOf('\t') + 1);
