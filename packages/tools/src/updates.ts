import type { Delivery } from '@reveille/protocol';
import { z } from 'zod';

/** A message as a tool hands it over: facts, and its words in full, fenced. */
export const Update = z.object({
  message: z.string(),
  kind: z.string(),
  taskId: z.string().nullable(),
  status: z.string().nullable().describe('For an end: success, partial, failed or cancelled.'),
  requestId: z.string().nullable().describe('What to answer, for a question or an approval request.'),
  text: z.string().describe('Who says what, fenced as data.'),
});

export const updateOf = ({ message, end, text }: Delivery): z.infer<typeof Update> => ({
  message: message.id,
  kind: message.kind,
  taskId: message.task,
  status: end?.status ?? null,
  requestId: message.request,
  text,
});

export const updatesText = (deliveries: readonly Delivery[]): string =>
  deliveries.map(({ text }) => text).join('\n\n');

/** What a reader of these would want to do next, by the tools it has. */
export function nextSteps(deliveries: readonly Delivery[], has: (tool: string) => boolean): string[] {
  const steps: string[] = [];
  const changed = deliveries.filter(({ end }) => (end?.work?.files.length ?? 0) > 0);
  if (changed.length > 0 && has('a2a_pull_subtask_changes'))
    steps.push(
      `Files were changed, on the subtask's own branch: look with a2a_subtask_diff, take them over with a2a_pull_subtask_changes (${tasksOf(changed)}).`,
    );
  for (const { message } of deliveries) {
    const answer = answerWith(message, has);
    if (answer) steps.push(answer);
  }
  return steps;
}

function answerWith(message: Delivery['message'], has: (tool: string) => boolean): string | null {
  if (message.request === null || message.kind === 'answer') return null;
  const waits = `${message.task} waits for your answer to ${message.request}:`;
  if (has('orchestrator_answer'))
    return `${waits} orchestrator_answer {"requestId":"${message.request}","answer":"…"}.`;
  return has('a2a_send_message')
    ? `${waits} a2a_send_message {"requestId":"${message.request}","message":"…"}.`
    : null;
}

const tasksOf = (deliveries: readonly Delivery[]): string =>
  [...new Set(deliveries.map(({ message }) => message.task))].join(', ');
