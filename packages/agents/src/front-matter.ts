import { LineCounter, isMap, isScalar, isSeq, parseDocument, type Node, type Pair } from 'yaml';
import { shown, type Problem } from './definition.ts';

/** Entries of one list. More is a mistake, or somebody's joke. */
const MOST_ENTRIES = 200;
/** Of a front matter as a whole. The parser takes seconds for what is large and deep, and nobody writes that. */
const MOST = { characters: 16 * 1024, depth: 50 } as const;

export type Note = Omit<Problem, 'path'>;

/** `when-to-use`, `when_to_use` and `whenToUse` are one key: the vendors do not agree on a style. */
export const plainKey = (key: string): string => key.toLowerCase().replaceAll(/[-_]/g, '');

/**
 * Splits a file into front matter and body, and reads the first with a YAML parser. Null when there is none at all.
 * A front matter that cannot be read is empty and has a note of severity `error`.
 */
export function readFrontMatter(text: string): FrontMatter | null {
  const match = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/.exec(text);
  if (!match) return null;
  const notes: Note[] = [];
  const header = parseHeader(match[1] ?? '', notes);
  return new FrontMatter(header, text.slice(match[0].length), notes);
}

interface Header {
  readonly pairs: readonly Pair[];
  readonly lines: LineCounter;
}

function parseHeader(source: string, notes: Note[]): Header {
  if (source.length > MOST.characters || depthOf(source) > MOST.depth) {
    const message = `the front matter is longer than ${MOST.characters} characters, or deeper than ${MOST.depth} brackets`;
    notes.push({ line: 1, column: 1, severity: 'error', message });
    return { pairs: [], lines: new LineCounter() };
  }
  const first = parse(source);
  const [error] = first.document.errors;
  if (!error) return pairsOf(first, notes);
  // The line of the dashes comes before what the parser saw.
  const at = { line: (error.linePos?.[0].line ?? 1) + 1, column: error.linePos?.[0].col ?? 1 };
  const second = parse(quoteDescription(source));
  if (second.document.errors.length > 0) {
    const message = (error.message.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '');
    notes.push({ ...at, severity: 'error', message });
    return { pairs: [], lines: first.lines };
  }
  const message = 'the description holds ": " and should be in quotes; it was read as plain text';
  notes.push({ ...at, severity: 'warning', message });
  return pairsOf(second, notes);
}

/** Brackets in quotes count too: it is a bound, not a measure. */
function depthOf(source: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of source) {
    if (character === '[' || character === '{') deepest = Math.max(deepest, ++depth);
    if (character === ']' || character === '}') depth = Math.max(0, depth - 1);
  }
  return deepest;
}

function parse(source: string) {
  const lines = new LineCounter();
  return {
    document: parseDocument(source, { lineCounter: lines, schema: 'core', logLevel: 'error' }),
    lines,
  };
}

/**
 * Definitions made by Claude Code have descriptions in one line, unquoted, with `Examples: user: "…"` in them, which
 * is no YAML. There are thousands of them, so such a line is read as the text it is meant to be, with a warning.
 */
function quoteDescription(source: string): string {
  return source.replace(
    /^description:[ \t]+(?!["'|>&*![{])(\S.*)$/m,
    (_, value: string) => `description: ${JSON.stringify(value.trimEnd())}`,
  );
}

function pairsOf({ document, lines }: ReturnType<typeof parse>, notes: Note[]): Header {
  const { contents } = document;
  if (isMap(contents)) return { pairs: contents.items, lines };
  if (contents !== null && !(isScalar(contents) && contents.value === null))
    notes.push({ line: 2, column: 1, severity: 'error', message: 'front matter is lines of `key: value`' });
  return { pairs: [], lines };
}

/** The values of a front matter, read one by one. Whatever is wrong with one is noted with its place. */
export class FrontMatter {
  readonly body: string;
  readonly notes: Note[];
  readonly #lines: LineCounter;
  readonly #pairs = new Map<string, Pair>();

  constructor({ pairs, lines }: Header, body: string, notes: Note[]) {
    this.body = body;
    this.notes = notes;
    this.#lines = lines;
    for (const pair of pairs) this.#add(pair);
  }

  #add(pair: Pair): void {
    const key = plainKey(nameOf(pair));
    if (this.#pairs.has(key)) this.#note(pair.key, 'error', `${shown(nameOf(pair))} is there twice`);
    this.#pairs.set(key, pair);
  }

  /** Something about it is an error. */
  get failed(): boolean {
    return this.notes.some(({ severity }) => severity === 'error');
  }

  /** The keys as they are written. */
  keys(): string[] {
    return [...this.#pairs.values()].map(nameOf);
  }

  has(key: string): boolean {
    return this.#pairs.has(plainKey(key));
  }

  text(key: string): string | null {
    const value = this.#value(key);
    if (value === undefined) return null;
    const text = isScalar(value) ? wordOf(value.value) : undefined;
    if (text !== undefined) return text.trim();
    this.note(key, 'error', `${key} is a text`);
    return null;
  }

  /** As it is, whatever that is; undefined: there is none. */
  data(key: string): unknown {
    const value = this.#value(key);
    return isNode(value) ? (value as Node).toJSON() : undefined;
  }

  flag(key: string): boolean | null {
    const value = this.#value(key);
    if (value === undefined) return null;
    if (isScalar(value) && typeof value.value === 'boolean') return value.value;
    this.note(key, 'error', `${key} is true or false`);
    return null;
  }

  /** A YAML list in either style, or a text with commas. An empty value is neither "none" nor "all". */
  list(key: string): string[] | null {
    const value = this.#value(key);
    if (value === undefined) return null;
    if (isScalar(value) && typeof value.value === 'string') return splitList(value.value);
    if (!isSeq(value)) {
      this.note(key, 'error', `${key} is a list; write [] for an empty one, or leave the line out`);
      return null;
    }
    if (value.items.length > MOST_ENTRIES) {
      this.note(key, 'error', `${key} has ${value.items.length} entries; ${MOST_ENTRIES} are allowed`);
      return null;
    }
    return value.items.flatMap((item) => this.#entry(key, item));
  }

  #entry(key: string, item: unknown): string[] {
    const text = isScalar(item) ? wordOf(item.value)?.trim() : undefined;
    if (text !== undefined) return text === '' ? [] : [text];
    this.#note(item, 'error', `${key} is a list of texts`);
    return [];
  }

  /** Notes something about the value of a key, or about the first line if there is no such key. */
  note(key: string, severity: Note['severity'], message: string): void {
    const pair = this.#pairs.get(plainKey(key));
    this.#note(pair && (isNode(pair.value) ? pair.value : pair.key), severity, message);
  }

  #note(node: unknown, severity: Note['severity'], message: string): void {
    const start = isNode(node) ? node.range?.[0] : undefined;
    if (start === undefined) {
      this.notes.push({ line: 1, column: 1, severity, message });
      return;
    }
    const { line, col } = this.#lines.linePos(start);
    this.notes.push({ line: line + 1, column: col, severity, message });
  }

  #value(key: string): unknown {
    const pair = this.#pairs.get(plainKey(key));
    return pair === undefined ? undefined : pair.value;
  }
}

/** YAML takes `2` and `true` for more than words; an author who wants a text means the word. */
function wordOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** By commas, but not by those inside `Agent(reviewer, tester)`. */
const splitList = (text: string): string[] =>
  text
    .split(/,(?![^(]*\))/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

const nameOf = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : 'a key');

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'range' in value;
