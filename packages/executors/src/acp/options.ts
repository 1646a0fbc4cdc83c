import type { StartSpec } from '@reveille/core';
import type { Price } from '../prices/price.ts';
import type { Hands } from './doors.ts';
import type { AgentAction, Policy, Wish } from './permission.ts';
import type { Preset } from './presets.ts';
import type { Graces, Launch } from './process.ts';

/** Where an agent finds our tools, and as whom. */
export interface ToolAccess {
  readonly url: string;
  readonly token: string;
}

/** How long is waited for what an agent owes us. */
export interface Waits {
  /** The answer to its first message. */
  readonly initializeMs: number;
  /** A session, new or taken up again. */
  readonly sessionMs: number;
  /** The end of a turn that was cancelled; then the process is ended in its place. */
  readonly cancelMs: number;
  /** The end of the turn of one that is stopped: with it comes what it used. */
  readonly lastMs: number;
}

export const WAITS: Waits = { initializeMs: 30_000, sessionMs: 60_000, cancelMs: 10_000, lastMs: 1_000 };

/** Leave for what an agent does with its own tools. */
export interface AgentPermits {
  judge(spec: StartSpec, action: AgentAction): Promise<'auto' | 'ask' | 'deny'>;
  /** Waits for whoever is asked. Rejects if nobody waits any more. */
  permit(
    spec: StartSpec,
    action: AgentAction,
    signal: AbortSignal,
  ): Promise<{ readonly allowed: boolean; readonly why?: string }>;
}

/** What the executor has of the world. Whoever composes knows the sandbox, the daemon and the person; this room does not. */
export interface AcpOptions {
  readonly preset: Preset;
  /** Ours, for the agent to know who speaks. */
  readonly version: string;
  /** Where it is on record which processes are ours. */
  readonly folder: string;
  /** What a process is called besides its number, which is used again. Null: there is none of that number. */
  readonly identityOf: (pid: number) => string | null;
  /** How it is to be started, in its sandbox. What it throws is told as it is. */
  readonly launch: (spec: StartSpec) => Promise<Launch>;
  readonly tools: (spec: StartSpec) => ToolAccess;
  /** Whether there is something for a way to log in: a variable, or a file of its home. */
  readonly has: (needs: string) => boolean;
  /** Asks up the tree, and waits. Rejects if nobody waits any more. */
  readonly approve: (spec: StartSpec, wish: Wish, signal: AbortSignal) => Promise<string>;
  readonly policy: Policy;
  /** What the person's policy says, and whether somebody agrees where it says to ask; absent: `policy` alone decides. */
  readonly permits?: AgentPermits;
  /** What a model costs, where an agent says only how much it used; null: nobody knows. */
  readonly priceOf?: (model: string) => Price | null;
  /** The names of our own tools: they ask for themselves. */
  readonly ownTools: readonly string[];
  /** For calls of the client that were not offered; null: it has no files. */
  readonly hands: (spec: StartSpec) => Hands | null;
  /** Who it is, said once per session; null: nothing to say. */
  readonly role?: (spec: StartSpec) => Promise<{ readonly words: string; readonly readOnly: boolean } | null>;
  /** What its earlier lives did, in words, for one that remembers nothing. */
  readonly digest?: (spec: StartSpec) => Promise<string>;
  readonly log: (message: string, data: Record<string, unknown>) => void;
  readonly waits?: Partial<Waits>;
  readonly graces?: Graces;
}
