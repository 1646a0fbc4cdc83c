import { child, children, textOf, type SyntaxNode, type Visit } from './syntax.ts';
import { changeSql } from './sql.ts';

/** One change of the source: `text` instead of what is between `start` and `end`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

type Operator = (visit: Visit) => Iterable<Edit>;

/** Each makes one small mistake that people make. Large numbers are left alone: they are choices, and no test asserts a time. */
export const OPERATORS: Readonly<Record<string, Operator>> = {
  boundary: binary({ '<': '<=', '<=': '<', '>': '>=', '>=': '>' }),
  comparison: binary({ '===': '!==', '!==': '===', '<': '>=', '<=': '>', '>': '<=', '>=': '<' }),
  arithmetic: binary({ '+': '-', '-': '+', '*': '/', '/': '*', '%': '*' }),
  logic: logical({ '&&': '||', '||': '&&' }),
  operand: dropOperand,
  condition: negateCondition,
  'early exit': removeEarlyExit,
  return: removeReturn,
  statement: removeStatement,
  throw: removeThrow,
  await: dropAwait,
  not: dropNot,
  boolean: flipBoolean,
  number: changeNumber,
  assignment: changeAssignment,
  method: changeMethod,
  property: removeProperty,
  element: removeElement,
  key: shortenKey,
  sql: changeSql,
};

const replace = (node: SyntaxNode, text: string): Edit => ({ start: node.start, end: node.end, text });

/** The edit that changes the operator between two operands. */
function swapOperator({ node, source }: Visit, table: Readonly<Record<string, string>>): Edit[] {
  const [left, right] = [child(node, 'left'), child(node, 'right')];
  const operator = String(node['operator']);
  const text = table[operator];
  if (!left || !right || text === undefined) return [];
  const start = source.indexOf(operator, left.end);
  return start < 0 || start >= right.start ? [] : [{ start, end: start + operator.length, text }];
}

function binary(table: Readonly<Record<string, string>>): Operator {
  return (visit) =>
    visit.node.type === 'BinaryExpression' && !joinsText(visit.node) ? swapOperator(visit, table) : [];
}

function logical(table: Readonly<Record<string, string>>): Operator {
  return (visit) => (visit.node.type === 'LogicalExpression' ? swapOperator(visit, table) : []);
}

/** Whether a `+` puts words together. */
function joinsText(node: SyntaxNode): boolean {
  if (node['operator'] !== '+') return false;
  return ['left', 'right'].some((side) => {
    const operand = child(node, side);
    if (!operand) return false;
    return (
      operand.type === 'TemplateLiteral' ||
      (operand.type === 'Literal' && typeof operand['value'] === 'string') ||
      (operand.type === 'BinaryExpression' && joinsText(operand))
    );
  });
}

function* dropOperand({ node, source }: Visit): Generator<Edit> {
  if (node.type !== 'LogicalExpression') return;
  const [left, right] = [child(node, 'left'), child(node, 'right')];
  if (left) yield replace(node, `(${textOf(source, left)})`);
  if (right) yield replace(node, `(${textOf(source, right)})`);
}

function* negateCondition({ node, source }: Visit): Generator<Edit> {
  if (node.type !== 'IfStatement' && node.type !== 'ConditionalExpression') return;
  const test = child(node, 'test');
  // A comparison or a `!` has an operator of its own that does this.
  if (test && !['BinaryExpression', 'UnaryExpression'].includes(test.type))
    yield replace(test, `!(${textOf(source, test)})`);
}

const EXITS = new Set(['ReturnStatement', 'ThrowStatement', 'ContinueStatement', 'BreakStatement']);

function* removeEarlyExit({ node }: Visit): Generator<Edit> {
  if (node.type !== 'IfStatement' || child(node, 'alternate')) return;
  const [then, test] = [child(node, 'consequent'), child(node, 'test')];
  const last = then?.type === 'BlockStatement' ? children(then, 'body').at(-1) : then;
  if (test && last && EXITS.has(last.type)) yield replace(test, 'false');
}

/** A bare `return` after other statements. */
function* removeReturn({ node, parents: [parent] }: Visit): Generator<Edit> {
  if (node.type !== 'ReturnStatement' || child(node, 'argument')) return;
  if (parent?.type === 'BlockStatement' && children(parent, 'body').length > 1) yield replace(node, ';');
}

const ACTS = new Set(['CallExpression', 'AwaitExpression', 'AssignmentExpression', 'UpdateExpression']);

function* removeStatement({ node, source }: Visit): Generator<Edit> {
  if (node.type !== 'ExpressionStatement') return;
  const act = child(node, 'expression');
  const text = textOf(source, node);
  if (!act || !isAct(act) || text.startsWith('super(') || text.split('\n').length > 3) return;
  yield replace(node, ';');
}

