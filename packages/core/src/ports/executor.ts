import type { AgentType, ErrorClass, RunId, SessionId, Task } from '@reveille/protocol';
import type { Workspace } from './workspaces.ts';

/** What is handed to an agent at the start of a turn. The ids are inside the text too, so that its history shows them. */
export interface TurnInput {
  readonly turn: number;
  /** The ids to ask a resumed history for: of the messages, and of the run if its task is handed over. */
  readonly given: readonly string[];
  readonly text: string;
}

export interface StartSpec {
  readonly task: Task;
  readonly run: RunId;
  readonly epoch: number;
  readonly session: SessionId;
  readonly agent: AgentType;
  /** Token of the agent's own session to go on with, if there is one. */
  readonly resume: string | null;
  /** Null: it has no files. */
  readonly workspace: Workspace | null;
  /** Facts about the agent, in order. Never called after `closed` resolved. */
  readonly report: (event: ExecutorEvent) => void;
}

/**
 * What an executor says of its agent. A failure is an event, never an exception. `exited` is the last one, on
 * every path.
 */
export type ExecutorEvent =
  | { readonly type: 'started'; readonly identity: string | null; readonly resume: string | null }
  | { readonly type: 'output'; readonly text: string }
  /** It thinks, or shows in another way that it lives. */
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly digest: string }
  | { readonly type: 'tool_end'; readonly id: string; readonly failed: boolean; readonly news: boolean }
  | { readonly type: 'file_touched'; readonly path: string }
  | { readonly type: 'usage'; readonly id: string; readonly tokens: number; readonly usd: number }
  | {
      readonly type: 'turn_ended';
      readonly turn: number;
      readonly lastWords: string;
      readonly interrupted?: boolean;
    }
  | { readonly type: 'failed'; readonly class: ErrorClass; readonly message: string }
  | { readonly type: 'exited'; readonly detail: string };

/** Whether a resumed agent's history holds a message: it does, it does not, or nobody can say (MBX3). */
export type Seen = 'yes' | 'no' | 'unknown';

/** One live agent. */
export interface Agent {
  /** Begins a turn. Only called when none is open. */
  turn(input: TurnInput): void;
  /** Offers more input to the open turn at its next pause point. `refused`: it was not and will not be handed over. */
  steer(input: TurnInput): Promise<'taken' | 'refused'>;
  /** Ends the open turn, keeps the agent. */
  interrupt(): void;
  seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>>;
  /** Ask, abort, kill (EXE4). Resolves when nothing of it lives. */
  stop(reason: string): Promise<void>;
}

export interface Executor {
  readonly steers: boolean;
  start(spec: StartSpec): Agent;
  /** Ends what an earlier life left running under this identity. Resolves when nothing of it lives. */
  reap(identity: string): Promise<void>;
}

/** The executors by backend. */
export interface Executors {
  backends(): readonly string[];
  get(backend: string): Executor | undefined;
}

/** The agent definitions that exist; core only asks by name. A repository may have its own. */
export interface Agents {
  names(repository?: string | null): readonly string[];
  /** Looks a repository's own up, so that they are among its names. */
  know?(repository: string): Promise<void>;
  /** The agent's last message is its report: it cannot or need not call a tool for it (SUB6). */
  reportsByLastMessage?(agent: AgentType): boolean;
}
