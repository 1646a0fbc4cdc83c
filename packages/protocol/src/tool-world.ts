import type { Message } from './message.ts';
import type { ToolNavigation } from './navigation.ts';
import type { Caller, Orchestrator } from './orchestrator.ts';
import type { Action } from './policy.ts';
import type { RunCounts } from './run.ts';

/**
 * What tools need of the world, as small interfaces: the room of tools knows nothing else, and whoever composes hands
 * them in. A caller never says who it is; its world is made from its credential (ID3).
 */
type Awaitable<T> = T | Promise<T>;

/** A file as it was read; its text is exact, or an error says that it has none. */
export interface ReadContent {
  /** The true path from the root. */
  readonly path: string;
  /** Bytes of the whole file. */
  readonly size: number;
  text(): string;
}

export interface FolderEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  /** In bytes; null for anything but a file. */
  readonly size: number | null;
}

export interface FolderListing {
  /** The folder's true path from the root; empty for the root. */
  readonly path: string;
  readonly entries: readonly FolderEntry[];
  readonly truncated: boolean;
}

export interface WalkOptions {
  /** Entries that are left out, folders with all beneath them. */
  readonly skip?: (entry: {
    readonly path: string;
    readonly name: string;
    readonly kind: FolderEntry['kind'];
  }) => boolean;
  /** Most entries to look at; more is `limit_reached`, after what was found so far. */
  readonly limit?: number;
}

/** The one door to the files of a worktree (BND1). Nothing outside is reached, whatever the path says. */
export interface ToolFiles {
  /** `limit`: no more than so many bytes, from the beginning. More than `maxBytes` to read is `limit_reached`. */
  readFile(
    path: string,
    options?: { readonly maxBytes?: number; readonly limit?: number },
  ): Promise<ReadContent>;
  writeFile(
    path: string,
    data: string,
    options?: { readonly create?: boolean; readonly exclusive?: boolean },
  ): Promise<{ readonly path: string; readonly created: boolean }>;
  deleteFile(path: string): Promise<{ readonly path: string }>;
  listDirectory(path: string, options?: { readonly limit?: number }): Promise<FolderListing>;
  /** The paths of all plain files beneath a folder. */
  walk(path: string, options?: WalkOptions): AsyncIterable<string>;
}

export interface CommandOptions {
  /** Given to the command as "$@": data, never part of the shell's text. */
  readonly args?: readonly string[];
  readonly timeoutMs: number;
  /** Ends the whole process group. */
  readonly signal: AbortSignal;
  /** What the command writes, as it comes, both streams in one. */
  readonly onOutput: (text: string) => void;
}

export interface CommandEnd {
  /** Null: it was ended by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
}

/** Where a worker works: its files, and commands in its sandbox. */
export interface ToolWorkspace {
  readonly files: ToolFiles;
  /** One shell command line, in the worktree, in the sandbox. A command that fails is an end, not an error. */
  runCommand(command: string, options: CommandOptions): Promise<CommandEnd>;
  /** The command that runs this repository's tests, if one is known. */
  testCommand(): Awaitable<string | null>;
}

/** An agent as others are told of it. */
export interface AgentSummary {
  readonly name: string;
  readonly description: string;
  readonly expertise: readonly string[];
  readonly whenToUse: string;
  readonly place: 'repository' | 'home' | 'builtin';
  readonly readOnly: boolean;
  /** It is a specialist, which may be suggested. */
  readonly suggested: boolean;
}

export interface AgentSuggestion {
  readonly name: string;
  readonly score: number;
  readonly reason: string;
}

export interface ToolAgents {
  list(): Awaitable<readonly AgentSummary[]>;
  /** Those that fit a described task, best first. */
  suggest(task: string): Awaitable<readonly AgentSuggestion[]>;
  /** The backends that exist here, the default one first. */
  backends(): Awaitable<readonly string[]>;
}

export interface SkillSummary {
  readonly name: string;
  readonly description: string;
}

export interface ToolSkills {
  list(): Awaitable<readonly SkillSummary[]>;
  /** Its instructions, or one of the files in its folder. */
  load(
    name: string,
    file?: string,
  ): Awaitable<{ readonly skill: SkillSummary; readonly text: string; readonly files: readonly string[] }>;
}

/** What a definition allows, in the names of the catalogue; `a2a_*` and `*` are patterns (AGT4). */
export interface ToolGrants {
  readonly tools: readonly string[];
  readonly deniedTools: readonly string[];
  /** The only agents it may spawn; null is any. */
  readonly delegatesTo: readonly string[] | null;
}

/** Tools of use only to whoever can have subtasks: a run at the deepest level is not offered them (AGT4). */
export const DELEGATION_TOOLS: readonly string[] = [
  'a2a_list_agents',
  'a2a_list_specialists',
  'a2a_spawn_subtask',
  'a2a_spawn_parallel_subtasks',
  'a2a_await_subtasks',
  'a2a_subtask_status',
  'a2a_cancel_subtask',
  'a2a_retry_subtask',
  'a2a_subtask_diff',
  'a2a_pull_subtask_changes',
  'a2a_discard_subtask',
];

/** What a definition allows, less what is of no use at the deepest level. */
export const withoutDelegation = <G extends Pick<ToolGrants, 'deniedTools'>>(grants: G): G => ({
  ...grants,
  deniedTools: [...grants.deniedTools, ...DELEGATION_TOOLS],
});

/**
 * Whether grants hold a tool. `*` does not hold the orchestrator's tools: a definition that is to have them names them
 * (`orchestrator_*`).
 */
export function isGranted(
  { tools, deniedTools }: Pick<ToolGrants, 'tools' | 'deniedTools'>,
  tool: string,
): boolean {
  const holds = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => matchesTool(pattern, tool));
  return holds(tools) && !holds(deniedTools);
}

