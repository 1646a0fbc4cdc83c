import type { Capabilities, ExecutorEvent } from './ports/executor.ts';
import type { UsageItem } from './usage.ts';

type TurnEnded = Extract<ExecutorEvent, { type: 'turn_ended' }>;

/**
 * So many calls in a turn, without a word about usage, show that a backend that reports after each request does not. Fewer show
 * nothing: the calls of one answer may be made before that request is reported.
 */
const SILENT_CALLS = 5;

/**
 * Turns the events of one agent into items to count. A backend that says nothing of a call gets a guess of `callTokens`
 * for it, so that a limit stops it too (LIM1). The mutable fields are about the open turn.
 */
export class UsageMeter {
  readonly #reports: Capabilities['reports'];
  readonly #callTokens: number;
  /** Ids of the reports that have come: a report that comes twice counts once. */
  #seen: Set<string> | null = null;
  #calls = 0;
  #guessed = 0;
  #told = false;
  #toldSinceCall = false;
  /** Estimates that the final report of the turn would replace. */
  #hasOpen = false;
  #inTurn = false;

  constructor(reports: Capabilities['reports'], callTokens: number) {
    this.#reports = reports;
    this.#callTokens = callTokens;
  }

  turnBegins(): void {
    this.#seen = null;
    this.#calls = this.#guessed = 0;
    this.#told = this.#toldSinceCall = this.#hasOpen = false;
    this.#inTurn = true;
  }

  /** `alive`: the agent gave a sign of life in this turn. */
  hear(event: ExecutorEvent, alive: boolean): UsageItem[] {
    if (event.type === 'usage') return this.#report(event);
    if (this.#reports === undefined) return [];
    if (event.type === 'tool_call') return this.#call();
    return event.type === 'turn_ended' ? this.#turnEnded(event, alive) : [];
  }

  /** The agent is gone. If that was in the middle of a turn, its last request may have been reported by nobody. */
  stopped(alive: boolean): UsageItem[] {
    if (!this.#inTurn || this.#reports === undefined) return [];
    return this.#turnEnded({ interrupted: true }, alive);
  }

  #report({ id, kind, tokens, usd, estimated }: Extract<ExecutorEvent, { type: 'usage' }>): UsageItem[] {
    if (this.#seen?.has(id)) return [];
    (this.#seen ??= new Set()).add(id);
    // A call that is said to have taken nothing was refused; a turn that is said so was not counted.
    if (tokens > 0 || kind === undefined) this.#told = this.#toldSinceCall = true;
    if (kind !== undefined) this.#hasOpen = kind === 'interim';
    if (kind === 'final') this.#inTurn = false;
    return [{ kind: kind ?? 'call', id, tokens, usd, ...(estimated ? { estimated } : {}) }];
  }

  #call(): UsageItem[] {
    this.#calls++;
    const told = this.#toldSinceCall;
    this.#toldSinceCall = false;
    if (this.#reports !== 'request') return told ? [] : this.#guess(1);
    if (this.#told || this.#calls < SILENT_CALLS) return [];
    return this.#guess(this.#calls - this.#guessed);
  }

  /** After its last call the model was asked once more. A turn that was interrupted before it began asked nothing. */
  #turnEnded({ interrupted = false }: Pick<TurnEnded, 'interrupted'>, alive: boolean): UsageItem[] {
    this.#inTurn = false;
    const unguessed = this.#reports === 'request' ? this.#calls - this.#guessed + 1 : 1;
    const guesses = !this.#told && (alive || !interrupted) ? this.#guess(unguessed) : [];
    return this.#hasOpen ? [...guesses, { kind: 'turn over' }] : guesses;
  }

  #guess(calls: number): UsageItem[] {
    this.#hasOpen = true;
    this.#guessed += calls;
    return [{ kind: 'guess', tokens: calls * this.#callTokens }];
  }
}
