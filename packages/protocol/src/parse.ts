import type { z } from 'zod';
import { ReveilleError } from './errors.ts';

/** Input is parsed once, at the door; a wrong one gets an error that names every problem and its place. */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw invalidInput(
    parsed.error.issues.map((issue) => ({
      at: issue.path.map(String).join('.') || 'input',
      problem: problemIn(issue),
    })),
  );
}

/** What is wrong with an input, in words for people and models; of most problems as the schema says it. */
export function problemIn(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1) return 'is empty';
  if (issue.code === 'too_big' && issue.origin === 'string')
    return `is longer than ${issue.maximum} characters`;
  return issue.message;
}

export function invalidInput(problems: readonly { at: string; problem: string }[]): ReveilleError {
  const lines = problems.slice(0, 20).map(({ at, problem }) => `  ${at}: ${problem}`);
  if (problems.length > 20) lines.push(`  … and ${problems.length - 20} more`);
  return new ReveilleError('invalid_input', `The input is not valid:\n${lines.join('\n')}`, {
    data: { problems },
  });
}
