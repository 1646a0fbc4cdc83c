import {
  LENGTHS,
  ReveilleError,
  defuse,
  formatAgentType,
  healthWords,
  type TaskView,
  type WorkerHealth,
} from '@reveille/protocol';
import { z } from 'zod';
import { callKey } from '../call-key.ts';
import { fence, head, quote } from '../fence.ts';
import { requestId, taskId, workerId } from '../schema.ts';
import { ACTS, DESTROYS, EVERYBODY, LOOKS, WORKERS, defineTool, type RunWorld } from '../tool.ts';

export const TaskState = z.object({
  taskId: z.string(),
  name: z.string(),
  agent: z.string(),
  state: z.string(),
  why: z.string(),
  since: z.string(),
  worker: z.string(),
  status: z.string().nullable(),
  branch: z.string().nullable(),
  files: z.number().nullable(),
  health: z
    .object({ state: z.string(), text: z.string(), lastSignOfLife: z.string(), lastWords: z.string() })
    .nullable()
    .describe('What is wrong with the worker: silent, looping, or failing again and again.'),
});

export function stateOf({ task, end, worker, health }: TaskView): z.infer<typeof TaskState> {
  return {
    taskId: task.id,
    name: defuse(task.name),
    agent: formatAgentType(task.agent),
    state: task.state,
    why: defuse(task.why),
    since: new Date(task.since).toISOString(),
    worker,
    status: end?.status ?? null,
    branch: end?.work?.branch ?? null,
    files: end?.work?.files.length ?? null,
    health: health ? healthState(health) : null,
  };
}

function healthState(health: WorkerHealth): z.infer<typeof TaskState>['health'] {
  const { label, text, lastWords } = healthWords(health, Date.now());
  return {
    state: label,
    text: defuse(text),
    lastSignOfLife: new Date(health.lastSign).toISOString(),
    lastWords: defuse(lastWords),
  };
}

/** One task in one line. */
export function taskLine(view: TaskView): string {
  const { task, end } = view;
  const waits = task.waitingOn ? ` on ${task.waitingOn}` : '';
  const ended = end ? `, ${end.status}` : '';
  const since = new Date(task.since).toISOString();
  return `${task.id} ${quote(task.name, 80)} ${formatAgentType(task.agent)}: ${task.state}${waits}${ended} since ${since} (${quote(task.why)})${healthText(view)}`;
}

function healthText({ health }: TaskView): string {
  if (!health) return '';
  const { label, text, lastWords } = healthWords(health, Date.now());
  const words = lastWords === '' ? '' : `; last words: ${quote(lastWords, 300)}`;
  return `; its worker is ${label}: ${quote(text, 300)}${words}`;
}

/** The last words of a run, or what it reported; an agent's own, so fenced. */
function details({ task, run, end }: TaskView): string[] {
  const lines: string[] = [];
  if (run && run.state === 'open' && run.lastWords !== '')
    lines.push('Its last words:', fence(task.id, head(run.lastWords, 2_000)));
  if (!end) return lines;
  lines.push(
    `It ended: ${end.status}${end.error ? ` (${end.error.class}: ${quote(end.error.message, 500)})` : ''}. Its report:`,
  );
  lines.push(fence(task.id, end.output));
  if (end.work) lines.push(`Branch ${end.work.branch}, ${end.work.files.length} files changed.`);
  return lines;
}

export const subtaskStatus = defineTool({
  name: 'a2a_subtask_status',
  title: 'See how subtasks are doing',
  description: [
    'Shows the state of a subtask you started: what it does, why, since when, its last words, or its whole report if it has ended. Without `taskId`: one line for each of yours.',
    'Not for waiting: use a2a_await_subtasks, or go on.',
  ],
  input: z.strictObject({ taskId: taskId('').optional() }),
  output: z.object({ subtasks: z.array(TaskState) }),
  annotations: LOOKS,
  callers: EVERYBODY,
  async run({ taskId: id }, world) {
    if (id !== undefined) {
      const view = await world.orchestrator.getTask(id);
      return {
        structured: { subtasks: [stateOf(view)] },
        text: [taskLine(view), ...details(view)].join('\n'),
      };
    }
    const views = await ownSubtasks(world);
    const text = views.length > 0 ? views.map(taskLine).join('\n') : 'You have started no subtasks.';
    return { structured: { subtasks: views.map(stateOf) }, text };
  },
});

export const cancelSubtask = defineTool({
  name: 'a2a_cancel_subtask',
  title: 'Cancel a subtask',
  description: [
    'Stops a subtask you started, and everything it started itself. What it did is kept on its branch; you are told when it has ended.',
    'To correct it, a2a_send_message is gentler.',
  ],
  input: z.strictObject({
    taskId: taskId(''),
    reason: z.string().max(2_000).optional().describe('Why, for it and for people who read it later.'),
  }),
  output: TaskState,
  annotations: { ...DESTROYS, idempotent: true },
  async run({ taskId: id, reason }, { orchestrator }) {
    const view = await orchestrator.cancelTask(id, reason);
    return { structured: stateOf(view), text: `Cancelled: ${taskLine(view)}` };
  },
});

export const retrySubtask = defineTool({
  name: 'a2a_retry_subtask',
  title: 'Retry a subtask',
  description: [
    'Starts a failed or cancelled subtask anew. Find out first why it failed, and say in `message` what to do differently.',
  ],
  input: z.strictObject({
    taskId: taskId(''),
    message: z.string().min(1).max(LENGTHS.text).optional().describe(''),
    from: z.enum(['last']).optional().describe('From what the last attempt left.'),
  }),
  output: TaskState,
  annotations: ACTS,
  callers: WORKERS,
  async run({ taskId: id, message, from }, { orchestrator }) {
    const view = await orchestrator.retryTask(id, {
      ...(message === undefined ? {} : { message }),
      ...(from === undefined ? {} : { from }),
    });
    return { structured: stateOf(view), text: `To be tried again: ${taskLine(view)}` };
  },
});

export const sendMessage = defineTool({
  name: 'a2a_send_message',
  title: 'Send a message to another agent',
  description: [
    'Sends words to a subtask of yours, a sibling, or your parent; they reach it between two calls, or wake it. With `requestId` they answer the question or approval request that came with that id.',
    'It does not interrupt, and there is no reply unless you ask for one.',
  ],
  input: z.strictObject({
    workerId: workerId('Its task or session; not needed with requestId.').optional(),
    message: z.string().min(1).max(LENGTHS.text),
    requestId: requestId('What this answers.').optional(),
  }),
  output: z.object({ message: z.string().nullable(), requestId: z.string().nullable() }),
  annotations: ACTS,
  callers: EVERYBODY,
  async run({ workerId: to, message, requestId: request }, world) {
    const { orchestrator } = world;
    if (request !== undefined) {
      await orchestrator.answer({ request, answer: message });
      return { structured: { message: null, requestId: request }, text: `Answered ${request}.` };
    }
    if (to === undefined)
      throw new ReveilleError(
        'invalid_input',
        'Say whom: give workerId (its task or session), or requestId to answer a question.',
      );
    const key = callKey(world);
    const id = await orchestrator.sendMessage({ to, message, ...(key === undefined ? {} : { key }) });
    return { structured: { message: id, requestId: null }, text: `Sent (${id}).` };
  },
});

async function ownSubtasks({ caller, orchestrator }: RunWorld): Promise<readonly TaskView[]> {
  if (caller.kind === 'person') return orchestrator.listTasks({ open: true });
  return orchestrator.listTasks({ owner: caller.session });
}
