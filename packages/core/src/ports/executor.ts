import type { AgentType, ErrorClass, RunId, SessionId, Task } from '@reveille/protocol';
import type { Role } from './agents.ts';
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
  /** Who it is and what it may use; null or absent: whoever starts it knows. */
  readonly role?: Role | null;
  /** Token of the agent's own session to go on with, if there is one. */
  readonly resume: string | null;
  /** Null: it has no files. */
  readonly workspace: Workspace | null;
  /** Facts about the agent, in order. Never called after `closed` resolved. */
  readonly report: (event: ExecutorEvent) => void;
  /**
   * Sets aside what a call may use before it is made (LIM1). The usage with the same id takes its place. It is for
   * executors whose loop runs in this process: no agent and no token can call it.
   */
  readonly reserve: (
    id: string,
    most: Reservation,
  ) => Promise<{ readonly granted: boolean; readonly why?: string }>;
}

/**
 * What an executor says of its agent, in the same words for every backend. A failure is an event, never an exception.
 * `exited` is the last one, on every path.
 */
export type ExecutorEvent =
  /** `resume` is the token of the agent's own session; said again when the agent has another. */
  | { readonly type: 'started'; readonly identity: string | null; readonly resume: string | null }
  | { readonly type: 'turn_started'; readonly turn: number }
  /**
   * A piece of an answer arrived that is no whole word yet. It shows that the model lives, and nothing else. An executor says it
   * only for what the model or a tool caused: never for a heartbeat, a status or an echo that the agent's program makes up
   * by itself while its model is silent (HLT1).
   */
  | { readonly type: 'sign' }
  /** A stretch of text that is whole, not a piece of one. */
  | { readonly type: 'output'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly digest: string }
  | {
      readonly type: 'tool_end';
      readonly id: string;
      readonly failed: boolean;
      readonly news: boolean;
      /** Of the call with all its arguments, if they were not all known when it was told. */
      readonly digest?: string;
    }
  | { readonly type: 'file_touched'; readonly path: string }
  /** The agent waits until somebody has agreed to what it wants to do, or refused it. */
  | { readonly type: 'permission_asked'; readonly id: string; readonly what: string }
  | { readonly type: 'permission_settled'; readonly id: string; readonly granted: boolean }
  | Usage
  | {
      readonly type: 'turn_ended';
      readonly turn: number;
      readonly lastWords: string;
      readonly interrupted?: boolean;
    }
  | {
      readonly type: 'failed';
      readonly class: ErrorClass;
      readonly message: string;
      /** Before this, trying again is of no use: whoever refused said so. */
      readonly retryAfterMs?: number;
      /** The machine lacked disk, memory, descriptors or processes: it is tried again until it has them. */
      readonly scarce?: boolean;
    }
  | { readonly type: 'exited'; readonly detail: string };

/** What a model took. An id is used once in a run. */
export interface Usage {
  readonly type: 'usage';
  readonly id: string;
  /**
   * Absent: one call, which stands for itself. `interim`: an amount named in the middle of a turn, which counts as an
   * estimate until the `final` of that turn takes the place of all of them.
   */
  readonly kind?: 'interim' | 'final';
  /** The backend did not report this number: it is reckoned from what is known. */
  readonly estimated?: boolean;
  /** All of them: what was sent, cached or not, and what came back. */
  readonly tokens: number;
  /** Null: nobody knows the price (EXE5). */
  readonly usd: number | null;
  readonly model?: string;
  readonly input?: number;
  readonly cached?: number;
  readonly output?: number;
}

/** What a backend can do; what it says here holds. */
export interface Capabilities {
  /** Mail reaches it in the middle of a turn. */
  readonly steer: boolean;
  /** Its own session goes on after a crash. */
  readonly resume: boolean;
  /** It asks before it does what needs permission. */
  readonly approve: boolean;
  /** It says how many tokens it used; and what they cost. */
  readonly usage: boolean;
  readonly cost: boolean;
  /**
   * When it says what it used: after each request to its model, when the turn ends, or nobody knows whether it does.
   * Absent: it has no model.
   */
  readonly reports?: 'request' | 'turn' | 'unknown' | undefined;
}

/** What a call of a model may use at most. `usd` absent: nobody knows the price. */
export interface Reservation {
  readonly tokens: number;
  readonly usd?: number;
}

/** Whether a resumed agent's history holds a message: it does, it does not, or nobody can say (MBX3). */
export type Seen = 'yes' | 'no' | 'unknown';

/** One live agent. */
export interface Agent {
  /** Begins a turn. Only called when none is open. */
  turn(input: TurnInput): void;
  /** Offers more input to the open turn at its next pause point. `refused`: it was not and will not be handed over. */
  steer(input: TurnInput): Promise<'taken' | 'refused'>;
  /** What was offered to the open turn and waits for a pause is refused. Absent: it cannot be called back, and nothing waits. */
  withdraw?(): void;
  /** Ends the open turn, keeps the agent. */
  interrupt(): void;
  seen(ids: readonly string[]): Promise<ReadonlyMap<string, Seen>>;
  /** Ask, abort, kill (EXE4). Resolves when nothing of it lives. */
  stop(reason: string): Promise<void>;
}

export interface Executor {
  readonly steers: boolean;
  readonly capabilities?: Capabilities;
  /** How long mail may wait for a pause of the turn before nobody knows whether it was taken; ten seconds unless told. */
  readonly steerMs?: number;
  /** What one agent usually takes; absent: it has no process of its own. */
  readonly memoryBytes?: number;
  /** Why its agents cannot do this work at all, or null; absent: they can try anything. `reviews`: they review that of this prompt. */
  refuses?(work: { readonly prompt: string; readonly reviews?: boolean | undefined }): string | null;
  start(spec: StartSpec): Agent;
  /** Ends what an earlier life left running under this identity. Resolves when nothing of it lives. */
  reap(identity: string): Promise<void>;
}

/** The executors by backend. */
export interface Executors {
  /** The backends that agents can be run on here. A list that is kept for a while is made again if `wanted` is not on it. */
  backends(wanted?: string): readonly string[];
  /** Why no agent can be run on a backend that exists elsewhere, and what to do about it; undefined: there is no such backend. */
  problem?(backend: string): string | undefined;
  get(backend: string): Executor | undefined;
  /** Why the default one is that, for people; without it nobody says. */
  why?(): string;
  /**
   * Ends whatever earlier lives of this host left running, whether or not anybody still has it on record: another host may
   * have gone on with the task since, and forgotten it. Resolves when nothing of it lives. Without it, what is on record
   * in the rows is all that is found; that is enough where no other host has a part in them.
   */
  reapAll?(): Promise<void>;
}
