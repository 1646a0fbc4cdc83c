import { ReveilleError, isReveilleError, type ToolFiles } from '@reveille/protocol';
import { quote } from '../fence.ts';
import type { FileHits, FileText, Wanted } from './find-lines.ts';
import { globMatcher } from './glob.ts';
import { literalMatcher, regexMatcher, type Matcher } from './matcher.ts';

/** Made by tools, not by people: looked into only on request. */
const GENERATED = new Set([
  'node_modules',
  '.git',
  '.hg',
  '.venv',
  'venv',
  '__pycache__',
  '.next',
  '.turbo',
  '.cache',
]);
const LARGEST = 2 * 2 ** 20;
const BATCH = { files: 64, chars: 1_000_000 } as const;
const MOST_PER_FILE = 50;

export interface SearchInput {
  readonly pattern?: string | undefined;
  readonly regex: boolean;
  readonly caseSensitive: boolean;
  readonly glob?: string | undefined;
  readonly path: string;
  readonly context: number;
  readonly limit: number;
  readonly includeGenerated: boolean;
}

/** One search, file after file, until all are seen, enough is found, or the time is up. */
export class Search {
  readonly found: FileHits[] = [];
  /** Why it is not complete. */
  why: string | null = null;
  searched = 0;
  skipped = 0;
  readonly #files: ToolFiles;
  readonly #input: SearchInput;
  #count = 0;

  constructor(files: ToolFiles, input: SearchInput) {
    this.#files = files;
    this.#input = input;
  }

  async run(stop: AbortSignal): Promise<void> {
    const { pattern, regex } = this.#input;
    if (pattern === undefined) return this.#look(null, stop);
    const wanted = compiled(this.#input, pattern);
    const matcher = regex ? regexMatcher(wanted, stop) : literalMatcher(wanted);
    try {
      await this.#look(matcher, stop);
    } finally {
      await matcher.close();
    }
  }

  async #look(matcher: Matcher | null, stop: AbortSignal): Promise<void> {
    let batch: FileText[] = [];
    let chars = 0;
    for await (const path of this.#paths()) {
      if (stop.aborted) return this.#incomplete('the time is up; narrow it with path or glob');
      if (!matcher) this.#add([{ path, hits: [] }]);
      const text = matcher ? await this.#read(path) : null;
      if (text !== null) batch.push({ path, text });
      chars += text?.length ?? 0;
      if (batch.length >= BATCH.files || chars >= BATCH.chars) {
        if (matcher && !(await this.#match(matcher, batch))) return;
        batch = [];
        chars = 0;
      }
      if (this.#count >= this.#input.limit)
        return this.#incomplete(`the limit of ${this.#input.limit} is reached`);
    }
    if (matcher && batch.length > 0) await this.#match(matcher, batch);
    if (this.#count > this.#input.limit) this.#incomplete(`the limit of ${this.#input.limit} is reached`);
  }

  async *#paths(): AsyncGenerator<string> {
    const { glob, path, includeGenerated } = this.#input;
    const fits = glob === undefined ? () => true : globMatcher(glob);
    const skip = ({ name }: { name: string }): boolean => !includeGenerated && GENERATED.has(name);
    let any = false;
    try {
      for await (const file of this.#files.walk(path, { skip })) {
        any = true;
        if (fits(file)) yield file;
      }
    } catch (error) {
      // What was found before is worth having.
      if (isReveilleError(error, 'limit_reached'))
        this.#incomplete('the folder has too many files; search one beneath it');
      // A file may be named, too.
      else if (isReveilleError(error, 'wrong_state') && !any) yield path;
      else throw error;
    }
  }

  /** Null for what is no text, or cannot be read: a search is about the rest. */
  async #read(path: string): Promise<string | null> {
    try {
      const text = (await this.#files.readFile(path, { maxBytes: LARGEST })).text();
      this.searched += 1;
      return text;
    } catch (error) {
      if (!isReveilleError(error)) throw error;
      this.skipped += 1;
      return null;
    }
  }

  async #match(matcher: Matcher, batch: readonly FileText[]): Promise<boolean> {
    const hits = await matcher.find(batch);
    if (hits) this.#add(hits);
    else
      this.#incomplete(
        `the pattern took too long at ${batch[0]?.path ?? 'a file'} or one after it; make it simpler, or search for words without regex`,
      );
    return hits !== null;
  }

  #add(more: readonly FileHits[]): void {
    for (const { path, hits } of more) {
      const room = this.#input.limit - this.#count;
      this.#count += Math.max(hits.length, 1);
      if (room > 0) this.found.push({ path, hits: hits.slice(0, room) });
    }
  }

  #incomplete(why: string): void {
    this.why ??= why;
  }
}

function compiled({ regex, caseSensitive, context }: SearchInput, pattern: string): Wanted {
  const source = regex ? pattern : pattern.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
  const flags = caseSensitive ? '' : 'i';
  try {
    new RegExp(source, flags);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ReveilleError(
      'invalid_input',
      `The pattern is not a regular expression: ${quote(why, 300)}. To look for these very words, leave regex out.`,
    );
  }
  return { source, flags, context, most: MOST_PER_FILE };
}
