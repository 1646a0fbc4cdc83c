import { formatAgentType, type Run, type Sender, type Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import { askForReview } from './review-start.ts';
import { approve, sendBack } from './task-acts.ts';
import type { Tx } from './tx.ts';
import { verdictIn, type Verdict } from './verdict.ts';

/** Reviewers that ended in this decision: what follows for the work they looked at is the same change. */
export async function hearVerdicts(tx: Tx, context: Context): Promise<void> {
  for (const reviewer of tx.reviewersDone) await hearVerdict(tx, context, reviewer);
}

/** Whatever is no clear verdict approves nothing: then the person decides. */
async function hearVerdict(tx: Tx, context: Context, reviewer: Task): Promise<void> {
  const { reviews } = reviewer;
  if (!reviews) return;
  const task = await tx.need('task', reviews.task);
  // Somebody else has decided meanwhile, or it was cancelled.
  if (task.state !== 'review' || task.reviewing?.task !== reviewer.id) return;
  const ended = reviewer.lastRun ? await tx.need('run', reviewer.lastRun) : null;
  const verdict = reviewer.state === 'completed' && ended?.end ? verdictIn(ended.end) : null;
  const next = { ...task, reviewing: { ...task.reviewing, task: null } };
  tx.put('task', next);
  const { round, most } = next.reviewing;
  tx.note({
    type: 'review.ended',
    task: task.id,
    data: { by: reviewer.id, round, most, verdict: verdict?.verdict ?? 'none' },
  });
  if (verdict?.verdict === 'approve') return approve(tx, context, next);
  if (verdict && round < most)
    return sendBack(tx, context, next, { comment: verdict.comments, from: senderOf(reviewer) });
  const run = await tx.need('run', reviews.run);
  await askForReview(tx, context, next, { run, text: wordsFor(reviewer, ended, verdict), toPerson: true });
}

const senderOf = ({ id, agent }: Task): Sender => ({ kind: 'task', task: id, agent: formatAgentType(agent) });

const MOST_WORDS = 4_000;

/** What the person is told of a review that did not settle it. */
function wordsFor(reviewer: Task, ended: Run | null, verdict: Verdict | null): string {
  const who = formatAgentType(reviewer.agent);
  if (verdict?.verdict === 'changes')
    return `${who} asks for changes again, in the last round (${reviewer.reviews?.round}): ${verdict.comments.slice(0, MOST_WORDS)}`;
  const end = ended?.end;
  const said = end?.error ? `${end.error.class}: ${end.error.message}` : (end?.output ?? reviewer.why);
  return `${who} gave no verdict (${reviewer.state}), so nothing is approved. It says: ${said.slice(0, MOST_WORDS) || 'nothing'}`;
}
