import { z } from 'zod';
import { AgentType } from './agent-type.ts';
import { PlanId, RunId, SessionId, TaskId } from './ids.ts';
import { CheckoutStart, Priority, ReviewPolicy } from './plan.ts';
import { PolicyChain } from './policy.ts';
import { Reviewing, Reviews } from './review.ts';

export const TASK_STATES = [
  'pending',
  'blocked',
  'ready',
  'running',
  'waiting',
  'review',
  'completed',
  'failed',
  'cancelled',
] as const;
export const TaskState = z.enum(TASK_STATES);
export type TaskState = z.infer<typeof TaskState>;

export const WAITS = [
  'children',
  'answer',
  'approval',
  'memory',
  'cpu',
  'disk',
  'backoff',
  'mail',
  'paused',
] as const;
export const Wait = z.enum(WAITS);
export type Wait = z.infer<typeof Wait>;

/** Its own checkout, or, on an explicit wish or for an agent that cannot write, its parent's (WKT2). */
export const Isolation = z.enum(['own', 'shared']);
export type Isolation = z.infer<typeof Isolation>;

/** What an orchestrator does with a plan it has made: asks the person first, or starts it (ORC1). */
export const PlanStart = z.enum(['ask', 'start']);
export type PlanStart = z.infer<typeof PlanStart>;

/** A wish that the task end as cancelled. Recorded before anything is stopped; see core/cancel. */
export const Cancelling = z.object({ by: z.string(), why: z.string(), at: z.number() });

/**
 * A task of a plan, or a subtask spawned by a session: the same record. Its prompt and its place in the
 * graph never change; its state changes only by core's transition table.
 */
export const Task = z.object({
  id: TaskId,
  plan: PlanId.nullable(),
  /** The author's name for it inside its plan, or the key of the spawn that made it. */
  key: z.string().nullable(),
  name: z.string(),
  prompt: z.string(),
  expectedOutput: z.string().nullable(),
  resultSchema: z.record(z.string(), z.unknown()).nullable(),
  /** The repository it works on, as its plan or its owner's session has it; null: it has no files. */
  repository: z.string().nullable(),
  /** The commit that holds its parent's state at the spawn, uncommitted changes included (WKT7). */
  checkpoint: z.string().nullable(),
  /** What becomes of the person's uncommitted changes where it starts from the person's checkout. Children have it of their parent. */
  startsFrom: CheckoutStart.optional(),
  isolation: Isolation,
  agent: AgentType,
  model: z.string().nullable(),
  priority: Priority,
  targetFiles: z.array(z.string()),
  review: ReviewPolicy,
  /** Who is told how it ends: the plan's owner, or the session that spawned it. */
  owner: SessionId,
  /** The session of its worker; it keeps its mailbox and its children across runs. */
  session: SessionId,
  depth: z.number().int(),
  dependencies: z.array(TaskId),
  dependents: z.array(TaskId),
  /** Dependencies that have not completed, and those among them that can not without help. */
  openDependencies: z.number().int(),
  badDependencies: z.number().int(),
  state: TaskState,
  why: z.string(),
  since: z.number(),
  waitingOn: Wait.nullable(),
  cancelling: Cancelling.nullable(),
  /** Its open run, and the last one that ended. */
  run: RunId.nullable(),
  lastRun: RunId.nullable(),
  attempts: z.number().int(),
  /** Started by hand: it may run although its plan is a draft or paused. */
  byHand: z.boolean(),
  /** Of an orchestrator's own task; without it, it asks. */
  plans: PlanStart.optional(),
  /** The nearest node of the budget tree, if any limit applies. */
  budget: z.string().nullable(),
  createdAt: z.number(),
  /** What its agent may do without asking, as it was when the task was made: a later setting can only take away. */
  policy: PolicyChain.optional(),
  /** Where that attempt begins: in a snapshot or, null, in what the last one left. */
  from: z.object({ snapshot: z.string().nullable(), attempt: z.number().int() }).optional(),
  /** Of one that is to be reviewed, or was sent to review. */
  reviewing: Reviewing.optional(),
  /** It is the task of a reviewer. */
  reviews: Reviews.optional(),
});
export type Task = z.infer<typeof Task>;

export const isTerminal = (state: TaskState): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled';

/**
 * Why a task is in its state, for a person: without what ended its run, which a reader has seen, and without a class of error
 * that says nothing ("unknown", "invalid").
 */
export const withoutCause = (why: string): string =>
  why.replace(/^(report|last_message|executor|budget): /, '').replace(/^(unknown|invalid): /, '');
