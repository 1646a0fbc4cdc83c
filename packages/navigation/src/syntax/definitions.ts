import type { Node } from './grammars.ts';
import { firstLines } from '../text/first-lines.ts';
import { lastUpTo } from '../text/sorted.ts';

/** Something a file defines. Lines and columns from 1. */
export interface SyntaxDefinition {
  readonly name: string;
  readonly kind: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly container: string | null;
  readonly depth: number;
  readonly exported: boolean;
  /** It is not seen outside of the function it is in. */
  readonly local: boolean;
  /** It says that there is something, which is defined elsewhere: C's `int f(void);`. */
  readonly declaredOnly: boolean;
  /** Its beginning, up to the body. */
  readonly signature: string;
  readonly doc: string | null;
}

/** Node → what people call it. Grammars of other languages name their nodes alike: see `kindOf`. */
const KINDS: Readonly<Record<string, string>> = {
  function_declaration: 'function',
  generator_function_declaration: 'function',
  function_signature: 'function',
  function_definition: 'function',
  function_item: 'function',
  function_signature_item: 'function',
  class_declaration: 'class',
  abstract_class_declaration: 'class',
  class_definition: 'class',
  class_specifier: 'class',
  class: 'class',
  struct_specifier: 'struct',
  struct_item: 'struct',
  struct_declaration: 'struct',
  record_declaration: 'record',
  enum_specifier: 'enum',
  enum_item: 'enum',
  enum_declaration: 'enum',
  enum_assignment: 'enum member',
  enum_variant: 'enum member',
  enum_constant: 'enum member',
  enumerator: 'enum member',
  interface_declaration: 'interface',
  trait_item: 'trait',
  trait_declaration: 'trait',
  type_alias_declaration: 'type',
  type_alias: 'type',
  type_item: 'type',
  type_spec: 'type',
  type_definition: 'type',
  alias_declaration: 'type',
  internal_module: 'namespace',
  module: 'module',
  mod_item: 'module',
  namespace_definition: 'namespace',
  namespace_declaration: 'namespace',
  method_definition: 'method',
  method_declaration: 'method',
  method_signature: 'method',
  abstract_method_signature: 'method',
  method_elem: 'method',
  method_spec: 'method',
  method: 'method',
  singleton_method: 'method',
  constructor_declaration: 'method',
  public_field_definition: 'property',
  field_definition: 'property',
  property_signature: 'property',
  property_declaration: 'property',
  variable_declarator: 'variable',
  const_item: 'constant',
  static_item: 'constant',
  const_spec: 'constant',
  var_spec: 'variable',
  macro_definition: 'macro',
  assignment: 'variable',
  field_declaration: 'property',
  declaration: 'variable',
  preproc_def: 'macro',
  preproc_function_def: 'macro',
  shorthand_property_identifier_pattern: 'variable',
};
const TYPES = new Set(['class', 'struct', 'enum', 'interface', 'trait', 'record', 'type']);
const SPACES = new Set(['namespace', 'module']);
const BODIES = /^(?:statement_block|block|body_statement|compound_statement|function_body|constructor_body)$/;

interface Around {
  readonly container: string | null;
  /** What it is in is a type: a function there is a method. */
  readonly inType: boolean;
  readonly depth: number;
  readonly exported: boolean;
  readonly local: boolean;
}

/**
 * Everything a file defines, in its order. Parameters are left out. With `offsets` only what is around these places is
 * walked through, which for one name in a large file is a small part of it.
 */
