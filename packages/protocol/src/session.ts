import { z } from 'zod';
import { PlanId, SessionId, TaskId } from './ids.ts';

export const SessionKind = z.enum(['worker', 'orchestrator', 'chat', 'terminal']);
export type SessionKind = z.infer<typeof SessionKind>;

/** Whoever can own tasks and receive messages (ID2). Its row is also the anchor of its counters: whoever
 * adds a child or a message changes it, so that a decision made on old counts meets a conflict. */
export const Session = z.object({
  id: SessionId,
  kind: SessionKind,
  name: z.string(),
  parent: SessionId.nullable(),
  /** The kind of session its chain of ancestors begins with; with the depth it decides who may spawn. */
  rootKind: SessionKind,
  depth: z.number().int(),
  task: TaskId.nullable(),
  /** The repository that its children work on. */
  repository: z.string().nullable(),
  state: z.enum(['open', 'ended']),
  /** Number of the newest message in its mailbox. */
  mail: z.number().int(),
  childrenTotal: z.number().int(),
  childrenOpen: z.number().int(),
  /** Questions and approvals it ever asked for. */
  requests: z.number().int(),
  /** The plans that a worker has saved; until they have ended it has something to wait for. */
  plans: z.array(PlanId).optional(),
  /** The tasks that an orchestrator at work has put into its plans. */
  planned: z.number().int().optional(),
  /** Spawns in the current minute. */
  spawns: z.object({ since: z.number(), count: z.number().int() }),
  createdAt: z.number(),
});
export type Session = z.infer<typeof Session>;
