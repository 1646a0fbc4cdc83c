import type { PolicyLayer } from '@reveille/protocol';

/** Where a definition comes from, nearest first. */
export const PLACES = ['repository', 'home', 'builtin'] as const;
export type Place = (typeof PLACES)[number];

/** One agent, as its file says, whichever of the two formats the file is written in. */
export interface AgentDefinition {
  /** Its name in `[@][backend:]name`. */
  readonly name: string;
  /** One line: what it is for. */
  readonly description: string;
  /** Who it is, in its own words: the section "Role", or the description. */
  readonly role: string;
  /** Everything below the front matter: what the agent is told about itself. */
  readonly instructions: string;
  readonly expertise: readonly string[];
  readonly whenToUse: string;
  /** Words and phrases that, in a described task, speak for this agent. */
  readonly triggers: readonly string[];
  /** When it should hand work on and when not: the section "Delegation", or nothing. */
  readonly delegation: string;
  /** What it may use, in our own names; `*` is everything a worker may use. */
  readonly tools: readonly string[];
  /** What it may not use although `tools` holds it. */
  readonly deniedTools: readonly string[];
  /** It has no tool that could write: its worktree may be mounted read-only. */
  readonly readOnly: boolean;
  /** The only agents it may spawn; null is any. */
  readonly delegatesTo: readonly string[] | null;
  /** What it must ask for although others need not, or must not do; null: nothing of the kind. */
  readonly approvals: Pick<PolicyLayer, 'preset' | 'rules'> | null;
  readonly model: string | null;
  /** The backend it would like to run on, if the task names none. */
  readonly backend: string | null;
  /** Its last message is its report (SUB6). */
  readonly reportsByLastMessage: boolean;
  /** It may be suggested as a specialist. */
  readonly suggested: boolean;
  readonly place: Place;
  readonly path: string;
  readonly format: 'vscode' | 'claude';
  /** SHA-256 of the file: what a person trusts is this content and no other. */
  readonly hash: string;
}

/** Something wrong with a file, and where. An error: the file is not used. A warning: it is, but look at it. */
export interface Problem {
  readonly path: string;
  /** From 1; null when it is about the file as a whole. */
  readonly line: number | null;
  readonly column: number | null;
  readonly severity: 'error' | 'warning';
  readonly message: string;
}

/** What becomes of a definition: it is used, or a nearer one of its name is, or nobody has trusted it yet. */
export interface AgentEntry {
  readonly definition: AgentDefinition;
  readonly state: 'used' | 'hidden' | 'untrusted';
}

/** Text of a file as an error may show it: one line, of bounded length, with its ends visible. */
export function shown(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return JSON.stringify(flat.length > 60 ? `${flat.slice(0, 60)}…` : flat);
}
