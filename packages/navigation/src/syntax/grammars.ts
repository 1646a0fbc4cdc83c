import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Language as Grammar, Node, Parser } from '@vscode/tree-sitter-wasm';

export type { Node };

type TreeSitter = typeof import('@vscode/tree-sitter-wasm');

const require = createRequire(import.meta.url);

/** Tree-sitter and its grammars, loaded when first needed. A tree lives as long as it is looked at. */
export class Grammars {
  #library: Promise<TreeSitter> | null = null;
  readonly #grammars = new Map<string, Promise<Grammar | null>>();

  /** Null: there is no such grammar. */
  async parse<T>(grammar: string, text: string, use: (root: Node) => T): Promise<T | null> {
    const language = await this.#grammar(grammar);
    if (!language) return null;
    const { Parser: Parsing } = await this.#load();
    const parser: Parser = new Parsing();
    try {
      parser.setLanguage(language);
      const tree = parser.parse(text);
      if (!tree) return null;
      try {
        return use(tree.rootNode);
      } finally {
        tree.delete();
      }
    } finally {
      parser.delete();
    }
  }

  #grammar(name: string): Promise<Grammar | null> {
    const known = this.#grammars.get(name) ?? this.#loadGrammar(name);
    this.#grammars.set(name, known);
    return known;
  }

  async #loadGrammar(name: string): Promise<Grammar | null> {
    // Whoever has it not has no outlines, and the rest all the same.
    const library = await this.#load().catch(() => null);
    if (!library) return null;
    const bytes = await readFile(join(folder(), `tree-sitter-${name}.wasm`)).catch(() => null);
    return bytes && (await library.Language.load(bytes));
  }

  #load(): Promise<TreeSitter> {
    return (this.#library ??= (async () => {
      const library = await import('@vscode/tree-sitter-wasm');
      const loaded = ('default' in library ? library.default : library) as TreeSitter;
      await loaded.Parser.init({ locateFile: (file: string) => join(folder(), file) });
      return loaded;
    })());
  }
}

const folder = (): string => dirname(require.resolve('@vscode/tree-sitter-wasm'));
