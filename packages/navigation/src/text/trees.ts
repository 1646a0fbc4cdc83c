import { languageOf } from '../languages.ts';
import { isCommentLine } from '../syntax/comment-lines.ts';
import { UNEXPLAINED, explainHits, type Explained, type HitSpot } from './explain.ts';
import { LARGEST, TreeReader, isFresh, isSameStamp, scanTree, type SeenFile, type Stamp } from './tree.ts';
import { contentHash, hasHash, needleOf, occurrences, wordHashes, type Needle } from './words.ts';

export interface TextHit {
  readonly path: string;
  /** From 1; columns count in UTF-16, as the protocol of language servers does. */
  readonly line: number;
  readonly column: number;
  readonly text: string;
  /** It is in a comment that fills its line: no code, whatever the language server says. */
  readonly commented: boolean;
}

export interface Look {
  /** Counts every look that found a change. */
  readonly version: number;
  /** What changed since the version asked about. */
  readonly changes: Changes;
  readonly hits: readonly TextHit[];
  /** Why the hits may not be all. */
  readonly why: string | null;
  readonly files: number;
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
  /** Null: not read yet, so it may hold any word. */
  words: { readonly hashes: Uint32Array; readonly content: string } | null;
}

interface Found {
  readonly hits: readonly TextHit[];
  readonly why: string | null;
}

const MOST_HITS = 50_000;
/** Names whose hits are kept for each tree, and the most hits of one. */
const MOST_FOUND = 8;
const MOST_KEPT = 10_000;
const LONGEST_LINE = 400;
/** Trees that nobody asks about are forgotten; another look makes them anew. */
const MOST_TREES = 64;

/** What is known of the files of each tree. Lives in a thread of its own: it reads synchronously. */
export class Trees {
  readonly #trees = new Map<string, Tree>();

  look(root: string, options: LookOptions): Look {
    return this.#at(root).look(options);
  }

  named(root: string, names: readonly string[], again = false): string[] {
    return this.#at(root).named(names, again);
  }

  /** What can be said of hits by their files alone. */
  explain(root: string, hits: readonly HitSpot[]): Explained[] {
    using reader = new TreeReader(root);
    const all = new Map<HitSpot, Explained>();
    for (const [path, within] of Map.groupBy(hits, (hit) => hit.path)) {
      const explained = explainHits(path, reader.read(path)?.toString('utf8') ?? '', within);
      for (const [i, hit] of within.entries()) all.set(hit, explained[i] ?? UNEXPLAINED);
    }
    return hits.map((hit) => all.get(hit) ?? UNEXPLAINED);
  }