export function matchesTool(pattern: string, tool: string): boolean {
  if (pattern === '*') return !tool.startsWith('orchestrator_');
  return pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool;
}

/** Keeps outputs that were too long to be shown at once. What it forgot must be asked for anew. */
export interface ToolOutputs {
  /** Returns the token by which only this owner gets it back. */
  keep(owner: string, text: string): string;
  read(owner: string, token: string): string | null;
}

/** Counts for one run. What is counted is shown with its end. */
export interface ToolTally {
  add(kind: keyof RunCounts, times?: number): void;
}

/** What a call wants to do; where, and whether anything holds it, is known to whoever is asked. */
export type WantedAction = Pick<Action, 'tool' | 'kind' | 'command' | 'paths' | 'detail'> & {
  /** All of it: the leave is for exactly this. */
  readonly input: unknown;
};

/** Whether it may be done, and if not, what to tell the agent. */
export type ToolPermit = { readonly allowed: true } | { readonly allowed: false; readonly why: string };

/** What one caller has of the world, whichever connection it uses. */
export interface CallerWorld {
  readonly caller: Caller;
  readonly orchestrator: Orchestrator;
  /** Null: whatever its kind of caller may use. */
  readonly grants: ToolGrants | null;
  /** Null: it has no files here. */
  readonly workspace: ToolWorkspace | null;
  /** Where symbols are in its files; absent or null: there is none here. */
  readonly navigation?: ToolNavigation | null;
  /** Absent: nobody counts. */
  readonly tally?: ToolTally;
  /** Whether it may do what it wants to: somebody may have to be asked. Absent: whatever it has, it may use. */
  readonly permit?: (
    wanted: WantedAction,
    call: Pick<ToolWorld, 'signal' | 'patienceMs'>,
  ) => Promise<ToolPermit>;
  readonly agents: ToolAgents;
  readonly skills: ToolSkills;
  /** The repository its plans are about. */
  readonly repository: string | null;
  readonly outputs: ToolOutputs;
  /** Characters of one output; 25,000 unless told. */
  readonly outputChars?: number;
  /** The messages that wait for the caller, without taking them; looked up in its mailbox unless told. */
  readonly unread?: () => Promise<readonly Message[]>;
  /** The answer was handed over. Until then no other call of the caller proves that its mail arrived (WAK9). */
  readonly delivered?: () => void;
  /** An answer could not be handed over: the mail it held may not have arrived. */
  readonly undelivered?: () => Promise<void>;
  readonly log?: (level: 'warn' | 'error', message: string, data: Record<string, unknown>) => void;
}

/** A caller's world during one call. */
export interface ToolWorld extends CallerWorld {
  /** The call was given up. */
  readonly signal: AbortSignal;
  /** Something to show while the call goes on. */
  readonly progress: (message: string) => void;
  /** The protocol's own name for the call, unlike any other of this caller: a repeated call has the same (SUB1). */
  readonly callId: string | null;
  /** How long the caller's client waits for an answer; null: for ever. */
  readonly patienceMs: number | null;
}
