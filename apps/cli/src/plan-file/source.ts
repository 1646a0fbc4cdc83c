import { readFileSync, statSync } from 'node:fs';
import { ReveilleError, isReveilleError } from '@reveille/protocol';
import { LineCounter, isCollection, isMap, parseDocument, type Document, type Node } from 'yaml';
import { atOf, type FileProblem, type Finding } from './problems.ts';

/** Twenty thousand tasks with a paragraph each fit; what is larger is no plan. */
const LARGEST_FILE = 8 * 2 ** 20;
/** Anchors that are used more often than this are there to do harm. */
const MOST_ALIASES = 100;
/** No plan is nested so deep, and the parser would take minutes to find that out. */
const DEEPEST = 500;

/** A plan file that was read: what it says, and where it says it. */
export interface Source {
  readonly file: string;
  readonly text: string;
  readonly value: unknown;
  /** The place of something by its path, or of the nearest thing around it that exists. */
  place(finding: Finding): FileProblem;
  /** Where the text of a value stands in the source, quotes and indentation included. */
  span(path: Finding['path']): readonly [number, number] | null;
}

/** `file` is what the person wrote, `path` where it is. */
export function readPlanText(path: string, file: string): string {
  const problem = (why: string, cause?: unknown): ReveilleError =>
    new ReveilleError('invalid_input', `${file}: ${why}.`, { data: { file }, cause });
  try {
    // Looked at before it is opened: whoever opens a pipe waits for somebody to write into it.
    const stat = statSync(path);
    if (!stat.isFile()) throw problem('it is not a file');
    if (stat.size > LARGEST_FILE)
      throw problem(`it is too large for a plan: ${stat.size} bytes, and ${LARGEST_FILE} are allowed`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (cause) {
    if (isReveilleError(cause)) throw cause;
    if (cause instanceof TypeError) throw problem('it is not UTF-8 text', cause);
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'ENOENT') throw new ReveilleError('not_found', `There is no file ${file}.`, { cause });
    throw problem(`it cannot be read (${String(code ?? cause)})`, cause);
  }
}

/** What the text says, or what keeps it from being read. */
export function parseSource(text: string, file: string): Source | { readonly problems: FileProblem[] } {
  const lines = new LineCounter();
  const at = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problem = (offset: number, words: string): FileProblem => ({
    file,
    ...at(offset),
    at: '',
    problem: words,
  });
  const deep = tooDeep(text);
  if (deep !== null)
    return { problems: [{ file, ...placeOf(text, deep), at: '', problem: 'it is nested too deep' }] };
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      schema: 'core',
      stringKeys: true,
    });
    // A warning is a tag that nobody here knows: it would be read as something else than it says.
    const wrong = [...document.errors, ...document.warnings];
    const problems = wrong.map(({ pos, code, message }) =>
      problem(pos[0], code === 'MULTIPLE_DOCS' ? SECOND : firstSentence(message)),
    );
    if (problems.length > 0) return { problems };
    const value: unknown = document.toJS({ maxAliasCount: MOST_ALIASES });
    return new ReadSource({ file, text, value, document, at });
  } catch (error) {
    // The parser's own defences: aliases that multiply, nesting without end.
    return { problems: [problem(0, error instanceof Error ? firstSentence(error.message) : String(error))] };
  }
}

const SECOND = 'there is a second document here; a plan is a file of its own';

/** Where brackets, or dashes in one line, begin to be nested too deep. Those in texts count too: it takes hundreds. */
function tooDeep(text: string): number | null {
  const dashes = /(?:[-?] +){500}/.exec(text);
  if (dashes) return dashes.index;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === OPEN_SQUARE || code === OPEN_CURLY) depth++;
    else if (code === CLOSE_SQUARE || code === CLOSE_CURLY) depth = Math.max(0, depth - 1);
    if (depth > DEEPEST) return i;
  }
  return null;
}

const [OPEN_SQUARE, CLOSE_SQUARE, OPEN_CURLY, CLOSE_CURLY] = [0x5b, 0x5d, 0x7b, 0x7d];

function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const firstSentence = (message: string): string => message.split('\n', 1)[0] ?? message;

interface Read {
  readonly file: string;
  readonly text: string;
  readonly value: unknown;
  readonly document: Document;
  readonly at: (offset: number) => { line: number; column: number };
}

class ReadSource implements Source {
  readonly file: string;
  readonly text: string;
  readonly value: unknown;
  readonly #document: Document;
  readonly #at: Read['at'];

  constructor({ file, text, value, document, at }: Read) {
    this.file = file;
    this.text = text;
    this.value = value;
    this.#document = document;
    this.#at = at;
  }

  place({ path, key = false, offset, problem }: Finding): FileProblem {
    return { file: this.file, ...this.#at(offset ?? this.#offset(path, key)), at: atOf(path), problem };
  }

  span(path: Finding['path']): readonly [number, number] | null {
    const node: unknown = path.length === 0 ? this.#document.contents : this.#document.getIn(path, true);
    const range = rangeOf(node);
    return range ? [range[0], range[1]] : null;
  }

  #offset(path: Finding['path'], key: boolean): number {
    let node: unknown = this.#document.contents;
    let offset = rangeOf(node)?.[0] ?? 0;
    for (const [i, segment] of path.entries()) {
      const pair = isMap(node) ? node.items.find((item) => String(item.key) === String(segment)) : undefined;
      node = pair ? pair.value : isCollection(node) ? node.get(segment, true) : undefined;
      const shown = pair && (key || node === null) && i === path.length - 1 ? pair.key : (node ?? pair?.key);
      const range = rangeOf(shown);
      if (!range) return offset;
      offset = range[0];
    }
    return offset;
  }
}

const rangeOf = (node: unknown): Node['range'] => (node as Node | null | undefined)?.range ?? null;
