import type { Hit } from './search/find-lines.ts';

export interface NumberedLine {
  readonly line: number;
  readonly text: string;
  /** It was found; the others stand around. */
  readonly isHit: boolean;
}

/** Lines that were found with those around them, each once and in order; null where lines are left out in between. */
export function linesAround(hits: readonly Hit[]): (NumberedLine | null)[] {
  const around = hits.flatMap(({ line, before, after }) => [
    ...before.map((text, i) => ({ line: line - before.length + i, text, isHit: false })),
    ...after.map((text, i) => ({ line: line + 1 + i, text, isHit: false })),
  ]);
  const found = hits.map(({ line, text }) => ({ line, text, isHit: true }));
  const all = new Map([...around, ...found].map((each) => [each.line, each]));
  const lines = [...all.values()].toSorted((a, b) => a.line - b.line);
  return lines.flatMap((each, i) => {
    const isApart = around.length > 0 && i > 0 && lines[i - 1]?.line !== each.line - 1;
    return isApart ? [null, each] : [each];
  });
}
