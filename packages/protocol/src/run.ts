import { z } from 'zod';
import { Raise, Short, Used } from './budget.ts';
import { WorkerHealth } from './worker-health.ts';
import { RunId, SessionId, TaskId } from './ids.ts';

/** Error classes decide what is done about a failure (HLT5); a backend maps its own errors to these. */
export const ERROR_CLASSES = [
  'rate_limit',
  'network',
  'overload',
  'crash',
  'auth',
  'refusal',
  'invalid',
  'limit',
  'budget',
  'unresponsive',
  'host_gone',
  'workspace',
  'escape',
  'unknown',
] as const;
export const ErrorClass = z.enum(ERROR_CLASSES);
export type ErrorClass = z.infer<typeof ErrorClass>;

/** What made a run end; every one of them goes through the one settle. */
export const END_CAUSES = [
  'report',
  'last_message',
  'executor',
  'limit',
  'budget',
  'cancel',
  'unresponsive',
  'completed_by_owner',
  'host_gone',
] as const;
export const EndCause = z.enum(END_CAUSES);
export type EndCause = z.infer<typeof EndCause>;

/** How much of a file changed. Of a binary one nobody can say. */
export const FileChange = z.object({ path: z.string(), insertions: z.number(), deletions: z.number() });
export type FileChange = z.infer<typeof FileChange>;

/** What the worker leaves behind; filled in by the room that owns checkouts. */
export const WorkProduct = z.object({
  worktree: z.string(),
  branch: z.string(),
  /** The commit that holds all of it; null if nothing could be taken. */
  commit: z.string().nullable(),
  /** Why not all of it could be taken; it is still in the worktree. */
  problem: z.string().nullable(),
  files: z.array(FileChange),
  /** What was taken in another way than it lies in the worktree, or is not part of the work; absent: nothing. */
  notices: z.array(z.string()).optional(),
});
export type WorkProduct = z.infer<typeof WorkProduct>;

export const RunEnd = z.object({
  status: z.enum(['success', 'partial', 'failed', 'cancelled']),
  cause: EndCause,
  output: z.string(),
  structured: z.unknown().optional(),
  error: z.object({ class: ErrorClass, message: z.string() }).nullable(),
  work: WorkProduct.nullable(),
  at: z.number(),
});
export type RunEnd = z.infer<typeof RunEnd>;

/** How often a run looked things up, and handed work on. */
export const RunCounts = z.object({
  navigation: z.number().int(),
  /** Of those, answered from text. */
  fromText: z.number().int(),
  search: z.number().int(),
  /** Subtasks it started. */
  spawns: z.number().int(),
  /** How often it asked which specialist fits. */
  specialists: z.number().int(),
  /** How often it was told of one that fits better than itself. */
  suggestions: z.number().int(),
});
export type RunCounts = z.infer<typeof RunCounts>;

export const NO_COUNTS: RunCounts = {
  navigation: 0,
  fromText: 0,
  search: 0,
  spawns: 0,
  specialists: 0,
  suggestions: 0,
};

/** In words; empty if nothing was counted. */
export function countsText(counts: RunCounts | undefined): string {
  const { navigation, fromText, search, spawns, specialists, suggestions } = counts ?? NO_COUNTS;
  const text = fromText > 0 ? ` (${fromText} answered from text)` : '';
  const lookedUp = navigation + search > 0 ? [`${navigation} by navigation${text}, ${search} by search`] : [];
  const handedOn =
    spawns + specialists + suggestions > 0
      ? [`${spawns} handed on, ${specialists} × asked for a specialist, ${suggestions} suggested`]
      : [];
  return [...lookedUp, ...handedOn].join('; ');
}

/** What a run's agents used of their host, each with everything beneath it. */
export const Resources = z.object({
  /** When somebody last looked. */
  rssBytes: z.number(),
  /** The most of it at any look. */
  peakBytes: z.number(),
  cpuMs: z.number(),
});
export type Resources = z.infer<typeof Resources>;

/** The turn that is open, if one is. Turns that ended are in the events. */
export const OpenTurn = z.object({
  number: z.number().int(),
  at: z.number(),
  /** A sign of life came after the input was handed over, so the agent has it. */
  alive: z.boolean(),
});

export const Run = z.object({
  id: RunId,
  task: TaskId,
  session: SessionId,
  attempt: z.number().int(),
  state: z.enum(['open', 'ended']),
  /** Which host advances it, under which epoch; what an older epoch says is refused (ID4). */
  host: z.string().nullable(),
  epoch: z.number().int(),
  /** The agent’s process, as its executor names it, so that a later life can find and end it. */
  identity: z.string().nullable(),
  /** The backend that the agent with this identity was started on; absent: that of the task. */
  on: z.string().optional(),
  /** Another agent is to go on with it, and whoever is at work stops; if it has ended, with its task. */
  swap: z.object({ from: z.string() }).optional(),
  /** The agent’s own session, for resuming it. */
  resume: z.string().nullable(),
  turn: OpenTurn.nullable(),
  turns: z.number().int(),
  /** Its task has been handed over and a sign of life came after it. */
  assigned: z.boolean(),
  paused: z.boolean(),
  /** A person works in its checkout while it is paused; the commit is the state at that moment, if it could be told. */
  takenOver: z.object({ by: z.string(), commit: z.string().nullable(), at: z.number() }).optional(),
  /** Transient faults since the last turn that ended well, and when the next try may be made. */
  faults: z.number().int(),
  retryAt: z.number().nullable(),
  /** The silence being asked about: the turn after which it began, when it was asked, answers so far (HLT1). */
  inquiry: z.object({ turn: z.number().int(), at: z.number(), answers: z.number().int() }).nullable(),
  lastWords: z.string(),
  /** What is wrong with its agent in the open turn; absent: nothing. */
  health: WorkerHealth.optional(),
  /** Used by this run alone: as its backend reported it, or estimated where it did not. */
  used: Used,
  /** As of its last turn that ended; absent: nothing was counted. */
  counts: RunCounts.optional(),
  /** Memory and CPU, as of its last turn that ended, or now; absent: its agents have no process of their own. */
  resources: Resources.optional(),
  end: RunEnd.nullable(),
  startedAt: z.number(),
  /** What it has leave for and has not done yet, by digest: each may be done once. */
  grants: z.array(z.string()).optional(),
  /** The budget it ran into, and what a person who answers "raise" sets. */
  short: Short.optional(),
  raises: z.array(Raise).optional(),
});
export type Run = z.infer<typeof Run>;
