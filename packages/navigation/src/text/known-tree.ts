import { basename, dirname } from 'node:path/posix';
import { languageOf } from '../languages.ts';
import type { Contents, Held } from './contents.ts';
import type { Files } from './exports.ts';
import { hitsIn, type TextHit } from './hits.ts';
import type { Before } from './names.ts';
import { Members } from './members.ts';
import {
  LARGEST,
  TreeReader,
  firstVersion,
  isFresh,
  isLookedInto,
  isSameStamp,
  scanTree,
  seenFile,
  statsOf,
  type SeenFile,
  type Stamp,
} from './tree.ts';
import { TreeWatch } from './watch.ts';
import { contentHash, hasHash, needleOf, wordHashes, type Needle } from './words.ts';

export type { TextHit };

export interface LookOptions {
  readonly needle: string | null;
  /** A version of an earlier look; null: nothing is known. */
  readonly since: number | null;
  /** In place of a version: what was there when somebody began to read, so that what changed since can be told. */
  readonly before?: Before | null;
  /** For the same question as the look before: the disk is not looked at anew. */
  readonly again?: boolean;
  /** What hits are is told as far as their files tell. */
  readonly explain?: boolean;
}

export interface Look {
  /** Counts every look that found a change. */
  readonly version: number;
  /** What changed since the version asked about. */
  readonly changes: Changes;
  readonly hits: readonly TextHit[];
  /** Why the hits may not be all. */
  readonly why: string | null;
}

export interface Changes {
  readonly created: readonly string[];
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
}

interface Known {
  readonly stamp: Stamp;
  /** It was written so lately that its stamp does not tell whether it was written again. */
  fresh: boolean;
  readonly size: number;
  readonly bornAt: number;
  readonly changedAt: number;
  /** Which content it has; null: not read yet. */
  content: string | null;
  /** Hashes of the words in it; null: it may hold any. */
  words: Uint32Array | null;
}

interface Found {
  readonly hits: readonly TextHit[];
  readonly why: string | null;
  readonly explained: boolean;
}

/** One look at the disk. */
interface Round {
  readonly next: number;
  readonly now: number;
  readonly reader: TreeReader;
  /** The system says that it was written: that its times are the same does not count. */
  readonly touched: boolean;
}

const MOST_HITS = 50_000;
/** Names whose hits are kept for each tree, and the most hits of one. */
const MOST_FOUND = 8;
const MOST_KEPT = 10_000;
/** A file with two names can be written by the one that is not watched: so many are looked at each time. */
const MOST_LINKED = 500;
/** What the system does not tell (a file that is written through memory) is seen after so long, once nobody waits. */
const TRUST_MS = 30_000;
const SLICE_MS = 4;

/** The files of one tree: which there are, what changed, what words are in them. */
export class KnownTree implements Disposable {
  readonly #root: string;
  readonly #contents: Contents;
  readonly #known = new Map<string, Known>();
  readonly #deleted = new Map<string, number>();
  /** What was found in this version: the next page of an answer, or the same name asked in another way, looks again. */
  readonly #found = new Map<string, Found>();
  readonly #named = new Map<string, readonly string[]>();
  readonly #unread = new Set<string>();
  readonly #linked = new Set<string>();
  #watch: TreeWatch | null = null;
  #watches: boolean;
  #born = '';
  /** When all of it was last looked at, and whether anybody has asked since. */
  #wholeAt = 0;
  #asked = false;
  #version = 0;
  #whole = true;

  constructor(root: string, options: { readonly contents: Contents; readonly watches: boolean }) {
    this.#root = root;
    this.#contents = options.contents;
    this.#watches = options.watches;
  }