function isAct(node: SyntaxNode): boolean {
  const inner = node.type === 'UnaryExpression' ? child(node, 'argument') : node;
  return inner !== null && ACTS.has(inner.type);
}

function* removeThrow({ node, parents: [parent] }: Visit): Generator<Edit> {
  // An `if` that only throws has "early exit".
  if (
    node.type === 'ThrowStatement' &&
    parent?.type === 'BlockStatement' &&
    children(parent, 'body').length > 1
  )
    yield replace(node, ';');
}

function* dropAwait({ node, source, parents: [parent] }: Visit): Generator<Edit> {
  const call = child(node, 'argument');
  if (node.type === 'AwaitExpression' && parent?.type === 'ExpressionStatement' && call)
    yield replace(node, `void ${textOf(source, call)}`);
}

function* dropNot({ node, source }: Visit): Generator<Edit> {
  const argument = child(node, 'argument');
  if (node.type === 'UnaryExpression' && node['operator'] === '!' && argument)
    yield replace(node, `!!${textOf(source, argument)}`);
}

function* flipBoolean({ node }: Visit): Generator<Edit> {
  if (node.type === 'Literal' && typeof node['value'] === 'boolean')
    yield replace(node, String(!node['value']));
}

const LARGEST = 10;

function* changeNumber({ node }: Visit): Generator<Edit> {
  const value = node['value'];
  if (node.type !== 'Literal' || typeof value !== 'number') return;
  if (!Number.isInteger(value) || value > LARGEST) return;
  yield replace(node, String(value + 1));
  if (value > 0) yield replace(node, String(value - 1));
}

const ASSIGNMENTS: Readonly<Record<string, string>> = {
  '+=': '-=',
  '-=': '+=',
  '??=': '=',
  '||=': '=',
  '&&=': '=',
};

function* changeAssignment(visit: Visit): Generator<Edit> {
  const { node, source } = visit;
  if (node.type === 'AssignmentExpression') yield* swapOperator(visit, ASSIGNMENTS);
  if (node.type === 'UpdateExpression') {
    const text = textOf(source, node);
    yield replace(node, text.includes('++') ? text.replace('++', '--') : text.replace('--', '++'));
  }
}

const METHODS: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  ceil: 'floor',
  floor: 'ceil',
  push: 'unshift',
  unshift: 'push',
  shift: 'pop',
  pop: 'shift',
  find: 'findLast',
  findLast: 'find',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
};
/** Without them a list is as it was. */
const NARROWING = new Set([
  'filter',
  'slice',
  'toSorted',
  'sort',
  'toReversed',
  'reverse',
  'trim',
  'toSpliced',
]);

function* changeMethod({ node, source }: Visit): Generator<Edit> {
  const callee = child(node, 'callee');
  if (node.type !== 'CallExpression' || callee?.type !== 'MemberExpression') return;
  const [object, name] = [child(callee, 'object'), child(callee, 'property')];
  if (!object || !name || callee['computed'] === true) return;
  const method = textOf(source, name);
  const other = METHODS[method];
  if (other) yield replace(name, other);
  if (NARROWING.has(method)) yield replace(node, textOf(source, object));
  if (method === 'at') yield* changeAt(node, source);
}

function* changeAt(node: SyntaxNode, source: string): Generator<Edit> {
  const [index] = children(node, 'arguments');
  if (index) yield replace(index, textOf(source, index) === '0' ? '-1' : '0');
}

/** A field that is not written into a row that is written anew. */
function* removeProperty({ node, source }: Visit): Generator<Edit> {
  if (node.type !== 'ObjectExpression') return;
  const fields = children(node, 'properties');
  if (!fields.some(({ type }) => type === 'SpreadElement')) return;
  for (const field of fields) if (field.type === 'Property') yield removeFromList(field, source);
}

const LONGEST_LIST = 8;

function* removeElement({ node, source }: Visit): Generator<Edit> {
  if (node.type !== 'ArrayExpression') return;
  const elements = children(node, 'elements');
  if (elements.length < 2 || elements.length > LONGEST_LIST) return;
  for (const element of elements) yield removeFromList(element, source);
}

/** With the comma after it, if there is one. */
function removeFromList(node: SyntaxNode, source: string): Edit {
  const comma = /^\s*,/.exec(source.slice(node.end))?.[0].length ?? 0;
  return { start: node.start, end: node.end + comma, text: '' };
}

/** A key that tells less apart than it should. */
function* shortenKey({ node, parents: [parent] }: Visit): Generator<Edit> {
  if (node.type !== 'TemplateLiteral' || !isKey(parent)) return;
  for (const value of children(node, 'expressions')) yield { start: value.start, end: value.end, text: "''" };
}

function isKey(node: SyntaxNode | undefined): boolean {
  const name = node && (child(node, 'key') ?? child(node, 'id'));
  return typeof name?.['name'] === 'string' && /key|dedupe/i.test(name['name']);
}