export function definitionsIn(root: Node, offsets: readonly number[] | null = null): SyntaxDefinition[] {
  const found: SyntaxDefinition[] = [];
  const isWanted = ({ startIndex, endIndex }: Node): boolean =>
    offsets === null || (offsets[lastUpTo(offsets, endIndex - 1)] ?? -1) >= startIndex;
  const visit = (node: Node, around: Around): void => {
    const within = { ...around, exported: around.exported || node.type === 'export_statement' };
    const named = nameOf(node, within);
    const kind = named && KINDS[node.type];
    if (kind) found.push(definition(node, named, { ...within, kind: kindIn(kind, within, node) }));
    // What C's `typedef` names is beside the name.
    const isAround = kind && node.type !== 'type_definition';
    const inner = isAround ? beneath(kind, named.text, within) : implementing(node, within);
    for (const child of node.namedChildren)
      if (child && isWanted(child)) visit(child, insideOf(node, child, inner));
    if (node.type === 'enum_body') found.push(...plainMembers(node, around));
  };
  visit(root, { container: null, inType: false, depth: 0, exported: false, local: false });
  return found.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function nameOf(node: Node, around: Around): Node | null {
  if (node.type === 'shorthand_property_identifier_pattern') return around.local ? null : node;
  if (!(node.type in KINDS)) return null;
  // In C `struct S x;` names a struct and does not define it.
  if (node.type.endsWith('_specifier') && !node.childForFieldName('body')) return null;
  if (node.type === 'assignment') {
    const left = node.childForFieldName('left');
    // Within a function an assignment is seldom a definition that anybody looks for.
    return left?.type === 'identifier' && !around.local ? left : null;
  }
  // What C declares within a function is local to it, or declared elsewhere too.
  if (node.type === 'declaration' && around.local) return null;
  const name = node.childForFieldName('name') ?? declarators(node).at(-1) ?? null;
  return name && /pattern$|declarator$/.test(name.type) ? null : name;
}

/** C and its kin: the name is at the end of a chain of declarators, and of what it is in (`A::B::name`). */
function declarators(node: Node): Node[] {
  const chain: Node[] = [];
  const next = (at: Node): Node | null =>
    at.childForFieldName(at.type === 'qualified_identifier' ? 'name' : 'declarator');
  for (let at = next(node); at && chain.length < 12; at = next(at)) chain.push(at);
  return chain;
}

/** Not a pointer to one: there the name is in brackets. */
const isFunctionDeclarator = (node: Node): boolean =>
  node.type === 'function_declarator' && /identifier$|_name$/.test(declarators(node)[0]?.type ?? '');

/** Nothing but its beginning, or `extern`. */
const isDeclaredOnly = (node: Node): boolean =>
  /^(?:field_)?declaration$/.test(node.type) &&
  (declarators(node).some(isFunctionDeclarator) || /^extern\s[^=]*$/.test(node.text));

/** Rust's `impl` defines nothing itself; what is in it belongs to its type. */
function implementing(node: Node, around: Around): Around {
  if (node.type !== 'impl_item') return around;
  const container = node.childForFieldName('type')?.text ?? null;
  return { ...around, container, inType: true, depth: around.depth + 1 };
}

const beneath = (kind: string, name: string, around: Around): Around => ({
  container: TYPES.has(kind) || SPACES.has(kind) ? name : around.container,
  inType: TYPES.has(kind) || (around.inType && !SPACES.has(kind)),
  depth: around.depth + 1,
  exported: false,
  local: around.local,
});

/** What is in the body of a function belongs to it. */
function insideOf(node: Node, child: Node, inner: Around): Around {
  const isBody =
    BODIES.test(child.type) && !/class|module|namespace|trait|impl|ambient|decl_list/.test(node.type);
  return isBody ? { ...inner, local: true } : inner;
}

/** `enum E { A, B }`: its members are bare names in TypeScript. */
function plainMembers(body: Node, around: Around): SyntaxDefinition[] {
  return body.namedChildren.flatMap((child) =>
    child?.type === 'property_identifier'
      ? [definition(child, child, { ...around, kind: 'enum member' })]
      : [],
  );
}

function kindIn(kind: string, { inType }: Around, node: Node): string {
  const isFunction = kind === 'function' || declarators(node).some(isFunctionDeclarator);
  if (isFunction) return inType ? 'method' : 'function';
  if (kind === 'variable' && /function|arrow/.test(node.childForFieldName('value')?.type ?? ''))
    return 'function';
  return kind;
}

function definition(node: Node, name: Node, around: Around & { readonly kind: string }): SyntaxDefinition {
  const { kind, depth, exported, local } = around;
  // Go writes the type that a method belongs to before its name.
  const [receiver] = node.childForFieldName('receiver')?.descendantsOfType('type_identifier') ?? [];
  const qualified = name.parent?.type === 'qualified_identifier' ? name.parent : null;
  const scope = qualified?.childForFieldName('scope')?.text.replace(/<.*/s, '');
  const container = receiver?.text ?? scope ?? around.container;
  return {
    name: name.text,
    kind,
    line: name.startPosition.row + 1,
    column: name.startPosition.column + 1,
    endLine: node.endPosition.row + 1,
    container,
    depth,
    exported,
    local,
    declaredOnly: isDeclaredOnly(node),
    signature: signatureOf(node),
    doc: docOf(node),
  };
}

const LONGEST = 300;
/** So much of a text is looked at for it. */
const MOST_READ = 4_000;

function signatureOf(node: Node): string {
  const body = node.childForFieldName('body');
  const end = body ? Math.max(0, body.startIndex - node.startIndex) : MOST_READ;
  const text = node.text.slice(0, Math.min(end, MOST_READ));
  const [first = ''] = body ? [text] : text.split('\n', 1);
  return first
    .replaceAll(/\s+/g, ' ')
    .slice(0, 2 * LONGEST)
    .replace(/[{:=;\s]+$/, '')
    .trim()
    .slice(0, LONGEST);
}

/** The comment right above, or Python's first string. */
function docOf(node: Node): string | null {
  const string = node.childForFieldName('body')?.namedChildren[0]?.namedChildren[0];
  if (string?.type === 'string')
    return firstLines(string.text.replaceAll(/^[rub]*("""|'''|["'])|("""|'''|["'])$/gi, ''));
  let outer = node;
  while (
    outer.parent &&
    /^(?:export_statement|lexical_declaration|variable_declaration|decorated_definition|type_declaration)$/.test(
      outer.parent.type,
    )
  )
    outer = outer.parent;
  const above = outer.previousNamedSibling;
  if (!above || !/comment/.test(above.type) || above.endPosition.row < outer.startPosition.row - 1)
    return null;
  return firstLines(above.text);
}
