import { ReveilleError, defuse, type ErrorCode } from '@reveille/protocol';
import { head } from './fence.ts';

/** What to do about a refusal, where its own words may not say it. */
const NEXT: Partial<Record<ErrorCode, string>> = {
  unknown_agent:
    'Use one of the agents named, or leave agentType out for the general one. a2a_list_agents lists them all.',
  budget_exhausted: 'Spawn nothing more. Finish with what you have and report it, as partial if need be.',
  stale_caller: 'Stop now. Your run is over, and what you did is kept.',
  wrong_state: 'Look at its state first (a2a_subtask_status), then decide.',
  not_found: 'Check the id: it must be one that a tool gave you.',
  already_answered: 'Nothing is left to do about this request.',
  dirty_checkout: 'Nothing was changed. Let the person commit or stash these files first.',
  merge_conflict:
    'Nothing was changed. Look at the diff of the subtask and make the change by hand, or let it be resolved by an agent.',
  aborted: 'What was started goes on; its result will come as a message.',
  stopping: 'Try again in a moment.',
  contention: 'Try again.',
  store_failed: 'Nothing was changed. Try again in a moment.',
  store_full: 'Nothing was changed: the disk is full. Tell the person.',
};

const MOST_LISTED = 20;

/** The error as a model is told it: what was wrong, what is there instead, what to do. */
export function teachingError(error: ReveilleError): string {
  // A refusal of the engine says so itself.
  const words = error.message.replace(/^Refused: /, '');
  const lines = [`Refused (${error.code}): ${defuse(head(words, 4_000))}`];
  const known = listed(error.data['known']);
  if (known && !known.every((name) => error.message.includes(name)))
    lines.push(`There are: ${known.join(', ')}`);
  const files = listed(error.data['files']);
  if (files && !files.every((file) => error.message.includes(file))) lines.push(`Files: ${files.join(', ')}`);
  const next = NEXT[error.code];
  if (next) lines.push(next);
  return lines.join('\n');
}

function listed(value: unknown): string[] | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  const names = value.filter((entry) => typeof entry === 'string').map((entry) => defuse(head(entry, 200)));
  if (names.length > MOST_LISTED)
    return [...names.slice(0, MOST_LISTED), `… and ${names.length - MOST_LISTED} more`];
  return names;
}

/** Something broke that should not have. What it was is logged, not told: it may be about others. */
export const BROKEN =
  'Failed (internal): a defect of Reveille. Nothing is known of what the call did. Try once more; if it fails again, go on without it and say so.';
