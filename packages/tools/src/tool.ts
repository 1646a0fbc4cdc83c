import type { Caller, ToolWorld } from '@reveille/protocol';
import { z } from 'zod';

type CallerKind = Caller['kind'];

/** What a tool does, for whoever decides whether a person must agree first. */
export interface Annotations {
  /** It changes nothing. */
  readonly readOnly: boolean;
  /** It can destroy what was there before. */
  readonly destructive: boolean;
  /** A second call with the same input changes nothing more. */
  readonly idempotent: boolean;
  /** It reaches beyond Reveille and the worktree. */
  readonly openWorld: boolean;
}

/** What a run gives back: the same twice, once in words and once as data. The words are complete; the data may be cut. */
export interface ToolOutput<T = Record<string, unknown>> {
  readonly structured: T;
  readonly text: string;
  /** Which part is shown of what is too long: its beginning, or both its ends. */
  readonly show?: 'head' | 'ends';
  /** The operation was refused, and the words say what to do instead. */
  readonly refused?: boolean;
}

/** What the one place that calls tools adds to every output. */
const ADDED = {
  more: z
    .object({ token: z.string(), offset: z.number(), total: z.number() })
    .optional()
    .describe('The output was cut: read_more gives the rest of its text.'),
  notice: z.string().optional().describe('Mail waits for you.'),
};

/** The world as a run sees it. */
export interface RunWorld extends ToolWorld {
  /** Whether its caller has the tool of that name: words point only to what can be used. */
  readonly has: (tool: string) => boolean;
}

/** One tool, defined once, for every door. Types are erased here: `callTool` parses before it runs. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  readonly annotations: Annotations;
  /** Who may use it at all. */
  readonly callers: readonly CallerKind[];
  /** Who has it whatever its definition says (AGT4). */
  readonly always: readonly CallerKind[];
  /** What of the world it cannot do without. */
  readonly needs: 'workspace' | 'navigation' | null;
  readonly run: (input: unknown, world: RunWorld) => Promise<ToolOutput>;
}

interface Definition<I extends z.ZodObject, O extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** Paragraphs; they are joined. */
  readonly description: readonly string[];
  readonly input: I;
  readonly output: O;
  readonly annotations: Annotations;
  readonly callers?: readonly CallerKind[];
  readonly always?: readonly CallerKind[];
  readonly needs?: 'workspace' | 'navigation';
  run(input: z.output<I>, world: RunWorld): Promise<ToolOutput<z.input<O>>>;
}

export const EVERYBODY: readonly CallerKind[] = ['worker', 'session', 'person'];
export const SESSIONS: readonly CallerKind[] = ['worker', 'session'];
export const WORKERS: readonly CallerKind[] = ['worker'];

export function defineTool<I extends z.ZodObject, O extends z.ZodObject>(definition: Definition<I, O>): Tool {
  const { description, output, callers = SESSIONS, always = [], needs = null } = definition;
  return {
    ...definition,
    description: description.join('\n'),
    output: output.extend(ADDED),
    callers,
    always,
    needs,
    // Whoever calls has parsed the input with this very schema.
    run: (input, world) => definition.run(input as z.output<I>, world),
  };
}

/** The usual kinds of tools. */
export const LOOKS: Annotations = { readOnly: true, destructive: false, idempotent: true, openWorld: false };
export const ACTS: Annotations = { readOnly: false, destructive: false, idempotent: false, openWorld: false };
export const SETS: Annotations = { ...ACTS, idempotent: true };
export const DESTROYS: Annotations = { ...ACTS, destructive: true };
