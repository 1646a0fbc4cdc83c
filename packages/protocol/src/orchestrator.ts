import { z } from 'zod';
import { BudgetLimits, type BudgetView } from './budget.ts';
import type { ReveilleEvent } from './event.ts';
import { PlanId, RequestId, SessionId, TaskId, type CallId, type MessageId, type RunId } from './ids.ts';
import type { Message } from './message.ts';
import { schemaProblem } from './json-schema/index.ts';
import { DirtyPolicy, LENGTHS, PlanTaskInput, type Plan, type PlanInput } from './plan.ts';
import type { Request } from './request.ts';
import type { Run, RunEnd } from './run.ts';
import type { Session, SessionKind } from './session.ts';
import { Isolation, PlanStart, type Task } from './task.ts';
import type { Diff, Pulled, Snapshot, TakenOver } from './work.ts';
import type { WorkerHealth } from './worker-health.ts';

/** Who calls, from the credential of the connection, never from an argument (ID3). */
export type Caller =
  | { readonly kind: 'worker'; readonly session: SessionId; readonly run: RunId; readonly epoch: number }
  | { readonly kind: 'session'; readonly session: SessionId }
  | { readonly kind: 'person'; readonly name: string };

const text = z.string().max(LENGTHS.text);

/** What is let in is small and can be checked in a bounded time (BND7.20). */
const ResultSchema = z.record(z.string(), z.unknown()).superRefine((schema, context) => {
  const problem = schemaProblem(schema);
  if (problem) context.addIssue({ code: 'custom', message: problem });
});

export const SpawnInput = z.strictObject({
  agentType: z.string().max(120).optional(),
  prompt: z.string().min(1).max(LENGTHS.prompt),
  name: z.string().trim().min(1).max(LENGTHS.name).optional(),
  expectedOutput: z.string().max(LENGTHS.prompt).optional(),
  resultSchema: ResultSchema.optional(),
  model: z.string().max(120).optional(),
  targetFiles: z.array(z.string().min(1).max(4_096)).max(LENGTHS.files).default([]),
  isolation: Isolation.default('own'),
  /** The same key again returns the same child (SUB1). */
  key: z.string().min(1).max(LENGTHS.name).optional(),
  budget: BudgetLimits.optional(),
  /** Over the setting, for this call. A worker's subtasks start from the worker's own state. */
  dirty: DirtyPolicy.optional(),
  /** For an orchestrator, from a person's own session: whether its plans are shown to the person before they start. */
  plans: PlanStart.optional(),
});
export type SpawnInput = z.input<typeof SpawnInput>;
export type ParsedSpawn = z.output<typeof SpawnInput>;

export const AwaitInput = z.strictObject({
  taskIds: z.array(TaskId).min(1).max(10_000),
  mode: z.enum(['all', 'any']).default('all'),
  timeoutMs: z.number().int().min(0).max(86_400_000).default(300_000),
});
export type AwaitInput = z.input<typeof AwaitInput>;

export const ReportInput = z.strictObject({
  status: z.enum(['success', 'partial', 'failed']),
  output: text,
  structured: z.json().optional(),
  error: text.optional(),
  /** Children that are still open are cancelled instead of being waited for. */
  giveUpChildren: z.boolean().default(false),
});
export type ReportInput = z.input<typeof ReportInput>;
export type ParsedReport = z.output<typeof ReportInput>;

const optionText = z.string().trim().min(1).max(LENGTHS.name);
const optionNames = (option: string | { id: string; label: string }): string[] =>
  typeof option === 'string' ? [option] : [...new Set([option.id, option.label])];

/** The choices of a question: words that are id and label at once, or both. No name may mean two of them (INB3). */
const Options = z
  .array(z.union([optionText, z.strictObject({ id: optionText, label: optionText })]))
  .max(20)
  .refine(
    (options) => {
      const names = options.flatMap(optionNames).map((name) => name.toLowerCase());
      return new Set(names).size === names.length;
    },
    { message: 'two options have the same name; give each a name of its own' },
  );

export const NotifyInput = z.strictObject({
  type: z.enum(['progress', 'question', 'approval_request', 'error', 'info']),
  message: text.min(1),
  options: Options.default([]),
  /** Any other answer is welcome too; without options it always is. */
  freeText: z.boolean().optional(),
  key: z.string().min(1).max(LENGTHS.name).optional(),
});
export type NotifyInput = z.input<typeof NotifyInput>;
export type ParsedNotify = z.output<typeof NotifyInput>;

export const AddTaskInput = PlanTaskInput;
export type AddTaskInput = z.input<typeof PlanTaskInput>;

