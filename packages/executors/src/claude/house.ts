import type { StartSpec } from '@reveille/core';
import type { Launch } from '../acp/process.ts';

/** What the agent wants to do, as it says it. */
export interface Wish {
  readonly tool: string;
  readonly input: unknown;
  /** One sentence for whoever is asked. */
  readonly text: string;
  /** The same wish again is the same question. */
  readonly key: string;
}

export type Permission = { readonly granted: true } | { readonly granted: false; readonly why: string };

/** Where an agent works, and what it may do there: brought by whoever knows worktrees, credentials and people. */
export interface House {
  /** Null: it has no files to work in, and cannot be started. */
  folder(spec: StartSpec): string | null;
  /** The program in its sandbox. More arguments may be added to the end of `argv`. */
  launch(spec: StartSpec, program: string): Promise<Launch>;
  /** How it reaches our tools, as the run it is. */
  tools(spec: StartSpec): { readonly url: string; readonly token: string };
  /** Why a path is not for it; null: it may. */
  refuses(spec: StartSpec, path: string, access: 'read' | 'write'): string | null;
  /** Waits as long as it takes. */
  permit(spec: StartSpec, wish: Wish, signal: AbortSignal): Promise<Permission>;
}
