import type { Node } from './grammars.ts';

/** An import as it is written; line and column are those of the specifier's text, from 1. */
export interface SyntaxImport {
  readonly specifier: string;
  readonly line: number;
  readonly column: number;
  readonly names: readonly string[];
  /** `export … from`: what is imported is passed on. */
  readonly passesOn: boolean;
  /** Where the names are, if each of them may be a module itself: Python's `from package import module`. */
  readonly spots?: readonly SyntaxExport[];
}

/** A name that others see under `name`, and where it is written. */
export interface SyntaxExport {
  readonly name: string;
  readonly line: number;
  readonly column: number;
}

export interface ModuleSyntax {
  readonly imports: readonly SyntaxImport[];
  /** Names that an export clause or a default export adds to what the definitions export themselves. */
  readonly exports: readonly SyntaxExport[];
  /** `export * from`: the specifiers. */
  readonly stars: readonly SyntaxImport[];
  /** Python's `__all__`, if there is one. */
  readonly all: readonly string[] | null;
}

/** Imports and exports of a file. */
export function moduleSyntax(root: Node, grammar: string): ModuleSyntax {
  if (/^(?:typescript|tsx|javascript)$/.test(grammar)) return scriptModule(root);
  if (grammar === 'python') return pythonModule(root);
  return { imports: otherImports(root), exports: [], stars: [], all: null };
}

function scriptModule(root: Node): ModuleSyntax {
  const imports = root
    .descendantsOfType(['import_statement', 'export_statement', 'call_expression', 'import_require_clause'])
    .flatMap((node) => (node ? scriptImport(node) : []));
  const statements = root.descendantsOfType('export_statement').filter((node) => node !== null);
  const exports = statements.flatMap(clauseExports);
  const stars = statements
    .filter((node) => /^export\s*(?:type\s*)?\*\s*from/.test(node.text))
    .flatMap(scriptImport);
  return { imports, exports, stars, all: null };
}

function scriptImport(node: Node): SyntaxImport[] {
  const source = node.childForFieldName('source') ?? calledWith(node);
  if (!source || source.type !== 'string') return [];
  const names = node
    .descendantsOfType(['import_specifier', 'export_specifier'])
    .map((each) => each?.childForFieldName('name')?.text ?? '');
  const whole = node
    .descendantsOfType(['namespace_import', 'namespace_export'])
    .map((each) => each?.text ?? '');
  const [clause] = node.descendantsOfType('import_clause');
  const main = clause?.namedChildren.find((child) => child?.type === 'identifier');
  return [
    {
      specifier: source.text.slice(1, -1),
      ...placeOf(source, 1),
      names: [...(main ? ['default'] : []), ...whole, ...names].filter((name) => name !== ''),
      passesOn: node.type === 'export_statement',
    },
  ];
}

/** `require('x')` and `import('x')`. */
function calledWith(node: Node): Node | null {
  if (node.type !== 'call_expression') return null;
  const called = node.childForFieldName('function');
  if (called?.type !== 'import' && called?.text !== 'require') return null;
  return node.childForFieldName('arguments')?.namedChildren[0] ?? null;
}

function clauseExports(node: Node): SyntaxExport[] {
  const named = node.descendantsOfType('export_specifier').flatMap((each): SyntaxExport[] => {
    const shown = each?.childForFieldName('alias') ?? each?.childForFieldName('name');
    return shown ? [{ name: shown.text, ...placeOf(shown) }] : [];
  });
  const [whole] = node.descendantsOfType('namespace_export');
  const space = whole?.namedChildren[0];
  const isDefault = /^export\s+default\b/.test(node.text) || /^export\s*=/.test(node.text);
  const value =
    node.childForFieldName('declaration') ?? node.childForFieldName('value') ?? node.namedChildren[0];
  const at = value?.childForFieldName('name') ?? value;
  return [
    ...named,
    ...(space ? [{ name: space.text, ...placeOf(space) }] : []),
    ...(isDefault && at ? [{ name: 'default', ...placeOf(at) }] : []),
  ];
}

function pythonModule(root: Node): ModuleSyntax {
  const imports = root
    .descendantsOfType(['import_statement', 'import_from_statement'])
    .flatMap((node) => (node ? pythonImport(node) : []));
  const all = root.namedChildren
    .map((node) => node?.namedChildren[0])
    .find((node) => node?.type === 'assignment' && node.childForFieldName('left')?.text === '__all__');
  const names = all?.descendantsOfType('string_content').map((each) => each?.text ?? '');
  return { imports, exports: [], stars: [], all: names ?? null };
}

function pythonImport(node: Node): SyntaxImport[] {
  const names = node.childrenForFieldName('name').flatMap((each) => (each ? [plainName(each)] : []));
  const from = node.childForFieldName('module_name');
  if (from) {
    const last = from.descendantsOfType('identifier').at(-1) ?? from;
    const spots = names.map((name) => ({ name: name.text, ...placeOf(name) }));
    const texts = names.map(({ text }) => text);
    return [{ specifier: from.text, ...placeOf(last), names: texts, passesOn: false, spots }];
  }
  return names.map((name) => {
    const last = name.descendantsOfType('identifier').at(-1) ?? name;
    return { specifier: name.text, ...placeOf(last), names: [], passesOn: false };
  });
}

const plainName = (node: Node): Node =>
  (node.type === 'aliased_import' ? node.childForFieldName('name') : null) ?? node;

const IMPORTING =
  /^(?:import_declaration|import_spec|use_declaration|preproc_include|using_directive|namespace_use_declaration|package_declaration)$/;

/** In other languages: the statement as it is. */
function otherImports(root: Node): SyntaxImport[] {
  const found: SyntaxImport[] = [];
  const visit = (node: Node, depth: number): void => {
    const nested = node.namedChildren.some((child) => child && /import_spec/.test(child.type));
    if ((IMPORTING.test(node.type) || isSourced(node)) && !nested) {
      const specifier = node.text.replaceAll(LEADING, '').trim().slice(0, 200);
      found.push({ specifier, ...placeOf(node, lastWordIn(node.text)), names: [], passesOn: false });
      return;
    }
    if (depth < 4) for (const child of node.namedChildren) if (child) visit(child, depth + 1);
  };
  visit(root, 0);
  return found;
}

const LEADING =
  /^(?:(?:import|use|using|#include|package|source|\.)\s+(?:(?:function|const|static)\s+)?)|[;"'<>]/g;

/** A script that a shell reads into itself. */
const isSourced = (node: Node): boolean => node.type === 'command' && /^(?:source|\.)\s/.test(node.text);

/** Where a server can say what is imported: the last word of the first line. */
function lastWordIn(text: string): number {
  const [line = ''] = text.split('\n', 1);
  let end = line.length;
  while (end > 0 && !WORD.test(line[end - 1] ?? '')) end -= 1;
  while (end > 0 && WORD.test(line[end - 1] ?? '')) end -= 1;
  return end;
}

const WORD = /[\p{L}\p{N}_$]/u;

const placeOf = ({ startPosition: { row, column } }: Node, offset = 0) => ({
  line: row + 1,
  column: column + 1 + offset,
});
