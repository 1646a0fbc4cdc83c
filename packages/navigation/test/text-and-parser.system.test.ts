import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { hasTypes, languageOf } from '../src/languages.ts';
import { Grammars, type Node } from '../src/syntax/grammars.ts';
import { isBound } from '../src/text/bound.ts';
import { Brackets } from '../src/text/brackets.ts';
import { heldText } from '../src/text/contents.ts';
import { Lines } from '../src/text/lines.ts';
import type { Regions } from '../src/text/regions.ts';
import type { TextSpot } from '../src/text/spots.ts';
import { Syntax } from '../src/syntax/syntax.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Our own sources, and what others wrote, compiled and made small. */
const FOLDERS = [
  'packages',
  'apps',
  'node_modules/zod',
  'node_modules/hono',
  'node_modules/oxfmt/dist',
  'node_modules/ajv',
];
const LARGEST = 300_000;

/** What gives a name to what it stands in. */
const NAMED = new Set(
  'variable_declarator function_declaration function_expression generator_function generator_function_declaration class_declaration class abstract_class_declaration interface_declaration type_alias_declaration enum_declaration type_parameter internal_module module function_signature mapped_type_clause'.split(
    ' ',
  ),
);
/** Which part of a node is a pattern, in which each name is bound. */
const PATTERNS: Readonly<Record<string, string>> = {
  variable_declarator: 'name',
  required_parameter: 'pattern',
  optional_parameter: 'pattern',
  catch_clause: 'parameter',
  arrow_function: 'parameter',
};

const isField = (parent: Node, field: string, node: Node): boolean =>
  parent.childForFieldName(field)?.id === node.id;

/** Whether names beneath a node are bound, if they are beneath its parent or not. */
function isPattern(parent: Node, node: Node, within: boolean): boolean {
  const field = PATTERNS[parent.type];
  if (field !== undefined && isField(parent, field, node)) return true;
  if (parent.type === 'for_in_statement')
    return isField(parent, 'left', node) && parent.childForFieldName('kind') !== null;
  if (!within || !parent.type.includes('pattern')) return false;
  // `{ key: name = value }`
  return !isField(parent, 'key', node) && !isField(parent, 'right', node);
}

function isBinding(node: Node, within: boolean): boolean {
  const { parent } = node;
  if (within && /identifier/.test(node.type)) return true;
  if (!parent) return false;
  if (NAMED.has(parent.type) && isField(parent, 'name', node)) return true;
  if (parent.type === 'import_clause' || parent.type === 'namespace_import') return true;
  const alias = parent.childForFieldName('alias');
  return parent.type === 'import_specifier' && (alias ?? parent.childForFieldName('name'))?.id === node.id;
}

/** Every name that a text binds, by the parser. */
function* bindings(node: Node, within = false): Generator<Node> {
  if (/identifier/.test(node.type) && isBinding(node, within)) yield node;
  for (const child of node.namedChildren) if (child) yield* bindings(child, isPattern(node, child, within));
}

const files = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => languageOf(file)?.name === 'typescript' && !/node_modules.*node_modules/.test(file))
    .filter((file) => statSync(join(ROOT, file)).isFile() && statSync(join(ROOT, file)).size < LARGEST);

interface Source {
  readonly file: string;
  readonly text: string;
  readonly regions: Regions;
}

function* sources(): Generator<Source> {
  for (const file of FOLDERS.flatMap(files)) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const regions = heldText(text).regions();
    if (regions) yield { file, text, regions };
  }
}

/** So many of each file are compared. */
const MOST_WORDS = 100;

/** Every so-manieth word of a text; not the letters behind a pattern. */
function wordsOf(text: string): TextSpot[] {
  const lines = new Lines(text);
  const all = [...text.matchAll(/(?<![\w/$])[A-Za-z_]\w*/g)];
  const step = Math.ceil(all.length / MOST_WORDS);
  return all
    .filter((_, i) => i % step === 0)
    .map(({ index: offset }) => {
      const line = lines.at(offset);
      return { line: line + 1, column: offset - lines.start(line) + 1, offset };
    });
}

test('[NAV1.6] comments and strings are told from code as the parser tells them, in whatever people write', async () => {
  await using syntax = new Syntax();
  const wrong: string[] = [];
  let tried = 0;
  for (const { file, text, regions } of sources()) {
    const words = wordsOf(text);
    const roles = await syntax.roles(file, text, words);
    for (const [i, { offset }] of words.entries()) {
      tried += 1;
      const told = regions.at(offset)?.role ?? 'code';
      if (told !== roles?.[i])
        wrong.push(
          `${file}: ${roles?.[i]}, not ${told}: ${text.slice(Math.max(0, offset - 60), offset + 40)}`,
        );
    }
  }
  expect(wrong.slice(0, 10)).toEqual([]);
  expect(tried).toBeGreaterThan(50_000);
});

test('[NAV2.9] what binds a name by the parser is never taken for a use of it, in whatever people write', async () => {
  const grammars = new Grammars();
  const wrong: string[] = [];
  let tried = 0;
  for (const { file, text, regions } of sources()) {
    const brackets = new Brackets(file, text, regions);
    const grammar = hasTypes(file) && !file.endsWith('x') ? 'typescript' : 'tsx';
    await grammars.parse(grammar, text, (root) => {
      if (root.hasError) return;
      for (const { startIndex, text: name } of bindings(root)) {
        tried += 1;
        if (isBound(brackets, startIndex, name))
          wrong.push(`${file}: ${text.slice(Math.max(0, startIndex - 60), startIndex + 40)}`);
      }
    });
  }
  expect(wrong.slice(0, 10)).toEqual([]);
  expect(tried).toBeGreaterThan(50_000);
});
