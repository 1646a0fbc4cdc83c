import type { Language } from '../languages.ts';

const HASHES = new Set(['python', 'ruby', 'bash']);
/** A longer block is left to the parser. */
const MOST_LINES = 400;

/**
 * Whether a place is in a comment that fills its lines: `// …`, or a block that begins with a line of its own. Seen from the
 * lines alone, which is a hundred times as fast as parsing. Says yes only where no code can be: what looks like such a
 * comment within a string is no code either. What it does not know is left to the server and the parser.
 */
export function isCommentLine(
  { line, text }: { readonly line: number; /** Of its line, up to the place. */ readonly text: string },
  language: Language,
  /** A line, from 0. */
  rowAt: (line: number) => string,
): boolean {
  const before = text.trimStart();
  // Within a template this is code, whatever the line begins with.
  if (before.includes('${')) return false;
  if (HASHES.has(language.name)) return before.startsWith('#');
  if (before.startsWith('//')) return true;
  if (before.includes('*/')) return false;
  if (before.startsWith('/*')) return true;
  if (!before.startsWith('*')) return false;
  for (let at = line - 2; at >= Math.max(0, line - MOST_LINES); at--) {
    const above = rowAt(at).trimStart();
    if (above.startsWith('/*')) return !above.includes('*/');
    if (!above.startsWith('*') || above.includes('*/')) return false;
  }
  return false;
}
