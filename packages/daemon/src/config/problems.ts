import { ReveilleError, nearest } from '@reveille/protocol';
import type { z } from 'zod';

/** One thing wrong with the configuration, and where. */
export interface ConfigProblem {
  /** The file, the variable or the flag. */
  readonly source: string;
  readonly line?: number;
  readonly column?: number;
  /** The setting: `engine.concurrency`. */
  readonly at: string;
  readonly problem: string;
}

/** All problems at once, each with its place. */
export function invalidConfig(problems: readonly ConfigProblem[]): ReveilleError {
  const lines = problems.slice(0, 20).map((problem) => `  ${sentence(problem)}`);
  if (problems.length > 20) lines.push(`  … and ${problems.length - 20} more`);
  return new ReveilleError('invalid_input', `The configuration is not valid:\n${lines.join('\n')}`, {
    data: { problems },
  });
}

function sentence({ source, line, column, at, problem }: ConfigProblem): string {
  const place = line === undefined ? source : `${source}:${line}:${column}`;
  return at === '' ? `${place}: ${problem}` : `${place}: ${at}: ${problem}`;
}

/** A finding of zod as problems: where, whether the key itself is wrong, and what is. */
export interface Finding {
  readonly path: readonly PropertyKey[];
  readonly key: boolean;
  readonly problem: string;
}

export function findings(
  issues: readonly z.core.$ZodIssue[],
  known: (path: string) => readonly string[],
): Finding[] {
  return issues.flatMap((issue): Finding[] => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, key: false, problem: issue.message }];
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      key: true,
      problem: unknown(key, known(issue.path.map(String).join('.'))),
    }));
  });
}

function unknown(key: string, known: readonly string[]): string {
  const names = nearest(key, known).slice(0, 3).join(', ');
  return `there is no such setting${names ? `; there is ${names}` : ''}`;
}
