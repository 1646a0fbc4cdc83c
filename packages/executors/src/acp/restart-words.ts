import type { StartSpec } from '@reveille/core';

/** Before the next prompt of an agent whose turn was cut off and is not in its memory. */
export const interruptedIn = (prompt: string): string =>
  `You were interrupted, and have forgotten what you did and were told just before. Look at what is there before you go on. You had been told:\n\n${prompt}\n\nSince then:`;

/** For an agent that begins anew on a task it has worked on: the task, and what it did. */
export function restarted({ task }: StartSpec, did: string): string {
  return [
    'You worked on a task before, but your session could not be taken up again: you begin anew and remember nothing.',
    `The task (${task.id}): ${task.prompt}`,
    ...(task.expectedOutput ? [`Expected output: ${task.expectedOutput}`] : []),
    ...(did ? [`What you did so far:\n${did}`] : []),
    'Look at what is there before you go on; report with a2a_subtask_complete when you are done.',
  ].join('\n');
}
