import {
  ReveilleError,
  type Asking,
  type CodeLine,
  type Coverage,
  type FoundDefinition,
  type ToolNavigation,
} from '@reveille/protocol';
import { z } from 'zod';
import { quote } from '../fence.ts';
import { Context, coverageText, coverageShape, withContext, type Shown } from '../navigation/answer.ts';
import { linesAround } from '../lines-around.ts';
import { LOOKS, WORKERS, defineTool, type RunWorld } from '../tool.ts';
import { filesOf, path } from './files.ts';

const symbolName = z
  .string()
  .min(1)
  .max(300)
  .refine(
    (name) => /^[\p{L}\p{N}_$.#:]+$/u.test(name),
    'must be one name, such as parse, or Parser.parse for a member',
  )
  .describe('The name alone, or Container.name for a member.');
const waitMs = z
  .int()
  .min(0)
  .max(120_000)
  .default(400)
  .describe('How long to wait for a loading language server; then the answer is from text.');

/** `needs: 'navigation'` keeps whoever has none from getting here. */
function navigationOf({ navigation }: Pick<RunWorld, 'navigation'>) {
  if (!navigation) throw new ReveilleError('wrong_state', 'There is no navigation here.');
  return navigation;
}

/** Asks, for as long as the caller's client waits, and counts it. */
async function asked<T extends Coverage>(
  world: RunWorld,
  wait: number,
  question: (navigation: ToolNavigation, asking: Asking) => Promise<T>,
): Promise<T> {
  const most = world.patienceMs === null ? wait : Math.max(0, Math.min(wait, world.patienceMs - 2_000));
  const answer = await question(navigationOf(world), { signal: world.signal, waitMs: most });
  world.tally?.add('navigation');
  if (answer.found === 'text') world.tally?.add('fromText');
  return answer;
}

/** What all of these tools have in common. */
const LOOKING = { annotations: LOOKS, callers: WORKERS, needs: 'navigation' } as const;

export const navigateToSymbol = defineTool({
  name: 'navigate_to_symbol',
  title: 'Go to a definition',
  description: [
    'Where a symbol is defined, by its name, with signature and documentation: the first choice for any symbol. With `fromFile` it is what the name means in that file, through its imports. Without it, all definitions of that name, with what tells them apart.',
    'The answer says whether a language server resolved it ("semantic") or it was found by text, and whether it is complete.',
    'Example: {"symbolName":"Parser.parse","fromFile":"src/main.ts"}',
  ],
  input: z.strictObject({
    symbolName,
    fromFile: path('A file that uses the name, from the root of the worktree.').optional(),
    waitMs,
  }),
  output: z.object({
    definitions: z.array(
      z.object({
        path: z.string(),
        line: z.number(),
        column: z.number(),
        name: z.string(),
        kind: z.string().nullable(),
        container: z.string().nullable(),
        signature: z.string().nullable(),
        doc: z.string().nullable(),
        exported: z.boolean().nullable(),
        outside: z.boolean(),
        text: z.string(),
      }),
    ),
    ...coverageShape,
  }),
  ...LOOKING,
  async run(input, world) {
    const ask = {
      symbol: input.symbolName,
      ...(input.fromFile === undefined ? {} : { from: input.fromFile }),
    };
    const found = await asked(world, input.waitMs, (navigation, asking) =>
      navigation.definitions(ask, asking),
    );
    const { definitions } = found;
    const head = `${definitions.length === 0 ? 'No definition' : count(definitions.length, 'definition')} of ${input.symbolName}`;
    const text = [`${head} ${coverageText(found)}`, ...definitions.map(definitionText), ...notesText(found)];
    return {
      structured: { ...plain(found), definitions: definitions.map((each) => ({ ...each })) },
      text: text.join('\n'),
    };
  },
});

function definitionText(each: FoundDefinition): string {
  const traits = [
    each.kind,
    each.container === null ? null : `in ${each.container}`,
    each.exported ? 'exported' : null,
    each.outside ? 'outside of the worktree' : null,
  ].filter((trait) => trait !== null);
  const lines = [`${quote(each.path, 400).slice(1, -1)}:${each.line}:${each.column}  ${traits.join(', ')}`];
  if (each.signature !== null) lines.push(`    ${each.signature}`);
  else if (each.text !== '') lines.push(`    ${each.text.trim()}`);
  if (each.doc !== null) lines.push(`    ${each.doc}`);
  return lines.join('\n');
}

const Usage = z.object({
  path: z.string(),
  line: z.number(),
  column: z.number(),
  text: z.string(),
  before: z.array(z.string()),
  after: z.array(z.string()),
});
const Line = z.object({ path: z.string(), line: z.number(), column: z.number(), text: z.string() });

export const findUsages = defineTool({
  name: 'find_usages',
  title: 'Find all usages of a symbol',
  description: [
    'Everywhere a symbol is used: calls, imports, re-exports, types, also under another name, and not other symbols of the same name. `definitionFile` is the file that defines it (navigate_to_symbol finds it). Do this before you change what others use.',
    'The answer says how it was found, whether it is complete, and which text hits are no usages, and why.',
    'Example: {"symbolName":"parse","definitionFile":"src/parser.ts"}',
  ],
  input: z.strictObject({
    symbolName,
    definitionFile: path('The file that defines it, from the root of the worktree.'),
    context: z.int().min(0).max(5).default(1).describe('Lines around each.'),
    page: z.int().min(1).max(10_000).default(1),
    pageSize: z.int().min(1).max(500).default(50),
    waitMs,
  }),
  output: z.object({
    definitions: z.array(Line),
    usages: z.array(Usage),
    total: z.number(),
    files: z.number(),
    page: z.number(),
    pages: z.number(),
    ...coverageShape,
  }),
  ...LOOKING,
  async run(input, world) {
    const ask = { symbol: input.symbolName, file: input.definitionFile };
    const found = await asked(world, input.waitMs, (navigation, asking) => navigation.usages(ask, asking));
    const { usages, definitions } = found;
    const pages = Math.max(1, Math.ceil(usages.length / input.pageSize));
    const part = usages.slice((input.page - 1) * input.pageSize, input.page * input.pageSize);
    const shown = await withContext(new Context(filesOf(world), input.context), part);
    const files = new Set(usages.map((each) => each.path)).size;
    const head = `${count(usages.length, 'usage')} of ${input.symbolName} in ${count(files, 'file')} ${coverageText(found)}`;
    const paging =
      pages > 1
        ? [`[Page ${input.page} of ${pages}; for more: "page": ${Math.min(input.page + 1, pages)}]`]
        : [];
    const text = [
      head,
      ...definitions.map((each) => `defined at ${placeText(each)}  ${each.text.trim()}`),
      ...groupedText(shown),
      ...paging,
      ...notesText(found),
    ];
    const structured = {
      ...plain(found),
      definitions: definitions.map((each) => ({ ...each })),
      usages: shown,
      total: usages.length,
    };
    return { structured: { ...structured, files, page: input.page, pages }, text: text.join('\n') };
  },
});

/** File by file, the lines with their numbers, a usage marked. */
function groupedText(shown: readonly Shown[]): string[] {
  return [...Map.groupBy(shown, (each) => each.path)].flatMap(([file, within]) => [
    `${quote(file, 400).slice(1, -1)}:`,
    ...linesAround(within).map((each) =>
      each ? `  ${each.line}${each.isHit ? ':' : '-'} ${each.text}` : '  --',
    ),
  ]);
}

export const exploreModule = defineTool({
  name: 'explore_module',
  title: 'See what a module offers',
  description: [
    'What a module exports, with signatures and documentation, what it imports, and who imports it: the way to understand a file or a package before you read it. `modulePath` is a file or a folder with an entry file.',
    'Example: {"modulePath":"src/parser.ts"}',
  ],
  input: z.strictObject({ modulePath: path('From the root of the worktree.'), waitMs: waitMs.describe('') }),
  output: z.object({
    path: z.string(),
    exports: z.array(
      z.object({
        name: z.string(),
        kind: z.string().nullable(),
        signature: z.string().nullable(),
        doc: z.string().nullable(),
        path: z.string(),
        line: z.number(),
        column: z.number(),
        from: z.string().nullable(),
      }),
    ),
    imports: z.array(
      z.object({
        line: z.number(),
        specifier: z.string(),
        path: z.string().nullable(),
        names: z.array(z.string()),
      }),
    ),
    importers: z.array(Line),
    ...coverageShape,
  }),
  ...LOOKING,
  async run(input, world) {
    const found = await asked(world, input.waitMs, (navigation, asking) =>
      navigation.module({ path: input.modulePath }, asking),
    );
    const { exports, imports, importers } = found;
    const text = [
      `${quote(found.path, 400).slice(1, -1)} ${coverageText(found)}`,
      `Exports (${exports.length}):`,
      ...exports.flatMap((each) => [
        `  ${each.name}  ${each.path}:${each.line}  ${each.signature ?? each.kind ?? ''}`,
        ...(each.doc === null ? [] : [`      ${each.doc}`]),
      ]),
      `Imports (${imports.length}):`,
      ...imports.map(
        (each) =>
          `  ${each.specifier}${each.path === null ? '' : ` → ${each.path}`}${each.names.length > 0 ? `  { ${each.names.join(', ')} }` : ''}`,
      ),
      `Imported by (${importers.length}):`,
      ...importers.map((each) => `  ${placeText(each)}  ${each.text.trim()}`),
      ...notesText(found),
    ];
    return {
      structured: {
        ...plain(found),
        path: found.path,
        exports: exports.map((each) => ({ ...each })),
        imports: imports.map((each) => ({ ...each, names: [...each.names] })),
        importers: importers.map((each) => ({ ...each })),
      },
      text: text.join('\n'),
    };
  },
});

export const documentOutline = defineTool({
  name: 'document_outline',
  title: 'Outline a file',
  description: [
    'The classes, functions and other names a file defines, with their lines, without their bodies. Shorter than reading it.',
  ],
  input: z.strictObject({ path: path('From the root of the worktree.'), waitMs: waitMs.describe('') }),
  output: z.object({
    path: z.string(),
    entries: z.array(
      z.object({
        name: z.string(),
        kind: z.string(),
        line: z.number(),
        column: z.number(),
        endLine: z.number(),
        depth: z.number(),
      }),
    ),
    ...coverageShape,
  }),
  ...LOOKING,
  async run(input, world) {
    const found = await asked(world, input.waitMs, (navigation, asking) =>
      navigation.outline({ path: input.path }, asking),
    );
    const entries = found.entries.map(({ name, kind, line, column, endLine, depth }) => ({
      name,
      kind,
      line,
      column,
      endLine,
      depth,
    }));
    const lines = entries.map(
      ({ name, kind, line, endLine, depth }) => `${'  '.repeat(depth)}${line}-${endLine}  ${kind} ${name}`,
    );
    const text = [
      `${quote(found.path, 400).slice(1, -1)} ${coverageText(found)}`,
      ...lines,
      ...notesText(found),
    ];
    return { structured: { ...plain(found), path: found.path, entries }, text: text.join('\n') };
  },
});

export const typeOfSymbol = defineTool({
  name: 'type_of',
  title: 'See the type of a symbol',
  description: [
    'The type or signature of a name as it is in a file, inferred types included, with its documentation.',
  ],
  input: z.strictObject({ symbolName, file: path('A file that defines or uses it.'), waitMs }),
  output: z.object({
    signature: z.string().nullable(),
    doc: z.string().nullable(),
    path: z.string().nullable(),
    line: z.number().nullable(),
    ...coverageShape,
  }),
  ...LOOKING,
  async run(input, world) {
    const ask = { symbol: input.symbolName, file: input.file };
    const found = await asked(world, input.waitMs, (navigation, asking) => navigation.typeOf(ask, asking));
    const { signature, doc, place } = found;
    const text = [
      `${input.symbolName} ${coverageText(found)}`,
      signature ?? 'Its type is not known.',
      ...(doc === null ? [] : [doc]),
      ...notesText(found),
    ];
    return {
      structured: { ...plain(found), signature, doc, path: place?.path ?? null, line: place?.line ?? null },
      text: text.join('\n'),
    };
  },
});

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
const placeText = ({ path: file, line }: CodeLine): string => `${quote(file, 400).slice(1, -1)}:${line}`;

/** The part of an answer that all have, as data that can be changed. */
const plain = ({ found, complete, notes, uncovered }: Coverage) => ({
  found,
  complete,
  notes: [...notes],
  uncovered: uncovered.map((each) => ({ ...each, places: each.places.map((place) => ({ ...place })) })),
});

/** What the answer does not hold, and why. */
function notesText({ notes, uncovered }: Coverage): string[] {
  return [
    ...(uncovered.length > 0 ? ['Text hits that are not in the answer:'] : []),
    ...uncovered.map(({ reason, count: number, places }) => {
      const [first] = places;
      const more = number > 1 ? ' …' : '';
      return `  ${number} × ${reason}${first ? ` (${placeText(first)}${more})` : ''}`;
    }),
    ...notes.map((note) => `Note: ${note}.`),
  ];
}
