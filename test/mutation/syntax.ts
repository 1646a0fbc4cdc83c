import { parseAst } from 'rolldown/parseAst';

/** A node of the syntax tree, as ESTree names it. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Visit {
  readonly node: SyntaxNode;
  /** From the nearest parent to the program. */
  readonly parents: readonly SyntaxNode[];
  readonly source: string;
}

export const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;

/** The child node in a field, or null. */
export function child(node: SyntaxNode, field: string): SyntaxNode | null {
  const value = node[field];
  return isNode(value) ? value : null;
}

export function children(node: SyntaxNode, field: string): SyntaxNode[] {
  const value = node[field];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

export const textOf = (source: string, node: SyntaxNode): string => source.slice(node.start, node.end);

/** Types, imports and the words of errors hold nothing that a test of behaviour could notice. */
const SKIPPED = new Set(['ImportDeclaration', 'ExportAllDeclaration', 'ThrowStatement']);
const WITH_A_VALUE = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression']);

/** Every node that has a meaning when the program runs, parents first. */
export function* walk(source: string): Generator<Visit> {
  const program: unknown = parseAst(source, { lang: 'ts' });
  if (isNode(program)) yield* walkFrom(program, [], source);
}

function* walkFrom(node: SyntaxNode, parents: readonly SyntaxNode[], source: string): Generator<Visit> {
  if (node.type.startsWith('TS') && !WITH_A_VALUE.has(node.type)) return;
  yield { node, parents, source };
  if (SKIPPED.has(node.type)) return;
  const path = [node, ...parents];
  for (const value of Object.values(node)) {
    if (isNode(value)) yield* walkFrom(value, path, source);
    else if (Array.isArray(value))
      for (const one of value) if (isNode(one)) yield* walkFrom(one, path, source);
  }
}

export function parses(source: string): boolean {
  try {
    parseAst(source, { lang: 'ts' });
    return true;
  } catch {
    return false;
  }
}
