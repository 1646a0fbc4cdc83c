import type { RunEnd } from '@reveille/protocol';

/** What a reviewer's report must hold. */
export const VERDICT_SCHEMA: Record<string, unknown> = {
  type: 'object',
  required: ['verdict'],
  properties: { verdict: { enum: ['approve', 'changes'] }, comments: { type: 'string' } },
};

export type Verdict =
  | { readonly verdict: 'approve' }
  | { readonly verdict: 'changes'; readonly comments: string };

/**
 * What a reviewer decided; null: nothing that can be told for sure, and then nothing is approved (PLN8). Only a report of
 * success counts, in its structured value; of an agent that reports by its last message, one line of it.
 */
export function verdictIn(end: RunEnd): Verdict | null {
  if (end.status !== 'success') return null;
  if (end.cause === 'report') return fromStructured(end);
  return end.cause === 'last_message' ? fromWords(end.output) : null;
}

function fromStructured({ structured, output }: RunEnd): Verdict | null {
  if (typeof structured !== 'object' || structured === null) return null;
  const { verdict, comments } = structured as { readonly verdict?: unknown; readonly comments?: unknown };
  if (verdict === 'approve') return { verdict };
  if (verdict !== 'changes') return null;
  return changes(typeof comments === 'string' && comments.trim() !== '' ? comments : output);
}

/** Changes that nobody can read are none. */
const changes = (comments: string): Verdict | null =>
  comments.trim() === '' ? null : { verdict: 'changes', comments };

/** Within one line: where blanks may be line ends too, many empty lines take as long as their number squared. */
const LINE = /^[ \t*_#>-]*verdict[ \t*_]*:[ \t*_`"]*(approve|changes)[ \t\r*_`".]*$/gim;

/** Two verdicts are none. */
function fromWords(words: string): Verdict | null {
  const said = new Set([...words.matchAll(LINE)].map(([, word = '']) => word.toLowerCase()));
  if (said.size !== 1) return null;
  return said.has('approve') ? { verdict: 'approve' } : changes(words.replaceAll(LINE, '').trim());
}