  look({ needle, since, before = null, again = false, explain = false }: LookOptions): Look {
    if (!again || this.#version === 0) this.#refresh();
    const changes = since === null ? this.#changesAfter(before) : this.#changesSince(since);
    const { hits, why } = needle === null ? NOTHING : this.#findOnce(needle, explain);
    const partly = this.#whole ? why : 'the tree has more files than are looked at';
    return { version: this.#version, changes, hits, why: partly };
  }

  named(names: readonly string[], again: boolean): readonly string[] {
    if (!again || this.#version === 0) this.#refresh();
    const key = names.join('/');
    const known =
      this.#named.get(key) ?? [...this.#known.keys()].filter((path) => names.includes(basename(path)));
    this.#named.set(key, known);
    return known;
  }

  contents(endings: readonly string[]): Map<string, string | null> {
    this.#refresh();
    const fitting = [...this.#known].filter(([path]) => endings.some((ending) => path.endsWith(ending)));
    using reader = new TreeReader(this.#root);
    return new Map(fitting.map(([path, known]) => [path, this.#read(reader, path, known)]));
  }

  /** For questions about single files: as they were when they were read, or as they are. */
  files<T>(use: (files: Files) => T): T {
    using reader = new TreeReader(this.#root);
    return use(this.#files(reader));
  }

  learn(): boolean {
    using reader = new TreeReader(this.#root);
    const until = performance.now() + SLICE_MS;
    for (const path of this.#unread) {
      if (performance.now() > until) return true;
      this.#unread.delete(path);
      const known = this.#known.get(path);
      if (!known) continue;
      this.#read(reader, path, known);
      const isHeld = known.content !== null && this.#contents.get(known.content) !== null;
      const held = isHeld && languageOf(path) !== null ? this.#hold(reader, path) : null;
      held?.lines();
      if (languageOf(path)?.name === 'typescript') held?.regions();
    }
    if (this.#asked && this.#watch && performance.now() - this.#wholeAt > TRUST_MS) this.#lookAt(false);
    return false;
  }

  [Symbol.dispose](): void {
    this.#endWatch();
    for (const known of this.#known.values()) this.#contents.dropRaw(known);
  }

  #endWatch(): void {
    this.#watch?.[Symbol.dispose]();
    this.#watch = null;
  }

  #refresh(): void {
    const { ino, birthtimeMs } = statsOf(this.#root) ?? {};
    const born = `${ino} ${birthtimeMs}`;
    // Another folder of its name: what was watched is not there any more.
    if (born !== this.#born) this.#endWatch();
    this.#born = born;
    this.#asked = true;
    this.#lookAt(this.#watch?.lost === false && this.#linked.size <= MOST_LINKED);
  }

  #lookAt(onlyTouched: boolean): void {
    using reader = new TreeReader(this.#root);
    // A tree that was forgotten, or whose thread is another, counts on from above what it had come to.
    const next = (this.#version || firstVersion()) + 1;
    const round: Round = { next, now: Date.now(), reader, touched: onlyTouched };
    const changed = onlyTouched ? this.#lookAtTouched(round) : this.#lookAtAll(round);
    if (!changed) return;
    this.#version = round.next;
    this.#found.clear();
    this.#named.clear();
  }

  #lookAtAll(round: Round): boolean {
    const watch = this.#beginWatch();
    const { files, whole } = scanTree(this.#root, { entering: (folder) => watch?.add(folder) });
    this.#whole = whole;
    if (!whole) watch?.refuse();
    this.#wholeAt = performance.now();
    this.#asked = false;
    let changed = false;
    for (const file of files) changed = this.#note(file, round) || changed;
    if (this.#known.size === files.length) return changed;
    const seen = new Set(files.map(({ path }) => path));
    const gone = [...this.#known.keys()].filter((path) => !seen.has(path));
    return this.#remove(gone, round) || changed;
  }

  /** One that was lost is begun anew, unless it would be lost again. */
  #beginWatch(): TreeWatch | null {
    if (this.#watch?.refused) this.#watches = false;
    if (this.#watch?.lost) this.#endWatch();
    if (this.#watches) this.#watch ??= TreeWatch.of(this.#root);
    this.#watch?.begin();
    return this.#watch;
  }

  /** The shorter first: what was in a folder that is gone, or a link now, is gone with it. */
  #lookAtTouched(round: Round): boolean {
    const touched = [...(this.#watch?.take() ?? []), ...this.#linked];
    let changed = false;
    for (const path of touched.toSorted((a, b) => a.length - b.length)) {
      const folder = dirname(path);
      if (!this.#watch?.has(folder === '.' ? '' : folder)) continue;
      changed = this.#lookAtPath(path, round) || changed;
    }
    return changed;
  }

  #lookAtPath(path: string, round: Round): boolean {
    const stats = statsOf(`${this.#root}/${path}`);
    const isFolder = stats?.isDirectory() === true && isLookedInto(basename(path));
    const file = stats?.isFile() ? [seenFile(path, stats)] : [];
    const wasFolder = this.#watch?.has(path) === true;
    if (wasFolder) this.#watch?.drop(path);
    if (isFolder || wasFolder) return this.#replace(path, isFolder ? this.#enter(path) : file, round);
    const [seen] = file;
    if (seen) return this.#note(seen, round);
    return this.#known.has(path) && this.#remove([path], round);
  }

  #enter(path: string): readonly SeenFile[] {
    const entering = (folder: string): void => this.#watch?.add(folder);
    const { files, whole } = scanTree(this.#root, { within: path, entering });
    if (!whole) this.#watch?.refuse();
    return files;
  }

  /** What is there now is all that is left of a folder and what was beneath it. */
  #replace(path: string, files: readonly SeenFile[], round: Round): boolean {
    const seen = new Set(files.map((file) => file.path));
    const beneath = `${path}/`;
    const gone = [...this.#known.keys()].filter(
      (each) => (each === path || each.startsWith(beneath)) && !seen.has(each),
    );
    let changed = this.#remove(gone, round);
    for (const file of files) changed = this.#note(file, round) || changed;
    return changed;
  }

  #remove(paths: readonly string[], { next }: Round): boolean {
    for (const path of paths) {
      this.#dropRaw(path);
      this.#known.delete(path);
      this.#linked.delete(path);
      this.#deleted.set(path, next);
    }
    return paths.length > 0;
  }

  #note({ path, stamp, size, linked }: SeenFile, round: Round): boolean {
    const { next, now, reader } = round;
    const known = this.#known.get(path);
    if (known && isSameStamp(known.stamp, stamp) && !this.#isRewritten(path, known, round)) return false;
    const fresh = isFresh(stamp, now);
    const bornAt = known?.bornAt ?? next;
    const file: Known = { stamp, fresh, size, bornAt, changedAt: next, content: null, words: null };
    this.#dropRaw(path);
    if (fresh) this.#read(reader, path, file);
    this.#unread.add(path);
    this.#known.set(path, file);
    this.#deleted.delete(path);
    if (linked) this.#linked.add(path);
    else this.#linked.delete(path);
    return true;
  }

  /** The same stamp does not tell: its content does. */
  #isRewritten(path: string, known: Known, { now, reader, touched }: Round): boolean {
    if (!known.fresh && !touched) return false;
    known.fresh = isFresh(known.stamp, now);
    return contentOf(reader.read(path), known) !== known.content;
  }

  #changesAfter(before: Before | null): Changes {
    if (!before) return NONE;
    const old = new Set(before.paths);
    const isNew = ([, { stamp }]: [string, Known]): boolean => isFresh(stamp, before.at);
    return {
      created: [...this.#known.keys()].filter((path) => !old.has(path)),
      changed: [...this.#known].filter(isNew).flatMap(([path]) => (old.has(path) ? [path] : [])),
      deleted: before.paths.filter((path) => !this.#known.has(path)),
    };
  }

  #changesSince(since: number): Changes {
    if (since === this.#version) return NONE;
    const fresh = [...this.#known].filter(([, { changedAt }]) => changedAt > since);
    return {
      created: fresh.filter(([, { bornAt }]) => bornAt > since).map(([path]) => path),
      changed: fresh.filter(([, { bornAt }]) => bornAt <= since).map(([path]) => path),
      deleted: [...this.#deleted].filter(([, at]) => at > since).map(([path]) => path),
    };
  }

  #dropRaw(path: string): void {
    const known = this.#known.get(path);
    if (known) this.#contents.dropRaw(known);
  }

  #findOnce(text: string, explain: boolean): Found {
    using reader = new TreeReader(this.#root);
    const before = this.#found.get(text);
    const isEnough = before && (before.explained || !explain);
    const known = isEnough ? before : this.#find(reader, needleOf(text), explain);
    this.#found.delete(text);
    if (known.hits.length <= MOST_KEPT) this.#found.set(text, known);
    for (const oldest of this.#found.keys()) if (this.#found.size > MOST_FOUND) this.#found.delete(oldest);
    return known;
  }

  #find(reader: TreeReader, needle: Needle, explained: boolean): Found {
    const hits: TextHit[] = [];
    const members = explained ? new Members(needle.text, this.#files(reader)) : null;
    for (const [path, known] of this.#known) {
      const { words, size } = known;
      if (size > LARGEST || (words && !needle.hashes.every((hash) => hasHash(words, hash)))) continue;
      const held = this.#mayHold(reader, path, { known, needle }) ? this.#hold(reader, path) : null;
      const asked = { needle, members, most: MOST_HITS + 1 - hits.length };
      for (const hit of held ? hitsIn(path, held, asked) : []) hits.push(hit);
      if (hits.length > MOST_HITS)
        return { hits, why: `there are more than ${MOST_HITS} text hits`, explained };
    }
    return { hits, why: null, explained };
  }

  #files(reader: TreeReader): Files {
    return { has: (path) => this.#known.has(path), hold: (path) => this.#hold(reader, path) };
  }

  /** An answer from text is wanted at once: what was never read is read, and kept as it is. */
  #mayHold(
    reader: TreeReader,
    path: string,
    { known, needle }: { readonly known: Known; readonly needle: Needle },
  ): boolean {
    if (known.content !== null) return true;
    const bytes = this.#contents.rawBytes(known) ?? reader.read(path);
    if (bytes) this.#contents.keepRaw(known, bytes);
    return bytes?.includes(needle.bytes) === true;
  }

  /** The text of a file as it was when it was read, or as it is. */
  #hold(reader: TreeReader, path: string): Held | null {
    const known = this.#known.get(path);
    const held =
      known && (known.content === null ? this.#contents.rawText(known) : this.#contents.get(known.content));
    if (held) return held;
    const bytes = reader.read(path);
    if (!bytes) return null;
    const content = contentHash(bytes);
    if (known) known.content ??= content;
    return this.#contents.keep(content, bytes);
  }

  /** What a file holds, so that the next question need not read it; which content that is. */
  #read(reader: TreeReader, path: string, known: Known): string {
    if (known.words && known.content !== null) return known.content;
    const held = known.content === null ? null : this.#contents.get(known.content);
    const bytes = held ? Buffer.from(held.text) : (this.#contents.rawBytes(known) ?? reader.read(path));
    known.words = bytes ? wordHashes(bytes) : new Uint32Array();
    if (known.content !== null && held) return known.content;
    const text = this.#contents.rawText(known);
    this.#contents.dropRaw(known);
    known.content = contentOf(bytes, known);
    if (bytes && this.#contents.hasRoom(bytes.length)) this.#contents.keep(known.content, bytes, text);
    return known.content;
  }
}

/** What is not read is known by its stamp alone. */
const contentOf = (bytes: Buffer | null, { size, stamp }: Known): string =>
  bytes ? contentHash(bytes) : `${stamp.modified}:${stamp.changed}:${size}:${stamp.inode}`;

const NOTHING: Found = { hits: [], why: null, explained: true };
const NONE: Changes = { created: [], changed: [], deleted: [] };
