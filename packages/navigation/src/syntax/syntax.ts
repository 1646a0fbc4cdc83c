import { extensionOf, languageOf } from '../languages.ts';
import { definitionsIn, type SyntaxDefinition } from './definitions.ts';
import { Grammars, type Node } from './grammars.ts';
import { moduleSyntax, type ModuleSyntax } from './modules.ts';
import { offsetsOf, spotsOf, type Spot } from '../text/spots.ts';

/** What the words at a place are. */
export type Role = 'code' | 'comment' | 'string';

interface Known {
  readonly extension: string;
  readonly definitions: readonly SyntaxDefinition[] | null;
}
const MOST_KNOWN = 50;

/** What can be known of one file without its project. Null where there is no grammar for it. */
export class Syntax {
  readonly #grammars = new Grammars();
  /** Of the files that were asked about last: many questions are about the same ones. */
  readonly #known = new Map<string, Known>();
  readonly #named = new Map<string, Map<string, readonly SyntaxDefinition[] | null>>();

  async definitions(path: string, text: string): Promise<readonly SyntaxDefinition[] | null> {
    const extension = extensionOf(path);
    const known = this.#known.get(text);
    if (known?.extension === extension) return known.definitions;
    const definitions = await this.#parse(path, text, (root) => definitionsIn(root));
    this.#known.set(text, { extension, definitions });
    for (const oldest of this.#known.keys()) if (this.#known.size > MOST_KNOWN) this.#known.delete(oldest);
    return definitions;
  }

  /** Those of one name only, which are found faster. */
  async named(path: string, text: string, name: string): Promise<readonly SyntaxDefinition[] | null> {
    const extension = extensionOf(path);
    const known = this.#known.get(text);
    if (known?.extension === extension)
      return known.definitions?.filter((each) => each.name === name) ?? null;
    const key = `${extension}\0${name}`;
    const asked = this.#named.get(text) ?? new Map<string, readonly SyntaxDefinition[] | null>();
    const before = asked.get(key);
    if (before !== undefined) return before;
    const offsets = offsetsOf(text, name);
    const all = await this.#parse(path, text, (root) => definitionsIn(root, offsets));
    const found = all && all.filter((each) => each.name === name);
    asked.set(key, found);
    this.#named.set(text, asked);
    for (const oldest of this.#named.keys()) if (this.#named.size > MOST_KNOWN) this.#named.delete(oldest);
    return found;
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
    return await this.#parse(path, text, (root) => moduleSyntax(root, grammarOf(path) ?? ''));
  }

  async roles(path: string, text: string, spots: readonly Spot[]): Promise<readonly Role[] | null> {
    return await this.#parse(path, text, (root) => spots.map((spot) => roleAt(root, spot)));
  }

  /** The places where a name is used as one, not in comments or strings. */
  async names(path: string, text: string, name: string): Promise<readonly Spot[] | null> {
    return await this.#parse(path, text, (root) =>
      spotsOf(text, name)
        .filter((spot) => roleAt(root, spot) === 'code')
        .map(({ line, column }) => ({ line, column })),
    );
  }

  #parse<T>(path: string, text: string, use: (root: Node) => T): Promise<T | null> {
    return this.#grammars.parse(grammarOf(path), text, use);
  }
}

const grammarOf = (path: string): string | null => languageOf(path)?.grammar(extensionOf(path)) ?? null;

function roleAt(root: Node, { line, column }: Spot): Role {
  const point = { row: line - 1, column: column - 1 };
  for (let node = root.descendantForPosition(point); node; node = node.parent) {
    if (/comment/.test(node.type)) return 'comment';
    // Code within a template is code again.
    if (/substitution|interpolation|expression$/.test(node.type)) return 'code';
    if (/string|template|char_literal|jsx_text|regex/.test(node.type)) return 'string';
  }
  return 'code';
}
