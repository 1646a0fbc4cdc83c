import { isReveilleError } from '@reveille/protocol';
import { extensionOf, languageOf } from '../languages.ts';
import { Thread } from '../thread.ts';
import type { Spot } from '../text/spots.ts';
import type { SyntaxDefinition } from './definitions.ts';
import type { ModuleSyntax } from './modules.ts';
import type { Parsed, Role, SyntaxQuestion } from './parsing.ts';

export type { Role };

const PROGRAM = import.meta.url.endsWith('.ts')
  ? new URL('./syntax-worker.ts', import.meta.url)
  : new URL('./syntax-worker.js', import.meta.url);

/** A file larger than this is not parsed: it was made by a program, and would hold everybody up. */
const LARGEST = 1_000_000;
/** No file that people write takes a tenth of it. */
const PATIENCE_MS = 10_000;
/** A parser keeps the memory of the largest file it has seen. */
const IDLE_MS = 10 * 60_000;

/** A little of everything: code runs slowly at first. */
const SAMPLE = "import { a } from 'a';\nexport class B extends a { c = async (d) => `${d}`; }\n".repeat(20);

interface Known {
  readonly extension: string;
  readonly definitions: readonly SyntaxDefinition[] | null;
}
const MOST_KNOWN = 50;

/**
 * What can be known of one file without its project. Null where there is no grammar for it, or it cannot be parsed. It is parsed in a
 * thread of its own: one that is made to be slow holds nobody else up, and is given up.
 */
export class Syntax implements AsyncDisposable {
  readonly #thread: Thread<SyntaxQuestion>;
  /** Of the files that were asked about last: many questions are about the same ones. */
  readonly #known = new Map<string, Known>();
  readonly #named = new Map<string, Map<string, Promise<readonly SyntaxDefinition[] | null>>>();
  /** Texts that took too long, or brought the parser down. */
  readonly #bad = new Set<string>();

  constructor({ patienceMs = PATIENCE_MS } = {}) {
    this.#thread = new Thread({ program: PROGRAM, name: 'The parser', patienceMs, idleMs: IDLE_MS });
  }

  /** Makes the thread ready for those who will ask. */
  begin(): void {
    if (this.#thread.begun) return;
    for (const path of ['a.js', 'a.ts'])
      this.#ask<'named'>(path, { kind: 'named', text: SAMPLE, name: 'c' }).catch(() => undefined);
  }

  async definitions(path: string, text: string): Promise<readonly SyntaxDefinition[] | null> {
    const extension = extensionOf(path);
    const known = this.#known.get(text);
    if (known?.extension === extension) return known.definitions;
    const definitions = await this.#ask<'definitions'>(path, { kind: 'definitions', text });
    this.#known.set(text, { extension, definitions });
    forgetOldest(this.#known);
    return definitions;
  }

  /** Those of one name only, which are found faster. */
  async named(path: string, text: string, name: string): Promise<readonly SyntaxDefinition[] | null> {
    const extension = extensionOf(path);
    const known = this.#known.get(text);
    if (known?.extension === extension)
      return known.definitions?.filter((each) => each.name === name) ?? null;
    const key = `${extension}\0${name}`;
    const asked = this.#named.get(text) ?? new Map<string, Promise<readonly SyntaxDefinition[] | null>>();
    const found = asked.get(key) ?? this.#ask<'named'>(path, { kind: 'named', text, name });
    asked.set(key, found);
    found.catch(() => asked.delete(key));
    this.#named.set(text, asked);
    forgetOldest(this.#named);
    return await found;
  }

  /** What is defined at this very place. */
  async at(path: string, text: string, { line, column }: Spot): Promise<SyntaxDefinition | null | undefined> {
    const row = text.split('\n', line)[line - 1] ?? '';
    const name = /^[\p{L}\p{N}_$]+/u.exec(row.slice(column - 1))?.[0];
    const found =
      name === undefined ? await this.definitions(path, text) : await this.named(path, text, name);
    return found && (found.find((each) => each.line === line && each.column === column) ?? null);
  }

  async module(path: string, text: string): Promise<ModuleSyntax | null> {
    return await this.#ask<'module'>(path, { kind: 'module', text });
  }

  async roles(path: string, text: string, spots: readonly Spot[]): Promise<readonly Role[] | null> {
    const plain = spots.map(({ line, column }) => ({ line, column }));
    return await this.#ask<'roles'>(path, { kind: 'roles', text, spots: plain });
  }

  /** The places where a name is used as one, not in comments or strings. */
  async names(path: string, text: string, name: string): Promise<readonly Spot[] | null> {
    return await this.#ask<'names'>(path, { kind: 'names', text, name });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]();
  }

  /** The thread is ours: what it answers has the shape of what it was asked. */
  async #ask<K extends keyof Parsed>(
    path: string,
    question: Without<SyntaxQuestion, 'grammar'> & { readonly kind: K },
  ): Promise<Parsed[K] | null> {
    const { text } = question;
    const grammar = languageOf(path)?.grammar(extensionOf(path)) ?? null;
    if (grammar === null || text.length > LARGEST || this.#bad.has(text)) return null;
    try {
      return (await this.#thread.ask({ ...question, grammar })) as Parsed[K] | null;
    } catch (error) {
      if (!isReveilleError(error)) throw error;
      this.#bad.add(text);
      forgetOldest(this.#bad);
      return null;
    }
  }
}

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function forgetOldest(known: Map<string, unknown> | Set<string>): void {
  for (const oldest of known.keys()) if (known.size > MOST_KNOWN) known.delete(oldest);
}
