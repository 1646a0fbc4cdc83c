import { parseApprovals } from '@reveille/protocol';
import type { AgentDefinition } from './definition.ts';
import type { FrontMatter } from './front-matter.ts';

/** What a definition says of what its agent must ask for. It holds beside what the person says, never instead of it. */
export function approvalsOf(matter: FrontMatter): AgentDefinition['approvals'] {
  const given = matter.data('approvals');
  if (given === undefined || given === null) return null;
  const parsed = parseApprovals(given);
  if ('approvals' in parsed) return parsed.approvals;
  for (const problem of parsed.problems) matter.note('approvals', 'error', problem);
  return null;
}
