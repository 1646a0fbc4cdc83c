/** What tools need of symbolic navigation (NAV). Paths are from the root of the worktree; lines and columns count from 1. */
export interface CodePlace {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** A place with its line, as it is in the file. */
export interface CodeLine extends CodePlace {
  readonly text: string;
}

/** Text hits of the name that are no part of the answer, and why. */
export interface Uncovered {
  readonly reason: string;
  readonly count: number;
  /** The first of them. */
  readonly places: readonly CodeLine[];
}

/** How an answer was found, and how far it can be relied on (NAV2). Nothing is left out without being said here. */
export interface Coverage {
  /** `semantic`: a language server resolved it. `text`: found by words and by parsing single files. */
  readonly found: 'semantic' | 'text';
  /** True: everything that text search finds is either in the answer or accounted for in `uncovered`. */
  readonly complete: boolean;
  /** Why it is not complete, or not semantic; what else should be known. */
  readonly notes: readonly string[];
  readonly uncovered: readonly Uncovered[];
}

export interface FoundDefinition extends CodeLine {
  readonly name: string;
  /** class, function, variable …; null if it is not known. */
  readonly kind: string | null;
  /** The class or namespace it is in. */
  readonly container: string | null;
  readonly signature: string | null;
  /** The first lines of its documentation. */
  readonly doc: string | null;
  readonly exported: boolean | null;
  /** It is not in the worktree: a library of the language or of a package. */
  readonly outside: boolean;
}

export interface Definitions extends Coverage {
  readonly definitions: readonly FoundDefinition[];
}

export interface Usages extends Coverage {
  readonly definitions: readonly CodeLine[];
  readonly usages: readonly CodeLine[];
}

export interface ModuleExport extends CodePlace {
  readonly name: string;
  readonly kind: string | null;
  readonly signature: string | null;
  readonly doc: string | null;
  /** It is defined there and passed on here. */
  readonly from: string | null;
}

export interface ModuleImport {
  readonly line: number;
  /** As it is written. */
  readonly specifier: string;
  /** The file it leads to, if that is in the worktree. */
  readonly path: string | null;
  readonly names: readonly string[];
}

export interface ModuleView extends Coverage {
  readonly path: string;
  readonly exports: readonly ModuleExport[];
  readonly imports: readonly ModuleImport[];
  readonly importers: readonly CodeLine[];
}

export interface OutlineEntry extends CodePlace {
  readonly name: string;
  readonly kind: string;
  /** How deep it is nested; 0 is the top. */
  readonly depth: number;
  readonly endLine: number;
}

export interface Outline extends Coverage {
  readonly path: string;
  readonly entries: readonly OutlineEntry[];
}

export interface TypeOf extends Coverage {
  readonly place: CodePlace | null;
  readonly signature: string | null;
  readonly doc: string | null;
}

export interface Asking {
  readonly signal: AbortSignal;
  /** How long to wait for a server that is cold; then the answer is from text. */
  readonly waitMs: number;
}

/** Where symbols are, in one worktree. Never partial without saying so; never an error because a server failed. */
export interface ToolNavigation {
  definitions(ask: { readonly symbol: string; readonly from?: string }, asking: Asking): Promise<Definitions>;
  usages(ask: { readonly symbol: string; readonly file: string }, asking: Asking): Promise<Usages>;
  module(ask: { readonly path: string }, asking: Asking): Promise<ModuleView>;
  outline(ask: { readonly path: string }, asking: Asking): Promise<Outline>;
  typeOf(ask: { readonly symbol: string; readonly file: string }, asking: Asking): Promise<TypeOf>;
}
