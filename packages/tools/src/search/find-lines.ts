/** What a search asks of each file. It is sent to a worker, so it is plain data. */
export interface Wanted {
  readonly source: string;
  readonly flags: string;
  /** Lines shown before and after each that matches. */
  readonly context: number;
  /** Most matches of one file. */
  readonly most: number;
}

export interface Hit {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export interface FileText {
  readonly path: string;
  readonly text: string;
}

export interface FileHits {
  readonly path: string;
  readonly hits: readonly Hit[];
}

/** A line of a minified file is no use as a whole. */
const LONGEST_SHOWN = 400;

/** The lines of each file that match; files without one are left out. */
export function findInFiles(files: readonly FileText[], wanted: Wanted): FileHits[] {
  const pattern = new RegExp(wanted.source, wanted.flags);
  return files
    .map(({ path, text }) => ({ path, hits: findLines(text, pattern, wanted) }))
    .filter(({ hits }) => hits.length > 0);
}

function findLines(text: string, pattern: RegExp, { context, most }: Wanted): Hit[] {
  const lines = text.split(/\r?\n/);
  // The end of the last line begins no other.
  if (lines.at(-1) === '') lines.pop();
  const hits: Hit[] = [];
  for (const [i, line] of lines.entries()) {
    const match = pattern.exec(line);
    if (!match) continue;
    const before = lines.slice(Math.max(0, i - context), i).map((other) => shown(other, 0));
    const after = lines.slice(i + 1, i + 1 + context).map((other) => shown(other, 0));
    hits.push({ line: i + 1, text: shown(line, match.index), before, after });
    if (hits.length >= most) break;
  }
  return hits;
}

/** Around the match, if the line is long. */
function shown(line: string, at: number): string {
  if (line.length <= LONGEST_SHOWN) return line;
  const start = Math.max(0, Math.min(at - LONGEST_SHOWN / 4, line.length - LONGEST_SHOWN));
  const part = line.slice(start, start + LONGEST_SHOWN).toWellFormed();
  return `${start > 0 ? '…' : ''}${part}${start + LONGEST_SHOWN < line.length ? '…' : ''}`;
}
