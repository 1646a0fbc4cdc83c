import {
  AmountsInput,
  AnswerInput,
  NotifyInput,
  ReveilleError,
  SendInput,
  formatAgentType,
  isId,
  parseInput,
  type Caller,
  type Orchestrator,
  type ParsedNotify,
  type ParsedReview,
  type Request,
  type Task,
} from '@reveille/protocol';
import { checkCaller, checkMayAct, checkMayMessage, nameOf, senderOf } from '../authority.ts';
import { raiseAsTold, reserveFor } from '../budget-acts.ts';
import { newId } from '../context.ts';
import { decide } from '../decide.ts';
import type { Host } from '../host.ts';
import { remind } from '../inquiry.ts';
import { enqueue } from '../mailbox.ts';
import { checkAnswer, grant } from '../permits.ts';
import { answerRequest, openRequest } from '../requests.ts';
import { cancel, complete, review } from '../task-acts.ts';
import type { Tx } from '../tx.ts';

type WorkerCaller = Extract<Caller, { kind: 'worker' }>;
export const CORRESPONDENCE = ['notifyParent', 'sendMessage', 'answer', 'reserve'] as const;

export function correspondence(
  host: Host,
  caller: Caller,
): Pick<Orchestrator, (typeof CORRESPONDENCE)[number]> {
  const { context } = host;
  return {
    async notifyParent(input) {
      const note = parseInput(NotifyInput, input);
      if (caller.kind !== 'worker')
        throw new ReveilleError('not_allowed', 'Only a worker has a parent to notify.');
      await host.alive(caller);
      return decide(context, (tx) => notify(tx, host, caller, note));
    },
    async sendMessage(input) {
      const { to, message, key } = parseInput(SendInput, input);
      await host.alive(caller);
      return decide(context, async (tx) => {
        const id = isId('task', to) ? (await tx.need('task', to)).session : to;
        const session = await tx.need('session', id);
        await checkMayMessage(tx, caller, session);
        if (session.state === 'ended')
          throw new ReveilleError('wrong_state', `${to} has ended and reads no messages.`);
        const from = senderOf(caller);
        const name = key ? `said:${nameOf(caller)}:${key}` : `said:${newId(context, 'msg')}`;
        return enqueue(tx, context, {
          to: id,
          key: name,
          kind: 'words',
          from,
          task: session.task,
          text: message,
          fresh: !key,
        });
      });
    },
    async answer(input) {
      const { request, answer } = parseInput(AnswerInput, input);
      await host.alive(caller);
      return decide(context, (tx) => answerAs(tx, host, caller, { request, text: answer }));
    },
    async reserve(id, amounts) {
      if (caller.kind !== 'worker')
        throw new ReveilleError('not_allowed', 'Only a worker has a budget to reserve from.');
      const wanted = parseInput(AmountsInput, amounts);
      const why = await decide(context, (tx) => reserveFor(tx, context, caller, { id, wanted }));
      return why ? { granted: false, why } : { granted: true };
    },
  };
}

/** An answer to a review that is no verdict says what is to be changed. */
function verdictOf(task: Task, text: string): ParsedReview {
  if (text === 'approve' || text === 'reject') return { task: task.id, verdict: text, comment: '' };
  return { task: task.id, verdict: 'changes', comment: text };
}

async function notify(tx: Tx, host: Host, caller: WorkerCaller, input: ParsedNotify) {
  const { context } = host;
  await checkCaller(tx, caller);
  const run = await tx.need('run', caller.run);
  const task = await tx.need('task', run.task);
  if (input.type === 'question' || input.type === 'approval_request') {
    const kind = input.type === 'question' ? 'question' : 'approval';
    const { message: text, options, key } = input;
    const { request, message } = await openRequest(tx, context, task, { kind, run, text, options, key });
    return { message, request: request.id };
  }
  const message = await enqueue(tx, context, {
    to: task.owner,
    key: input.key ? `note:${run.id}:${input.key}` : `note:${newId(context, 'msg')}`,
    kind: input.type,
    from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
    task: task.id,
    text: input.message,
    urgent: input.type === 'error',
    fresh: input.key === undefined,
  });
  return { message, request: null };
}

/** The choices of an idle item and of a review do what they say; any other answer goes to the asker. */
async function answerAs(
  tx: Tx,
  host: Host,
  caller: Caller,
  answer: { request: Request['id']; text: string },
): Promise<Request> {
  const { context } = host;
  const request = await tx.need('request', answer.request);
  const task: Task = await tx.need('task', request.task);
  const session = caller.kind === 'person' ? null : caller.session;
  if (session === null || session !== request.with) await checkMayAct(tx, caller, task);
  else await checkCaller(tx, caller);
  const by = nameOf(caller);
  const from = senderOf(caller);
  if (request.state === 'open') await checkAnswer(tx, context, caller, request, answer.text);
  const answered = await answerRequest(tx, context, request.id, { text: answer.text, by, from });
  await grant(tx, request, answer.text);
  const [, words] =
    request.kind === 'budget' ? (/^raise\b[\s:,]*(.*)$/is.exec(answer.text.trim()) ?? []) : [];
  if (words !== undefined) await raiseAsTold(tx, context, request, words);
  if (request.kind === 'review') await review(tx, context, verdictOf(task, answer.text), from);
  if (request.kind !== 'idle') return answered;
  const current = await tx.need('task', task.id);
  if (answer.text === 'mark complete') await complete(tx, context, current, '');
  if (answer.text === 'cancel') await cancel(tx, context, current, { by, why: 'it was silent' });
  if (answer.text === 'remind' && current.run) await remind(tx, context, current, request.id);
  return answered;
}
