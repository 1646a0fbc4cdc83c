import { nextSteps, type TaskId } from '@reveille/protocol';
import { z } from 'zod';
import { taskId } from '../schema.ts';
import { ACTS, EVERYBODY, WORKERS, defineTool, type RunWorld, type ToolOutput } from '../tool.ts';
import { Update, updateOf, updatesText } from '../updates.ts';

const ONE_DAY = 86_400_000;

/** How a caller hears of what it does not wait for. */
export function whenYouHear({ caller, has }: RunWorld): string {
  if (caller.kind === 'worker')
    return 'You are handed each result when it comes. Go on with something else, or end your turn: you will be woken. Do not poll.';
  const wait = has('a2a_await_subtasks') ? ' To wait for it now, call a2a_await_subtasks.' : '';
  return `Go on with something else: the next tool result tells you when there is news, and a2a_check_updates gives it to you.${wait}`;
}

interface Ends {
  readonly done: boolean;
  readonly why: 'ended' | 'needs_you' | 'timeout';
  readonly open: string[];
  readonly updates: z.infer<typeof Update>[];
}

/** Waits as long as was asked for, but never longer than the caller's client does (SUB2). */
export async function awaitEnds(
  world: RunWorld,
  wanted: { taskIds: readonly TaskId[]; mode: 'all' | 'any'; timeoutMs: number | null },
): Promise<ToolOutput<Ends>> {
  const { taskIds, mode } = wanted;
  const timeoutMs = Math.min(wanted.timeoutMs ?? ONE_DAY, world.patienceMs ?? ONE_DAY);
  world.progress(`waits for ${taskIds.length === 1 ? taskIds[0] : `${taskIds.length} subtasks`}`);
  const result = await world.orchestrator.awaitSubtasks(
    { taskIds: [...taskIds], mode, timeoutMs },
    { signal: world.signal },
  );
  const { done, why, open, deliveries } = result;
  const lines = deliveries.length > 0 ? [updatesText(deliveries), ...nextSteps(deliveries, world.has)] : [];
  if (deliveries.length === 0 && why === 'ended')
    lines.push('They have ended; you were given their results before.');
  if (open.length > 0) lines.push(`Still open: ${open.join(', ')}. ${whenYouHear(world)}`);
  return {
    structured: { done, why, open: [...open], updates: deliveries.map(updateOf) },
    text: lines.join('\n'),
  };
}

export const awaitSubtasks = defineTool({
  name: 'a2a_await_subtasks',
  title: 'Wait for subtasks',
  description: [
    'Waits until subtasks you started have ended (`mode` "all", or "any" for the first), or one of them needs an answer from you, and returns what they reported.',
    'It comes back earlier if your client would not wait so long; then call it again, or go on. Not when you have other work: ends come by themselves.',
  ],
  input: z.strictObject({
    taskIds: z.array(taskId('')).min(1).max(1_000),
    mode: z.enum(['all', 'any']).default('all'),
    timeout: z.int().min(0).max(ONE_DAY).default(300_000).describe('Milliseconds; 0 only looks.'),
  }),
  output: z.object({
    done: z.boolean(),
    why: z.enum(['ended', 'needs_you', 'timeout']),
    open: z.array(z.string()),
    updates: z.array(Update),
  }),
  annotations: ACTS,
  run: ({ taskIds, mode, timeout }, world) => awaitEnds(world, { taskIds, mode, timeoutMs: timeout }),
});

export const checkUpdates = defineTool({
  name: 'a2a_check_updates',
  title: 'Read your messages',
  description: [
    'Gives you the messages that wait for you: ends of subtasks, questions, answers, words of a person. With `taskIds` only those about these subtasks; the rest keeps waiting.',
    'It does not wait. Call it when a notice says that mail is there, or before a decision that news could change; not in a loop.',
  ],
  input: z.strictObject({
    taskIds: z.array(taskId('')).min(1).max(1_000).optional(),
  }),
  output: z.object({ updates: z.array(Update) }),
  annotations: ACTS,
  callers: EVERYBODY.filter((kind) => kind !== 'person'),
  always: WORKERS,
  async run({ taskIds }, world) {
    const deliveries = await world.orchestrator.checkUpdates(taskIds ? { taskIds } : {});
    const words = deliveries.length > 0 ? updatesText(deliveries) : 'No new messages.';
    return {
      structured: { updates: deliveries.map(updateOf) },
      text: [words, ...nextSteps(deliveries, world.has)].join('\n'),
    };
  },
});
