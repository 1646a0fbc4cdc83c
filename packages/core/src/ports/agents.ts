import type { AgentType, PolicyLayer, RunId, SessionKind, Task, TaskState } from '@reveille/protocol';
import type { Workspace } from './workspaces.ts';

/** What a definition says that decisions depend on. */
export interface Defined {
  /** The backend it runs on if the task names none; null: the default one. */
  readonly backend: string | null;
  /** The model it runs on if the task names none; null: its backend's own. */
  readonly model: string | null;
  /** The only agents it may hand work to; null: any. */
  readonly delegatesTo: readonly string[] | null;
  /** Tools of the catalogue that its runs may use; `*` and `a2a_*` are patterns (AGT4). */
  readonly tools: readonly string[];
  /** Tools it may not use although `tools` holds them. */
  readonly deniedTools: readonly string[];
  /** None of its tools could write. */
  readonly readOnly: boolean;
}

/** Who an agent is: what an executor tells and allows it. None of it concerns a decision. */
export interface Role {
  /** Its definition, the repository's instructions, its skills. What it is to do comes with its first turn. */
  readonly systemPrompt: string;
  /** What it may use, in the names of the catalogue; `*` and `a2a_*` are patterns (AGT4). */
  readonly tools: readonly string[];
  /** What it may not use although `tools` holds it. */
  readonly deniedTools: readonly string[];
  /** It has no tool that could write. */
  readonly readOnly: boolean;
  /** As the task or its definition wants it; null: the backend's own. */
  readonly model: string | null;
}

/** All there is to say to a worker that is handed its task (AGT8). */
export interface Assignment {
  readonly task: Task;
  readonly run: RunId;
  /** The plan it is a task of, and what comes before and after it there. */
  readonly plan: {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly tasks: number;
    readonly before: readonly { readonly name: string; readonly state: TaskState }[];
    readonly after: readonly { readonly name: string }[];
  } | null;
  /** Who is told how it ends, and what that one is itself at work on. */
  readonly parent: {
    readonly kind: SessionKind;
    readonly name: string;
    readonly task?: { readonly id: string; readonly prompt: string };
  };
  /** Null: it has no files. */
  readonly workspace: Workspace | null;
  /** Why it could spawn nobody, whatever its tools; undefined: it could. */
  readonly mayNotDelegate?: string;
}

/** The agent definitions that exist; core only asks by name. A repository may have its own. */
export interface Agents {
  names(repository?: string | null): readonly string[];
  /** Looks a repository's own up, so that they are among its names. */
  know?(repository: string): Promise<void>;
  defined?(name: string, repository: string | null): Defined | undefined;
  /** The agent's last message is its report: it cannot or need not call a tool for it (SUB6). */
  reportsByLastMessage?(agent: AgentType, repository: string | null): boolean;
  /**
   * Whose words say what it may do without asking, as of now: the person's, the repository's, its definition's. None of
   * them can allow what another does not.
   */
  policy?(agent: AgentType, repository: string | null): readonly PolicyLayer[];
  /** Asked each time an agent is started. `mayNotDelegate`: why it could spawn nobody, if so. */
  role?(task: Task, place: Pick<Assignment, 'mayNotDelegate'>): Promise<Role>;
  /** The words in which a worker is handed its task; without it they are core's own, which are fewer. */
  briefing?(assignment: Assignment): string;
}
