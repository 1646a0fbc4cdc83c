import { LineCounter, isNode, parseDocument } from 'yaml';
import type { PlanProblem } from '@reveille/protocol';

export interface PlacedProblem {
  readonly line: number;
  readonly problem: string;
}

export type ReadPlan =
  | { readonly plan: unknown; readonly lineOf: (at: string) => number }
  | { readonly problems: readonly PlacedProblem[] };

/** A plan as it is written (YAML, or JSON, which is YAML too), with the way back to its lines. */
export function readPlan(text: string): ReadPlan {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, strict: true });
  const line = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  if (document.errors.length > 0)
    return {
      problems: document.errors.map(({ pos, message }) => ({
        line: line(pos[0]),
        problem: message.split('\n', 1)[0] ?? message,
      })),
    };
  return {
    // Few aliases: a small text could stand for an endless plan.
    plan: document.toJS({ maxAliasCount: 50 }) as unknown,
    lineOf: (at) => {
      for (let path = pathOf(at); path.length > 0; path = path.slice(0, -1)) {
        const node: unknown = document.getIn(path, true);
        if (isNode(node) && node.range) return line(node.range[0]);
      }
      return 1;
    },
  };
}

/** `tasks[3].dependencies[0]` as ['tasks', 3, 'dependencies', 0]. */
const pathOf = (at: string): (string | number)[] =>
  at
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));

export const placed = (problems: readonly PlanProblem[], lineOf: (at: string) => number): PlacedProblem[] =>
  problems
    .map(({ at, problem }) => ({ line: lineOf(at), problem: `${at}: ${problem}` }))
    .toSorted((a, b) => a.line - b.line);
