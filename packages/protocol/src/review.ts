import { z } from 'zod';
import { AgentType } from './agent-type.ts';
import { RunId, SessionId, TaskId } from './ids.ts';

/** How the work of a task is reviewed, and how far that is (PLN8). Kept with the task, so that a crash forgets nothing. */
export const Reviewing = z.object({
  /** The agent that reviews; without one, its owner or the person does. */
  by: AgentType.optional(),
  /** In how many rounds at most; then the person decides. */
  most: z.number().int(),
  /** The round it is in, or was in last; 0 before the first. */
  round: z.number().int(),
  /** The task of the reviewer that is at it now. */
  task: TaskId.nullable(),
  /** What was to be changed last. */
  said: z.string(),
});
export type Reviewing = z.infer<typeof Reviewing>;

/** Of a reviewer's own task: what it reviews, and who hears of it instead of the worker that made it. */
export const Reviews = z.object({
  task: TaskId,
  /** The run whose work it is. */
  run: RunId,
  round: z.number().int(),
  tells: SessionId,
});
export type Reviews = z.infer<typeof Reviews>;