/** A message as its recipient gets it: with what it is about, in full, and the text to inject. */
export interface Delivery {
  readonly message: Message;
  /** For an end: the task that ended and how. */
  readonly task: Task | null;
  readonly end: RunEnd | null;
  /** Fenced and labelled (WAK5); this is what an agent is given. */
  readonly text: string;
}

export type SpawnResult =
  | (Spawned & { readonly state: 'ended'; readonly delivery: Delivery | null })
  | (Spawned & { readonly state: 'needs_you'; readonly deliveries: readonly Delivery[] })
  | (Spawned & { readonly state: 'running' });

export interface Spawned {
  readonly task: TaskId;
  /** It was spawned before under the same key, and has ended in this state. */
  readonly ended?: 'completed' | 'failed' | 'cancelled';
  readonly warning?: string;
}

/** Over the setting, for this call. */
export const StartInput = z.strictObject({ dirty: DirtyPolicy.optional() });
export type StartInput = z.input<typeof StartInput>;

export interface StartedPlan extends Plan {
  /** What there is to know about what it starts from. */
  readonly warning?: string;
}

export interface AwaitResult {
  readonly done: boolean;
  readonly deliveries: readonly Delivery[];
  /** Which of the tasks asked about are still open. */
  readonly open: readonly TaskId[];
  readonly why: 'ended' | 'needs_you' | 'timeout';
}

export type ReportResult =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly code: 'open_children'; readonly open: readonly TaskId[] }
  | { readonly accepted: false; readonly code: 'unread_ends'; readonly deliveries: readonly Delivery[] }
  | { readonly accepted: false; readonly code: 'invalid_result'; readonly problems: readonly string[] };

/** The default one is for agents that name none, and whose definition names none. */
export interface Backend {
  readonly name: string;
  readonly isDefault: boolean;
  /** Of the default one: why it is that. */
  readonly why?: string;
}

export type WorkerState = 'created' | 'running' | 'idle' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** A task with what is derived from its records: what a person is shown, and why. */
export interface TaskView {
  readonly task: Task;
  readonly run: Run | null;
  readonly worker: WorkerState;
  readonly end: RunEnd | null;
  /** What is wrong with its worker now; absent: nothing. */
  readonly health?: WorkerHealth;
  /** What its limits cannot do on its backend; absent: they hold there as they are (LIM1). */
  readonly warning?: string;
  /** Limits that are overrun, with what was used of each, also if it succeeded; absent: none. */
  readonly overrun?: string;
}

export interface PlanView {
  readonly plan: Plan;
  readonly tasks: readonly TaskView[];
  /** Of one that was just saved: what there is to know about what it starts from. */
  readonly warning?: string;
}

export const StopScope = z.discriminatedUnion('scope', [
  z.strictObject({ scope: z.literal('all') }),
  z.strictObject({ scope: z.literal('plan'), plan: PlanId }),
  z.strictObject({ scope: z.literal('tree'), task: TaskId }),
]);
export type StopScope = z.infer<typeof StopScope>;

/** What has a budget. */
export const BudgetNode = z.union([PlanId, TaskId]);

/** Another agent, another model, or both, for whoever goes on. */
export const SwapInput = z.strictObject({
  agent: z.string().max(120).optional(),
  model: z.string().max(120).optional(),
});
export type SwapInput = z.input<typeof SwapInput>;

/**
 * The same for the next attempt, and where it begins: in its worktree as a snapshot has it, or (`last`) as it was left.
 * `message`: what to do differently; the attempt begins with it.
 */
export const RetryInput = SwapInput.extend({
  from: z.string().min(1).max(300).optional(),
  message: text.min(1).optional(),
});
export type RetryInput = z.input<typeof RetryInput>;

export const ReviewInput = z.strictObject({
  task: TaskId,
  verdict: z.enum(['approve', 'changes', 'reject']),
  comment: text.default(''),
});
export type ReviewInput = z.input<typeof ReviewInput>;
export type ParsedReview = z.output<typeof ReviewInput>;

export const AnswerInput = z.strictObject({ request: RequestId, answer: text });
export type AnswerInput = z.input<typeof AnswerInput>;

export const SendInput = z.strictObject({
  to: z.union([SessionId, TaskId]),
  message: text.min(1),
  key: z.string().min(1).max(LENGTHS.name).optional(),
});
export type SendInput = z.input<typeof SendInput>;

/** What a connected session (a chat, a terminal, a test) does with its mail when it is woken. */
export type Receiver = (deliveries: readonly Delivery[]) => Promise<void>;

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/**
 * Every operation, as one caller sees it. The engine implements it in process and the HTTP client across
 * processes, so that a tool works the same anywhere.
 */