  /** Whether all files that a server might read are the same in both: what differs in others does not matter. */
  same(one: string, other: string, endings: readonly string[]): boolean {
    const [a, b] = [one, other].map((root) => this.#at(root).contents(endings));
    if (!a || !b || a.size !== b.size) return false;
    return [...a].every(([path, content]) => content !== null && b.get(path) === content);
  }

  forget(root: string): void {
    this.#trees.delete(root);
  }

  /** Reads a little of what was not read yet; false: there is nothing left to do. */
  learn(): boolean {
    for (const tree of this.#trees.values()) if (tree.learn()) return true;
    return false;
  }

  #at(root: string): Tree {
    const tree = this.#trees.get(root) ?? new Tree(root);
    this.#trees.delete(root);
    this.#trees.set(root, tree);
    for (const oldest of this.#trees.keys()) if (this.#trees.size > MOST_TREES) this.#trees.delete(oldest);
    return tree;
  }
}

export interface LookOptions {
  readonly needle: string | null;
  /** A version of an earlier look; null: nothing is known. */
  readonly since: number | null;
  /** For the same question as the look before: the disk is not looked at anew. */
  readonly again?: boolean;
}

class Tree {
  readonly #root: string;
  readonly #known = new Map<string, Known>();
  readonly #deleted = new Map<string, number>();
  /** What was found in this version: the next page of an answer, or the same name asked in another way, looks again. */
  readonly #found = new Map<string, Found>();
  readonly #unread = new Set<string>();
  #version = 0;
  #whole = true;

  constructor(root: string) {
    this.#root = root;
  }

  look({ needle, since, again = false }: LookOptions): Look {
    if (!again || this.#version === 0) this.#scan();
    const changes = since === null ? NONE : this.#changesSince(since);
    const { hits, why } = needle === null ? NOTHING : this.#findOnce(needle);
    const partly = this.#whole ? why : 'the tree has more files than are looked at';
    return { version: this.#version, changes, hits, why: partly, files: this.#known.size };
  }

  named(names: readonly string[], again: boolean): string[] {
    if (!again || this.#version === 0) this.#scan();
    return [...this.#known.keys()].filter((path) => names.includes(path.slice(path.lastIndexOf('/') + 1)));
  }

  contents(endings: readonly string[]): Map<string, string | null> {
    this.#scan();
    const fitting = [...this.#known].filter(([path]) => endings.some((ending) => path.endsWith(ending)));
    using reader = new TreeReader(this.#root);
    return new Map(fitting.map(([path, known]) => [path, this.#read(reader, path, known)?.content ?? null]));
  }

  learn(): boolean {
    using reader = new TreeReader(this.#root);
    let left = 32;
    for (const path of this.#unread) {
      this.#unread.delete(path);
      const known = this.#known.get(path);
      if (known?.words !== null) continue;
      this.#read(reader, path, known);
      if (--left === 0) return true;
    }
    return false;
  }

  #scan(): void {
    const now = Date.now();
    const { files, whole } = scanTree(this.#root);
    this.#whole = whole;
    const next = this.#version + 1;
    using reader = new TreeReader(this.#root);
    let changed = false;
    for (const file of files) changed = this.#note(file, { next, now, reader }) || changed;
    if (this.#known.size > files.length) {
      const seen = new Set(files.map(({ path }) => path));
      for (const path of this.#known.keys()) {
        if (seen.has(path)) continue;
        this.#known.delete(path);
        this.#deleted.set(path, next);
        changed = true;
      }
    }
    if (!changed) return;
    this.#version = next;
    this.#found.clear();
  }

  #note(
    { path, stamp, size }: SeenFile,
    { next, now, reader }: { readonly next: number; readonly now: number; readonly reader: TreeReader },
  ): boolean {
    const known = this.#known.get(path);
    if (known && isSameStamp(known.stamp, stamp) && !this.#isRewritten(path, known, { now, reader }))
      return false;
    const fresh = isFresh(stamp, now);
    const file: Known = { stamp, fresh, size, bornAt: known?.bornAt ?? next, changedAt: next, words: null };
    if (fresh) this.#read(reader, path, file);
    else this.#unread.add(path);
    this.#known.set(path, file);
    this.#deleted.delete(path);
    return true;
  }

  /** The same stamp does not tell: its content does. */
  #isRewritten(
    path: string,
    known: Known,
    { now, reader }: { readonly now: number; readonly reader: TreeReader },
  ): boolean {
    if (!known.fresh) return false;
    known.fresh = isFresh(known.stamp, now);
    return contentOf(reader, path, known).content !== known.words?.content;
  }

  #changesSince(since: number): Changes {
    const fresh = [...this.#known].filter(([, { changedAt }]) => changedAt > since);
    return {
      created: fresh.filter(([, { bornAt }]) => bornAt > since).map(([path]) => path),
      changed: fresh.filter(([, { bornAt }]) => bornAt <= since).map(([path]) => path),
      deleted: [...this.#deleted].filter(([, at]) => at > since).map(([path]) => path),
    };
  }

  #findOnce(text: string): Found {
    const known = this.#found.get(text) ?? this.#find(needleOf(text));
    this.#found.delete(text);
    if (known.hits.length > MOST_KEPT) return known;
    this.#found.set(text, known);
    for (const oldest of this.#found.keys()) if (this.#found.size > MOST_FOUND) this.#found.delete(oldest);
    return known;
  }

  #find(needle: Needle): Found {
    const hits: TextHit[] = [];
    using reader = new TreeReader(this.#root);
    for (const [path, { words, size }] of this.#known) {
      if (size > LARGEST || (words && !needle.hashes.every((hash) => hasHash(words.hashes, hash)))) continue;
      const bytes = reader.read(path);
      if (bytes?.includes(needle.bytes)) hits.push(...hitsIn(path, bytes, needle));
      if (hits.length > MOST_HITS) return { hits, why: `there are more than ${MOST_HITS} text hits` };
    }
    return { hits, why: null };
  }

  #read(reader: TreeReader, path: string, known: Known): Known['words'] {
    return (known.words ??= contentOf(reader, path, known));
  }
}

function contentOf(
  reader: TreeReader,
  path: string,
  { size, stamp }: Known,
): { hashes: Uint32Array; content: string } {
  const bytes = size > LARGEST ? null : reader.read(path);
  if (bytes) return { hashes: wordHashes(bytes), content: contentHash(bytes) };
  // What is not read is known by its stamp alone.
  return { hashes: new Uint32Array(), content: `${stamp.modified}:${stamp.changed}:${size}:${stamp.inode}` };
}

const NOTHING: Found = { hits: [], why: null };
const NONE: Changes = { created: [], changed: [], deleted: [] };

function hitsIn(path: string, bytes: Buffer, needle: Needle): TextHit[] {
  const hits: TextHit[] = [];
  const language = languageOf(path);
  let split: readonly string[] | null = null;
  const lines = (): readonly string[] => (split ??= bytes.toString('utf8').split('\n'));
  let line = 1;
  let lineStart = 0;
  for (const at of occurrences(bytes, needle)) {
    for (let end = bytes.indexOf(10, lineStart); end >= 0 && end < at; end = bytes.indexOf(10, lineStart)) {
      line += 1;
      lineStart = end + 1;
    }
    const end = bytes.indexOf(10, at);
    const text = bytes.toString('utf8', lineStart, end < 0 ? bytes.length : end);
    const before = bytes.toString('utf8', lineStart, at);
    const commented = language !== null && isCommentLine({ line, text: before }, language, lines);
    const column = before.length + 1;
    hits.push({ path, line, column, text: text.slice(0, LONGEST_LINE).trimEnd(), commented });
  }
  return hits;
}
