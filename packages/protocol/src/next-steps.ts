import type { Delivery } from './orchestrator.ts';

/** Whether whoever reads has a tool: words point only to what can be used. */
type Has = (tool: string) => boolean;

/**
 * What a reader of these messages can do next, by the tools it has (WAK8). The same words wherever mail is handed over:
 * with the answer of a call, in a turn, and by a hook.
 */
export function nextSteps(deliveries: readonly Delivery[], has: Has): string[] {
  const steps: string[] = [];
  const about = (fits: (delivery: Delivery) => boolean): string =>
    [...new Set(deliveries.filter(fits).map(({ message }) => message.task))].join(', ');
  const step = (tasks: string, tool: string | null, words: (tool: string) => string): void => {
    if (tasks !== '' && tool !== null) steps.push(words(tool));
  };
  const pull = has('a2a_pull_subtask_changes') ? 'a2a_pull_subtask_changes' : null;
  const changed = about(({ end }) => (end?.work?.files.length ?? 0) > 0);
  step(
    changed,
    pull,
    (tool) =>
      `Files were changed, on the subtask's own branch: look with a2a_subtask_diff, take them over with ${tool} (${changed}).`,
  );
  const failed = about(isUndecidedFailure);
  const retry = ['orchestrator_retry_task', 'a2a_retry_subtask'].find(has) ?? null;
  step(
    failed,
    retry,
    (tool) => `You may want to retry it with ${tool}, or adjust the task and hand it on anew (${failed}).`,
  );
  const tell = has('a2a_send_message') ? 'a2a_send_message' : null;
  const troubled = about(({ message }) => message.kind === 'health');
  step(
    troubled,
    tell,
    (tool) =>
      `See what it does with a2a_subtask_status; correct it with ${tool}, or cancel it (${troubled}).`,
  );
  const idle = about(({ message }) => message.kind === 'idle_response');
  step(idle, tell, (tool) => `Consider sending it more information with ${tool} (${idle}).`);
  for (const { message } of deliveries) {
    const answer = answerWith(message, has);
    if (answer) steps.push(answer);
  }
  return steps;
}

/** An end that did not go well, and that no request asks about. */
const isUndecidedFailure = ({ message, end }: Delivery): boolean =>
  message.kind === 'end' && message.request === null && (end === null || FAILED.has(end.status));

const FAILED: ReadonlySet<string> = new Set(['failed', 'cancelled']);

function answerWith(message: Delivery['message'], has: Has): string | null {
  if (message.request === null || message.kind === 'answer') return null;
  const waits = `${message.task} waits for your answer to ${message.request}:`;
  if (has('orchestrator_answer'))
    return `${waits} orchestrator_answer {"requestId":"${message.request}","answer":"…"}.`;
  return has('a2a_send_message')
    ? `${waits} a2a_send_message {"requestId":"${message.request}","message":"…"}.`
    : null;
}