export interface Orchestrator {
  // Plans
  savePlan(input: PlanInput, options?: { start?: boolean }): Promise<PlanView>;
  addPlanTask(plan: PlanId, input: AddTaskInput): Promise<TaskView>;
  startPlan(plan: PlanId, by?: StartInput): Promise<StartedPlan>;
  pausePlan(plan: PlanId): Promise<Plan>;
  resumePlan(plan: PlanId): Promise<Plan>;
  cancelPlan(plan: PlanId, why?: string): Promise<Plan>;
  getPlan(plan: PlanId): Promise<PlanView>;
  listPlans(): Promise<readonly Plan[]>;

  // Tasks and their workers
  getTask(task: TaskId): Promise<TaskView>;
  listTasks(filter: { plan?: PlanId; owner?: SessionId; open?: boolean }): Promise<readonly TaskView[]>;
  deployTask(task: TaskId): Promise<TaskView>;
  completeTask(task: TaskId, output?: string): Promise<TaskView>;
  cancelTask(task: TaskId, why?: string): Promise<TaskView>;
  retryTask(task: TaskId, by?: RetryInput): Promise<TaskView>;
  reviewTask(input: ReviewInput): Promise<TaskView>;
  /** Another agent, or another model, goes on with it: in the same worktree, told what was done so far. */
  swapWorker(task: TaskId, by: SwapInput): Promise<TaskView>;
  pauseWorker(task: TaskId): Promise<TaskView>;
  resumeWorker(task: TaskId): Promise<TaskView>;
  interruptWorker(task: TaskId): Promise<TaskView>;
  /** Also lowers it, though not below what is used. What had stopped because of it goes on. */
  raiseBudget(node: PlanId | TaskId, limits: BudgetLimits): Promise<void>;
  getBudget(node: PlanId | TaskId): Promise<BudgetView>;
  stop(scope: StopScope, why: string): Promise<{ readonly stopped: number }>;

  // Delegation
  spawnSubtask(
    input: SpawnInput,
    options?: CallOptions & { blocking?: boolean; patienceMs?: number },
  ): Promise<SpawnResult>;
  spawnSubtasks(inputs: readonly SpawnInput[]): Promise<readonly Spawned[]>;
  awaitSubtasks(input: AwaitInput, options?: CallOptions): Promise<AwaitResult>;
  checkUpdates(filter?: { taskIds?: readonly TaskId[] }): Promise<readonly Delivery[]>;
  reportCompletion(input: ReportInput): Promise<ReportResult>;
  /** `message` is null when it goes to a person, by the inbox. */
  notifyParent(
    input: NotifyInput,
  ): Promise<{ readonly message: MessageId | null; readonly request: RequestId | null }>;
  sendMessage(input: SendInput): Promise<MessageId>;
  answer(input: AnswerInput): Promise<Request>;

  // What was made in the checkouts
  /** What a task changed, as of now. */
  diffTask(task: TaskId): Promise<Diff>;
  /** Merges a child's branch into the caller's own checkout; a conflict is told by file and leaves nothing half done. */
  pullSubtask(task: TaskId): Promise<Pulled>;
  /** Takes the checkout of a task that has ended away; a snapshot is made first. */
  discardTask(task: TaskId): Promise<Snapshot>;
  snapshots(task: TaskId): Promise<readonly Snapshot[]>;
  /** Makes the checkout of a task that has ended anew, as a snapshot has it; the newest one if none is named. */
  restoreTask(
    task: TaskId,
    snapshot?: string,
  ): Promise<{ readonly worktree: string; readonly branch: string }>;
  /** Merges a branch of a plan's integration, or of a task, into the person's own checkout: on request, and only if it is clean. */
  bringHome(source: PlanId | TaskId): Promise<Pulled>;
  /**
   * Pauses a worker so that a person can work in its checkout; to be called again until its turn has stopped. `resumeWorker`
   * gives it back, and tells the worker what was changed.
   */
  takeOver(task: TaskId): Promise<TakenOver>;

  // Sessions, mail and events
  openSession(
    kind: Exclude<SessionKind, 'worker'>,
    name: string,
    options?: { repository?: string },
  ): Promise<Session>;
  endSession(session: SessionId): Promise<void>;
  /** From now on mail wakes the receiver; the returned function disconnects, which is not an end (MBX6). */
  attach(session: SessionId, receiver: Receiver): Promise<() => Promise<void>>;
  mailbox(session: SessionId): Promise<readonly Message[]>;
  /** Where a message is: for whoever sent it, whoever gets it, and a person (MBX3). */
  getMessage(message: MessageId): Promise<Message>;
  inbox(): Promise<readonly Request[]>;
  events(after: number, limit: number): Promise<readonly ReveilleEvent[]>;

  /** What agents can be run on here, the default one first. */
  backends(): Promise<readonly Backend[]>;
}

export type { CallId };
