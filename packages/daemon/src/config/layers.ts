import { readFileSync, statSync } from 'node:fs';
import { nearest } from '@reveille/protocol';
import { LineCounter, isMap, parse, parseDocument, type Document, type Node } from 'yaml';
import type { ConfigProblem, Finding } from './problems.ts';
import { SETTINGS, type Setting } from './settings.ts';

/** What one source says, and where in it. */
export interface Layer {
  /** `--set engine.concurrency`, `REVEILLE_…`, a file. */
  readonly name: string;
  readonly value: unknown;
  place(finding: Finding): Omit<ConfigProblem, 'at' | 'problem'>;
}
export type Read = { readonly layers: readonly Layer[]; readonly problems: readonly ConfigProblem[] };

const LARGEST_FILE = 256 * 1024;

/** A file of configuration; undefined if there is none. */
export function readText(path: string): string | ConfigProblem | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) return undefined;
    if (!stat.isFile()) return { source: path, at: '', problem: 'it is not a file' };
    if (stat.size > LARGEST_FILE)
      return { source: path, at: '', problem: 'it is too large for a configuration' };
    return readFileSync(path, 'utf8');
  } catch (error) {
    return { source: path, at: '', problem: `it cannot be read (${String(error)})` };
  }
}

export function yamlLayer(path: string, text: string): Read {
  try {
    return parsedLayer(path, text);
  } catch (error) {
    // The parser's own defences: aliases that multiply, nesting without end.
    const problem = error instanceof Error ? error.message : String(error);
    return { layers: [], problems: [{ source: path, line: 1, column: 1, at: '', problem }] };
  }
}

function parsedLayer(path: string, text: string): Read {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ pos, message }) => ({
      source: path,
      ...at(pos[0]),
      at: '',
      problem: message,
    }));
    return { layers: [], problems };
  }
  const place = (finding: Finding) => ({ source: path, ...at(offsetOf(document, finding)) });
  const value: unknown = document.toJS({ maxAliasCount: 10 }) ?? {};
  return { layers: [{ name: path, value, place }], problems: [] };
}

/** Where a value begins, or its key if the key is what is wrong, or the nearest thing around it that exists. */
function offsetOf(document: Document, { path, key }: Finding): number {
  let node: unknown = document.contents;
  let offset = (document.contents as Node | null)?.range?.[0] ?? 0;
  for (const [i, segment] of path.entries()) {
    const pair = isMap(node) ? node.items.find((item) => String(item.key) === String(segment)) : undefined;
    node = pair ? pair.value : isCollection(node) ? node.get(segment, true) : undefined;
    const shown = pair && key && i === path.length - 1 ? pair.key : (node ?? pair?.key);
    const range = (shown as Node | null | undefined)?.range;
    if (!range) return offset;
    offset = range[0];
  }
  return offset;
}

const isCollection = (node: unknown): node is { get(key: unknown, keep: true): unknown } =>
  typeof node === 'object' && node !== null && 'get' in node;

/** One layer for each variable that names a setting. One that almost does is a mistake worth telling. */
export function environmentLayers(env: Readonly<Record<string, string | undefined>>): Read {
  const byVariable = new Map(SETTINGS.map((setting) => [setting.variable, setting]));
  const groups = [...new Set(SETTINGS.map(({ path }) => `REVEILLE_${path[0]?.toUpperCase()}_`))];
  const layers: Layer[] = [];
  const problems: ConfigProblem[] = [];
  for (const [variable, value] of Object.entries(env)) {
    const setting = byVariable.get(variable);
    if (setting && value !== undefined) layers.push(single(variable, setting, value));
    else if (!setting && groups.some((group) => variable.startsWith(group))) {
      const [best] = nearest(variable, [...byVariable.keys()]);
      problems.push({ source: variable, at: '', problem: `there is no such setting; there is ${best}` });
    }
  }
  return { layers, problems };
}

/** `{ 'engine.concurrency': '4' }` */
export function flagLayers(flags: Readonly<Record<string, string>>): Read {
  const byPath = new Map(SETTINGS.map((setting) => [setting.path.join('.'), setting]));
  const layers: Layer[] = [];
  const problems: ConfigProblem[] = [];
  for (const [path, value] of Object.entries(flags)) {
    const setting = byPath.get(path);
    if (setting) layers.push(single(`--set ${path}`, setting, value));
    else {
      const [best] = nearest(path, [...byPath.keys()]);
      problems.push({
        source: `--set ${path}`,
        at: '',
        problem: `there is no such setting; there is ${best}`,
      });
    }
  }
  return { layers, problems };
}

function single(name: string, { path, schema }: Setting, text: string): Layer {
  const value = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), valueOf(text, schema));
  return { name, value, place: () => ({ source: name }) };
}

/** Written as in a file, but a name needs no quotes although it looks like something else. */
function valueOf(text: string, schema: Setting['schema']): unknown {
  try {
    const value: unknown = parse(text);
    if (schema.safeParse(value).success) return value;
  } catch {
    // It is what it is, and the schema says what it should be.
  }
  return text;
}
