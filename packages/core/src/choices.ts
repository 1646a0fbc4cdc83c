import {
  ONLY_CHOICES,
  PASS_ON,
  ReveilleError,
  choiceIn,
  choicesOf,
  type Caller,
  type Chosen,
  type ParsedReview,
  type Request,
  type Task,
} from '@reveille/protocol';
import { nameOf, senderOf, sessionOf } from './authority.ts';
import { raiseAsTold } from './budget-acts.ts';
import type { Context } from './context.ts';
import { remind } from './inquiry.ts';
import { checkAnswer, grant } from './permits.ts';
import { APPROVED } from './plan-approval.ts';
import { cancelPlan, startPlan } from './plans.ts';
import { answerRequest, passOn } from './requests.ts';
import { retryBy, retryWords } from './retry-by.ts';
import { cancel, complete, retry, review } from './task-acts.ts';
import type { Tx } from './tx.ts';

/**
 * Answers a request and does what the answer says. The one place that carries out choices, so that they mean the same
 * at every door (INB1); any other answer goes to the asker as it is. Whoever calls has checked that the caller may.
 */
export async function answerWith(
  tx: Tx,
  context: Context,
  request: Request,
  given: { readonly caller: Caller; readonly text: string },
): Promise<Request> {
  const { caller, text } = given;
  const chosen = choiceIn(request, text);
  if (request.state === 'open') {
    // A look at it is no answer.
    if (chosen?.id === 'details') return request;
    if (
      text.trim().toLowerCase() === PASS_ON &&
      request.with !== null &&
      request.with === sessionOf(caller)
    ) {
      await passOn(tx, context, request);
      return tx.need('request', request.id);
    }
    if (!chosen && ONLY_CHOICES.has(request.kind)) throw notAChoice(request);
    await checkAnswer(tx, context, caller, request, text);
  }
  // However it was written, whoever asked gets the word it gave.
  const plain = chosen?.rest === '' ? chosen.id : text;
  const words = request.kind === 'plan' ? planAnswer(chosen, text) : plain;
  const by = { text: words, by: nameOf(caller), from: senderOf(caller) };
  const answered = await answerRequest(tx, context, request.id, by);
  await grant(tx, request, text);
  await carryOut(tx, context, request, { caller, text, chosen });
  return answered;
}

function notAChoice(request: Request): ReveilleError {
  const options = choicesOf(request).map(({ id, takes }) => (takes ? `${id} …` : id));
  return new ReveilleError('invalid_input', `Answer ${request.id} with one of: ${options.join(', ')}.`, {
    data: { options: request.options },
  });
}

interface Choosing {
  readonly caller: Caller;
  readonly text: string;
  readonly chosen: Chosen | null;
}

async function carryOut(tx: Tx, context: Context, request: Request, choosing: Choosing): Promise<void> {
  const task = await tx.need('task', request.task);
  switch (request.kind) {
    case 'idle':
      return aboutSilence(tx, context, task, { request, ...choosing });
    case 'failure':
      return aboutFailure(tx, context, task, choosing);
    case 'review':
      return review(tx, context, verdictOf(task, choosing), senderOf(choosing.caller));
    case 'plan':
      return aboutPlan(tx, context, task, { request, ...choosing });
    case 'budget':
      if (choosing.chosen?.id === 'raise') await raiseAsTold(tx, context, request, choosing.chosen.rest);
      return;
    case 'question':
    case 'approval':
    case 'conflict':
    case 'escape':
      // The answer itself is all: its asker does what it says.
      return;
    default:
      request.kind satisfies never;
  }
}

type About = Choosing & { readonly request: Request };

async function aboutSilence(tx: Tx, context: Context, task: Task, about: About): Promise<void> {
  const { request, chosen, caller } = about;
  if (chosen?.id === 'mark complete') await complete(tx, context, task, '');
  if (chosen?.id === 'cancel') await cancel(tx, context, task, { by: nameOf(caller), why: 'it was silent' });
  if (chosen?.id === 'remind' && task.run) await remind(tx, context, task, request.id);
}

async function aboutFailure(tx: Tx, context: Context, task: Task, about: Choosing): Promise<void> {
  const { chosen, caller } = about;
  if (chosen?.id === 'retry') await retry(tx, task);
  if (chosen?.id === 'retry with') await retryBy(tx, context, task, { caller, by: retryWords(chosen.rest) });
}

/** An answer to a review that is no verdict says what is to be changed. */
function verdictOf(task: Task, { chosen, text }: Choosing): ParsedReview {
  if (chosen?.id === 'approve' || chosen?.id === 'reject')
    return { task: task.id, verdict: chosen.id, comment: '' };
  return { task: task.id, verdict: 'changes', comment: chosen?.rest || text };
}

/** What the orchestrator is told; what is no choice says what is to be different. */
function planAnswer(chosen: Chosen | null, text: string): string {
  if (chosen?.id === 'approve') return APPROVED;
  if (chosen?.id === 'cancel') return 'Not approved: the goal is dropped.';
  return `Not approved, and the draft is gone. Save another plan, with these changes: ${chosen?.rest || text}`;
}

async function aboutPlan(tx: Tx, context: Context, task: Task, about: About): Promise<void> {
  const { request, chosen, caller } = about;
  const by = nameOf(caller);
  const plan = request.plan ? await tx.get('plan', request.plan) : undefined;
  if (plan?.state === 'draft') {
    if (chosen?.id === 'approve') await startPlan(tx, plan);
    else await cancelPlan(tx, context, plan, { by, why: 'not approved' });
  }
  if (chosen?.id === 'cancel') await cancel(tx, context, task, { by, why: 'its plan was not approved' });
}
