export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'hunk' | 'note';
  readonly text: string;
  /** In the new file, or in the old one if it was removed; null: it has none. */
  readonly line: number | null;
}
export interface DiffFile {
  readonly path: string;
  readonly lines: readonly DiffLine[];
}

/** A patch as git writes it, by file. Whatever does not look like one is shown as it is. */
export function parsePatch(patch: string): DiffFile[] {
  const parts = patch.split(/^(?=diff --git )/m).filter((part) => part.trim() !== '');
  return parts.map((part) => {
    const lines = part.replace(/\n$/, '').split('\n');
    const first = lines.findIndex((line) => line.startsWith('@@'));
    const head = first === -1 ? lines : lines.slice(0, first);
    const body = first === -1 ? notesIn(head) : linesIn(lines.slice(first));
    return { path: pathIn(head), lines: body };
  });
}

function pathIn(head: readonly string[]): string {
  const marked = (mark: string): string | undefined => {
    const line = head.find((each) => each.startsWith(mark))?.slice(mark.length);
    return line === '/dev/null' ? undefined : line?.replace(/^"?[ab]\//, '').replace(/"$/, '');
  };
  const named = /^diff --git "?a\/.* "?b\/(.*?)"?$/.exec(head[0] ?? '')?.[1];
  return marked('+++ ') ?? marked('--- ') ?? named ?? 'a file';
}

/** Of a file without lines: that it is binary, moved, or has another mode. */
const notesIn = (head: readonly string[]): DiffLine[] =>
  head
    .slice(1)
    .filter((line) => !/^(index|---|\+\+\+) /.test(line))
    .map((text) => ({ kind: 'note', text, line: null }));

function linesIn(lines: readonly string[]): DiffLine[] {
  let before = 0;
  let after = 0;
  return lines.map((text) => {
    const [, from, to] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(text) ?? [];
    if (from !== undefined && to !== undefined) {
      before = Number(from);
      after = Number(to);
      return { kind: 'hunk', text, line: null };
    }
    const rest = text.slice(1);
    if (text.startsWith('+')) return { kind: 'added', text: rest, line: after++ };
    if (text.startsWith('-')) return { kind: 'removed', text: rest, line: before++ };
    if (text.startsWith('\\')) return { kind: 'note', text: rest.trim(), line: null };
    before++;
    return { kind: 'same', text: rest, line: after++ };
  });
}

export interface Comment {
  readonly path: string;
  readonly line: number;
  readonly quoted: string;
  readonly words: string;
}

/** The comments as one message: an agent reads them with the lines they are about. */
export const asMessage = (comments: readonly Comment[]): string =>
  [
    'Comments on your changes:',
    ...comments.map(({ path, line, quoted, words }) => `\n${path}:${line}\n> ${quoted.trim()}\n${words}`),
  ].join('\n');
