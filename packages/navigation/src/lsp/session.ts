import { relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Definitions, Usages } from '@reveille/protocol';
import type { z } from 'zod';
import { extensionOf, type Language } from '../languages.ts';
import type { Changes } from '../text/known-tree.ts';
import type { Before } from '../text/names.ts';
import { Answers } from './answers.ts';
import { ServerBroken, type Connection } from './connection.ts';
import {
  Hover,
  Locations,
  Symbols,
  WorkspaceSymbols,
  type FoundLocation,
  type TreeSymbol,
} from './shapes.ts';

/** A place that a server named. Lines and columns from 1. */
export interface ServerPlace {
  /** From the root; null: outside. */
  readonly path: string | null;
  /** As it was named, for places outside. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface Spot {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** More than one question opens; those that were opened first are closed. */
const MOST_OPEN = 600;
/** Lines of all lists of uses together, which are asked for again for their next pages: some ten megabytes. */
const MOST_USES = 30_000;
const MOST_DEFINITIONS = 1_000;
const MOST_DEFINED = 1_000;
const MOST_REREAD = 50;

/** The questions that are asked of one server about one tree, and what it has been told of it. */
export class ServerSession {
  readonly language: Language;
  readonly root: string;
  /** The version of the tree that it knows. */
  version: number | null = null;
  /** What was there when it began to read, while no version is known. */
  before: Before | null = null;
  readonly #connection: Connection;
  /** What is open, with its version in the protocol; what was needed longest ago comes first. */
  readonly #open = new Map<string, number>();
  /** The files that it has named. */
  readonly #files = new Map<string, Pick<ServerPlace, 'path' | 'file'>>();
  /** How often it was told of anything that could make its next answer partial, and where it had answered for sure. */
  #told = 0;
  #settledAt = -1;
  /** Where symbols were defined when they were last asked about. */
  readonly #defined = new Map<string, Spot>();
  /** What was answered last, with all that others than the server know. */
  readonly usages = new Answers<Usages>(MOST_USES, ({ usages }) => usages.length + 1);
  readonly definitions = new Answers<Definitions>(MOST_DEFINITIONS);

  constructor(connection: Connection, options: { readonly language: Language; readonly root: string }) {
    this.#connection = connection;
    this.language = options.language;
    this.root = options.root;
  }

  get told(): number {
    return this.#told;
  }

  /** It has answered before, and nothing has changed since that could make its next answer partial. */
  get settled(): boolean {
    return this.#settledAt === this.#told;
  }

  /** What it answered is stable. `told` is from before it was asked: others may have told it more meanwhile. */
  settle(told: number): void {
    this.#settledAt = Math.max(this.#settledAt, told);
  }

  /** Where a symbol of this name was last found. No more than a guess: files are edited, and others have the name too. */
  lastDefined(symbol: string): Spot | null {
    return this.#defined.get(symbol) ?? null;
  }

