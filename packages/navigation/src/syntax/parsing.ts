import { definitionsIn, type SyntaxDefinition } from './definitions.ts';
import { Grammars, type Node } from './grammars.ts';
import { moduleSyntax, type ModuleSyntax } from './modules.ts';
import { offsetsOf, spotsOf, type Spot } from '../text/spots.ts';

/** What the words at a place are. */
export type Role = 'code' | 'comment' | 'string';

/** What can be asked about a text, and what is answered. */
export interface Parsed {
  readonly definitions: readonly SyntaxDefinition[];
  /** Those of one name only, which are found faster. */
  readonly named: readonly SyntaxDefinition[];
  readonly module: ModuleSyntax;
  readonly roles: readonly Role[];
  /** The places where a name is used as one, not in comments or strings. */
  readonly names: readonly Spot[];
}

export type SyntaxQuestion = { readonly grammar: string; readonly text: string } & (
  | { readonly kind: 'definitions' }
  | { readonly kind: 'module' }
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'names'; readonly name: string }
  | { readonly kind: 'roles'; readonly spots: readonly Spot[] }
);

/** Parses what it is asked about. Null: there is no such grammar. */
export class Parsing {
  readonly #grammars = new Grammars();

  async answer(question: SyntaxQuestion): Promise<Parsed[keyof Parsed] | null> {
    return await this.#grammars.parse(question.grammar, question.text, (root) => answerIn(root, question));
  }
}

function answerIn(root: Node, question: SyntaxQuestion): Parsed[keyof Parsed] {
  const { text } = question;
  if (question.kind === 'definitions') return definitionsIn(root);
  if (question.kind === 'module') return moduleSyntax(root, question.grammar);
  if (question.kind === 'roles') return question.spots.map((spot) => roleAt(root, spot));
  const { name } = question;
  if (question.kind === 'named')
    return definitionsIn(root, offsetsOf(text, name)).filter((each) => each.name === name);
  return spotsOf(text, name)
    .filter((spot) => roleAt(root, spot) === 'code')
    .map(({ line, column }) => ({ line, column }));
}

function roleAt(root: Node, { line, column }: Spot): Role {
  const point = { row: line - 1, column: column - 1 };
  for (let node = root.descendantForPosition(point); node; node = node.parent) {
    // A word of the language may be called like what it stands for: `string`.
    if (!node.isNamed) continue;
    if (/comment|^hash_bang_line$/.test(node.type)) return 'comment';
    // Code within a template is code again, and so is a type.
    if (/substitution|interpolation|expression$|^template_type$/.test(node.type)) return 'code';
    if (/string|template|char_literal|jsx_text|regex/.test(node.type)) return 'string';
  }
  return 'code';
}
