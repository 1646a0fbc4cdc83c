import { z } from 'zod';
import type { Budget } from '../budget.ts';
import { RunId, TaskId, type PlanId, type SessionId } from '../ids.ts';
import type { Plan, PlanProblem, Priority, ReviewPolicy } from '../plan.ts';
import type { Request } from '../request.ts';
import type { Resources, Run, RunEnd } from '../run.ts';
import type { SessionKind } from '../session.ts';
import type { WorkerHealth } from '../worker-health.ts';
import type { TaskState, Wait } from '../task.ts';

/**
 * What a person's page is shown: small rows of everything at once, and what only the daemon's own host knows. Read only;
 * whatever acts is an operation.
 */
export interface Views {
  /** Everything there is, as of an event's number: events after it bring it up to date. */
  board(): Promise<Board>;
  /** Some tasks, as they are now; those that do not exist are left out. */
  rows(input: { tasks: readonly TaskId[] }): Promise<readonly TaskRow[]>;
  /** Every run of a task that left a transcript, the first one first. */
  runs(input: { task: TaskId }): Promise<TaskRuns>;
  /** What the agent of a run was given, said and did, from a number on. */
  transcript(input: { run: RunId; after?: number; limit?: number }): Promise<TranscriptPage>;
  /** Everything that is wrong with a plan, without saving it. */
  validatePlan(input: { plan: unknown }): Promise<readonly PlanProblem[]>;
  host(): Promise<HostView>;
}

export interface Board {
  readonly event: number;
  readonly plans: readonly Plan[];
  readonly rows: readonly TaskRow[];
  readonly sessions: readonly SessionRow[];
  readonly inbox: readonly Request[];
}

/** A task without its long texts. */
export interface TaskRow {
  readonly id: TaskId;
  readonly plan: PlanId | null;
  readonly key: string | null;
  readonly name: string;
  /** `claude:coder` */
  readonly agent: string;
  readonly model: string | null;
  readonly owner: SessionId;
  readonly session: SessionId;
  readonly depth: number;
  readonly dependencies: readonly TaskId[];
  readonly priority: Priority;
  readonly review: ReviewPolicy;
  readonly state: TaskState;
  readonly why: string;
  readonly since: number;
  readonly waitingOn: Wait | null;
  readonly cancelling: boolean;
  readonly attempts: number;
  readonly hasFiles: boolean;
  readonly run: RunRow | null;
  readonly createdAt: number;
}

export interface RunRow {
  readonly id: RunId;
  readonly state: 'open' | 'ended';
  readonly paused: boolean;
  /** The person who works in its checkout meanwhile. */
  readonly takenBy: string | null;
  readonly inTurn: boolean;
  readonly turns: number;
  /** What is wrong with its worker now; absent: nothing. */
  readonly health?: WorkerHealth;
  readonly tokens: number;
  readonly usd: number;
  /** Part of these is an estimate. */
  readonly estimated: boolean;
  /** Absent: its agent is no process of its own. */
  readonly resources?: Resources;
  readonly startedAt: number;
  readonly status: RunEnd['status'] | null;
  readonly error: string | null;
  /** The last tool that its agent called, as long as the daemon lives. */
  readonly doing: string | null;
}

export interface TaskRuns {
  readonly runs: readonly Run[];
  /** The nearest limits that hold for it, and what was used of them. */
  readonly budget: Budget | null;
  /** What a limit cannot do on its backend, and which limits were passed, there and above. */
  readonly notes: readonly string[];
}

export interface SessionRow {
  readonly id: SessionId;
  readonly kind: SessionKind;
  readonly name: string;
  readonly state: 'open' | 'ended';
  readonly parent: SessionId | null;
}

export const TRANSCRIPT_KINDS = [
  'given',
  'said',
  'thought',
  'tool',
  'tool_end',
  'file',
  'asked',
  'note',
] as const;
export interface TranscriptEntry {
  readonly n: number;
  readonly at: number;
  readonly kind: (typeof TRANSCRIPT_KINDS)[number];
  readonly text: string;
  /** Of a tool's call and its end: the same. */
  readonly id?: string;
  readonly failed?: boolean;
}

export interface TranscriptPage {
  readonly entries: readonly TranscriptEntry[];
  /** There are more after these. */
  readonly more: boolean;
}

export interface HostView {
  readonly version: string;
  readonly startedAt: number;
  readonly cpus: number;
  readonly load: readonly number[];
  readonly memory: { readonly total: number; readonly free: number };
  /** Of the daemon itself. */
  readonly resident: number;
  /** All its agents that are processes of their own, and how many tasks wait for room; null: nobody looks. */
  readonly agents: { readonly rssBytes: number; readonly waiting: number } | null;
  /** Free disk space where it writes; null: nobody can say. */
  readonly disk: number | null;
}

const Nothing = z.strictObject({});

/** What each view is asked with. */
export const VIEWS = {
  board: Nothing,
  rows: z.strictObject({ tasks: z.array(TaskId).max(1_000) }),
  runs: z.strictObject({ task: TaskId }),
  transcript: z.strictObject({
    run: RunId,
    after: z.number().int().min(0).default(0),
    limit: z.number().int().min(1).max(2_000).default(500),
  }),
  validatePlan: z.strictObject({ plan: z.unknown() }),
  host: Nothing,
} as const satisfies Record<keyof Views, z.ZodType>;
export type ViewName = keyof Views;
export const isView = (name: string): name is ViewName => Object.hasOwn(VIEWS, name);

/** How a page comes by its credential; the only routes that want none. */
export const PAGE_ROUTES = {
  /** A ticket, which counts once and for a minute, becomes a credential. */
  login: '/dashboard/login',
  /** Whoever answers shows that it knows the credential, before it is sent there. */
  proof: '/dashboard/proof',
} as const;
export const LoginInput = z.strictObject({ ticket: z.string().max(200) });
export const ProofInput = z.strictObject({
  page: z.string().regex(/^[0-9a-f]{32}$/),
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
});
export const Ticket = z.object({ ticket: z.string() });
