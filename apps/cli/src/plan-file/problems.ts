import { ReveilleError, nearest } from '@reveille/protocol';
import type { z } from 'zod';

/** One thing wrong with a plan file, and where. */
export interface FileProblem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  /** `tasks[3].agent`; empty if it is about the file. */
  readonly at: string;
  readonly problem: string;
}

/** Before anybody knows the line: the way to it from the top, and whether its key is what is wrong. */
export interface Finding {
  readonly path: readonly (string | number)[];
  readonly key?: boolean;
  /** Characters into the source, if it is known better than by its path. */
  readonly offset?: number;
  readonly problem: string;
}

const SHOWN = 50;

/** As compilers write it: editors and terminals know how to open this. */
export const problemLine = ({ file, line, column, at, problem }: FileProblem): string =>
  `${file}:${line}:${column}: ${at === '' ? '' : `${at}: `}${problem}`;

export function problemLines(problems: readonly FileProblem[]): string[] {
  const lines = problems.slice(0, SHOWN).map(problemLine);
  return problems.length > SHOWN ? [...lines, `… and ${problems.length - SHOWN} more`] : lines;
}

export function invalidPlan(problems: readonly FileProblem[]): ReveilleError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  const words = [...problemLines(problems), `The plan has ${count}; nothing was saved.`].join('\n');
  return new ReveilleError('invalid_input', words, { data: { problems } });
}

/** A shape that is wrong, in words: an unknown key with the nearest that exist. */
export function shapeFindings(issues: readonly z.core.$ZodIssue[], keysAt: KeysAt): Finding[] {
  return issues.flatMap((issue): Finding[] => {
    const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({
        path: [...path, key],
        key: true,
        problem: unknownKey(key, keysAt(path)),
      }));
    if (issue.code === 'invalid_key')
      return [{ path, key: true, problem: `it ${issue.issues[0]?.message ?? 'cannot be called so'}` }];
    return [{ path, problem: words(issue) }];
  });
}

/** The keys that are known in a place. */
export type KeysAt = (path: readonly (string | number)[]) => readonly string[];

function unknownKey(key: string, known: readonly string[]): string {
  const names = nearest(key, known).slice(0, 3).join(', ');
  return `there is no such key${names ? `; there is ${names}` : ''}`;
}

function words(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.input === undefined && issue.message.includes('undefined'))
    return 'it is missing';
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1) return 'it is empty';
  if (issue.code === 'too_small' && issue.origin === 'array') return `it needs at least ${issue.minimum}`;
  if (issue.code === 'too_small' && issue.origin === 'number') return `it must be at least ${issue.minimum}`;
  if (issue.code === 'invalid_type' && issue.path.length === 0)
    return 'this is no plan: it needs `name:` and `tasks:`';
  if (issue.code === 'invalid_union') return 'it is neither a text nor { description, default }';
  return issue.message
    .replace(/^Invalid (input|option|string): /, '')
    .replace(
      /^expected (\w+), received (\w+)$/,
      (_, wanted: string, got: string) => `expected ${named(wanted)}, not ${named(got)}`,
    );
}

/** What YAML calls it is known to fewer people than what it looks like. */
const NAMES = new Map(
  Object.entries({
    string: 'a text',
    number: 'a number',
    int: 'a whole number',
    boolean: 'true or false',
    array: 'a list',
    object: 'keys with values',
    record: 'keys with values',
    null: 'nothing',
  }),
);
const named = (type: string): string => NAMES.get(type) ?? type;

/** `tasks[3].dependencies[0]`, as the engine writes it, to the way there. */
export function pathOf(at: string): (string | number)[] {
  if (at === 'plan' || at === 'input') return [];
  return [...at.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, key]) =>
    index === undefined ? (key ?? '') : Number(index),
  );
}

export const atOf = (path: readonly (string | number)[]): string =>
  path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i > 0 ? '.' : ''}${key}`)).join('');
