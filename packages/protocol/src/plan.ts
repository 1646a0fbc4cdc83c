import { z } from 'zod';
import { BudgetLimits } from './budget.ts';
import { PlanId, SessionId, TaskId } from './ids.ts';

export const PRIORITIES = ['critical', 'high', 'normal', 'low'] as const;
export const Priority = z.enum(PRIORITIES);
export type Priority = z.infer<typeof Priority>;

export const LENGTHS = {
  name: 200,
  prompt: 200_000,
  text: 1_000_000,
  tasks: 20_000,
  files: 1_000,
  command: 10_000,
} as const;

/** A folder of this machine. Whether it is a repository, the room that owns checkouts finds out. */
export const RepositoryPath = z.string().max(4_096).regex(/^\//, 'must be an absolute path');

const name = z.string().trim().min(1).max(LENGTHS.name);

/** Who reviews a task's work before it counts as completed (PLN8), as its record has it. */
export const ReviewPolicy = z.enum(['none', 'owner', 'person', 'agent']);
export type ReviewPolicy = z.infer<typeof ReviewPolicy>;

/** What an author writes for it that is no agent; anything else is `[@][backend:]name`. */
export const ReviewWord = ReviewPolicy.exclude(['agent']);
export const isReviewWord = (text: string): text is z.infer<typeof ReviewWord> =>
  ReviewWord.safeParse(text).success;

/** How often an agent may look at the same work before a person has to. */
export const ReviewRounds = z.number().int().min(1).max(20);

/**
 * What becomes of uncommitted changes in the person's checkout when work starts from it (WKT3): the work is refused, they
 * are left out, or they are part of the commit that it starts from.
 */
export const DIRTY_POLICIES = ['fail', 'head', 'snapshot'] as const;
export const DirtyPolicy = z.enum(DIRTY_POLICIES);
export type DirtyPolicy = z.infer<typeof DirtyPolicy>;

/** What was decided about them when the work was made: the commit that holds them or, null, to start from HEAD without them. */
export const CheckoutStart = z.object({ snapshot: z.string().nullable() });
export type CheckoutStart = z.infer<typeof CheckoutStart>;

/** A task as an author writes it. `id` is the author's own name for it inside the plan. */
export const PlanTaskInput = z.strictObject({
  id: name,
  prompt: z.string().min(1).max(LENGTHS.prompt),
  name: name.optional(),
  agent: z.string().max(120).optional(),
  model: z.string().max(120).optional(),
  dependencies: z.array(z.string().max(LENGTHS.name)).max(LENGTHS.tasks).default([]),
  priority: Priority.default('normal'),
  targetFiles: z.array(z.string().min(1).max(4_096)).max(LENGTHS.files).default([]),
  expectedOutput: z.string().max(LENGTHS.prompt).optional(),
  review: z.union([ReviewWord, z.string().min(1).max(120)]).default('none'),
  reviewRounds: ReviewRounds.optional(),
  budget: BudgetLimits.optional(),
});
export type PlanTaskInput = z.infer<typeof PlanTaskInput>;

export const PlanInput = z.strictObject({
  name,
  description: z.string().max(LENGTHS.prompt).default(''),
  /** The repository its tasks work on: an absolute path. Without one they have no files. */
  repository: RepositoryPath.optional(),
  baseBranch: z.string().max(250).optional(),
  /** Over the setting, for this plan; a worker's plan starts from what the worker's own task did. */
  dirty: DirtyPolicy.optional(),
  /** Run after each step of the integration, in the sandbox; anything but 0 stops it there. */
  verify: z.string().max(LENGTHS.command).optional(),
  /** Whether the branches are merged into one at the end (PLN6). */
  integrate: z.boolean().default(true),
  tasks: z.array(PlanTaskInput).min(1).max(LENGTHS.tasks),
  budget: BudgetLimits.optional(),
});
export type PlanInput = z.input<typeof PlanInput>;
export type ParsedPlanInput = z.infer<typeof PlanInput>;

const legibleTask = z
  .object({
    id: z.string().max(LENGTHS.name).nullable().catch(null),
    prompt: z.string().max(LENGTHS.prompt).nullable().catch(null),
    agent: z.string().max(120).optional().catch(undefined),
    review: z.string().max(120).optional().catch(undefined),
    dependencies: z.array(z.string().max(LENGTHS.name)).catch([]),
  })
  .catch({ id: null, prompt: null, agent: undefined, review: undefined, dependencies: [] });
export type LegibleTask = z.infer<typeof legibleTask>;

/**
 * As much of a plan as can be read although something of it has the wrong shape, so that what is wrong with its
 * meaning can be said at the same time.
 */
export const LegiblePlan = z.object({ tasks: z.array(legibleTask) });

/** One thing wrong with a plan, and where: `tasks[3].dependencies[0]`. */
export type PlanProblem = { readonly at: string; readonly problem: string };

export const PLAN_STATES = ['draft', 'active', 'paused', 'completed', 'failed', 'cancelled'] as const;
export const PlanState = z.enum(PLAN_STATES);
export type PlanState = z.infer<typeof PlanState>;

export const Plan = z.object({
  id: PlanId,
  name: z.string(),
  description: z.string(),
  repository: z.string().nullable(),
  baseBranch: z.string().nullable(),
  /** Absent: nobody has looked at the person's checkout yet, or the plan starts from a branch. */
  startsFrom: CheckoutStart.optional(),
  verify: z.string().nullable(),
  /** The task that merges its branches into one when all else has completed; see core/integration. */
  integration: TaskId.nullable(),
  /** Who is told how its tasks end, and may act on them. */
  owner: SessionId,
  state: PlanState,
  why: z.string(),
  since: z.number(),
  /** How many of the plan's own tasks are in which state; its status is derived from this (PLN4). */
  counts: z.record(z.string(), z.number()),
  /** Somebody wants it cancelled; it is when the last of its runs has stopped. */
  cancelling: z.string().nullable(),
  /** It was started as a whole: whoever had to agree to it has. */
  started: z.boolean().optional(),
  createdAt: z.number(),
});
export type Plan = z.infer<typeof Plan>;
