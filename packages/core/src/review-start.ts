import {
  LENGTHS,
  formatAgentType,
  isReviewWord,
  optionsOf,
  type AgentType,
  type PlanTaskInput,
  type Reviewing,
  type Run,
  type Task,
} from '@reveille/protocol';
import { bornSession, bornTask } from './births.ts';
import { newId, type Context } from './context.ts';
import { modelFor } from './definitions.ts';
import { enqueue } from './mailbox.ts';
import { offerTask } from './offers.ts';
import { policyOf, policyOfSession } from './policy-chain.ts';
import { openRequest } from './requests.ts';
import { reviewPrompt, reviewText, reviewWhy, unaskedReview } from './review-words.ts';
import type { Tx } from './tx.ts';
import { VERDICT_SCHEMA } from './verdict.ts';

/**
 * PLN8. A report sends a task that asks for it to `review`. A review has rounds. In each, an agent looks at the work (a
 * reviewer, with a task of its own, or the owner, by a request) and approves it or has it changed; what is to be changed
 * goes to the same worker, and its next report begins the next round. After the last of them, and whenever a reviewer
 * ends without a verdict, the person decides. Which round it is and who is at it is kept with the task, in the change
 * that moves it: after a crash there is nothing to find out.
 */
export function reviewOf(
  { settings }: Pick<Context, 'settings'>,
  { review, reviewRounds }: PlanTaskInput,
  by: AgentType | null,
): Pick<Task, 'review' | 'reviewing'> {
  const reviewing = unreviewed(reviewRounds ?? settings.review.rounds);
  if (by) return { review: 'agent', reviewing: { ...reviewing, by } };
  const policy = isReviewWord(review) ? review : 'none';
  return policy === 'none' ? { review: 'none' } : { review: policy, reviewing };
}

const unreviewed = (most: number): Reviewing => ({ most, round: 0, task: null, said: '' });

/** A task that is tried again is reviewed from the beginning. */
export const reviewedAnew = ({ reviewing }: Task): Pick<Task, 'reviewing'> =>
  reviewing ? { reviewing: { ...reviewing, round: 0, task: null, said: '' } } : {};

/** The task is in review, by the report of `run`: the next round begins. */
export async function beginReview(tx: Tx, context: Context, task: Task, run: Run | null): Promise<Task> {
  const last = task.reviewing ?? unreviewed(context.settings.review.rounds);
  const next = { ...task, reviewing: { ...last, round: last.round + 1, task: null } };
  const { by, round, most } = next.reviewing;
  if (by && run && round <= most) return startReviewer(tx, context, next, { run, by });
  const text = round > most && task.review !== 'person' ? `It was reviewed ${most} times.` : '';
  return askForReview(tx, context, next, { run, text, toPerson: by !== undefined || round > most });
}

async function startReviewer(
  tx: Tx,
  context: Context,
  task: Task & { readonly reviewing: Reviewing },
  { run, by }: { readonly run: Run; readonly by: AgentType },
): Promise<Task> {
  const { round, most, said } = task.reviewing;
  const worker = await tx.need('session', task.session);
  const id = newId(context, 'task');
  const { repository } = task;
  const name = `review of ${task.name}`.slice(0, LENGTHS.name);
  const place = { parent: worker.id, rootKind: worker.rootKind, depth: worker.depth + 1 };
  const session = bornSession(tx, context, { ...place, kind: 'worker', task: id, name, repository });
  const policy = policyOf(context, by, repository, await policyOfSession(tx, context, worker));
  const reviewer = bornTask(tx, {
    id,
    plan: null,
    key: null,
    name,
    prompt: reviewPrompt(task, run, { at: round, most, said }),
    expectedOutput: null,
    resultSchema: VERDICT_SCHEMA,
    repository,
    checkpoint: null,
    isolation: 'shared',
    agent: by,
    model: modelFor(context, by, { repository, model: undefined }),
    priority: task.priority,
    targetFiles: [],
    review: 'none',
    owner: worker.id,
    session: session.id,
    depth: place.depth,
    dependencies: [],
    dependents: [],
    openDependencies: 0,
    badDependencies: 0,
    state: 'ready',
    why: `reviews "${task.name}"`,
    budget: task.budget,
    reviews: { task: task.id, run: run.id, round, tells: task.owner },
    ...(policy ? { policy } : {}),
  });
  offerTask(tx, reviewer);
  const why = reviewWhy(formatAgentType(by), { round, most });
  const next = { ...task, why, reviewing: { ...task.reviewing, task: id } };
  tx.put('task', next);
  return next;
}

interface AskedReview {
  readonly run: Run | null;
  /** What came of earlier rounds; '': nothing did. */
  readonly text: string;
  readonly toPerson: boolean;
}

/** Its owner, or the person, is asked for the verdict. */
export async function askForReview(tx: Tx, context: Context, task: Task, asked: AskedReview): Promise<Task> {
  const { run, toPerson } = asked;
  const options = optionsOf('review');
  const text = reviewText(task, run, asked.text);
  const { request } = await openRequest(tx, context, task, { kind: 'review', run, text, options, toPerson });
  const { round = 1, most = 1 } = task.reviewing ?? {};
  const unasked = unaskedReview(task, run);
  const inReview =
    request.with === null ? reviewWhy('the person', { round }) : reviewWhy('its owner', { round, most });
  const why = unasked === null ? inReview : `${inReview}, because ${unasked}`;
  const next = { ...task, why };
  tx.put('task', next);
  if (request.with !== null) return next;
  await enqueue(tx, context, {
    to: task.owner,
    key: `review:${run?.id ?? task.id}`,
    kind: 'review',
    from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
    task: task.id,
    run: run?.id ?? null,
    request: request.id,
    text: '',
  });
  return next;
}
