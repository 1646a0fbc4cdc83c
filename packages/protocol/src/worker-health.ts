import { z } from 'zod';

/** What can be wrong with a worker that is at work (HLT1, HLT2). None of these fails its task by itself. */
export const HEALTH_STATES = ['stuck', 'silent', 'looping', 'errors'] as const;

/** A condition of a worker as its run records it while the condition holds. */
export const WorkerHealth = z.object({
  what: z.enum(HEALTH_STATES),
  text: z.string(),
  /** When it was recorded. */
  at: z.number(),
  /** When the agent last gave a sign of life: a token, a call, or the end of one. */
  lastSign: z.number(),
  /** The last that the agent said; empty if it said nothing. */
  lastWords: z.string(),
});
export type WorkerHealth = z.infer<typeof WorkerHealth>;

/** What is wrong with the worker of a run now: a run that has ended, or rests, is neither silent nor in a loop. */
export const healthOf = (run: RunState | null): WorkerHealth | null =>
  (run?.state === 'open' && run.turn !== null && run.health) || null;

/** The part of a run that says how its worker is. */
interface RunState {
  readonly state: 'open' | 'ended';
  readonly turn: object | null;
  readonly health?: WorkerHealth | undefined;
}

/** The words that every interface shows for a condition. */
export interface HealthWords {
  /** In place of "running": `silent 6m`, `looping`, `failing`. */
  readonly label: string;
  /** What is the matter; of a silent worker also how long ago its last sign of life was. */
  readonly text: string;
  /** The end of the last words, which are the agent's own; empty: none. */
  readonly lastWords: string;
}

const LONGEST_WORDS = 300;

export function healthWords({ what, text, lastSign, lastWords }: WorkerHealth, now: number): HealthWords {
  const words = lastWords.slice(-LONGEST_WORDS);
  if (what === 'looping') return { label: 'looping', text, lastWords: words };
  if (what === 'errors') return { label: 'failing', text, lastWords: words };
  const age = ageWords(now - lastSign);
  const parts = [`no sign of life for ${age}`, text].filter((part) => part !== '');
  return { label: `silent ${age}`, text: parts.join(', '), lastWords: words };
}

/** All of it on one line. */
export function healthLine(health: WorkerHealth, now: number): string {
  const { text, lastWords } = healthWords(health, now);
  return lastWords === '' ? text : `${text}; last words: ${lastWords}`;
}

/** An age in one unit, rounded down: `45s`, `6m`, `3h`, `2d`. */
export function ageWords(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
