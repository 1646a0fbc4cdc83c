import { z } from 'zod';

/** What servers answer. Whatever has another shape is garbage, and its server is replaced. */
const Position = z.object({ line: z.int().min(0), character: z.int().min(0) });
const Range = z.object({ start: Position, end: Position });
const Location = z.object({ uri: z.string(), range: Range });
const LocationLink = z.object({ targetUri: z.string(), targetSelectionRange: Range });

export const Locations = z
  .union([z.null(), Location, z.array(z.union([Location, LocationLink]))])
  .transform((found) => (found === null ? [] : Array.isArray(found) ? found : [found]))
  .transform((found) =>
    found.map((each) =>
      'uri' in each
        ? { uri: each.uri, range: each.range }
        : { uri: each.targetUri, range: each.targetSelectionRange },
    ),
  );
export type FoundLocation = z.output<typeof Locations>[number];

const Marked = z.union([z.string(), z.object({ value: z.string() })]);
export const Hover = z
  .union([z.null(), z.object({ contents: z.union([Marked, z.array(Marked)]) })])
  .transform((hover) => {
    if (hover === null) return null;
    const parts = Array.isArray(hover.contents) ? hover.contents : [hover.contents];
    return parts.map((part) => (typeof part === 'string' ? part : part.value)).join('\n');
  });

const Named = { name: z.string(), kind: z.int() };
export interface TreeSymbol {
  readonly name: string;
  readonly kind: number;
  readonly range: z.output<typeof Range>;
  readonly selectionRange: z.output<typeof Range>;
  readonly children?: readonly TreeSymbol[] | undefined;
}
const DocumentSymbol: z.ZodType<TreeSymbol> = z.object({
  ...Named,
  range: Range,
  selectionRange: Range,
  children: z.lazy(() => z.array(DocumentSymbol)).optional(),
});
const SymbolInformation = z.object({
  ...Named,
  location: z.object({ uri: z.string(), range: Range.optional() }),
  containerName: z.string().nullish(),
});
export const Symbols = z
  .union([z.null(), z.array(z.union([DocumentSymbol, SymbolInformation]))])
  .transform((found) => found ?? []);
export const WorkspaceSymbols = z
  .union([z.null(), z.array(SymbolInformation)])
  .transform((found) => found ?? []);

export const Initialized = z.object({ capabilities: z.record(z.string(), z.unknown()) });

/** Kinds of symbols as the protocol numbers them. */
export const SYMBOL_KINDS: readonly string[] = [
  '',
  'file',
  'module',
  'namespace',
  'package',
  'class',
  'method',
  'property',
  'field',
  'constructor',
  'enum',
  'interface',
  'function',
  'variable',
  'constant',
  'string',
  'number',
  'boolean',
  'array',
  'object',
  'key',
  'null',
  'enum member',
  'struct',
  'event',
  'operator',
  'type parameter',
];
