import type { Clock, ExecutorEvent, StartSpec, TurnInput } from '@reveille/core';
import type { ErrorClass, Orchestrator, ReportInput, RequestId, TaskId } from '@reveille/protocol';
import type { Letter } from './letters.ts';

/** Thrown into a script that may not go on: its agent was stopped, interrupted, or is dead. Let it through. */
export const GONE = new Error('this scripted agent is gone');

/** What an agent remembers from turn to turn and, if its history is kept, from life to life. */
export interface Memory {
  /** How many steps of a written script are done. */
  at: number;
  /** The question it waits for the answer to. */
  asked: RequestId | null;
  readonly children: Set<TaskId>;
  /** Whatever the script wants to remember. */
  readonly notes: Record<string, unknown>;
}

export const newMemory = (): Memory => ({ at: 0, asked: null, children: new Set(), notes: {} });

/** What a scripted agent has of the life it leads; `life.ts` implements it. */
export interface Body {
  readonly spec: StartSpec;
  readonly clock: Clock;
  readonly orchestrator: Orchestrator;
  readonly memory: Memory;
  readonly input: TurnInput;
  /** The mail of the turn, with what came during it. */
  letters(): readonly Letter[];
  tell(event: ExecutorEvent): void;
  /** Writes a file of its checkout. */
  write(path: string, content: string): Promise<void>;
  say(text: string): void;
  /** A name for a call or a usage, unlike any other of this run. */
  next(): string;
  /** Ends the turn; resolves when the next one begins, at once if mail came during this one. */
  rest(waits: Set<(reason: unknown) => void>): Promise<void>;
  /** Its report was accepted: it has nothing more to say or to remember. */
  reported(): void;
  exit(detail: string, failure?: { class: ErrorClass; message: string }): void;
  reportLate(input: ReportInput, afterMs: number): void;
  ignoreAbort(): void;
}
