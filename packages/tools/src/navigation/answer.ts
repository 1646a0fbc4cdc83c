import type { CodeLine, Coverage, ToolFiles } from '@reveille/protocol';
import { z } from 'zod';

/** What every answer of navigation says about itself (NAV2). */
export const coverageShape = {
  found: z
    .enum(['semantic', 'text'])
    .describe('"semantic": a language server resolved it. "text": by words and parsing.'),
  complete: z.boolean().describe('false: there may be more; `notes` say why.'),
  notes: z.array(z.string()),
  uncovered: z
    .array(
      z.object({
        reason: z.string(),
        count: z.number(),
        places: z.array(
          z.object({ path: z.string(), line: z.number(), column: z.number(), text: z.string() }),
        ),
      }),
    )
    .describe('Text hits of the name that are not in the answer, and why.'),
};

export const coverageText = ({ found, complete }: Coverage): string =>
  `(${found}, ${complete ? 'complete' : 'not known to be complete'})`;

export interface Shown {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly text: string;
  readonly before: string[];
  readonly after: string[];
}

const LONGEST = 240;

/** Lines around places, read through the door, each file once. */
export class Context {
  readonly #files: ToolFiles;
  readonly #lines: number;
  readonly #read = new Map<string, Promise<readonly string[]>>();

  constructor(files: ToolFiles, lines: number) {
    this.#files = files;
    this.#lines = lines;
  }

  async around({ path, line, column, text }: CodeLine): Promise<Shown> {
    const all = this.#lines === 0 ? [] : await this.#linesOf(path);
    const part = (from: number, to: number): string[] =>
      all.slice(Math.max(0, from), Math.max(0, to)).map((each) => each.slice(0, LONGEST).trimEnd());
    return {
      path,
      line,
      column,
      text: text.slice(0, LONGEST),
      before: part(line - 1 - this.#lines, line - 1),
      after: part(line, line + this.#lines),
    };
  }

  #linesOf(path: string): Promise<readonly string[]> {
    const known =
      this.#read.get(path) ??
      this.#files.readFile(path).then(
        (file) => file.text().split('\n'),
        // It went away since it was found: the line itself is known.
        () => [],
      );
    this.#read.set(path, known);
    return known;
  }
}

export async function withContext(context: Context, places: readonly CodeLine[]): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (const place of places) shown.push(await context.around(place));
  return shown;
}