  defined(symbol: string, { path, line, column }: Spot): void {
    this.#defined.delete(symbol);
    this.#defined.set(symbol, { path, line, column });
    for (const oldest of this.#defined.keys())
      if (this.#defined.size > MOST_DEFINED) this.#defined.delete(oldest);
  }

  get openFiles(): readonly string[] {
    return [...this.#open.keys()];
  }

  isOpen(path: string): boolean {
    return this.#open.has(path);
  }

  /** It says that it is still loading something. */
  get busy(): boolean {
    return this.#connection.busy;
  }

  /** Shows it a file: it loads the project the file is in. */
  open(path: string, text: string): void {
    if (this.#open.has(path)) return;
    this.#open.set(path, 1);
    for (const oldest of this.#open.keys()) if (this.#open.size > MOST_OPEN) this.#close(oldest);
    this.#told += 1;
    const uri = this.#uri(path);
    this.#connection.opened(uri);
    this.#connection.tell('textDocument/didOpen', {
      textDocument: { uri, languageId: this.#languageId(path), version: 1, text },
    });
  }

  /** A question needs what is open there. */
  needed(path: string): void {
    const version = this.#open.get(path);
    if (version === undefined) return;
    this.#open.delete(path);
    this.#open.set(path, version);
  }

  /** Closes the half of what is open that was needed longest ago: a server forgets a project none of whose files is open. */
  shed(): void {
    const oldest = this.openFiles.slice(0, Math.floor(this.#open.size / 2));
    for (const path of oldest) this.#close(path);
    if (oldest.length > 0) this.#told += 1;
  }

  /** Tells it what changed on disk, before it is asked again. What is open it must be told in full. */
  async tell(changes: Changes, read: (path: string) => Promise<string | null>): Promise<void> {
    const events = [
      ...changes.created.map((path) => ({ uri: this.#uri(path), type: 1 })),
      ...changes.changed.map((path) => ({ uri: this.#uri(path), type: 2 })),
      ...changes.deleted.map((path) => ({ uri: this.#uri(path), type: 3 })),
    ];
    if (events.length === 0) return;
    this.#told += 1;
    const open = [...changes.created, ...changes.changed, ...changes.deleted].flatMap((path) => {
      const version = this.#open.get(path);
      return version === undefined ? [] : [{ path, version }];
    });
    for (const { path, version } of open) await this.#refresh(path, version, read);
    this.#connection.tell('workspace/didChangeWatchedFiles', { changes: events });
    // One that knows what is open lists uses from what it has read so far: who is asked about a file begins to read it, or has.
    const still = this.language.opensAsked ? open.filter(({ path }) => this.#open.has(path)) : [];
    await Promise.all(still.slice(0, MOST_REREAD).map(({ path }) => this.symbols(path)));
  }

  async definition(spot: Spot): Promise<ServerPlace[]> {
    return await this.#places('textDocument/definition', spot, {});
  }

  async references(spot: Spot): Promise<ServerPlace[]> {
    return await this.#places('textDocument/references', spot, { context: { includeDeclaration: true } });
  }

  /** What it shows on a name: its signature and documentation. */
  async hover(spot: Spot): Promise<string | null> {
    return await this.#ask('textDocument/hover', Hover, this.#at(spot));
  }

  async symbols(path: string): Promise<readonly TreeSymbol[]> {
    const params = { textDocument: { uri: this.#uri(path) } };
    const found = await this.#ask('textDocument/documentSymbol', Symbols, params);
    return (found ?? []).flatMap((symbol) => {
      if ('selectionRange' in symbol) return [symbol];
      const { range } = symbol.location;
      return range ? [{ name: symbol.name, kind: symbol.kind, range, selectionRange: range }] : [];
    });
  }

  /** Definitions of exactly this name, anywhere in the projects it has loaded: from where they begin to where they end. */
  async named(name: string): Promise<(ServerPlace & { readonly endLine: number })[]> {
    const found = await this.#ask('workspace/symbol', WorkspaceSymbols, { query: name });
    return (found ?? [])
      .filter((symbol) => symbol.name === name)
      .flatMap(({ location: { uri, range } }) =>
        range ? this.#place({ uri, range }).map((place) => ({ ...place, endLine: range.end.line + 1 })) : [],
      );
  }

  async #places(method: string, spot: Spot, more: object): Promise<ServerPlace[]> {
    const found = await this.#ask(method, Locations, { ...this.#at(spot), ...more });
    return (found ?? []).flatMap((location) => this.#place(location));
  }

  /** A question that a server refuses (a file it cannot place) is one without an answer. A broken server is not. */
  async #ask<T>(method: string, shape: z.ZodType<T>, params: object): Promise<T | null> {
    try {
      return await this.#connection.ask(method, shape, params);
    } catch (error) {
      if (error instanceof ServerBroken || this.#connection.broken !== null)
        throw new ServerBroken(this.#connection.broken ?? String(error));
      return null;
    }
  }

  async #refresh(
    path: string,
    version: number,
    read: (path: string) => Promise<string | null>,
  ): Promise<void> {
    const text = await read(path);
    const uri = this.#uri(path);
    if (text === null) return this.#close(path);
    this.#open.set(path, version + 1);
    this.#connection.tell('textDocument/didChange', {
      textDocument: { uri, version: version + 1 },
      contentChanges: [{ text }],
    });
  }

  #close(path: string): void {
    this.#open.delete(path);
    const uri = this.#uri(path);
    this.#connection.closed(uri);
    this.#connection.tell('textDocument/didClose', { textDocument: { uri } });
  }

  #at({ path, line, column }: Spot): object {
    return {
      textDocument: { uri: this.#uri(path) },
      position: { line: line - 1, character: column - 1 },
    };
  }

  #place({ uri, range }: Pick<FoundLocation, 'uri' | 'range'>): ServerPlace[] {
    const known = this.#files.get(uri) ?? fileOf(uri, this.root);
    this.#files.set(uri, known);
    return [{ ...known, ...from1(range.start) }];
  }

  #uri(path: string): string {
    return pathToFileURL(`${this.root}/${path}`).href;
  }

  #languageId(path: string): string {
    return this.language.extensions[extensionOf(path)] ?? this.language.name;
  }
}

/** What a server names, as a file of the tree if it is one. */
function fileOf(uri: string, root: string): Pick<ServerPlace, 'path' | 'file'> {
  if (!URL.canParse(uri) || !uri.startsWith('file:///')) return { path: null, file: uri };
  const file = fileURLToPath(uri);
  const path = relative(root, file).split(sep).join('/');
  const inside = path !== '' && !path.startsWith('../') && !path.startsWith('/');
  return { path: inside ? path : null, file };
}

const from1 = ({ line, character }: { line: number; character: number }) => ({
  line: line + 1,
  column: character + 1,
});
