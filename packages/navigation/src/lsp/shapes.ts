import { z } from 'zod';

/** What servers answer. Whatever has another shape is garbage, and its server is replaced. */
const Position = z.object({ line: z.int().min(0), character: z.int().min(0) });
const Range = z.object({ start: Position, end: Position });

export interface FoundLocation {
  readonly uri: string;
  readonly range: { readonly start: FoundPosition; readonly end: FoundPosition };
}
interface FoundPosition {
  readonly line: number;
  readonly character: number;
}

/** Checked by hand: a common name has thousands of places, and a schema takes as long for them as the server. */
export const Locations = z.unknown().transform((found, context): FoundLocation[] => {
  const all = (Array.isArray(found) ? found : found === null ? [] : [found]).map(locationOf);
  const good = all.filter((each) => each !== null);
  if (good.length === all.length) return good;
  context.addIssue({ code: 'custom', message: 'not a list of places' });
  return z.NEVER;
});

function locationOf(given: unknown): FoundLocation | null {
  if (!isRecord(given)) return null;
  const uri = given['uri'] ?? given['targetUri'];
  const range = given['uri'] === undefined ? given['targetSelectionRange'] : given['range'];
  if (typeof uri !== 'string' || !isRecord(range)) return null;
  const start = positionOf(range['start']);
  const end = positionOf(range['end']);
  return start && end && { uri, range: { start, end } };
}

function positionOf(given: unknown): FoundPosition | null {
  if (!isRecord(given)) return null;
  const { line, character } = given;
  return isCount(line) && isCount(character) ? { line, character } : null;
}

const isRecord = (given: unknown): given is Record<string, unknown> =>
  typeof given === 'object' && given !== null;
const isCount = (given: unknown): given is number => Number.isInteger(given) && Number(given) >= 0;

/** What is shown on a name, as one text. By hand too: it comes with nearly every definition. */
export const Hover = z.unknown().transform((found, context): string | null => {
  if (found === null) return null;
  const contents = isRecord(found) ? found['contents'] : undefined;
  const parts = (Array.isArray(contents) ? contents : [contents]).map(markedText);
  const good = parts.filter((part) => part !== null);
  if (good.length === parts.length) return good.join('\n');
  context.addIssue({ code: 'custom', message: 'nothing that can be shown' });
  return z.NEVER;
});

function markedText(given: unknown): string | null {
  const text = isRecord(given) ? given['value'] : given;
  return typeof text === 'string' ? text : null;
}

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

/** What servers ask and tell of their own accord. */
export const Asked = z.object({ items: z.array(z.object({ section: z.string().nullish() })).optional() });
export const Progress = z.object({ value: z.object({ kind: z.string().optional() }).optional() });

export const FileStatus = z.object({ uri: z.string(), state: z.string() });

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
