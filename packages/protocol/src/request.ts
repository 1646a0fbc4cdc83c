import { z } from 'zod';
import { PlanId, RequestId, RunId, SessionId, TaskId } from './ids.ts';
import { Action } from './policy.ts';

export const REQUEST_KINDS = [
  'question',
  'approval',
  'review',
  'idle',
  'failure',
  'escape',
  /** A plan that an orchestrator wants to start. */
  'plan',
  /** Branches that do not go together. */
  'conflict',
  /** A budget that is used up. */
  'budget',
] as const;

/** A question or an approval: who asks, what exactly, with whom it is now, and the one answer (INB2). */
export const Request = z.object({
  id: RequestId,
  kind: z.enum(REQUEST_KINDS),
  from: SessionId,
  task: TaskId,
  run: RunId.nullable(),
  /** The plan it is about, if it is about one. */
  plan: PlanId.optional(),
  /** The asker's own name for it: the same again, while it is open, is the same request. */
  key: z.string().nullable(),
  text: z.string(),
  /** The ids of its choices. */
  options: z.array(z.string()),
  /** The label of each choice, in the same order, where they are not the ids themselves. */
  labels: z.array(z.string()).optional(),
  /** An answer in other words than its choices is welcome too. */
  freeText: z.boolean().optional(),
  /** Of an approval that is bound to something: what exactly. A yes allows this, once. */
  action: Action.optional(),
  /** The session whose turn it is to answer; null: a person, by the inbox. */
  with: SessionId.nullable(),
  movedAt: z.number(),
  state: z.enum(['open', 'answered', 'closed', 'expired']),
  answer: z.object({ text: z.string(), by: z.string(), at: z.number() }).nullable(),
  at: z.number(),
});
export type Request = z.infer<typeof Request>;

/** An agent asks for approval of something that only it describes: an answer is words for it, and allows nothing by itself. */
export const isOwnWords = ({ kind, action }: Pick<Request, 'kind' | 'action'>): boolean =>
  kind === 'approval' && action === undefined;
