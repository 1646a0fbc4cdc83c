import { ReveilleError } from '@reveille/protocol';
import type { z } from 'zod';

/** Input is parsed once, at the door; a wrong one gets an error that names every problem and its place. */
export function parse<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => ({
    at: issue.path.map(String).join('.') || 'input',
    problem: issue.message,
  }));
  throw invalid(problems);
}

export function invalid(problems: readonly { at: string; problem: string }[]): ReveilleError {
  const lines = problems.slice(0, 20).map(({ at, problem }) => `  ${at}: ${problem}`);
  if (problems.length > 20) lines.push(`  … and ${problems.length - 20} more`);
  return new ReveilleError('invalid_input', `The input is not valid:\n${lines.join('\n')}`, {
    data: { problems },
  });
}
