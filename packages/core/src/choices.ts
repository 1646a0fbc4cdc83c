import {
  PASS_ON,
  ReveilleError,
  choiceIn,
  choiceLines,
  choicesOf,
  isLook,
  takesFreeText,
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
import { cancel, complete, review } from './task-acts.ts';
import type { Tx } from './tx.ts';

/**
 * Answers a request and does what the answer says. This is the one place that carries out choices, so that they mean the same
 * at every door (INB1). The caller of `answerWith` has checked that `given.caller` may answer.
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
    if (isLook(request, chosen)) return request;
    if (!chosen && isPassedOn(request, caller, text)) {
      await passOn(tx, context, request);
      return tx.need('request', request.id);
    }
    checkChoice(request, chosen);
    await checkAnswer(tx, context, caller, request, chosen);
  }
  const words = request.kind === 'plan' ? planAnswer(chosen) : wordsOf(chosen, text);
  const by = { text: words, by: nameOf(caller), from: senderOf(caller) };
  const answered = await answerRequest(tx, context, request.id, by);
  await grant(tx, request, chosen);
  await carryOut(tx, context, request, { caller, chosen });
  return answered;
}

/** The holder of a request may hand it on instead of answering it. */
const isPassedOn = (request: Request, caller: Caller, text: string): boolean =>
  text.trim().toLowerCase() === PASS_ON && request.with !== null && request.with === sessionOf(caller);

/** The asker gets the id of the choice, however the answer was written. */
const wordsOf = (chosen: Chosen | null, text: string): string => {
  if (!chosen) return text;
  return chosen.rest === '' ? chosen.id : `${chosen.id}: ${chosen.rest}`;
};

/** Refuses an answer that is none of the choices, with the list of them (INB3). */
function checkChoice(request: Request, chosen: Chosen | null): void {
  if (!chosen && takesFreeText(request)) return;
  const choice = choicesOf(request).find(({ id }) => id === chosen?.id);
  if (choice && !(choice.needsWords && chosen?.rest === '')) return;
  const why = choice
    ? `"${choice.id}" needs words after it: ${choice.id}: <${choice.takes}>.`
    : `The answer is none of the choices of ${request.id}.`;
  const list = choiceLines(request).join(' | ');
  throw new ReveilleError('invalid_input', `${why} Answer with one of: ${list}`, {
    data: { options: request.options },
  });
}

interface Choosing {
  readonly caller: Caller;
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
  if (chosen?.id === 'retry') await retryBy(tx, context, task, { caller, by: {} });
  if (chosen?.id === 'retry with') await retryBy(tx, context, task, { caller, by: retryWords(chosen.rest) });
}

function verdictOf(task: Task, { chosen }: Choosing): ParsedReview {
  if (chosen?.id === 'approve' || chosen?.id === 'reject')
    return { task: task.id, verdict: chosen.id, comment: '' };
  return { task: task.id, verdict: 'changes', comment: chosen?.rest ?? '' };
}

/** What the orchestrator of the plan is told. */
function planAnswer(chosen: Chosen | null): string {
  if (chosen?.id === 'approve') return APPROVED;
  if (chosen?.id === 'cancel') return 'Not approved: the goal is dropped.';
  return `Not approved, and the draft is gone. Save another plan, with these changes: ${chosen?.rest ?? ''}`;
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
