import {
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
  type Request,
  type Session,
} from '@reveille/protocol';
import { authorize, checkCaller, nameOf, senderOf, sessionOf } from '../authority.ts';
import { answerWith } from '../choices.ts';
import { newId, type Context } from '../context.ts';
import { decide } from '../decide.ts';
import { titleOf } from '../envelope.ts';
import type { Host } from '../host.ts';
import { whoHears } from '../hearing.ts';
import { isIntegrator } from '../integrator.ts';
import { checkMailRoom } from '../mail-quota.ts';
import { enqueue, say } from '../mailbox.ts';
import { checkGuards } from '../plan-approval.ts';
import { knownFor } from '../repository-agents.ts';
import { openRequest } from '../requests.ts';
import type { Tx } from '../tx.ts';

type WorkerCaller = Extract<Caller, { kind: 'worker' }>;
export const CORRESPONDENCE = ['notifyParent', 'sendMessage', 'answer'] as const;

export function correspondence(
  host: Host,
  caller: Caller,
): Pick<Orchestrator, (typeof CORRESPONDENCE)[number]> {
  const { context } = host;
  return {
    async notifyParent(input) {
      const note = parseInput(NotifyInput, input);
      if (caller.kind !== 'worker') throw notAWorker();
      return decide(context, (tx) => notify(tx, host, caller, note));
    },
    async sendMessage(input) {
      const { to, message, key } = parseInput(SendInput, input);
      return decide(context, async (tx) => {
        const task = isId('task', to) ? await tx.need('task', to) : null;
        const id = task ? task.session : to;
        const session = await tx.need('session', id);
        await authorize({ rows: tx, agents: context.agents }, caller, 'sendMessage', [{ session: id }]);
        await checkMayInstruct(tx, context, caller, session);
        if (session.state === 'ended')
          throw new ReveilleError(
            'wrong_state',
            `${titleOf(task ?? session)} has ended and reads no messages.`,
          );
        await checkMailRoom(tx, caller, session.id, message);
        const words = { from: senderOf(caller), text: message };
        return say(tx, context, session, key ? { ...words, key: `${nameOf(caller)}:${key}` } : words);
      });
    },
    async answer(input) {
      const { request, answer } = parseInput(AnswerInput, input);
      // Only another agent has to be looked for.
      if (/^\s*retry with/i.test(answer)) await knownFor(host, request);
      return decide(context, (tx) => answerAs(tx, host, caller, { request, text: answer }));
    },
  };
}

/** A message wakes an agent, so writing to one that can write is like starting it. A parent decides for itself what it does. */
async function checkMayInstruct(tx: Tx, context: Context, caller: Caller, to: Session): Promise<void> {
  const own = sessionOf(caller);
  if (own === null || to.task === null || (await tx.need('session', own)).parent === to.id) return;
  const { agent } = await tx.need('task', to.task);
  await checkGuards(tx, context, { caller, operation: 'sendMessage', agents: [agent] });
}

/** The authority table has refused everybody else before. */
const notAWorker = (): ReveilleError => new ReveilleError('not_allowed', 'Only a worker does this.');

async function notify(tx: Tx, host: Host, caller: WorkerCaller, input: ParsedNotify) {
  const { context } = host;
  await checkCaller(tx, caller);
  const run = await tx.need('run', caller.run);
  const task = await tx.need('task', run.task);
  if (input.type === 'question' || input.type === 'approval_request') {
    const asks = isIntegrator(task) ? 'conflict' : 'question';
    const kind = input.type === 'question' ? asks : 'approval';
    const { message: text, freeText } = input;
    // A key of the engine's own, such as `plan:…`, would take the place of the request that the engine opens under it.
    const key = input.key === undefined ? undefined : `said:${input.key}`;
    const choices = input.options.map((option) =>
      typeof option === 'string' ? { id: option, label: option } : option,
    );
    const asked = { kind, run, text, key, freeText, ...namesOf(choices) } as const;
    const { request, message } = await openRequest(tx, context, task, asked);
    return { message, request: request.id };
  }
  await checkMailRoom(tx, caller, whoHears(task), input.message);
  const message = await enqueue(tx, context, {
    to: whoHears(task),
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

function namesOf(choices: readonly { readonly id: string; readonly label: string }[]) {
  const options = choices.map(({ id }) => id);
  const labels = choices.map(({ label }) => label);
  return { options, labels: labels.some((label, i) => label !== options[i]) ? labels : undefined };
}

async function answerAs(
  tx: Tx,
  host: Host,
  caller: Caller,
  answer: { request: Request['id']; text: string },
): Promise<Request> {
  const request = await tx.need('request', answer.request);
  // It may have been passed on since the call came in.
  await authorize({ rows: tx, agents: host.context.agents }, caller, 'answer', [{ request: request.id }]);
  return answerWith(tx, host.context, request, { caller, text: answer.text });
}
