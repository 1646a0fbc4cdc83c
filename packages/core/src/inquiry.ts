import { formatAgentType, type RequestId, type Run, type Task } from '@reveille/protocol';
import type { Context } from './context.ts';
import { whoHears } from './hearing.ts';
import { enqueue } from './mailbox.ts';
import { settle } from './settle.ts';
import type { Tx } from './tx.ts';

/** Whether its newest turn is the one in which it was asked why it is silent. */
export const isAsked = (run: Run): boolean => run.inquiry !== null && run.inquiry.turn === run.turns - 1;

const INQUIRY = `You appear to be idle. Please answer with one of these:
1. If your task is done: call a2a_subtask_complete with your results.
2. If you are blocked: say what you need.
3. If something failed: say what went wrong.
4. If you are still at work: say what you are doing, and go on.
Do not remain silent: whoever gave you the task is waiting for your status.`;

/** Asks, once per silence: the silence after turn n has one key, also across restarts (HLT1). */
export async function inquire(tx: Tx, context: Context, task: Task, run: Run): Promise<void> {
  if (run.turn || task.cancelling) return;
  await enqueue(tx, context, {
    to: task.session,
    key: `inquiry:${run.id}:${run.turns}`,
    kind: 'inquiry',
    from: { kind: 'harness' },
    task: task.id,
    text: INQUIRY,
  });
  tx.put('run', { ...run, inquiry: { turn: run.turns, at: tx.now, answers: run.inquiry?.answers ?? 0 } });
}

/** A person wants it asked once more; whether its turn is open or not, it is its next message. */
export async function remind(tx: Tx, context: Context, task: Task, request: RequestId): Promise<void> {
  const letter = {
    kind: 'inquiry',
    from: { kind: 'harness' },
    task: task.id,
    text: INQUIRY,
    fresh: true,
  } as const;
  await enqueue(tx, context, { ...letter, to: task.session, key: `remind:${request}` });
}

/** Two answers without a report or any work: the last one counts as a partial result. */
export async function hearAnswer(
  tx: Tx,
  context: Context,
  task: Task,
  run: Run,
  turn: { readonly lastWords: string; readonly worked: boolean },
): Promise<void> {
  const answers = turn.worked ? 0 : (run.inquiry?.answers ?? 0) + 1;
  if (answers >= 2) {
    const ending = {
      status: 'partial',
      cause: 'last_message',
      output: run.lastWords,
      error: null,
    } as const;
    await settle(tx, context, task, run, ending);
    return;
  }
  tx.put('run', { ...run, inquiry: run.inquiry && { ...run.inquiry, answers } });
  await enqueue(tx, context, {
    to: whoHears(task),
    key: `idle:${run.id}:${run.turns}`,
    kind: 'idle_response',
    from: { kind: 'task', task: task.id, agent: formatAgentType(task.agent) },
    task: task.id,
    text: turn.lastWords || '(no words)',
  });
}
